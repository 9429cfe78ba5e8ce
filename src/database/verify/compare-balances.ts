import { addDays } from '../../domain/calendar';
import type { Database, Transaction } from '../pool/connection';
import { customPlan, raw, sql } from '../pool/statement';
import { FIRST_ID } from '../ledger/post-entries';
import { listed, type Days, type Difference, type Pages } from './read-in-pages';

/**
 * Compares the ledger with itself, day by day: each entry balances, and each balance is the sum of
 * its postings. A day is read in one snapshot, so an entry that settles meanwhile is no difference.
 * Memory holds one sum for each account posted to that day.
 */
export async function* compareBalances(db: Database, { from, to }: Days): Pages {
  const until = to ?? 'infinity';
  let after = from === null ? '-infinity' : addDays(from, -1);
  for (;;) {
    const { day } = await customPlan(db).oneRow<{ day: string | null }>`
  SELECT min(day)::text AS day FROM (
    SELECT min(settlement_day) FROM ledger_entries WHERE settlement_day > ${after} AND settlement_day <= ${until}
    UNION ALL
    SELECT min(day) FROM ledger_folded_balances WHERE day > ${after} AND day <= ${until}
    UNION ALL
    SELECT min(day) FROM ledger_balance_changes WHERE day > ${after} AND day <= ${until}) AS next (day)`;
    if (day === null) return;
    yield { check: 'balances', ...(await compareDay(db, day)) };
    after = day;
  }
}

/** Entries whose postings one statement adds up: a tenth of a second of Postgres. */
const PAGE = 20_000;

/** Sums of accounts, as JSON that only Postgres reads. */
interface Sums {
  last: string | null;
  sums: string;
  unbalanced: Difference[];
}

const inWords = (side: string) =>
  `format('%s postings with debits of %s and credits of %s', coalesce(${side}.count, 0), coalesce(${side}.debits, 0), coalesce(${side}.credits, 0))`;

function compareDay(db: Database, day: string): Promise<{ checked: number; differences: Difference[] }> {
  return db.transaction(async (trx) => {
    await trx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { sums, unbalanced } = await addUp(trx, day);
    const compared = await customPlan(trx).oneRow<{ checked: number; differences: Difference[] }>`
  WITH kept AS (SELECT * FROM ledger_balances WHERE day = ${day}),
  posted AS (SELECT * FROM jsonb_populate_recordset(NULL::ledger_folded_balances, ${sums}::jsonb)),
  compared AS (
    SELECT concat(account, ' of ', party_id, ' in ', currency, ' by ', kind, ' on ', ${day}::text) AS id,
      ${raw(inWords('kept'))} AS stands, ${raw(inWords('posted'))} AS due
    FROM kept FULL JOIN posted USING (account, party_id, currency, kind))
  SELECT (SELECT count(*)::int FROM compared) AS checked,
    ${listed(sql`SELECT id, format('the balance has %s, and the ledger %s', stands, due) AS what
      FROM compared WHERE stands <> due`)} AS differences`;
    return { ...compared, differences: [...unbalanced, ...compared.differences] };
  });
}

async function addUp(trx: Transaction, day: string): Promise<Sums> {
  let page: Sums = { last: FIRST_ID, sums: '[]', unbalanced: [] };
  while (page.last !== null) {
    const { last: after, sums, unbalanced } = page;
    page = await customPlan(trx).oneRow<Sums>`
  WITH page AS MATERIALIZED (
    SELECT id, kind FROM ledger_entries WHERE settlement_day = ${day} AND id > ${after}::bigint ORDER BY id LIMIT ${raw(PAGE)}),
  posted AS MATERIALIZED (
    SELECT p.*, page.kind, CASE direction WHEN 'debit' THEN amount ELSE 0 END AS debit,
      CASE direction WHEN 'credit' THEN amount ELSE 0 END AS credit
    FROM page JOIN ledger_postings p ON p.entry_id = page.id),
  sums AS (
    SELECT account, party_id, currency, kind, sum(count) AS count, sum(debits) AS debits, sum(credits) AS credits
    FROM (SELECT account, party_id, currency::text, kind, count(*) AS count, sum(debit) AS debits, sum(credit) AS credits
          FROM posted GROUP BY 1, 2, 3, 4
          UNION ALL
          SELECT account, party_id, currency, kind, count, debits, credits
          FROM jsonb_populate_recordset(NULL::ledger_folded_balances, ${sums}::jsonb)) AS parts
    GROUP BY 1, 2, 3, 4)
  SELECT (SELECT max(id)::text FROM page) AS last, (SELECT coalesce(jsonb_agg(sums), '[]') FROM sums)::text AS sums,
    ${listed(sql`
      SELECT entry_id::text AS id, format('the entry does not balance: %s %s are left over', sum(credit - debit), currency) AS what
      FROM posted GROUP BY entry_id, currency HAVING sum(credit - debit) <> 0`)} AS unbalanced`;
    page.unbalanced.unshift(...unbalanced);
  }
  return page;
}
