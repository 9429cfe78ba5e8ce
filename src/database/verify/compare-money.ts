import type { Database } from '../pool/connection';
import { joined, raw, sql, type Fragment } from '../pool/statement';
import { firstIdAt } from '../identifier/new-id';
import { BORNE } from '../reversal/write-off-charge';
import { FEED_HORIZON } from '../webhook/read-event-feed';
import { listed, walk, type Pages } from './read-in-pages';

/**
 * Compares each row of money with its last event, its ledger entries, the bookings that are
 * expected of banks, and the webhooks that tell of its events. A page is one statement, so a row
 * that settles meanwhile is no difference. Pages go by ids, not rows, so that the traces of a
 * deleted row are found.
 */

/** Ids of a page: a tenth of a second of Postgres. */
const PAGE = 5_000;

const moment = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * All rows of money in one form. `kind` is the kind of the entry that a row requires once its money
 * has moved, and `account` the payee's account in that entry. A returned refund requires two
 * entries, and its return has an id of its own.
 */
const ROWS = `
  SELECT id, 'charge' AS kind, amount, currency::text, status, bank_transaction_id, closed_at, NULL AS state, NULL AS resolution,
    bank_id, biller_id AS payee_id, CASE WHEN merchant_id IS NULL THEN 'in_transit' ELSE 'merchant' END AS account,
    credit_settled AS credited
  FROM billing_requests
  UNION ALL
  SELECT id, 'refund', amount, currency, status, bank_transaction_id, closed_at, NULL, NULL, bank_id, merchant_id, 'merchant', false
  FROM refunds
  UNION ALL
  SELECT return_transaction_id, 'refund_return', amount, currency, status, NULL, returned_at, NULL, NULL, bank_id, merchant_id, 'merchant', false
  FROM refunds
  UNION ALL
  SELECT transaction_id, 'reversal', amount, currency, 'completed', bank_transaction_id, created_at, NULL, NULL, bank_id,
    coalesce(merchant_id, payee_bank_id), CASE WHEN merchant_id IS NULL THEN 'payee_bank' ELSE 'merchant' END, false
  FROM reversals
  UNION ALL
  SELECT id, 'exception', NULL, NULL, NULL, NULL, NULL, state, resolution, bank_id, coalesce(merchant_id, payee_bank_id), NULL, false
  FROM reconciliation_exceptions`;

const FACTS = ['amount', 'currency', 'status', 'bankTransactionId', 'closedAt', 'state', 'resolution'];

/** SQL: the facts of a row `r`, and of an event `e`, in the same order. */
const STANDS = `ARRAY[r.amount::text, r.currency, r.status, r.bank_transaction_id, ${moment('r.closed_at')}, r.state, r.resolution]`;
const SAID = `CASE
  WHEN e.type LIKE 'exception.%' THEN array_fill(NULL::text, ARRAY[5])
    || ARRAY[CASE e.type WHEN 'exception.opened' THEN 'open' ELSE substr(e.type, 11) END, e.details->>'resolution']
  ELSE ARRAY[${FACTS.slice(0, 5)
    .map((fact) => `e.details->>'${fact}'`)
    .join(', ')}, NULL, NULL] END`;
const SAYS = `CASE WHEN e.type LIKE 'exception.%' THEN e.type = ANY ('{exception.opened,exception.investigating,exception.resolved}') ELSE e.details ? 'status' END`;

const differing = (facts: string) =>
  raw(`(
  SELECT string_agg(concat(name, ' ', coalesce(fact, 'none')), ', ')
  FROM unnest('{${FACTS.join(',')}}'::text[], stands.facts, said.facts, ${facts}) AS f (name, stands, said, fact)
  WHERE f.stands IS DISTINCT FROM f.said)`);

/** SQL: an entry's postings, in the form of POSTED. */
const posting = (side: string, holder: string) => `'${side}', ' ', amount, ' ', currency, ' ', ${holder}`;
const moves = (from: string, to: string) =>
  `concat(${posting('debit', from)}, ', ', ${posting('credit', to)})`;
const BANK = `'customer_bank ', bank_id`;
const PAYEE = `account, ' ', payee_id`;

const EXPECTED = `
  SELECT id, kind, concat(${moment('closed_at')}, ': ', CASE kind WHEN 'refund' THEN ${moves(PAYEE, BANK)}
    WHEN 'reversal' THEN ${moves(PAYEE, BANK)} ELSE ${moves(BANK, PAYEE)} END) AS says
  FROM r WHERE status IN ('successful', 'completed', 'returned')
  UNION ALL
  -- No row has the time at which the payee's bank was told.
  SELECT id, 'credit', ${moves(`'in_transit ', payee_id`, `'payee_bank ', payee_id`)} FROM r WHERE credited`;

/**
 * SQL: postings of an entry. A reversal credits the network with the part of the bank that it bore,
 * and the bank with the rest. Both count as the bank's here.
 */
const POSTINGS = `CASE e.kind WHEN 'reversal' THEN (
    SELECT string_agg(concat(direction, ' ', amount, ' ', currency, ' ', holder), ', ' ORDER BY direction DESC, holder)
    FROM (SELECT direction, sum(amount) AS amount, currency,
            concat(replace(account, 'disputed', 'customer_bank'), ' ', party_id) AS holder
          FROM ledger_postings WHERE entry_id = e.id GROUP BY direction, currency, holder) AS p)
  ELSE (
    SELECT string_agg(concat(direction, ' ', amount, ' ', currency, ' ', account, ' ', party_id), ', ' ORDER BY direction DESC, n)
    FROM ledger_postings WHERE entry_id = e.id) END`;

/**
 * No row requires a write-off. An exception that ended `written_off`, or a refund that was rejected
 * or returned, allows one. Its limit is the amount that its bank no longer owes. Its contra is all
 * of it, once.
 */
const POSTED = `
  SELECT * FROM (
    SELECT e.resource_id AS id, e.kind, concat(CASE e.kind WHEN 'credit' THEN NULL ELSE ${moment('e.settled_at')} || ': ' END,
      coalesce(${POSTINGS}, 'no postings')) AS says
    FROM ledger_entries e WHERE e.resource_id = ANY(ARRAY(SELECT id FROM ids))) AS e
  WHERE NOT (kind = 'write_off_return' AND EXISTS (
    SELECT FROM ledger_entries w JOIN ledger_postings p ON p.entry_id = w.id AND p.account = 'disputed'
    WHERE w.resource_id = e.id AND w.kind = 'write_off' AND p.direction = 'debit'
      AND e.says LIKE format('%%: debit %1$s %2$s customer_bank %3$s, credit %1$s %2$s disputed %3$s',
        p.amount, p.currency, p.party_id)))
  AND NOT (kind = 'write_off' AND EXISTS (
    SELECT FROM r LEFT JOIN reconciliation_exceptions x ON x.id = r.id, substring(e.says FROM 'debit (\\d+) ') AS debited
    WHERE r.id = e.id AND (r.resolution = 'written_off' OR r.status IN ('rejected', 'returned'))
      AND debited::numeric <= coalesce(r.amount, x.written_off)
      AND e.says LIKE format('%%: debit %1$s %2$s disputed %3$s, credit %1$s %2$s customer_bank %3$s',
        debited, coalesce(r.currency, x.currency), r.bank_id)))`;

/** SQL: charges whose sums differ from their refunds, reversals and write-offs. */
const SUMMED = `
  SELECT b.id, format('its row says refunded %s, reversed %s and written off %s; its parts come to %s, %s and %s',
    b.refunded_amount, b.reversed_amount, b.written_off_amount, s.refunded, s.reversed, s.written_off) AS what
  FROM billing_requests b LEFT JOIN (
    SELECT id, sum(amount) FILTER (WHERE part = 'refunded') AS refunded, sum(amount) FILTER (WHERE part = 'reversed') AS reversed,
      sum(amount) FILTER (WHERE part = 'written off') AS written_off
    FROM (SELECT billing_request_id AS id, amount, CASE WHEN status IN ('pending', 'completed') THEN 'refunded'
              WHEN EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.refund_id = r.id AND x.resolution = 'written_off')
              THEN 'written off' END AS part FROM refunds r
          UNION ALL SELECT billing_request_id, amount, 'reversed' FROM reversals
          UNION ALL SELECT charge, amount, 'written off' FROM (${BORNE}) AS borne) AS parts
    WHERE id = ANY(ARRAY(SELECT id FROM ids)) GROUP BY id) AS p USING (id), LATERAL (
    SELECT coalesce(p.refunded, 0) AS refunded, coalesce(p.reversed, 0) AS reversed,
      -- No more is written off than is left.
      least(b.amount - b.refunded_amount - b.reversed_amount, coalesce(p.written_off, 0)) AS written_off) AS s
  WHERE b.id = ANY(ARRAY(SELECT id FROM ids))
    AND (b.refunded_amount, b.reversed_amount, b.written_off_amount) IS DISTINCT FROM (s.refunded, s.reversed, s.written_off)`;

/** Events with webhooks: the receivers, and the types of what they are told. */
const ANNOUNCED = `
  ('{billing_request.accepted}'::text[], '{bank}'::text[], '{billing.request}'::text[]),
  ('{billing_request.successful,billing_request.declined}', '{payee}', '{billing.response,billing.credit}'),
  ('{billing_request.declined}', '{bank}', '{billing.closed}'),
  ('{billing_request.reversed}', '{payee}', '{billing.reversed}'),
  ('{refund.requested,refund.overdue,refund.reminded}', '{bank}', '{refund.request}'),
  ('{refund.completed,refund.rejected,refund.overdue}', '{payee}', '{refund.response}'),
  ('{refund.returned}', '{payee,bank}', '{refund.returned}'),
  ('{exception.opened}', '{payee,bank}', '{exception.opened}'),
  ('{exception.resolved}', '{payee,bank}', '{exception.resolved}')`;

/** A bank is told of a decline that it did not cause, unless it was never asked. */
const IS_DUE = `(by <> '{billing.closed}' OR e.cause <> 'bank' AND e.sequence > 1)`;

const UNANNOUNCED = `
  SELECT id, format('its event %s (table events) is there, and the webhook %s to %s that tells of it is gone', type, by[1], receiver) AS what
  FROM (
    SELECT r.id, e.id AS event, e.type, e.commit_id, by, CASE side WHEN 'bank' THEN r.bank_id ELSE r.payee_id END AS receiver
    FROM events e JOIN (VALUES ${ANNOUNCED}) AS t (types, sides, by) ON e.type = ANY(types) JOIN r ON r.id = e.resource_id, unnest(sides) AS side
    WHERE e.resource_id = ANY(ARRAY(SELECT id FROM ids)) AND ${IS_DUE} AND e.recorded_at > ${FEED_HORIZON}) AS due
  WHERE receiver IS NOT NULL AND (SELECT true FROM webhook_deliveries d
    WHERE d.commit_id = due.commit_id AND d.entity_id = receiver AND d.webhook_type = ANY(by) AND due.event = ANY(d.tells) LIMIT 1) IS NULL`;

/**
 * SQL: bookings to expect of a charge's banks, by its rows. The parts of a reversal are one
 * booking. No row has the day on which a payee's bank was told.
 */
const BOOKINGS = `
  SELECT id AS charge, NULL AS refund, bank_id, 'bankTransactionId' AS by, bank_transaction_id AS name, 'debit' AS side,
    amount, currency, closed_at AS at
  FROM billing_requests WHERE status = 'successful' AND id = ANY(ARRAY(SELECT id FROM charges))
  UNION ALL
  SELECT id, NULL, payee_bank_id, 'reference', reference, 'credit', amount, currency, NULL
  FROM billing_requests WHERE credit_settled AND id = ANY(ARRAY(SELECT id FROM charges))
  UNION ALL
  SELECT billing_request_id, id, bank_id, 'bankTransactionId', bank_transaction_id, 'credit', amount, currency, closed_at
  FROM refunds WHERE status IN ('completed', 'returned') AND billing_request_id = ANY(ARRAY(SELECT id FROM charges))
  UNION ALL
  SELECT billing_request_id, NULL, bank_id, 'bankTransactionId', bank_transaction_id, 'credit', sum(amount)::bigint,
    currency, NULL
  FROM reversals WHERE bank_transaction_id IS NOT NULL AND billing_request_id = ANY(ARRAY(SELECT id FROM charges))
  GROUP BY billing_request_id, bank_id, bank_transaction_id, currency`;

/** SQL: bookings that are not expected as the rows of their charge say. */
const MISEXPECTED = `
  SELECT coalesce(due.charge, e.billing_request_id) AS id,
    format('its rows ask for the booking %s; the table expected_bookings has %s',
      coalesce(nullif(concat_ws(' ', due.side, due.amount, due.currency, due.name, due.refund, due.at), ''), 'none'),
      coalesce(nullif(concat_ws(' ', e.direction, e.amount, e.currency, e.identifier, e.refund_id, e.settlement_day), ''), 'none')) AS what
  FROM (${BOOKINGS}) AS due
    FULL JOIN (SELECT * FROM expected_bookings WHERE billing_request_id = ANY(ARRAY(SELECT id FROM charges))) AS e
      ON (e.billing_request_id, e.identified_by, e.direction) = (due.charge, due.by, due.side)
        AND e.refund_id IS NOT DISTINCT FROM due.refund
        -- Each reversal has its own; all else of a charge is booked once.
        AND (e.identifier = due.name OR due.refund IS NOT NULL OR due.by = 'reference' OR due.side = 'debit')
  WHERE ((e.bank_id, e.identifier, e.amount, e.currency) = (due.bank_id, due.name, due.amount, due.currency)
    AND e.settlement_day = coalesce((due.at AT TIME ZONE (SELECT time_zone FROM deployment))::date, e.settlement_day)) IS NOT TRUE`;

/** @param page SQL with the ids, as `id`, and the places to go on from, as `place` */
const comparison = (page: Fragment) => sql`
  WITH page AS MATERIALIZED (${page} LIMIT ${raw(PAGE)}),
  ids AS MATERIALIZED (SELECT DISTINCT id FROM page WHERE left(id, 4) IN ('brq_', 'rfd_', 'txn_', 'exc_')),
  r AS MATERIALIZED (SELECT * FROM (${raw(ROWS)}) AS r WHERE id = ANY(ARRAY(SELECT id FROM ids))),
  -- A refund or a reversal may be compared on another day than its charge.
  charges AS MATERIALIZED (
    SELECT id FROM ids
    UNION SELECT billing_request_id FROM refunds WHERE id = ANY(ARRAY(SELECT id FROM ids))
    UNION SELECT billing_request_id FROM reversals WHERE transaction_id = ANY(ARRAY(SELECT id FROM ids))),
  stands AS (SELECT id, ${raw(STANDS)} AS facts FROM r WHERE kind <> 'refund_return'),
  said AS (
    SELECT e.resource_id AS id, ${raw(SAID)} AS facts
    FROM (SELECT DISTINCT ON (e.resource_id) e.* FROM events e WHERE e.resource_id = ANY(ARRAY(SELECT id FROM ids)) AND ${raw(SAYS)}
          ORDER BY e.resource_id, e.sequence DESC) AS e),
  expected AS (${raw(EXPECTED)}),
  posted AS (${raw(POSTED)})
  SELECT (SELECT CASE count(*) WHEN ${raw(PAGE)} THEN max(place) END FROM page) AS last,
    (SELECT count(*)::int FROM r WHERE kind <> 'refund_return') AS checked,
    ${listed(sql`
      SELECT id, CASE
        WHEN stands.facts IS NULL THEN
          format('it was deleted: its last event (table events) says %s, and there is no row', ${differing('said.facts')})
        WHEN said.facts IS NULL THEN
          format('its row says %s, and no event (table events) says that it was made', ${differing('stands.facts')})
        ELSE format('its row says %s, and its last event (table events) says %s', ${differing('stands.facts')}, ${differing('said.facts')})
        END AS what
      FROM stands FULL JOIN said USING (id) WHERE stands.facts IS DISTINCT FROM said.facts
      UNION ALL
      SELECT id, format('its row asks for %s; the ledger has %s',
        coalesce('this ' || kind || ': ' || expected.says, 'no ' || kind), coalesce(posted.says, 'none'))
      FROM expected FULL JOIN posted USING (id, kind) WHERE expected.says IS DISTINCT FROM posted.says
      UNION ALL ${raw(SUMMED)}
      UNION ALL ${raw(UNANNOUNCED)}
      UNION ALL ${raw(MISEXPECTED)}`)} AS differences`;

const between = (column: string, after: string, end: string) =>
  sql`${raw(column)} > ${after} AND ${raw(column)} < ${end}`;

const PLACES = [
  ['id', 'billing_requests'],
  ['id', 'refunds'],
  ['return_transaction_id', 'refunds'],
  ['transaction_id', 'reversals'],
  ['id', 'reconciliation_exceptions'],
  ['resource_id', 'events'],
  ['resource_id', 'ledger_entries'],
  ['billing_request_id', 'expected_bookings'],
] as const;

/** Ids of rows, and ids that only events, entries or expected bookings name. */
function ofIds(after: string, end: string): Fragment {
  const ids = PLACES.map(
    ([id, table]) => sql`(SELECT DISTINCT ${raw(id)} AS id FROM ${raw(table)}
      WHERE ${between(id, after, end)} ORDER BY 1 LIMIT ${raw(PAGE)})`,
  );
  return comparison(sql`SELECT id, id AS place FROM (${joined(ids, ' UNION ')}) AS ids ORDER BY id`);
}

const ofEvents = (after: string, end: string) =>
  comparison(sql`
  SELECT resource_id AS id, e.id AS place FROM events e WHERE ${between('e.id', after, end)} ORDER BY e.id`);

const KINDS = [
  ['charges', 'billingRequest', 'brq_'],
  ['refunds', 'refund', 'rfd_'],
  ['reversals and returns', 'transaction', 'txn_'],
  ['exceptions', 'exception', 'exc_'],
] as const;

/**
 * Compares the rows that were created, or have an event, in a span of time.
 *
 * @param from null for all from the first on; a null `end` for all up to the last
 */
export async function* compareMoney(db: Database, from: Date | null, end: Date | null): Pages {
  for (const [check, kind, prefix] of KINDS) {
    const first = from === null ? prefix : firstIdAt(kind, from);
    const last = end === null ? `${prefix}zz` : firstIdAt(kind, end);
    yield* walk(db, check, (after) => ofIds(after, last), first);
  }
  if (from === null && end === null) return;
  const first = from === null ? '' : firstIdAt('event', from);
  const last = end === null ? 'evt_zz' : firstIdAt('event', end);
  yield* walk(db, 'changed rows', (after) => ofEvents(after, last), first);
}
