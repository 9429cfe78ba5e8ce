import { reasonForAudit } from '../../domain/charge';
import { formatAmount } from '../../domain/money';
import type { Cause, StoryStep, Of } from '../../domain/words/story';
import { rows, type Executor } from '../connection';
import { NOW, XID } from '../event';
import { KEPT } from '../idempotency';

/** What of a story is transitions, and the calls that asked for them. */

export interface RecordedEvent {
  at: Date;
  businessAt: Date;
  resourceId: string;
  sequence: number;
  type: string;
  cause: Cause;
  details: Record<string, unknown>;
  requestId: string | null;
  xid: string;
  xmin: string;
}

const EVENT = `SELECT e.recorded_at AS at, e.business_at, e.resource_id, e.sequence, e.type,
  e.cause, e.details, e.request_id, ${XID} AS xid, e.xmin::text AS xmin`;

/** The latest of them, oldest first; of the schedules those of these billings alone. */
export async function readEvents(
  db: Executor,
  ids: string[],
  billings: { scheduleId: string | null; n: number | null }[],
  limit: number,
): Promise<RecordedEvent[]> {
  const latest = await rows<RecordedEvent>(
    db,
    `${EVENT} FROM ${NOW}, events e WHERE e.resource_id = ANY(:ids)
     UNION ALL ${EVENT} FROM ${NOW}, unnest(:scheduleIds::text[], :ns::text[]) AS billing (schedule_id, n)
       JOIN events e ON e.resource_id = billing.schedule_id AND e.details->>'n' = billing.n
     ORDER BY at DESC, sequence DESC LIMIT :limit`,
    {
      ids,
      scheduleIds: billings.map(({ scheduleId }) => scheduleId),
      ns: billings.map(({ n }) => String(n)),
      limit,
    },
    'anew',
  );
  return latest.toReversed();
}

/**
 * What of an event's details is told, as it stands. Whatever else is written there one day stays
 * untold.
 */
const SHOWN = [
  'kind',
  'outcome',
  'resolution',
  'bankTransactionId',
  'billingRequestId',
  'refundId',
  'exceptionId',
  'n',
  'attempt',
  'dueAt',
  'retryAt',
  'previousStatus',
  'customerDecision',
  'decision',
  'answer',
  'why',
] as const;

export function momentOf({
  at,
  businessAt,
  resourceId,
  type,
  cause,
  details,
  requestId,
}: RecordedEvent): StoryStep {
  const said = new Map(Object.entries(details));
  const { amount, currency } = details;
  const declined = said.get('declineReason') ?? said.get('reason');
  return {
    at,
    what: 'event',
    type,
    resourceId,
    cause,
    businessAt,
    ...(typeof currency === 'string' &&
      (typeof amount === 'string' || typeof amount === 'number') && {
        amount: formatAmount(BigInt(amount), currency),
        currency,
      }),
    ...(typeof declined === 'string' && { reason: ownReason(type, declined) }),
    details: Object.fromEntries([
      ...SHOWN.flatMap((name) => {
        const value = said.get(name);
        return typeof value === 'string' || typeof value === 'number' ? [[name, value]] : [];
      }),
      ...(requestId !== null ? [['requestId', requestId]] : []),
    ]),
  };
}

/**
 * Where the network alone gives a reason it is one of ours; what a bank says in its own words is
 * not told.
 */
const NETWORKS_REASONS = /^(intent\.|schedule\.billing_skipped$)/;

const ownReason = (type: string, reason: string) =>
  NETWORKS_REASONS.test(type) ? reason : reasonForAudit(reason);

/** Events by which a call of the API shows. What the network does by itself nobody called for. */
const CALLS = ['billing_request.accepted', 'intent.created', 'refund.requested', 'schedule.created'];

/**
 * The calls behind the events. A key is stored by the transaction that does the work, and expires
 * that long after it; what the key is, is nobody's business.
 */
export async function readCalls(
  db: Executor,
  callers: string[],
  events: RecordedEvent[],
): Promise<Of<'call'>[]> {
  const calls = events.filter(
    ({ type, cause, sequence }) => sequence === 1 && cause !== 'network' && CALLS.includes(type),
  );
  return rows<Of<'call'>>(
    db,
    `SELECT c.at, 'call' AS what, c.resource_id, c.cause AS role, c.request_id,
       k.caller_id,
       CASE WHEN k.caller_id IS NOT NULL THEN true WHEN c.at > clock_timestamp() - :kept::interval THEN false END
         AS idempotency_key
     FROM unnest(:ids::text[], :ats::timestamptz[], :xmins::text[], :causes::text[], :requestIds::text[])
       AS c (resource_id, at, written_by, cause, request_id)
     LEFT JOIN LATERAL (
       SELECT caller_id FROM idempotency_keys
       WHERE expires_at BETWEEN c.at + :kept::interval - interval '1 minute' AND c.at + :kept::interval + interval '1 minute'
         AND caller_id = ANY(:callers) AND xmin::text = c.written_by LIMIT 1) AS k ON true`,
    {
      callers,
      kept: KEPT,
      ids: calls.map(({ resourceId }) => resourceId),
      ats: calls.map(({ at }) => at.toISOString()),
      xmins: calls.map(({ xmin }) => xmin),
      causes: calls.map(({ cause }) => cause),
      requestIds: calls.map(({ requestId }) => requestId),
    },
    'anew',
  );
}
