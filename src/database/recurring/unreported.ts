import type { SkipReason, Step } from '../../domain/recurring/recurring-step';
import { rows, type Executor } from '../connection';
import { afterS } from '../moment';
import type { StepTaken } from './steps';

/** The newest of them; there are more only where a workflow was reset to long ago. */
const UNREPORTED_MAX = 100;

/** The events that are about one attempt at a charge. */
const CHARGED = ['charged', 'successful', 'retrying', 'failed'].map((what) => `schedule.billing_${what}`);

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

/** Up to where the history of a schedule's workflow has what was done. */
export interface ReportedUntil {
  /** Of the last event of the schedule that it has; null where it has none. */
  sequence: number | null;
  /**
   * When the workflow began: RFC 3339, by Temporal's clock. What was done earlier is in the history
   * of an earlier one.
   */
  startedAt: string;
}

/**
 * The steps that a schedule took and its workflow's history does not have: the worker died before
 * it could report them, a signal came as the task ended, or the workflow was reset.
 *
 * @returns in their order, as they were reported when they were taken
 */
export async function unreportedSteps(
  db: Executor,
  scheduleId: string,
  { sequence, startedAt }: ReportedUntil,
): Promise<StepTaken[]> {
  const events = await rows<Event>(
    db,
    `SELECT * FROM (
       SELECT e.sequence, e.type, (e.details->>'n')::int AS n, (e.details->>'attempt')::int AS attempt,
         (e.details->>'dueAt')::timestamptz AS due_at, (e.details->>'retryAt')::timestamptz AS retry_at,
         e.details->>'reason' AS reason, r.reference, r.amount::bigint,
         ${afterS('r')}
       FROM events e
       -- What settles a billing settles its latest attempt.
       LEFT JOIN LATERAL (
         SELECT c.details->>'billingRequestId' AS id FROM events c
         -- What was skipped has none, however far back it is looked for.
         WHERE e.type = ANY(:charged) AND c.resource_id = e.resource_id AND c.sequence <= e.sequence
           AND c.type = 'schedule.billing_charged' AND c.details->'n' = e.details->'n'
         ORDER BY c.sequence DESC LIMIT 1) AS charged ON true
       LEFT JOIN billing_requests r ON r.id = charged.id
       WHERE e.resource_id = :scheduleId AND e.sequence > coalesce(:sequence, 0)
         AND (:sequence::int IS NOT NULL OR e.recorded_at >= :startedAt)
         -- Others cancel too, and so does what a customer decides: that is no step of the workflow.
         AND e.type = ANY(:types) AND (e.type <> 'schedule.cancelled' OR e.cause = 'operator')
       ORDER BY e.sequence DESC LIMIT ${UNREPORTED_MAX}) AS newest
     ORDER BY sequence`,
    { scheduleId, sequence, startedAt, types: [...STEPS.keys()], charged: CHARGED },
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
  ['schedule.cancelled', () => ({ do: 'cancel' })],
]);
