/** What a bank says that it booked, and what the network makes of it. */

/** Seen from the customer's account: a charge is a debit, a refund a credit. */
export type Direction = 'debit' | 'credit';

/** A line of a file, by its number from 1; or what is wrong with a line that cannot be read. */
export type ReadLine =
  | {
      line: number;
      bankTransactionId: string;
      /** `2026-11-21`, in the network's zone. */
      bookingDate: string;
      /** Minor units. */
      amount: bigint;
      currency: string;
      direction: Direction;
      /** Of the charge or the refund, where the bank wrote it down. */
      reference: string | null;
    }
  | { line: number; problem: string };

/** What a line comes to, where it does not just match; or what the bank's files lack. */
export type Difference =
  | 'unknown_here' // the network counts no such transaction
  | 'amount_differs' // it does, with another amount, currency or direction
  | 'duplicate' // the file has said it before
  | 'malformed' // the line cannot be read
  | 'missing_at_bank'; // settled here, and in no file of the bank days later
