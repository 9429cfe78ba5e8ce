import { oneRow, rows, type Executor } from '../connection';
import type { Keyring } from '../keys/keyring';
import { hasNoRow } from '../resource';
import { readBodies, type SealedBody } from '../webhook/body';
import { FEED_HORIZON } from '../webhook/event-feed';
import { NOW, XID } from './why-events';
import { idsInBody, itemsInBody, type AnnouncedItem } from './why-subject';

/**
 * Whether those who are told of a change of a charge, a refund, an intent, a schedule or an
 * exception were told of it; and whether what a webhook tells of is there. Who billed a charge is
 * looked for with the announcements of its end.
 *
 * The transaction that records a change writes the webhooks that tell of it, so they carry one
 * transaction id (xid). After a restore they do not: then the ids in the bodies decide.
 */

/** Longest that a transaction takes between two of its rows; and twice what clocks differ by. */
export const TOGETHER = `interval '1 minute'`;

/** A change that somebody was to be told of, and by what. */
export interface Unannounced {
  resourceId: string;
  /** Of the change, among those of its resource. */
  sequence: number;
  /** As it is on record. */
  type: string;
  cause: 'merchant' | 'provider' | 'bank' | 'operator' | 'network';
  details: Record<string, unknown>;
  receiverId: string;
  webhookType: string;
  /** Of the webhook; null where there is one of its type about its resource. */
  number: number | null;
  at: string;
}

/** How often both sides of a schedule `s` had been told of it with its change of this number. */
export const ANNOUNCED_THEN = (sequence: string) => `s.told - (
  SELECT count(*)::int FROM events e WHERE e.resource_id = s.id AND e.sequence > ${sequence}
    AND e.type NOT IN ('schedule.created', 'schedule.announced') AND e.type NOT LIKE 'schedule.billing%')`;

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

/**
 * Whom each change is told to, and by which webhook. An exception that neither side was told of is
 * found by its row.
 */
const ANNOUNCED_TO = `
  SELECT owner_id AS receiver, 'billing.reversed' AS webhook_type, NULL::int AS number FROM billing_requests
  WHERE id = page.resource_id AND page.type = 'billing_request.reversed'
  UNION ALL
  SELECT bank_id, 'billing.closed', NULL FROM billing_requests
  WHERE id = page.resource_id AND page.type = 'billing_request.declined' AND page.cause <> 'bank'
    AND decline_reason IS DISTINCT FROM 'limit_reached'
  UNION ALL
  SELECT merchant_id, 'refund.response', CASE WHEN overdue AND page.type <> 'refund.overdue' THEN 2 ELSE 1 END FROM refunds
  WHERE id = page.resource_id AND page.type IN ('refund.completed', 'refund.rejected', 'refund.overdue')
  UNION ALL
  SELECT merchant_id, 'billing.intent.response', NULL FROM intents
  WHERE id = page.resource_id AND page.type IN ('intent.approved', 'intent.declined', 'intent.superseded')
  UNION ALL
  SELECT bank_id, 'billing.intent.closed', NULL FROM intents
  WHERE id = page.resource_id AND page.type IN ('intent.declined', 'intent.superseded') AND page.cause <> 'bank'
  UNION ALL
  SELECT side, 'recurring.updated', ${ANNOUNCED_THEN('page.sequence')} FROM schedules s, unnest(ARRAY[s.merchant_id, s.bank_id]) AS side
  WHERE s.id = page.resource_id AND page.type IN (${SCHEDULE_CHANGES})
  UNION ALL
  SELECT DISTINCT side, page.type, NULL::int FROM reconciliation_exceptions x, unnest(ARRAY[x.bank_id, coalesce(x.merchant_id, x.payee_bank_id)]) AS side
  WHERE x.id = page.resource_id AND page.type IN ('exception.opened', 'exception.resolved') AND x.told > 0 AND side IS NOT NULL`;

/** What no webhook of its own transaction tells, and nobody has announced later. */
const UNANNOUNCED = (page: string) => `
  WITH page AS MATERIALIZED (
    SELECT e.id, e.resource_id, e.sequence, e.type, e.cause, e.details, e.recorded_at, ${XID} AS xid
    FROM ${NOW}, events e WHERE ${page}),
  due AS (
    SELECT page.*, t.receiver, t.webhook_type, t.number FROM page, LATERAL (${ANNOUNCED_TO}) AS t WHERE page.recorded_at > ${FEED_HORIZON}),
  unannounced AS (
    SELECT resource_id AS "resourceId", sequence, type, cause, details, recorded_at AS at, receiver AS "receiverId",
      webhook_type AS "webhookType", number
    FROM due
    WHERE NOT EXISTS (
        SELECT FROM webhook_deliveries d
        WHERE d.entity_id = due.receiver AND d.created_xid = due.xid::xid8 AND d.webhook_type = due.webhook_type)
      AND NOT EXISTS (
        SELECT FROM events a WHERE a.resource_id = due.resource_id AND a.type = split_part(due.type, '.', 1) || '.announced'
          AND (a.details @> jsonb_build_object('of', due.sequence, 'to', due.receiver, 'webhookType', due.webhook_type)
            -- With the end of a charge all that tells of it was announced.
            OR (due.webhook_type = 'billing.closed' AND a.details->>'of' IS NULL))))
  SELECT (SELECT max(id) FROM page) AS last, (SELECT count(*)::int FROM page) AS checked,
    coalesce((SELECT jsonb_agg(unannounced ORDER BY "resourceId", sequence, "receiverId", "webhookType") FROM unannounced), '[]') AS unannounced`;

interface UnannouncedPage {
  /** Where the page ends; null where it is empty. */
  last: string | null;
  checked: number;
  unannounced: Unannounced[];
}

/** A page of all changes, in the order of their ids. */
export async function readUnannouncedPage(
  db: Executor,
  ring: Keyring,
  after: string,
  size: number,
): Promise<UnannouncedPage> {
  return readUnannounced(db, ring, 'e.id > :after ORDER BY e.id LIMIT :size', { after, size });
}

/** Of one resource, in the order of its changes. */
export async function unannouncedOf(db: Executor, ring: Keyring, resourceId: string): Promise<Unannounced[]> {
  return (await readUnannounced(db, ring, 'e.resource_id = :resourceId', { resourceId })).unannounced;
}

async function readUnannounced(
  db: Executor,
  ring: Keyring,
  which: string,
  bindings: Record<string, unknown>,
): Promise<UnannouncedPage> {
  const page = await oneRow<UnannouncedPage>(db, UNANNOUNCED(which), bindings, 'anew');
  const unannounced: Unannounced[] = [];
  const read = new Map<string, AnnouncedItem[]>();
  for (const one of page.unannounced) if (!(await isInABody(db, ring, read, one))) unannounced.push(one);
  return { ...page, unannounced };
}

/** Webhooks that are opened at once: the largest have 100 items. */
const OPENED_AT_ONCE = 100;

/**
 * Looks through all that its receiver was told by that webhook at about that moment. One that says
 * that an exception is open may have been made up for later: these are looked through up to now,
 * which ends, for webhooks are forgotten; and each is opened once.
 *
 * @param read what the webhooks that were opened already are about, by their ids
 */
async function isInABody(
  db: Executor,
  ring: Keyring,
  read: Map<string, AnnouncedItem[]>,
  { receiverId, webhookType, resourceId, number, at }: Unannounced,
): Promise<boolean> {
  let last: { id: string; createdAt: string } | undefined;
  for (;;) {
    const page: (NonNullable<typeof last> & { near: boolean })[] = await rows(
      db,
      `SELECT id, created_at::text AS "createdAt", created_at <= :at::timestamptz + ${TOGETHER} AS near
       FROM webhook_deliveries
       WHERE entity_id = :receiverId AND webhook_type = :webhookType
         AND (created_at, id) > (coalesce(:lastAt::timestamptz, :at::timestamptz - ${TOGETHER}), :lastId)
         AND (:webhookType = 'exception.opened' OR created_at <= :at::timestamptz + ${TOGETHER})
       ORDER BY created_at, id LIMIT ${OPENED_AT_ONCE}`,
      { receiverId, webhookType, at, lastAt: last?.createdAt ?? null, lastId: last?.id ?? '' },
      'anew',
    );
    const unread = page.map(({ id }) => id).filter((id) => !read.has(id));
    for (const one of await readBodies(db, unread)) read.set(one.id, itemsInBody(ring, one));
    const isAnnounced = page.some(({ id, near }) => {
      const items = read.get(id) ?? [];
      // Of one whose key is gone nobody can say what it tells.
      if (items.length === 0) return near;
      return items.some(
        ({ ids, sequence }) => ids.includes(resourceId) && (number === null || sequence === number),
      );
    });
    if (isAnnounced || page.length < OPENED_AT_ONCE) return isAnnounced;
    last = page.at(-1);
  }
}

const ANNOUNCING = `('refund.request', 'refund.response', 'billing.intent', 'billing.intent.response', 'billing.intent.closed',
  'recurring.updated', 'recurring.upcoming', 'exception.opened', 'exception.resolved')`;

/** Of these webhooks, those that tell of something that is not there; by the id of that. */
export async function announcedOfNothing(
  db: Executor,
  ring: Keyring,
  after: string,
  size: number,
): Promise<string[]> {
  const bodies = await rows<SealedBody>(
    db,
    `SELECT id, body_sealed AS "bodySealed" FROM (
       SELECT id, webhook_type, body_sealed FROM webhook_deliveries WHERE id > :after ORDER BY id LIMIT :size) AS page
     WHERE webhook_type IN ${ANNOUNCING}`,
    { after, size },
  );
  const named = [...new Set(bodies.flatMap((one) => idsInBody(ring, one)))];
  if (named.length === 0) return [];
  // Charges are looked for by their question.
  const isGone = hasNoRow('n.id', ['rfd_', 'int_', 'sch_', 'exc_']);
  const found = await rows<{ id: string }>(
    db,
    `SELECT n.id FROM unnest(:named::text[]) AS n (id) WHERE ${isGone} ORDER BY n.id`,
    { named },
  );
  return found.map(({ id }) => id);
}
