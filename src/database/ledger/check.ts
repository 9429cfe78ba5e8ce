import type { Difference, Page } from '../compared';
import { oneRow, type Database, type Transaction } from '../connection';
import { ENTRIES_OF } from '../money-rows';
import { FIRST_ID } from './entry';

/**
 * Compares the ledger with itself, day by day: each entry balances and is of something, and each
 * balance is the sum of the postings. A day is read as of one moment, so what settles meanwhile is
 * no difference. In memory are as many sums as accounts were posted to that day.
 */

/** Entries whose postings one statement adds up: a tenth of a second of Postgres. */
const PAGE = 20_000;

/** @param after the day to begin after; null for the first */
export async function* compareBalances(
  db: Database,
  after: string | null,
  until = 'infinity',
): AsyncGenerator<Page, void, undefined> {
  let day = await nextDay(db, after ?? '-infinity', until);
  while (day !== null) {
    const compared = await compareDay(db, day);
    yield { check: 'balances', ...compared, next: day };
    day = await nextDay(db, day, until);
  }
}

/** The next day that anything was posted on, or that there is a balance of. */
async function nextDay(db: Database, after: string, until: string): Promise<string | null> {
  const next = await oneRow<{ day: string | null }>(
    db,
    `SELECT least((SELECT min(settlement_day) FROM ledger_entries WHERE settlement_day > :after AND settlement_day <= :until),
       (SELECT min(day) FROM ledger_folded_balances WHERE day > :after AND day <= :until),
       (SELECT min(day) FROM ledger_balance_changes WHERE day > :after AND day <= :until))::text AS day`,
    { after, until },
    'anew',
  );
  return next.day;
}

/** How many postings, their debits and credits. */
type Totals = [count: bigint, debits: bigint, credits: bigint];

interface Sums {
  /** With the kind of its entries. */
  account: string;
  totals: string[];
}

const ACCOUNT = `concat(account, ' of ', party_id, ' in ', currency, ' by ', kind)`;

const POSTED = `
  WITH page AS MATERIALIZED (
    SELECT id, kind, resource_id FROM ledger_entries WHERE settlement_day = :day AND id > :after::bigint ORDER BY id LIMIT ${PAGE}),
  posted AS MATERIALIZED (SELECT p.*, page.kind FROM page JOIN ledger_postings p ON p.entry_id = page.id),
  sums AS (
    SELECT ${ACCOUNT} AS account, ARRAY[count(*), coalesce(sum(amount) FILTER (WHERE direction = 'debit'), 0),
      coalesce(sum(amount) FILTER (WHERE direction = 'credit'), 0)]::text[] AS totals
    FROM posted GROUP BY account, party_id, currency, kind),
  wrong AS (
    SELECT entry_id::text AS id, format('the entry does not balance: %s %s are left over', rest, currency) AS what
    FROM (SELECT entry_id, currency, sum(CASE direction WHEN 'debit' THEN -amount ELSE amount END) AS rest
          FROM posted GROUP BY entry_id, currency) AS rests WHERE rest <> 0
    UNION ALL
    SELECT id::text, format('the entry is a %s of %s, which is nothing of that kind', kind, resource_id) FROM page
    WHERE (kind, left(resource_id, 4)) NOT IN (${ENTRIES_OF.map(([kind, prefix]) => `('${kind}', '${prefix}')`).join(', ')}))
  SELECT (SELECT max(id)::text FROM page) AS last, coalesce((SELECT jsonb_agg(sums) FROM sums), '[]') AS sums,
    coalesce((SELECT jsonb_agg(wrong) FROM wrong), '[]') AS wrong`;

const KEPT = `
  SELECT coalesce(jsonb_agg(b), '[]') AS sums FROM (
    SELECT ${ACCOUNT} AS account, ARRAY[count, debits, credits]::text[] AS totals
    FROM ledger_balances WHERE day = :day) AS b`;

function compareDay(db: Database, day: string): Promise<{ checked: number; differences: Difference[] }> {
  return db.transaction(async (trx) => {
    await trx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { sums: posted, wrong: differences } = await postedOn(trx, day);
    const { sums } = await oneRow<{ sums: Sums[] }>(trx, KEPT, { day }, 'anew');
    const kept = new Map(sums.map(({ account, totals }) => [account, totalsOf(totals)]));
    const accounts = new Set([...kept.keys(), ...posted.keys()]);
    for (const account of accounts) {
      const [stands, due] = [inWords(kept.get(account)), inWords(posted.get(account))];
      if (stands === due) continue;
      differences.push({
        id: `${account} on ${day}`,
        what: `the balance has ${stands}, and the ledger ${due}`,
      });
    }
    return { checked: accounts.size, differences };
  });
}

async function postedOn(
  trx: Transaction,
  day: string,
): Promise<{ sums: Map<string, Totals>; wrong: Difference[] }> {
  const sums = new Map<string, Totals>();
  const wrong: Difference[] = [];
  let after: string | null = FIRST_ID;
  while (after !== null) {
    const page: { last: string | null; sums: Sums[]; wrong: Difference[] } = await oneRow(
      trx,
      POSTED,
      { day, after },
      'anew',
    );
    for (const { account, totals } of page.sums) {
      const [count, debits, credits] = totalsOf(totals);
      const before = sums.get(account) ?? NONE;
      sums.set(account, [before[0] + count, before[1] + debits, before[2] + credits]);
    }
    wrong.push(...page.wrong);
    after = page.last;
  }
  return { sums, wrong };
}

const NONE: Totals = [0n, 0n, 0n];

const totalsOf = ([count = '0', debits = '0', credits = '0']: string[]): Totals => [
  BigInt(count),
  BigInt(debits),
  BigInt(credits),
];

const inWords = ([count, debits, credits] = NONE) =>
  `${count} postings with debits of ${debits} and credits of ${credits}`;
