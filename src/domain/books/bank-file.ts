/** Lines of a bank file, and their differences from the network. */

/** Seen from the customer's account: a charge is a debit, a refund a credit. */
export type Direction = 'debit' | 'credit';

/** A line of a file, by its number from 1; or the problem of a line that cannot be read. */
export type ReadLine =
  | {
      line: number;
      bankTransactionId: string;
      /** `2026-11-21`, in the network's zone. */
      bookingDate: string;
      /** The day as the bank wrote it, in whatever zone. */
      bookedOn: string;
      /** Minor units. */
      amount: bigint;
      currency: string;
      direction: Direction;
      /** The reference of the charge or the refund, if the bank wrote it down. */
      reference: string | null;
      /** The bank says that it takes a booking back. */
      isReversal: boolean;
    }
  | { line: number; problem: string };

/** The difference of a line that does not match, or of a booking that the bank's files lack. */
export type Difference =
  | 'unknown_here' // the network counts no such transaction
  | 'amount_differs' // the network counts it with another amount, currency or direction
  | 'duplicate' // the file has the line twice
  | 'malformed' // the line cannot be read
  | 'missing_at_bank'; // settled here, and in no file of the bank days later
