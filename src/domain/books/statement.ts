import type { Role } from '../entity';

/**
 * The form of a statement's file, by which its SHA-256 is kept: which lines it has and in which
 * order, its columns, and how each cell is written. **Whatever makes another file of the same
 * ledger raises this number**; that of each form stays on record beside the others.
 *
 * It is 2, although no release has kept any before it was counted. What is kept as 1 may be of
 * three kinds: without the line of a write-off that follows a rejected refund, with the bank's id
 * of a reversal in the file of the payee's bank, or as in 2; and no row says which. In 3 a
 * merchant's file has its metadata, text is quoted, and an apostrophe leads a formula behind a
 * semicolon or a tab, too.
 */
export const STATEMENT_FORM = 3;

/**
 * Lines of a statement whose SHA-256 is worked out while somebody waits: less than a second. That
 * of a final day that has more is worked out as its file is sent, or as its month is closed.
 */
export const HASHED_MAX = 10_000;

/** How many, and how much in minor units. */
export interface Movement {
  count: number;
  amount: bigint;
}

/** What moved on one settlement day, in one currency, for one party. */
export interface Movements {
  charges: Movement;
  refunds: Movement;
  /** Completed refunds whose money came back. */
  refundReturns: Movement;
  reversals: Movement;
  /** Of a bank, payments to its customers. */
  credits: Movement;
  /** Of these, what did not stay. */
  creditsReversed: Movement;
  /** Of a bank, what it was let off. */
  writeOffs: Movement;
}

/**
 * A merchant, and a provider for its merchants, is owed what is charged, less what goes back. A
 * bank owes what its customers are charged, and is owed what is paid to them.
 *
 * @param opening positive where the network owes it to the party; in minor units, as the rest
 */
export function closingBalance(role: Role, opening: bigint, moved: Movements): bigint {
  const { charges, refunds, refundReturns, reversals, credits, creditsReversed, writeOffs } = moved;
  const charged = charges.amount - refunds.amount + refundReturns.amount - reversals.amount;
  return role === 'bank'
    ? opening - charged + credits.amount - creditsReversed.amount + writeOffs.amount
    : opening + charged;
}

/** How many things moved money; one that is on both sides of a bank counts twice. */
export function movementCount(moved: Movements): number {
  const { charges, refunds, refundReturns, reversals, credits, creditsReversed, writeOffs } = moved;
  return [charges, refunds, refundReturns, reversals, credits, creditsReversed, writeOffs].reduce(
    (total, { count }) => total + count,
    0,
  );
}
