import type { Role } from '../entity';

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
