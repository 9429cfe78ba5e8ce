import type { Executor } from '../pool/connection';

/** Changes that one statement folds: some ten milliseconds of Postgres. */
const FOLDED_AT_ONCE = 10_000;

/**
 * Folds changes of balances into the sums of their accounts and days. This is only for speed:
 * `ledger_balances` counts both. One process folds at a time; others return.
 *
 * @returns whether there may be more
 */
export async function foldBalances(db: Executor, atMost = FOLDED_AT_ONCE): Promise<boolean> {
  const { folded } = await db.oneRow<{ folded: number }>`SELECT fold_ledger_balances(${atMost}) AS folded`;
  return folded === atMost;
}
