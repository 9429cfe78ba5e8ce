import type { Cause } from '../../domain/words/timeline';
import type { Executor } from '../pool/connection';
import { newId } from '../identifier/new-id';
import { jsonOf } from '../pool/json';

/** A transition of a resource, kept for good in `events`. */
export interface AuditEvent {
  resourceId: string;
  /** The resource's own counter after the transition; unique with the resource. */
  sequence: number;
  /** `<resource>.<what happened>`, e.g. `billing_request.declined`. */
  type: string;
  /** The party that caused it; `network` for a window that closed or a charge that fell due. */
  cause: Cause;
  /** Ids, states and amounts in minor units; never anything personal. */
  details?: Record<string, unknown>;
  /** Business time, i.e. with the owner's test-clock offset. */
  at: Date;
}

/** Writes events in the transaction of their transitions, with its id and the API call's. */
export async function recordEvents(trx: Executor, events: AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  await trx.rows`
    INSERT INTO events (id, resource_id, sequence, type, cause, details, business_at, request_id, commit_id)
    SELECT e->>'id', e->>'resourceId', (e->>'sequence')::int, e->>'type', e->>'cause',
      coalesce(e->'details', '{}'), (e->>'at')::timestamptz, ${trx.requestId ?? null}, ${trx.commitId}
    FROM jsonb_array_elements(${jsonOf(events.map((event) => ({ ...event, id: newId('event') })))}::jsonb) AS e`;
}
