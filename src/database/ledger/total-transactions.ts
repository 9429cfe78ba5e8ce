import type { Executor } from '../pool/connection';
import { customPlan, joined, sql } from '../pool/statement';
import { allOf } from '../query/list-page';
import type { Party } from '../query/party';
import type { TransactionRecord } from './list-transactions';
import { either, textOf, type Text, type TransactionSearch } from './search-transactions';
import { movedBy, partsOf, rowsOf, type Part, type Reading } from './transaction-filter';

/** Totals of the payments that a search finds. */

/** Rows that totals look through: a second of Postgres, which the party's charges must not miss. */
const ADDED_UP = 1_000_000;

interface TransactionTotal {
  currency: string;
  type: TransactionRecord['type'];
  status: TransactionRecord['status'];
  count: number;
  amount: bigint;
  /** The part that has moved the party's balance, negative where that is lower now. */
  moved: bigint;
}

/**
 * Each condition uses its own index, without the rows of earlier conditions: an OR would use none.
 */
const readingsOf = ({ indexed, looked }: Text): Reading[] =>
  [...indexed, looked].map((one, n, all) => ({
    where: [n < indexed.length && one, n > 0 && sql`${either(all.slice(0, n))} IS NOT TRUE`],
    looked: [n === indexed.length && one],
  }));

const columnsOf = (party: Party, part: Part) =>
  sql`currency || ' ' || type || ' ' || status AS kind, amount::bigint AS amount, ${movedBy(party, part)},
   ${allOf(sql`true`, ...part.looked)} AS matches`;

/**
 * @param most rows that are looked through
 * @returns the totals, and whether there are more rows than that
 */
export async function totalTransactions(
  db: Executor,
  party: Party,
  filter: TransactionSearch,
  most = ADDED_UP,
): Promise<{ totals: TransactionTotal[]; more: boolean }> {
  const text = filter.search && (await textOf(db, party, filter.search));
  const parts = partsOf(party, filter, text && readingsOf(text)).map((part) =>
    rowsOf(part, columnsOf(party, part)),
  );
  // By three columns Postgres expects too many groups, and sorts all rows on disk.
  const found = await customPlan(db).rows<TransactionTotal & { looked: number }>`
    SELECT split_part(kind, ' ', 1) AS currency, split_part(kind, ' ', 2) AS type,
      split_part(kind, ' ', 3) AS status,
      count(*)::int AS looked, (count(*) FILTER (WHERE matches))::int AS count,
      coalesce(sum(amount) FILTER (WHERE matches), 0)::bigint AS amount,
      coalesce(sum(moved) FILTER (WHERE matches), 0)::bigint AS moved
    FROM (${joined(parts, ' UNION ALL ')} LIMIT ${most + 1}) AS found GROUP BY kind ORDER BY 1, 2, 3`;
  return {
    totals: found.filter(({ count }) => count > 0),
    more: found.reduce((sum, { looked }) => sum + looked, 0) > most,
  };
}
