import type { SkipReason, Step } from '../../domain/recurring/recurring-step';
import { rows, type Executor } from '../connection';
import type { StepTaken } from './steps';

/** The newest of them; more are untold only where a workflow was reset to long ago. */
const UNTOLD_MAX = 100;

interface Event {
  type: string;
  n: number;
  attempt: number;
  dueAt: Date;
  retryAt: Date;
  reason: string;
  reference: string;
  amount: bigint;
  afterS: number;
}

/** Up to where the history of a schedule's workflow tells what was done. */
export interface ToldUntil {
  /** That of the last event that it tells of; null where it tells of none. */
  sequence: number | null;
  /** RFC 3339, by Temporal's clock. What was done before, the history of another tells. */
  startedAt: string;
}

/**
 * The steps that a schedule took and its workflow's history does not tell: the worker died before
 * Temporal had heard of them, a signal came as the task ended, or the workflow was reset.
 *
 * @returns in their order, as whoever took them told of them
 */
export async function untoldSteps(
  db: Executor,
  scheduleId: string,
  { sequence, startedAt }: ToldUntil,
): Promise<StepTaken[]> {
  const events = await rows<Event>(
    db,
    `SELECT * FROM (
       SELECT e.sequence, e.type, (e.details->>'n')::int AS n, (e.details->>'attempt')::int AS attempt,
         (e.details->>'dueAt')::timestamptz AS "dueAt", (e.details->>'retryAt')::timestamptz AS "retryAt",
         e.details->>'reason' AS reason, r.reference, r.amount::bigint,
         coalesce(round(extract(epoch FROM r.closed_at - r.created_at), 1), 0)::float8 AS "afterS"
       FROM events e
       -- What settles a billing settles its latest attempt.
       LEFT JOIN LATERAL (
         SELECT c.details->>'billingRequestId' AS id FROM events c
         WHERE c.resource_id = e.resource_id AND c.sequence <= e.sequence
           AND c.type = 'schedule.billing_charged' AND c.details->'n' = e.details->'n'
         ORDER BY c.sequence DESC LIMIT 1) AS charged ON e.type LIKE 'schedule.billing%'
       LEFT JOIN billing_requests r ON r.id = charged.id
       WHERE e.resource_id = :scheduleId AND e.sequence > coalesce(:sequence, 0) AND e.cause = 'network'
         AND e.type = ANY(:types) AND (:sequence::int IS NOT NULL OR e.recorded_at >= :startedAt)
       ORDER BY e.sequence DESC LIMIT ${UNTOLD_MAX}) AS newest
     ORDER BY sequence`,
    { scheduleId, sequence, startedAt, types: [...STEPS.keys()] },
  );
  return events.flatMap((event) => {
    const step = STEPS.get(event.type);
    return step ? [step(event)] : [];
  });
}

type EndedAs = Extract<Step, { do: 'end' }>['as'];

const end = (as: EndedAs) => (): StepTaken => ({ do: 'end', as });

const STEPS = new Map<string, (event: Event) => StepTaken>([
  ['schedule.billing_charged', (event) => ({ ...event, do: 'charge' })],
  ['schedule.billing_successful', (event) => ({ ...event, do: 'succeed' })],
  ['schedule.billing_retrying', (event) => ({ ...event, do: 'retry' })],
  ['schedule.billing_failed', (event) => ({ ...event, do: 'fail' })],
  ['schedule.billing_skipped', (event) => ({ ...event, do: 'skip', reason: event.reason as SkipReason })],
  ['schedule.notice_given', (event) => ({ ...event, do: 'notify' })],
  ['schedule.completed', end('completed')],
  ['schedule.failed', end('failed')],
]);
