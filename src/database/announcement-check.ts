import { comparePages, dayOf, fault, found, onDays, type Compared, type Range } from './compared';
import type { Database } from './connection';
import { NOW, XID } from './operation/why-events';
import { IS_OPEN_INTENT } from './intent/intent';
import { IS_LEFT_UNREVERSED } from './reconciliation-exception/reversal';
import { FEED_HORIZON } from './webhook/event-feed';

/**
 * Compares charges, refunds, intents, schedules and exceptions with the webhooks and exceptions
 * that the same transaction writes. A webhook that was forgotten (`WEBHOOK_KEPT_DAYS`) is not
 * missed.
 */

/** Rows of a page: some ten milliseconds of Postgres. */
const PAGE = 500;

/** Longest that a transaction takes between two of its rows; and twice what clocks differ by. */
const TOGETHER = `interval '1 minute'`;

/** A webhook that was forgotten leaves a receipt. */
const isThere = (deliveryId: string) =>
  `(EXISTS (SELECT FROM webhook_deliveries d WHERE d.id = ${deliveryId})
    OR EXISTS (SELECT FROM webhook_receipts r WHERE r.delivery_id = ${deliveryId}))`;

const SCHEDULE_CHANGES = [
  'active',
  'past_due',
  'paused',
  'resumed',
  'suspended',
  'cancelled',
  'completed',
  'failed',
  'changed',
]
  .map((status) => `'schedule.${status}'`)
  .join(', ');

/** The receivers of the webhooks that tell of an event. */
const ANNOUNCED_TO = `
  SELECT owner_id AS receiver, ARRAY['billing.response', 'billing.credit'] AS webhook_types FROM billing_requests
  WHERE id = page.resource_id AND page.type IN ('billing_request.successful', 'billing_request.declined')
    AND NOT credit_settled
  UNION ALL
  SELECT owner_id, ARRAY['billing.reversed'] FROM billing_requests
  WHERE id = page.resource_id AND page.type = 'billing_request.reversed'
  UNION ALL
  SELECT bank_id, ARRAY['billing.closed'] FROM billing_requests
  WHERE id = page.resource_id AND page.type = 'billing_request.declined' AND page.cause <> 'bank'
    AND decline_reason IS DISTINCT FROM 'limit_reached'
  UNION ALL
  SELECT merchant_id, ARRAY['refund.response'] FROM refunds
  WHERE id = page.resource_id AND page.type IN ('refund.completed', 'refund.rejected', 'refund.overdue')
  UNION ALL
  SELECT side, ARRAY['refund.returned'] FROM refunds r, unnest(ARRAY[r.merchant_id, r.bank_id]) AS side
  WHERE r.id = page.resource_id AND page.type = 'refund.returned'
  UNION ALL
  SELECT merchant_id, ARRAY['billing.intent.response'] FROM intents
  WHERE id = page.resource_id AND page.type IN ('intent.approved', 'intent.declined', 'intent.superseded')
  UNION ALL
  SELECT bank_id, ARRAY['billing.intent.closed'] FROM intents
  WHERE id = page.resource_id AND page.type IN ('intent.declined', 'intent.superseded') AND page.cause <> 'bank'
  UNION ALL
  SELECT side, ARRAY['recurring.updated'] FROM schedules s, unnest(ARRAY[s.merchant_id, s.bank_id]) AS side
  WHERE s.id = page.resource_id AND page.type IN (${SCHEDULE_CHANGES})
  UNION ALL
  SELECT DISTINCT side, ARRAY[page.type]
  FROM reconciliation_exceptions x, unnest(ARRAY[x.bank_id, coalesce(x.merchant_id, x.payee_bank_id)]) AS side
  WHERE x.id = page.resource_id AND page.type IN ('exception.opened', 'exception.resolved') AND x.told > 0
    AND side IS NOT NULL`;

/** A page of a table, of whose rows those of the range are compared. */
const pageOf = (table: string, columns: string) => `
    WITH scope AS MATERIALIZED (SELECT ${columns}, recorded_at FROM ${table} WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))})`;

const PAGES = {
  chargesAnnounced: `
    ${pageOf('billing_requests', 'id, status, closed_by, decline_reason, bank_delivery_id')}
    ${found('max(id)')} (
      SELECT id, ${fault('silence_unnoted')} FROM page
      WHERE closed_by = 'network' AND decline_reason = 'expired'
        AND NOT EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.billing_request_id = page.id)
      UNION ALL
      SELECT id, ${fault('question_lost')} FROM page
      WHERE status = 'pending' AND bank_delivery_id IS NOT NULL AND NOT ${isThere('page.bank_delivery_id')}
      UNION ALL
      SELECT page.id, ${fault('reversal_lacking')} FROM page JOIN billing_requests b ON b.id = page.id
      WHERE ${IS_LEFT_UNREVERSED}) AS d (id, wrong, facts)`,
  refundsAnnounced: `
    ${pageOf('refunds', 'id, status, bank_delivery_ids[cardinality(bank_delivery_ids)] AS asked_by')}
    ${found('max(id)')} (
      SELECT id, ${fault('question_lost')} FROM page
      WHERE status = 'pending' AND asked_by IS NOT NULL AND NOT ${isThere('page.asked_by')}) AS d (id, wrong, facts)`,
  intentsAnnounced: `
    ${pageOf('intents', 'id, status, bank_delivery_id, merchant_id, expires_at')}
    ${found('max(id)')} (
      SELECT id, ${fault('question_lost')} FROM page AS i
      WHERE ${IS_OPEN_INTENT} AND bank_delivery_id IS NOT NULL AND NOT ${isThere('i.bank_delivery_id')}) AS d (id, wrong, facts)`,
  exceptionsAnnounced: `
    ${pageOf('reconciliation_exceptions', 'id, state, told')}
    ${found('max(id)')} (
      SELECT id, ${fault('exception_untold')} FROM page WHERE state <> 'resolved' AND told = 0) AS d (id, wrong, facts)`,
  // The transaction that records an event writes the webhooks that tell of it, so both have its id.
  // A restored database has other ids of transactions; there (3) the moment decides.
  eventsAnnounced: `
    ${pageOf(`${NOW}, events e`, `id, resource_id, type, cause, ${XID} AS xid`)},
    due AS (
      SELECT page.*, t.receiver, t.webhook_types FROM page, LATERAL (${ANNOUNCED_TO}) AS t
      WHERE page.recorded_at > ${FEED_HORIZON})
    ${found('max(id)')} (
      SELECT resource_id, ${fault('untold', { webhookType: 'webhook_types[1]', receiverId: 'receiver', event: 'type' })}
      FROM due
      WHERE NOT EXISTS (
          SELECT FROM webhook_deliveries d
          WHERE d.entity_id = receiver AND d.created_xid = due.xid::xid8 AND d.webhook_type = ANY (webhook_types))
        AND NOT EXISTS (
          SELECT FROM webhook_deliveries d
          WHERE d.entity_id = receiver AND d.created_xid = '3' AND d.webhook_type = ANY (webhook_types)
            AND d.created_at BETWEEN due.recorded_at - ${TOGETHER} AND due.recorded_at + ${TOGETHER})) AS d (id, wrong, facts)`,
};

/** Compares all there is, or what was written down on some days, page by page. */
export async function* compareAnnouncements(
  db: Database,
  range: Range,
): AsyncGenerator<Compared, void, undefined> {
  for (const check of Object.keys(PAGES) as (keyof typeof PAGES)[]) {
    yield* comparePages(db, check, PAGES[check], range);
  }
}
