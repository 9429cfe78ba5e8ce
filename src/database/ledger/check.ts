import { addDays } from '../../domain/calendar';
import {
  comparePages,
  dayOf,
  fault,
  found,
  isWhole,
  onDays,
  type Compared,
  type Difference,
  type Range,
} from '../compared';
import { oneRow, rows, type Database, type Transaction } from '../connection';
import { LET_OFF } from '../reconciliation-exception/reversal';
import { FIRST_ID } from './entry';
import { borneOf } from './settlement';

/**
 * Compares the ledger with itself and with the rows beside it. Each page is one statement, and so
 * sees rows and postings as of one moment: what settles meanwhile is no difference.
 */

/** Rows of a page: a tenth of a second of Postgres, or less. */
const PAGE = 1_000;

/** Longer than a statement that posts takes from reading its clock to writing the entry. */
const POSTED_WITHIN = '5 minutes';

/** Pages by id, of what is compared with what the ledger says of it; and of the ledger itself. */
const PAGES = {
  charges: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, amount::bigint, currency::text, bank_id, merchant_id, owner_id, credit_settled, refunded_amount,
        reversed_amount,
        date_trunc('milliseconds', closed_at) AS closed_at
      FROM billing_requests WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('closed_at'))}),
    expected AS (
      SELECT id, 'charge' AS kind, closed_at, amount, currency, 'debit' AS direction, bank_id AS party,
        'customer_bank' AS account
      FROM page WHERE status = 'successful'
      UNION ALL
      SELECT id, 'charge', closed_at, amount, currency, 'credit', owner_id,
        CASE WHEN merchant_id IS NULL THEN 'in_transit' ELSE 'merchant' END
      FROM page WHERE status = 'successful'
      -- When the payee's bank was told is on no row.
      UNION ALL
      SELECT id, 'credit', NULL, amount, currency, 'debit', owner_id, 'in_transit' FROM page WHERE credit_settled
      UNION ALL
      SELECT id, 'credit', NULL, amount, currency, 'credit', owner_id, 'payee_bank' FROM page WHERE credit_settled),
    posted AS (
      SELECT e.resource_id AS id, e.kind, CASE e.kind WHEN 'charge' THEN e.settled_at END AS closed_at, p.amount::bigint,
        p.currency::text, p.direction, p.party_id AS party, p.account
      FROM page JOIN ledger_entries e ON e.resource_id = page.id JOIN ledger_postings p ON p.entry_id = e.id
      WHERE e.kind IN ('charge', 'credit')),
    refunded AS (
      SELECT page.id, page.refunded_amount AS amount, coalesce(sum(CASE
        WHEN r.status = 'pending' THEN r.amount
        ELSE (SELECT sum(CASE e.kind WHEN 'refund' THEN p.amount ELSE -p.amount END)
              FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.direction = 'debit'
              WHERE (e.resource_id, e.kind) IN ((r.id, 'refund'), (r.return_transaction_id, 'refund_return'))) END), 0) AS known
      FROM page LEFT JOIN refunds r ON r.billing_request_id = page.id
      WHERE page.status = 'successful' GROUP BY page.id, page.refunded_amount),
    reversed AS (
      SELECT page.id, page.reversed_amount AS amount, coalesce(sum(
        (SELECT sum(p.amount) FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.direction = 'debit'
         WHERE e.resource_id = v.transaction_id AND e.kind = 'reversal')), 0) AS known
      FROM page LEFT JOIN reversals v ON v.billing_request_id = page.id
      WHERE page.status = 'successful' GROUP BY page.id, page.reversed_amount),
    let_off AS (
      SELECT b.id, b.amount - b.refunded_amount - b.reversed_amount AS rest, max(${LET_OFF}) AS amount
      FROM page AS b JOIN reconciliation_exceptions x ON x.billing_request_id = b.id
      WHERE b.status = 'successful' AND x.resolution = 'written_off'
      GROUP BY b.id, b.amount, b.refunded_amount, b.reversed_amount),
    written_off AS (
      SELECT id, rest, let_off.amount, coalesce(borne.written_off, 0) AS known
      FROM let_off LEFT JOIN (${borneOf('SELECT id FROM let_off')}) AS borne ON borne.charge = id)
    ${found('max(id)')} (
      SELECT DISTINCT id, ${fault('entry_missing', { kind: 'kind' })}
      FROM (SELECT * FROM expected EXCEPT ALL SELECT * FROM posted) AS missing
      UNION ALL
      SELECT DISTINCT id, ${fault('unexpected_entry', { kind: 'kind' })}
      FROM (SELECT * FROM posted EXCEPT ALL SELECT * FROM expected) AS unexpected
      WHERE NOT EXISTS (SELECT FROM expected x WHERE x.id = unexpected.id AND x.kind = unexpected.kind)
      UNION ALL
      SELECT id, ${fault('refunded_differs', { amount: 'amount', known: 'known' })} FROM refunded WHERE amount <> known
      UNION ALL
      SELECT id, ${fault('reversed_differs', { amount: 'amount', known: 'known' })} FROM reversed WHERE amount <> known
      UNION ALL
      SELECT id, ${fault('borne_differs', { amount: 'amount', known: 'known' })}
      -- What is refunded or reversed later comes on top of it.
      FROM written_off WHERE known < least(amount, rest) OR known > amount) AS d (id, wrong, facts)`,
  refunds: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, amount::bigint, currency::text, bank_id, merchant_id, return_transaction_id,
        date_trunc('milliseconds', closed_at) AS closed_at, date_trunc('milliseconds', returned_at) AS returned_at
      FROM refunds WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('closed_at'))}),
    expected AS (
      SELECT id, 'refund' AS kind, closed_at AS at, amount, currency, 'debit' AS direction, merchant_id AS party, 'merchant' AS account
      FROM page WHERE status IN ('completed', 'returned')
      UNION ALL
      SELECT id, 'refund', closed_at, amount, currency, 'credit', bank_id, 'customer_bank'
      FROM page WHERE status IN ('completed', 'returned')
      UNION ALL
      SELECT id, 'refund_return', returned_at, amount, currency, 'debit', bank_id, 'customer_bank'
      FROM page WHERE status = 'returned'
      UNION ALL
      SELECT id, 'refund_return', returned_at, amount, currency, 'credit', merchant_id, 'merchant'
      FROM page WHERE status = 'returned'),
    posted AS (
      SELECT page.id, e.kind, e.settled_at AS at, p.amount::bigint, p.currency::text, p.direction, p.party_id AS party, p.account
      FROM page JOIN ledger_entries e
          ON (e.resource_id, e.kind) IN ((page.id, 'refund'), (page.return_transaction_id, 'refund_return'))
        JOIN ledger_postings p ON p.entry_id = e.id)
    ${found('max(id)')} (
      SELECT DISTINCT id, ${fault('entry_missing', { kind: 'kind' })}
      FROM (SELECT * FROM expected EXCEPT ALL SELECT * FROM posted) AS missing
      UNION ALL
      SELECT DISTINCT id, ${fault('unexpected_entry', { kind: 'kind' })}
      FROM (SELECT * FROM posted EXCEPT ALL SELECT * FROM expected) AS unexpected
      WHERE NOT EXISTS (SELECT FROM expected x WHERE x.id = unexpected.id AND x.kind = unexpected.kind)) AS d (id, wrong, facts)`,
  reversals: `
    WITH scope AS MATERIALIZED (
      SELECT transaction_id AS id, billing_request_id, amount::bigint, currency::text, bank_id, coalesce(merchant_id, payee_bank_id) AS payee_id,
        CASE WHEN merchant_id IS NULL THEN 'payee_bank' ELSE 'merchant' END AS payee, date_trunc('milliseconds', created_at) AS at
      FROM reversals WHERE transaction_id > :after ORDER BY transaction_id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('at'))}),
    expected AS (
      SELECT id, at, amount, currency, 'debit' AS direction, payee_id AS party, payee AS account FROM page
      UNION ALL
      SELECT id, at, amount, currency, 'credit', bank_id, 'customer_bank' FROM page),
    -- What the network had borne of it goes back to the network.
    posted AS (
      SELECT page.id, e.settled_at AS at, sum(p.amount)::bigint AS amount, p.currency::text, p.direction, p.party_id AS party,
        CASE p.account WHEN 'disputed' THEN 'customer_bank' ELSE p.account END AS account
      FROM page JOIN ledger_entries e ON e.resource_id = page.id JOIN ledger_postings p ON p.entry_id = e.id
      GROUP BY page.id, e.settled_at, p.currency, p.direction, p.party_id, 7),
    borne AS (
      SELECT page.id, coalesce(sum(CASE p.direction WHEN 'debit' THEN p.amount ELSE -p.amount END), 0) AS rest
      FROM page JOIN ledger_entries e ON e.resource_id IN (
          SELECT x.id FROM reconciliation_exceptions x WHERE x.billing_request_id = page.billing_request_id
          UNION ALL SELECT r.id FROM refunds r WHERE r.billing_request_id = page.billing_request_id
          UNION ALL SELECT v.transaction_id FROM reversals v WHERE v.billing_request_id = page.billing_request_id)
        JOIN ledger_postings p ON p.entry_id = e.id AND p.account = 'disputed'
      GROUP BY page.id)
    ${found('max(id)')} (
      SELECT DISTINCT id, ${fault('reversal_differs')}
      FROM ((SELECT * FROM expected EXCEPT ALL SELECT * FROM posted)
            UNION ALL (SELECT * FROM posted EXCEPT ALL SELECT * FROM expected)) AS differing
      UNION ALL
      SELECT id, ${fault('reversed_too_much')} FROM borne WHERE rest < 0) AS d (id, wrong, facts)`,
  // What is pending counts as well, and has no entry yet.
  agreements: `
    WITH scope AS MATERIALIZED (
      SELECT id, customer_id, spent_day, spent_day_total, spent_month, spent_month_total
      FROM agreements WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope),
    counted AS (
      SELECT page.*, known.of_day, known.of_month FROM page, LATERAL (
        SELECT coalesce(sum(c.amount) FILTER (WHERE c.counted_day = page.spent_day), 0) AS of_day,
          coalesce(sum(c.amount) FILTER (WHERE c.counted_month = page.spent_month), 0) AS of_month
        FROM (SELECT b.counted_day, b.counted_month, CASE b.status WHEN 'pending' THEN b.amount ELSE
                (SELECT sum(p.amount) FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.direction = 'debit'
                 WHERE e.resource_id = b.id AND e.kind = 'charge') END AS amount
              FROM billing_requests b
              WHERE b.customer_id = page.customer_id AND b.agreement_id = page.id AND b.status <> 'declined'
                AND (b.counted_day = page.spent_day OR b.counted_month = page.spent_month)) AS c) AS known)
    ${found('max(id)')} (
      SELECT id, ${fault('spent_day_differs', { of: 'spent_day', total: 'spent_day_total', known: 'of_day' })} FROM counted WHERE spent_day_total <> of_day
      UNION ALL
      SELECT id, ${fault('spent_month_differs', { of: 'spent_month', total: 'spent_month_total', known: 'of_month' })} FROM counted WHERE spent_month_total <> of_month) AS d (id, wrong, facts)`,
  // The database refuses all of it, but for its owner.
  entries: `
    WITH scope AS MATERIALIZED (
      SELECT id, kind, resource_id, settled_at, settlement_day, belongs_to, recorded_at, ${dayOf('recorded_at')} AS recorded_day
      FROM ledger_entries WHERE id > :after::bigint ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays('settlement_day')}),
    dated AS (
      SELECT page.*, coalesce(belongs_to, settlement_day) AS own_day, ${dayOf('settled_at')} AS day_of_moment FROM page),
    done AS (
      SELECT page.*, act.month, act.action, act.recorded_at AS done_at
      FROM page, LATERAL (
        SELECT a.after->>'month' AS month, a.action, a.recorded_at FROM audit_events a
        WHERE a.action IN ('period.closed', 'period.reopened') AND a.after->>'month' = to_char(settlement_day, 'YYYY-MM')
          AND a.recorded_at < page.recorded_at
        ORDER BY a.id DESC LIMIT 1) AS act),
    sums AS (
      SELECT page.id, p.currency, sum(CASE p.direction WHEN 'debit' THEN -p.amount ELSE p.amount END) AS rest, count(p.n) AS n
      FROM page LEFT JOIN ledger_postings p ON p.entry_id = page.id GROUP BY page.id, p.currency)
    ${found('max(id)::text')} (
      SELECT id::text, ${fault('no_postings')} FROM sums WHERE n = 0
      UNION ALL
      SELECT id::text, ${fault('imbalance', { rest: 'rest', currency: 'currency' })} FROM sums WHERE n <> 0 AND rest <> 0
      UNION ALL
      SELECT id::text, ${fault('of_nothing', { kind: 'kind', resourceId: 'resource_id' })} FROM page
      WHERE CASE WHEN kind IN ('charge', 'credit') THEN NOT EXISTS (SELECT FROM billing_requests b WHERE b.id = resource_id)
                 WHEN kind = 'refund' THEN NOT EXISTS (SELECT FROM refunds r WHERE r.id = resource_id)
                 WHEN kind = 'refund_return' THEN NOT EXISTS (SELECT FROM refunds r WHERE r.return_transaction_id = resource_id)
                 WHEN kind = 'reversal' THEN NOT EXISTS (SELECT FROM reversals v WHERE v.transaction_id = resource_id)
                 ELSE NOT EXISTS (SELECT FROM reconciliation_exceptions x
                                  WHERE x.id = resource_id AND x.resolution = 'written_off')
                   AND NOT EXISTS (SELECT FROM refunds r WHERE r.id = resource_id AND r.status IN ('rejected', 'returned')) END
      UNION ALL
      -- Its bank is let off by the network, of a charge that it was to pay.
      SELECT page.id::text, ${fault('other_write_off', { resourceId: 'resource_id' })} FROM page
      WHERE kind = 'write_off' AND (SELECT array_agg(ROW(p.direction, p.account, p.party_id, p.currency)::text ORDER BY p.direction)
          FROM ledger_postings p WHERE p.entry_id = page.id) IS DISTINCT FROM (
        SELECT ARRAY[ROW('credit', 'customer_bank', b.bank_id, b.currency)::text, ROW('debit', 'disputed', b.bank_id, b.currency)::text]
        FROM billing_requests b WHERE b.status = 'successful' AND b.id = coalesce(
          (SELECT x.billing_request_id FROM reconciliation_exceptions x WHERE x.id = resource_id),
          (SELECT r.billing_request_id FROM refunds r WHERE r.id = resource_id)))
      UNION ALL
      SELECT id::text, ${fault('written_when_closed', { day: 'settlement_day', recordedAt: 'recorded_at', month: 'month', closedAt: 'done_at' })}
      FROM done WHERE action = 'period.closed'
      UNION ALL
      SELECT id::text, ${fault('other_day', { day: 'own_day', settledAt: 'settled_at', due: 'day_of_moment' })}
      FROM dated WHERE own_day <> day_of_moment
      UNION ALL
      -- It is that of its owner's clock, which at most runs ahead, and in production is real time.
      SELECT id::text, ${fault('other_late_day', { day: 'settlement_day', belongsTo: 'belongs_to', recordedAt: 'recorded_at' })}
      FROM dated WHERE belongs_to IS NOT NULL AND (settlement_day < ${dayOf(`(recorded_at - interval '${POSTED_WITHIN}')`)}
        OR (settlement_day > recorded_day AND (SELECT mode FROM deployment) = 'production'))) AS d (id, wrong, facts)`,
};

/** Compares all there is, or some days of it, page by page. It only reads, so charges go on. */
export async function* compareLedger(db: Database, range: Range): AsyncGenerator<Compared, void, undefined> {
  const { from, to } = range;
  for (const check of Object.keys(PAGES) as (keyof typeof PAGES)[]) {
    // What was spent has no day that is over.
    if (check === 'agreements' && !isWhole(range)) continue;
    yield* comparePages(db, check, PAGES[check], range, check === 'entries' ? FIRST_ID : '');
  }
  const until = to ?? 'infinity';
  let day = await nextDay(db, from === null ? '-infinity' : addDays(from, -1), until);
  while (day !== null) {
    yield { check: 'balances', ...(await compareDay(db, day)) };
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
  );
  return next.day;
}

interface Sums {
  account: string;
  count: string;
  debits: string;
  credits: string;
}

/** How many postings, their debits and credits. */
type Totals = [bigint, bigint, bigint];

const NONE: Totals = [0n, 0n, 0n];

/** Of postings or balances `p`, and the kind of their entries. */
const ACCOUNT = `p.account || ' of ' || p.party_id || ' in ' || p.currency || ' by ' || kind`;

/** Entries whose postings one statement adds up. */
const ENTRIES_AT_ONCE = 10_000;

/**
 * The sums of a day's postings and its balances, as of one moment. In memory are as many as
 * accounts were posted to that day.
 */
function compareDay(db: Database, day: string): Promise<Omit<Compared, 'check'>> {
  return db.transaction(async (trx) => {
    await trx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const posted = await sumsOfDay(trx, day);
    const kept = await rows<Sums>(
      trx,
      `SELECT ${ACCOUNT} AS account, count::text, debits::text, credits::text
       FROM ledger_balances AS p WHERE day = :day`,
      { day },
    );
    const differences: Difference[] = [];
    const differ = (account: string, [count, debits, credits]: Totals, balance: Totals) => {
      if (count === balance[0] && debits === balance[1] && credits === balance[2]) return;
      differences.push({
        id: `${account} on ${day}`,
        wrong: 'balance_differs',
        balance: { count: balance[0], debits: balance[1], credits: balance[2] },
        posted: { count, debits, credits },
      });
    };
    for (const { account, count, debits, credits } of kept) {
      differ(account, posted.get(account) ?? NONE, [BigInt(count), BigInt(debits), BigInt(credits)]);
      posted.delete(account);
    }
    const checked = kept.length + posted.size;
    for (const [account, sums] of posted) differ(account, sums, NONE);
    return { checked, differences };
  });
}

async function sumsOfDay(trx: Transaction, day: string): Promise<Map<string, Totals>> {
  const sums = new Map<string, Totals>();
  let after: string | null = FIRST_ID;
  while (after !== null) {
    const page: { last: string | null; sums: Sums[] } = await oneRow(
      trx,
      `WITH page AS MATERIALIZED (
         SELECT id, kind FROM ledger_entries WHERE settlement_day = :day AND id > :after::bigint ORDER BY id
         LIMIT ${ENTRIES_AT_ONCE}),
       sums AS (
         SELECT ${ACCOUNT} AS account, count(*)::text AS count,
           coalesce(sum(p.amount) FILTER (WHERE p.direction = 'debit'), 0)::text AS debits,
           coalesce(sum(p.amount) FILTER (WHERE p.direction = 'credit'), 0)::text AS credits
         FROM page JOIN ledger_postings p ON p.entry_id = page.id GROUP BY 1)
       SELECT (SELECT max(id)::text FROM page) AS last, coalesce((SELECT jsonb_agg(sums) FROM sums), '[]') AS sums`,
      { day, after },
    );
    for (const { account, ...more } of page.sums) {
      const [count, debits, credits] = sums.get(account) ?? NONE;
      sums.set(account, [
        count + BigInt(more.count),
        debits + BigInt(more.debits),
        credits + BigInt(more.credits),
      ]);
    }
    after = page.last;
  }
  return sums;
}
