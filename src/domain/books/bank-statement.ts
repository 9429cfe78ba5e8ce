/**
 * What a bank says that it booked, and what it is to the network.
 *
 * A line is first looked for by the bank's own id of the transaction. Where nothing has that id,
 * its reference may name a charge or a refund: then the line is the bank's word on it, as its
 * answer would be.
 */

/** Seen from the customer's account: a charge is a debit, a refund a credit. */
export type Direction = 'debit' | 'credit';

export interface StatementLine {
  /** Where it is in the file, from 1. */
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

/** A line that cannot be read, and why. */
export interface MalformedLine {
  line: number;
  problem: string;
  /** What it has in the place of the id, where its fields are too many: the bank has that one. */
  bankTransactionId?: string;
}

export type ReadLine = StatementLine | MalformedLine;

export const isMalformed = (line: ReadLine): line is MalformedLine => 'problem' in line;

/** What a line comes to, where it does not just match; or what the file lacks. */
export type Difference =
  | 'unknown_here' // the network counts no such transaction
  | 'amount_differs' // it does, with another amount, currency or direction
  | 'duplicate' // the file has said it before
  | 'malformed' // the line cannot be read
  | 'missing_at_bank' // settled in the days of the file, and in no file so far
  | 'settled'; // it matches by now, for the line has settled what was open

/** What the network has of a line, by the bank's id or by the reference. */
export interface Known {
  /**
   * What settles by that id, or would: the charge, the refund, or the exception that it reversed.
   */
  resourceId: string;
  billingRequestId: string | null;
  refundId: string | null;
  /** Of the refund, or the charge; null where the bank alone knows of it. */
  reference: string | null;
  direction: Direction;
  /** Of what took a charge back, what there was to take back: 0 or less where that is nothing. */
  amount: bigint;
  currency: string;
  /**
   * What the booking is to what the network has.
   *
   * - `counted`: the very booking that settled it.
   * - `payee`: the credit at the payee's bank, of a payment between customers.
   * - `reversal`: what took it back, as an exception found.
   * - `open`: the reference is known, but nothing has this id yet.
   * - `refused`: the bank has named this id, and the network does not count it.
   */
  role: 'counted' | 'payee' | 'reversal' | 'open' | 'refused';
  /** Whether money of it is counted: a charge that is successful, a refund that is completed. */
  settled: boolean;
  /** Whether money of it may yet be counted: its bank's answer is waited for. */
  pending: boolean;
  /** Of what was refused: the exception that tells of it, and whether it was found harmless. */
  exceptionId: string | null;
  accounted: boolean;
  /** Of a charge that is counted: whether its bank does not owe its money any more. */
  letOff: boolean;
  /** Days between which its booking may be, in the network's zone; null where nothing bounds it. */
  bookableFrom: string | null;
  bookableTo: string | null;
}

/**
 * Days that a booking may be away from its charge. A bank books within days, and within a month
 * where it books by the month; a year that is written wrong is ten times as far.
 */
export const BOOKED_WITHIN_DAYS = 35;

export type Verdict =
  | { is: 'matched'; known: Known }
  /** The line is the bank's answer to a charge or a refund. */
  | { is: 'answer'; known: Known }
  /** An exception tells of it already. */
  | { is: 'told'; exceptionId: string }
  | { is: 'amount_differs'; known: Known }
  | { is: 'unknown_here' }
  /** Its day cannot be: at its word, all that settled in between would be missing at the bank. */
  | { is: 'malformed'; problem: string };

/** What a line is, by what the network has of it. */
export function judge(line: StatementLine, known: Known | undefined): Verdict {
  if (!known) return { is: 'unknown_here' };
  const { bookableFrom, bookableTo } = known;
  if (
    (bookableFrom !== null && line.bookingDate < bookableFrom) ||
    (bookableTo !== null && line.bookingDate > bookableTo)
  ) {
    const problem = `bookingDate is more than ${BOOKED_WITHIN_DAYS} days from the day of its charge or refund`;
    return { is: 'malformed', problem };
  }
  const same =
    line.amount === known.amount && line.currency === known.currency && line.direction === known.direction;
  const found = { is: 'matched', known } as const;
  const unknown = { is: 'unknown_here' } as const;
  const differs = { is: 'amount_differs', known } as const;
  const isDirection = line.direction === known.direction;
  const isTakenBack = isDirection && line.currency === known.currency;
  // What is unknown here has no charge, and nothing may be left of one.
  const isOfCharge = known.billingRequestId !== null && known.amount > 0n;
  const isPaid = known.refundId === null && known.settled;
  return {
    // Who was let off it and has it after all, has it beyond what is counted.
    counted: !same ? differs : known.letOff ? unknown : found,
    // Of another direction it is about something else, which bears the same reference. So it is of
    // another amount, where another id has paid the charge: a fee, say.
    open: same ? ({ is: 'answer', known } as const) : isDirection && !isPaid ? differs : unknown,
    payee: same ? found : unknown,
    reversal:
      isTakenBack && line.amount <= known.amount ? found : isTakenBack && isOfCharge ? differs : unknown,
    // Its exception is about what was answered, and accounts for no other amount or direction.
    refused:
      known.exceptionId === null || (!same && isPaid)
        ? unknown
        : !same
          ? differs
          : known.accounted
            ? found
            : ({ is: 'told', exceptionId: known.exceptionId } as const),
  }[known.role];
}

/**
 * What the bank has not booked of a charge, and so may not be refunded while a line differs. What
 * is pending may be answered for in full while the line still differs, so it is held from now on.
 *
 * @returns 0 for a refund, of which all that its bank tells decides
 */
export function heldFor(
  line: Pick<StatementLine, 'amount' | 'currency' | 'direction'>,
  known: Known,
): bigint {
  if (known.refundId !== null || (!known.settled && !known.pending)) return 0n;
  const comparable = line.currency === known.currency && line.direction === known.direction;
  if (!comparable) return known.amount;
  return line.amount < known.amount ? known.amount - line.amount : 0n;
}
