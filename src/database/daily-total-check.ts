import { addDays } from '../domain/calendar';
import { KINDS_OF_REASON } from '../domain/charge';
import type { Movement } from '../domain/books/statement';
import { dayOf, type Compared, type Difference, type Range } from './compared';
import { oneRow, rows, type Database, type Transaction } from './connection';

/**
 * Compares what each party's console shows of a day with what it is made of: the ledger's entries,
 * and the charges that were declined. Each day is read as of one moment, so what settles meanwhile
 * is no difference. In memory are the totals of one day, of all parties.
 */

/** Entries, or declined charges, that one statement adds up. */
const AT_ONCE = 10_000;

/** Of one day. `sums` outgrow a bigint of Postgres. */
interface Stored {
  /** In words: what, whose, in which currency. */
  total: string;
  count: number;
  amount: string;
}

/** By `total`. */
type Totals = Map<string, Movement>;

const NONE: Movement = { count: 0, amount: 0n };

/** What a total is of, as it is shown. */
const named = (what: string, reason: string, partyId: string, currency: string) =>
  `${what} || CASE ${reason} WHEN '' THEN '' ELSE ' (' || ${reason} || ')' END || ' of ' || ${partyId} || ' in ' || ${currency}`;

const ENTRIES = `
  WITH page AS MATERIALIZED (
    SELECT id, kind FROM ledger_entries WHERE settlement_day = :day AND id > :after::bigint ORDER BY id LIMIT ${AT_ONCE}),
  sums AS (
    SELECT page.kind, p.party_id, p.currency, count(*)::int AS count, sum(p.amount)::text AS amount
    FROM page JOIN ledger_postings p ON p.entry_id = page.id
    WHERE page.kind IN ('charge', 'refund', 'refund_return', 'reversal') AND p.account IN ('merchant', 'customer_bank')
    GROUP BY 1, 2, 3),
  totals AS (
    SELECT ${named(`CASE kind WHEN 'charge' THEN 'charged' WHEN 'refund' THEN 'refunded' WHEN 'refund_return' THEN 'returned' ELSE 'reversed' END`, `''`, 'party_id', 'currency')}
      AS total, count, amount FROM sums)
  SELECT (SELECT max(id)::text FROM page) AS last, coalesce((SELECT jsonb_agg(totals) FROM totals), '[]') AS sums`;

/** Longest that a zone sets its clocks back: around midnight, a day has such an hour twice. */
const SET_BACK = `interval '3 hours'`;
const midnight = (day: string) => `((${day})::timestamp AT TIME ZONE :timeZone)`;

const DECLINED = `
  WITH page AS MATERIALIZED (
    SELECT closed_at, id, merchant_id, bank_id, currency, decline_reason, amount FROM billing_requests
    WHERE status = 'declined' AND closed_at >= ${midnight(':day::date')} - ${SET_BACK}
      AND closed_at < ${midnight(':day::date + 1')} + ${SET_BACK}
      AND (closed_at, id) > (split_part(:after, ' ', 1)::timestamptz, split_part(:after, ' ', 2))
    ORDER BY closed_at, id LIMIT ${AT_ONCE}),
  sums AS (
    SELECT party, currency, CASE WHEN decline_reason = ANY (:reasons::text[]) THEN decline_reason ELSE 'other' END AS reason,
      count(*)::int AS count, sum(amount)::text AS amount
    FROM page, unnest(ARRAY[merchant_id, bank_id]) AS party
    WHERE party IS NOT NULL AND ${dayOf('closed_at')} = :day::date
    GROUP BY 1, 2, 3),
  totals AS (SELECT ${named(`'declined'`, 'reason', 'party', 'currency')} AS total, count, amount FROM sums)
  SELECT (SELECT replace(closed_at::text, ' ', 'T') || ' ' || id FROM page ORDER BY closed_at DESC, id DESC LIMIT 1)
      AS last,
    coalesce((SELECT jsonb_agg(totals) FROM totals), '[]') AS sums`;

/** Of each party by its own index: the days of one are few among those of all. */
const KEPT = `
  SELECT ${named('what', 'reason', 'party_id', 'currency')} AS total, sum(count)::int AS count, sum(amount)::text AS amount
  FROM (
    SELECT f.* FROM entities e CROSS JOIN LATERAL (
      SELECT * FROM daily_totals_folded WHERE party_id = e.id AND day = :day) AS f
    UNION ALL
    SELECT * FROM daily_totals_changes WHERE day = :day) AS parts
  GROUP BY what, reason, party_id, currency`;

/** Compares day after day. It only reads, so charges go on. */
export async function* compareDailyTotals(
  db: Database,
  { from, to, timeZone }: Range,
): AsyncGenerator<Compared, void, undefined> {
  let day = await nextDay(db, from ?? '-infinity', to ?? 'infinity', timeZone);
  while (day !== null) {
    yield { check: 'totals', ...(await compareDay(db, day, timeZone)) };
    day = await nextDay(db, addDays(day, 1), to ?? 'infinity', timeZone);
  }
}

/** The first day from one on that anything has moved on, or that there is a total of. */
async function nextDay(db: Database, from: string, to: string, timeZone: string): Promise<string | null> {
  const next = await oneRow<{ day: string | null }>(
    db,
    `SELECT min(day)::text AS day FROM (
       SELECT min(settlement_day) AS day FROM ledger_entries WHERE settlement_day BETWEEN :from AND :to
       UNION ALL
       (SELECT ${dayOf('closed_at')} FROM billing_requests
        WHERE status = 'declined' AND closed_at >= ${midnight(':from::date')} - ${SET_BACK} AND ${dayOf('closed_at')} >= :from::date
        ORDER BY closed_at LIMIT 1)
       UNION ALL
       SELECT min(f.day) FROM entities e CROSS JOIN LATERAL (
         SELECT day FROM daily_totals_folded WHERE party_id = e.id AND day >= :from ORDER BY day LIMIT 1) AS f
       UNION ALL
       SELECT min(day) FROM daily_totals_changes WHERE day >= :from) AS days
     WHERE day <= :to`,
    { from, to, timeZone },
  );
  return next.day;
}

function compareDay(db: Database, day: string, timeZone: string): Promise<Omit<Compared, 'check'>> {
  return db.transaction(async (trx) => {
    await trx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const moved: Totals = new Map();
    // Nobody but its owner can give an entry a number below 1.
    await addPages(trx, moved, ENTRIES, { day }, '-9223372036854775808');
    await addPages(trx, moved, DECLINED, { day, timeZone, reasons: KINDS_OF_REASON }, '-infinity ');
    const kept: Totals = new Map();
    add(kept, await rows<Stored>(trx, KEPT, { day }, 'anew'));
    const totals = new Set([...kept.keys(), ...moved.keys()]);
    const differences: Difference[] = [];
    for (const total of totals) {
      const shown = kept.get(total) ?? NONE;
      const due = moved.get(total) ?? NONE;
      if (shown.count === due.count && shown.amount === due.amount) continue;
      differences.push({
        id: `${total} on ${day}`,
        wrong: 'total_differs',
        declined: total.startsWith('declined '),
        shown,
        due,
      });
    }
    return { checked: totals.size, differences };
  });
}

async function addPages(
  trx: Transaction,
  to: Totals,
  page: string,
  of: Record<string, unknown>,
  first: string,
): Promise<void> {
  let after: string | null = first;
  while (after !== null) {
    const read: { last: string | null; sums: Stored[] } = await oneRow(trx, page, { ...of, after }, 'anew');
    add(to, read.sums);
    after = read.last;
  }
}

function add(to: Totals, more: Stored[]): void {
  for (const { total, count, amount } of more) {
    const before = to.get(total) ?? NONE;
    to.set(total, { count: before.count + count, amount: before.amount + BigInt(amount) });
  }
}
