import { row, rows, type Executor } from '../connection';

/** Changes that one statement folds: some ten milliseconds of Postgres. */
const FOLDED_AT_ONCE = 10_000;

/**
 * Folds changes of balances into the sums of their accounts and days; only for speed, for
 * `ledger_balances` counts both. Where another process is at it, nothing is done.
 *
 * @returns whether there may be more
 */
export async function foldBalances(db: Executor, atMost = FOLDED_AT_ONCE): Promise<boolean> {
  const done = await row<{ folded: number }>(db, `SELECT fold_ledger_balances(:atMost) AS folded`, {
    atMost,
  });
  return done?.folded === atMost;
}

export interface AccountBalance {
  account: string;
  currency: string;
  /** Minor units; positive where the network owes it to the party. */
  balance: string;
}

/** What a party's accounts hold at the end of a day; of all days where none is named. */
export async function balancesOf(
  db: Executor,
  partyId: string,
  day: string | null,
): Promise<AccountBalance[]> {
  return rows<AccountBalance>(
    db,
    `SELECT account, currency, sum(balance)::text AS balance FROM ledger_balances
     WHERE party_id = :partyId AND day <= coalesce(:day::date, 'infinity') GROUP BY account, currency
     ORDER BY account, currency`,
    { partyId, day },
  );
}
