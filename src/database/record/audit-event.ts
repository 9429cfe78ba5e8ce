import { createHash } from 'node:crypto';
import type { PersonRole } from '../../domain/person';
import type { Executor, Transaction } from '../pool/connection';
import { customPlan, raw } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import { pages } from '../query/pages';

/**
 * Audit events of privileged actions: who created, enabled or disabled a party, or changed its
 * credentials or the URL of its webhooks. The transaction of an action writes its audit event, so
 * neither exists without the other.
 */

export interface Actor {
  /** `operator:<login>` for the command line, otherwise the id of the entity that called. */
  actor: string;
  /** The cause of events that follow from the action. */
  cause: Cause;
  /** The API request's id, which its caller may have chosen; null for the command line. */
  requestId: string | null;
  /** Our own id of the request, which is unique. */
  ownRequestId?: string | undefined;
  /** In the operator's words; null if none was given. */
  reason: string | null;
  /** A person's at the time, kept beside what the event shows. */
  role?: PersonRole | undefined;
}

interface PrivilegedAction {
  action: `${string}.${string}`;
  /** The entity that the action changes; null for the keys of the whole service. */
  entityId: string | null;
  /** The changed fields, if any, before and after: no secret, and nothing personal. */
  before?: object | null;
  after?: object | null;
}

export async function recordAuditEvent(
  trx: Transaction,
  by: Actor,
  { action, entityId, before, after }: PrivilegedAction,
): Promise<void> {
  const shown = by.role === undefined ? after : { ...after, actorRole: by.role };
  await trx.rows`
    INSERT INTO audit_events (actor, action, entity_id, request_id, own_request_id, reason, before, after)
    VALUES (${by.actor}, ${action}, ${entityId}, ${by.requestId}, ${by.ownRequestId ?? null}, ${by.reason},
      ${before ? JSON.stringify(before) : null}, ${shown ? JSON.stringify(shown) : null})`;
}

/**
 * An act: its change, and its audit event. A change without a row came to nothing, and has no audit
 * event.
 */
export async function act<Row extends object | string | undefined>(
  trx: Transaction,
  by: Actor,
  change: Promise<Row>,
  shown: (row: NonNullable<Row>) => PrivilegedAction,
): Promise<Row> {
  const row = await change;
  if (row !== undefined) await recordAuditEvent(trx, by, shown(row));
  return row;
}

/**
 * A URL in the form that an audit event may show. Its path and query may hold a secret, so only
 * their hash is shown: it identifies the URL to those who know it.
 */
export function shownUrl(url: string | null): { origin: string; sha256: string } | null {
  if (url === null) return null;
  return { origin: new URL(url).origin, sha256: createHash('sha256').update(url).digest('hex') };
}

export interface RecordedAuditEvent
  extends Pick<Actor, 'actor' | 'requestId' | 'reason'>, Required<PrivilegedAction> {
  ownRequestId: string | null;
  /** Rises with each audit event. */
  id: bigint;
  at: Date;
}

/**
 * Audit events read at once: some 500 bytes each, and 10 kB if one names a page of workflows. So a
 * reader of any number needs half a megabyte, and 10 MB at most.
 */
const PAGE = 1_000;

/** @param entityId only actions by this entity, or on it */
export function readAuditEvents(
  db: Executor,
  { entityId, since }: { entityId: string | undefined; since: Date | undefined },
): AsyncGenerator<RecordedAuditEvent[], void, undefined> {
  return pages(
    PAGE,
    0n,
    ({ id }) => id,
    (after) =>
      customPlan(db).rows<RecordedAuditEvent>`
    SELECT id, recorded_at AS at, actor, action, entity_id, before, after, reason, request_id, own_request_id
    FROM audit_events
    WHERE id > ${after} AND (${entityId ?? null}::text IS NULL OR entity_id = ${entityId ?? null}
      OR actor = ${entityId ?? null})
      AND recorded_at >= coalesce(${since ?? null}::timestamptz, '-infinity')
    ORDER BY id LIMIT ${raw(PAGE)}`,
  );
}
