import { createHash } from 'node:crypto';
import { rows, type Executor, type Transaction } from './connection';
import type { AuditEvent } from './event';
import { pages } from './pages';

/**
 * The record of privileged acts: who made a party, let it in or kept it out, changed what it proves
 * itself by or where its webhooks go. Each act is recorded by the transaction that does it, so
 * neither exists without the other.
 */

/** Whoever does something privileged. */
export interface Actor {
  /** `operator:<login>` for the command line, otherwise the id of the entity that called. */
  actor: string;
  /** For the record of what follows from the act. */
  cause: AuditEvent['cause'];
  /** The API request's, as its caller may have chosen it; null for the command line. */
  requestId: string | null;
  /** Our own id of that request, which no other has. */
  ownRequestId?: string | undefined;
  /** In the operator's words; null where none was given. */
  reason: string | null;
}

export interface Act {
  action: `${string}.${string}`;
  /** Whom it was done to; null for the keys of the whole service. */
  entityId: string | null;
  /** What was changed, and to what, where there was something: no secret, and nothing personal. */
  before?: object | null;
  after?: object | null;
}

export async function recordAct(trx: Transaction, by: Actor, act: Act): Promise<void> {
  await rows(
    trx,
    `INSERT INTO audit_events (actor, action, entity_id, request_id, own_request_id, reason, before, after)
     VALUES (:actor, :action, :entityId, :requestId, :ownRequestId, :reason, :before, :after)`,
    {
      actor: by.actor,
      requestId: by.requestId,
      ownRequestId: by.ownRequestId ?? null,
      reason: by.reason,
      action: act.action,
      entityId: act.entityId,
      before: act.before ? JSON.stringify(act.before) : null,
      after: act.after ? JSON.stringify(act.after) : null,
    },
  );
}

/**
 * A URL as the record may show it. Its path and query may hold a secret, so they are told by a
 * hash: whoever has the whole URL can say whether it was this one.
 */
export function shownUrl(url: string | null): { origin: string; sha256: string } | null {
  if (url === null) return null;
  return { origin: new URL(url).origin, sha256: createHash('sha256').update(url).digest('hex') };
}

/** An act, as it is read. */
export interface RecordedAct extends Pick<Actor, 'actor' | 'requestId' | 'reason'>, Required<Act> {
  ownRequestId: string | null;
  /** In the order of the acts. */
  id: bigint;
  at: Date;
}

/**
 * Acts read at once: some 500 bytes each, and 10 kB where one names a page of workflows, so that
 * however long the record is, a reader needs half a megabyte, and 10 MB at most.
 */
const PAGE = 1_000;

/**
 * The record, oldest first, page by page.
 *
 * @param entityId only what this entity did, or what was done to it
 */
export function readActs(
  db: Executor,
  { entityId, since }: { entityId: string | undefined; since: Date | undefined },
): AsyncGenerator<RecordedAct[], void, undefined> {
  return pages(
    PAGE,
    0n,
    (act) => act.id,
    (after) =>
      rows<RecordedAct>(
        db,
        `SELECT id, recorded_at AS at, actor, action, entity_id, request_id,
           own_request_id, reason, before, after
         FROM audit_events
         WHERE id > :after AND (:entityId::text IS NULL OR entity_id = :entityId OR actor = :entityId)
           AND recorded_at >= coalesce(:since::timestamptz, '-infinity')
         ORDER BY id LIMIT ${PAGE}`,
        { after, entityId: entityId ?? null, since: since ?? null },
        'anew',
      ),
  );
}
