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

/** What moves on a settlement day, in one currency, for one party. */
export const MOVEMENTS = [
  'charges',
  'refunds',
  'refundReturns', // completed refunds whose money came back
  'reversals',
  'credits', // of a bank, payments to its customers
  'creditsReversed', // of these, what did not stay
  'writeOffs', // of a bank, what it was let off
] as const;

export type Movements = Record<(typeof MOVEMENTS)[number], Movement>;
