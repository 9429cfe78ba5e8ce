import type { Cause } from '../domain/words/story';
import { rows, type Executor } from './connection';
import { contentWritten } from './content';
import { newId } from './ids';
import { jsonOf } from './json';

/** One transition of one resource, as the audit trail keeps it for good. */
export interface AuditEvent {
  resourceId: string;
  /** The resource's own counter after the transition; unique with the resource. */
  sequence: number;
  /** `<resource>.<what happened>`, e.g. `billing_request.declined`. */
  type: string;
  /** Whose act it was; `network` for a window that closed or a charge that fell due. */
  cause: Cause;
  /** Ids, states and amounts in minor units; never anything personal. */
  details?: Record<string, unknown>;
  /** Business time, i.e. with the owner's test-clock offset. */
  at: Date;
}

/**
 * Writes audit events in the transaction that made the transitions, and by whose call; with what
 * they have made to stand in their rows for good, which are written by then.
 */
export async function recordEvents(trx: Executor, events: AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  const content = contentWritten(new Set(events.map(({ type }) => type)));
  // So that one is planned as one: its row is looked up, and its table not read.
  const most = events.length === 1 ? 'LIMIT 1' : '';
  await rows(
    trx,
    `WITH e (id, resource_id, sequence, type, cause, details, at) AS MATERIALIZED (
       SELECT e->>'id', e->>'resourceId', (e->>'sequence')::int, e->>'type', e->>'cause',
         coalesce(e->'details', '{}'), (e->>'at')::timestamptz
       FROM jsonb_array_elements(:events::jsonb) AS e ${most})
     INSERT INTO events (id, resource_id, sequence, type, cause, details, business_at, request_id)
     SELECT e.id, e.resource_id, e.sequence, e.type, e.cause,
       e.details${content === null ? '' : ` || coalesce(c.content, '{}')`}, e.at, :requestId
     FROM e ${content === null ? '' : `LEFT JOIN (${content}) AS c USING (id)`}`,
    {
      requestId: trx.requestId ?? null,
      events: jsonOf(events.map((event) => ({ ...event, id: newId('event') }))),
    },
  );
}
