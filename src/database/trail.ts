import { comparePages, dayOf, found, onDays, type Compared, type Range } from './compared';
import type { Database } from './connection';
import { hasNoRow } from './resource';

/**
 * Compares rows of charges, refunds and exceptions with the trail of their transitions: how many
 * there were, where they have led to, and whether what the window decides was decided in it.
 */

/** Rows of a page: a tenth of a second of Postgres, or less. */
const PAGE = 1_000;

/** Of each row of a page: its transitions, counted, and those of them that end it. */
const trailOf = (ends: string[]) => `
    trail AS (
      SELECT page.id, count(e.id)::int AS transitions, coalesce(max(e.sequence), 0) AS latest,
        coalesce(string_agg(e.type, ', ' ORDER BY e.sequence) FILTER (WHERE e.type IN (${ends.map((one) => `'${one}'`).join(', ')})), '')
          AS ended
      FROM page LEFT JOIN events e ON e.resource_id = page.id GROUP BY page.id)`;

const COUNTED = `
      SELECT page.id, format('its row counts %s transitions, and its trail has %s, numbered up to %s', page.sequence,
        trail.transitions, trail.latest) AS what
      FROM page JOIN trail USING (id) WHERE (page.sequence, page.sequence) <> (trail.transitions, trail.latest)`;

const ended = (status: string, open: string) => `
      SELECT page.id, format('its row says that it is %s, and its trail that it ended by: %s', ${status}, coalesce(nullif(trail.ended, ''), 'nothing'))
      FROM page JOIN trail USING (id) WHERE trail.ended <> ${open}`;

const PAGES = {
  chargeTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, sequence, closed_by, decline_reason, closed_at, expires_at, recorded_at, held_amount
      FROM billing_requests WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(['billing_request.successful', 'billing_request.declined'])},
    held AS (
      SELECT page.id, page.held_amount AS amount, coalesce(sum(x.held), 0) AS known
      FROM page LEFT JOIN reconciliation_exceptions x ON x.billing_request_id = page.id GROUP BY page.id, page.held_amount)
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'pending' THEN '' ELSE 'billing_request.' || page.status END`)}
      UNION ALL
      SELECT id, format('its bank has ended it at %s, after its window, which ended at %s', closed_at, expires_at)
      FROM page WHERE closed_by = 'bank' AND closed_at >= expires_at
      UNION ALL
      SELECT id, format('it was closed for its window at %s, which ended at %s', closed_at, expires_at)
      FROM page WHERE decline_reason IN ('expired', 'not_delivered') AND closed_by = 'network' AND closed_at < expires_at
      UNION ALL
      SELECT id, format('held_amount is %s, and its exceptions hold %s', amount, known) FROM held WHERE amount <> known) AS d (id, what)`,
  refundTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, status, sequence, recorded_at FROM refunds WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(['refund.completed', 'refund.rejected'])}
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'pending' THEN '' ELSE 'refund.' || page.status END`)}) AS d (id, what)`,
  exceptionTrails: `
    WITH scope AS MATERIALIZED (
      SELECT id, state AS status, kind, resolution, amount, currency, sequence, recorded_at
      FROM reconciliation_exceptions WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))}),
    ${trailOf(['exception.resolved'])},
    said AS (
      SELECT page.id, e.details->>'kind' AS kind, e.details->>'amount' AS amount, e.details->>'currency' AS currency,
        e.details->>'resolution' AS resolution
      FROM page, LATERAL (SELECT jsonb_object_agg(key, value ORDER BY e.sequence) AS details
        FROM events e, jsonb_each(e.details) AS field (key, value) WHERE e.resource_id = page.id) AS e)
    ${found('max(id)')} (
      ${COUNTED}
      UNION ALL
      ${ended('page.status', `CASE page.status WHEN 'resolved' THEN 'exception.resolved' ELSE '' END`)}
      UNION ALL
      SELECT page.id, format('its row says %s of %s %s, %s, and its trail %s of %s %s, %s', page.kind, page.amount, page.currency,
        coalesce(page.resolution, 'not resolved'), said.kind, said.amount, said.currency, coalesce(said.resolution, 'not resolved'))
      FROM page JOIN said USING (id)
      WHERE page.kind <> said.kind OR page.amount::text <> said.amount OR page.currency <> said.currency
        OR page.resolution <> said.resolution) AS d (id, what)`,
  // What was taken away with all that it was compared by.
  trails: `
    WITH scope AS MATERIALIZED (
      SELECT id, resource_id, recorded_at FROM events WHERE id > :after ORDER BY id LIMIT ${PAGE}),
    page AS (SELECT * FROM scope WHERE ${onDays(dayOf('recorded_at'))})
    ${found('max(id)')} (
      SELECT DISTINCT resource_id AS id, 'it has a trail, and is there no more: its row was deleted' AS what FROM page
      WHERE ${hasNoRow('resource_id', ['brq_', 'rfd_', 'exc_', 'int_', 'sch_', 'agr_'])}) AS d (id, what)`,
};

/** Compares all there is, or what was written down on some days, page by page. */
export async function* compareTrails(db: Database, range: Range): AsyncGenerator<Compared, void, undefined> {
  for (const [check, sql] of Object.entries(PAGES)) yield* comparePages(db, check, sql, range);
}
