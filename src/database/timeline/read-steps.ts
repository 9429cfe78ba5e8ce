import { reasonForAudit } from '../../domain/charge';
import type { Cause, LedgerPosting, Step } from '../../domain/words/timeline';
import { hasWord } from '../../domain/words/timeline-words';
import type { PersonRole } from '../../domain/person';
import { personEmails } from '../person/person';
import type { Executor } from '../pool/connection';
import { customPlan, raw, sql } from '../pool/statement';
import { KEPT } from '../call/idempotency';

/** The steps of a timeline that are events, calls, ledger entries and audit events. */

interface RecordedEvent {
  at: Date;
  businessAt: Date;
  resourceId: string;
  sequence: number;
  type: string;
  cause: Cause;
  details: Record<string, unknown>;
  requestId: string | null;
  commitId: string;
}

const EVENT = `SELECT e.recorded_at AS at, e.business_at, e.resource_id, e.sequence, e.type,
  e.cause, e.details, e.request_id, e.commit_id`;

/**
 * The latest events, oldest first; of a schedule, only the events of the billings that are shown.
 */
export async function readEvents(
  db: Executor,
  ids: string[],
  billings: { scheduleId: string | null; n: number | null }[],
  limit: number,
): Promise<RecordedEvent[]> {
  const scheduleIds = billings.map(({ scheduleId }) => scheduleId);
  const numbers = billings.map(({ n }) => String(n));
  const latest = await customPlan(db).rows<RecordedEvent>`
    ${raw(EVENT)} FROM events e WHERE e.resource_id = ANY(${ids})
    UNION ALL ${raw(EVENT)} FROM unnest(${scheduleIds}::text[], ${numbers}::text[]) AS billing (schedule_id, n)
      JOIN events e ON e.resource_id = billing.schedule_id AND e.details->>'n' = billing.n
    ORDER BY at DESC, sequence DESC LIMIT ${limit}`;
  return latest.toReversed();
}

/** An event as a step; details without a word of their own stay out. */
export function eventStep(event: RecordedEvent): Step<'event'> {
  const { at, businessAt, resourceId, type, cause, requestId } = event;
  const { amount, currency, ...facts } = event.details;
  const declined = facts['declineReason'] ?? facts['reason'];
  const details: Record<string, unknown> = { ...facts, requestId };
  return {
    at,
    what: 'event',
    type,
    resourceId,
    cause,
    businessAt,
    ...(typeof currency === 'string' &&
      (typeof amount === 'string' || typeof amount === 'number') && {
        amount: BigInt(amount),
        currency,
      }),
    ...(typeof declined === 'string' && { reason: ownReason(type, declined) }),
    details: Object.fromEntries(
      Object.entries(details).filter(
        (one): one is [string, string | number] =>
          hasWord(one[0]) && (typeof one[1] === 'string' || typeof one[1] === 'number'),
      ),
    ),
  };
}

/** Events whose reasons are always the network's; a bank's own words stay out of the timeline. */
const NETWORKS_REASONS = /^(intent\.|schedule\.billing_skipped$)/;

const ownReason = (type: string, reason: string) =>
  NETWORKS_REASONS.test(type) ? reason : reasonForAudit(reason);

/** Events by which a call of the API shows. Steps of the network itself have no call. */
const CALLS = ['billing_request.accepted', 'intent.created', 'refund.requested', 'schedule.created'];

/**
 * The calls behind the events. The transaction that does the work stores the idempotency key, which
 * expires that long afterwards. The key itself stays secret.
 */
export async function readCalls(
  db: Executor,
  callers: string[],
  events: RecordedEvent[],
): Promise<Step<'call'>[]> {
  const calls = events.filter(
    ({ type, cause, sequence }) => sequence === 1 && cause !== 'network' && CALLS.includes(type),
  );
  const resourceIds = calls.map(({ resourceId }) => resourceId);
  const moments = calls.map(({ at }) => at.toISOString());
  const commitIds = calls.map(({ commitId }) => commitId);
  const causes = calls.map(({ cause }) => cause);
  const requestIds = calls.map(({ requestId }) => requestId);
  return customPlan(db).rows<Step<'call'>>`
    SELECT c.at, 'call' AS what, c.resource_id, c.cause AS role, c.request_id,
      k.caller_id,
      CASE WHEN k.caller_id IS NOT NULL THEN true
        WHEN c.at > clock_timestamp() - ${KEPT}::interval THEN false END
        AS idempotency_key
    FROM unnest(${resourceIds}::text[], ${moments}::timestamptz[], ${commitIds}::uuid[],
      ${causes}::text[], ${requestIds}::text[])
      AS c (resource_id, at, commit_id, cause, request_id)
    LEFT JOIN LATERAL (
      SELECT coalesce(p.entity_id, i.caller_id) AS caller_id
      FROM idempotency_keys i LEFT JOIN persons p ON p.id = i.caller_id
      WHERE i.expires_at BETWEEN c.at + ${KEPT}::interval - interval '1 minute'
        AND c.at + ${KEPT}::interval + interval '1 minute'
        AND coalesce(p.entity_id, i.caller_id) = ANY(${callers}) AND i.commit_id = c.commit_id
      LIMIT 1) AS k ON true`;
}

/**
 * The latest ledger entries, oldest first, each with its few postings and the transaction that
 * wrote it.
 */
export async function readLedger(
  db: Executor,
  resourceIds: string[],
  limit: number,
): Promise<(Step<'ledger'> & { commitId: string })[]> {
  type Stored = Omit<LedgerPosting, 'amount'> & { amount: string };
  const entries = await customPlan(db).rows<
    Omit<Step<'ledger'>, 'postings'> & { commitId: string; postings: Stored[] }
  >`
    SELECT e.recorded_at AS at, 'ledger' AS what, e.commit_id, e.id::text AS entry_id, e.kind, e.resource_id,
      e.settlement_day::text AS settlement_day,
      (SELECT jsonb_agg(jsonb_build_object('direction', p.direction, 'account', p.account, 'partyId',
      p.party_id,
         'amount', p.amount::text, 'currency', p.currency) ORDER BY p.n)
       FROM ledger_postings p WHERE p.entry_id = e.id) AS postings
    FROM ledger_entries e WHERE e.resource_id = ANY(${resourceIds}) ORDER BY e.recorded_at DESC, e.id DESC
    LIMIT ${limit}`;
  return entries.toReversed().map(({ postings, ...entry }) => ({
    ...entry,
    postings: postings.map((one) => ({ ...one, amount: BigInt(one.amount) })),
  }));
}

/** Between the first and the last step of a timeline. */
const during = ({ from, until }: { from: Date; until: Date | null }) =>
  sql`recorded_at BETWEEN ${from} AND coalesce(${until}::timestamptz, 'infinity')`;

/**
 * The parties' audit events during a timeline, which may explain it; exceptions add only their own,
 * and persons those by whose transactions its events came. Oldest first. An operator's reason stays
 * out, in his words: `assent audit` has it.
 *
 * @param until null where the timeline goes on
 */
export async function readAuditEvents(
  db: Executor,
  entityIds: string[],
  span: { from: Date; until: Date | null; exceptionIds: string[]; commitIds: string[]; limit: number },
): Promise<Step<'act'>[]> {
  const latest = await customPlan(db).rows<Step<'act'> & { role: PersonRole | null }>`
    WITH acts AS (
      SELECT a.* FROM unnest(${entityIds}::text[]) AS party (id) CROSS JOIN LATERAL (
        SELECT * FROM audit_events WHERE entity_id = party.id AND (after->>'exceptionId') IS NULL
          AND (after->>'commitId') IS NULL AND action !~ '^(person|client)[.]' AND ${during(span)}
        ORDER BY recorded_at DESC LIMIT ${span.limit}) AS a
      UNION ALL
      SELECT a.* FROM unnest(${span.exceptionIds}::text[]) AS exception (id) CROSS JOIN LATERAL (
        SELECT * FROM audit_events WHERE (after->>'exceptionId') = exception.id
          AND entity_id = ANY(${entityIds}) AND ${during(span)}
        ORDER BY id DESC LIMIT ${span.limit}) AS a
      -- A person's answer to an exception is found by both.
      UNION
      SELECT * FROM audit_events WHERE (after->>'commitId') = ANY(${span.commitIds})
        AND entity_id = ANY(${entityIds}))
    SELECT recorded_at AS at, 'act' AS what, actor, action, entity_id, request_id,
      after->>'exceptionId' AS exception_id, after->>'actorRole' AS role
    FROM acts ORDER BY id DESC LIMIT ${span.limit}`;
  const emails = await personEmails(db, [...new Set(latest.map(({ actor }) => actor))]);
  return latest.toReversed().map(({ role, ...step }) => {
    const email = emails.get(step.actor);
    return role === null && email === undefined ? step : { ...step, person: { role, email } };
  });
}
