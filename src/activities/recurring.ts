import type { Database } from '../database/pool/connection';
import {
  cancelSchedule,
  chargeBilling,
  endSchedule,
  giveNotice,
  settleBilling,
  skipBillings,
} from '../database/recurring/take-steps';
import {
  withLockedSchedule,
  type LockedSchedule,
  type ScheduleResult,
} from '../database/recurring/locked-schedule';
import type { BillingRules } from '../domain/billing-rules';
import { isAsked, type Facts } from '../domain/recurring/recurring-step';
import type { RecurringRules } from '../domain/recurring/schedule-facts';
import type { WebhookType } from '../domain/webhook/webhook';
import { workflowIds } from '../domain/workflow/workflow-id';
import type { AnswerTimeout } from './answer-timeout';
import { eventsInWords, waitingInWords } from './recurring-words';
import type { DeliverFirstAttempts } from './webhook';

/**
 * Webhooks of a schedule and its charges. Its transactions announce them, and so do calls that
 * change the schedule, its agreement or a charge between two transactions.
 */
const ANNOUNCED: readonly WebhookType[] = [
  'recurring.updated',
  'recurring.upcoming',
  'billing.request',
  'billing.response',
  'billing.closed',
  'exception.opened',
];

/**
 * A transaction of a schedule: sends its announcements, and returns its state.
 *
 * @param reportedUntil `sequence` of the last state that the workflow's history has
 */
type ScheduleActivity = (scheduleId: string, reportedUntil: number) => Promise<ScheduleState>;

/**
 * The steps of a schedule's workflow. Each brings the schedule in line with its agreement and does
 * its own step. A step that comes too late, or twice, finds nothing to do.
 */
export interface RecurringActivities {
  readSchedule: ScheduleActivity;
  /** Makes the attempt at a due billing, asks the bank, and waits a moment for its answer. */
  chargeBilling: ScheduleActivity;
  /**
   * Settles the billing in hand by the bank's answer. A charge without an answer in time is
   * declined. The schedule ends with its last billing.
   */
  settleBilling: ScheduleActivity;
  skipBillings: ScheduleActivity;
  giveNotice: ScheduleActivity;
  endSchedule: ScheduleActivity;
  /** Recorded as an operator's action. */
  cancelSchedule: ScheduleActivity;
}

/** The state of a schedule, for its workflow and for readers of its history. */
export interface ScheduleState {
  facts: Facts;
  /**
   * Milliseconds after the due moment at which the workflow wakes, behind others of the same
   * moment.
   */
  delayMs: number;
  /** Events of this transaction, in words, then earlier events that the history lacks. */
  did: string[];
  /** Webhooks sent, by receiver and attempt. */
  told: string[];
  /** The `sequence` of the schedule's last event: the history is complete up to it. */
  sequence: number;
  /** RFC 3339; null when no further billing comes. */
  nextBillingDate: string | null;
  /** The event that the schedule waits for, in words; the outcome where it has ended. */
  waitingFor: string;
}

export function createRecurringActivities(
  db: Database,
  rules: BillingRules & RecurringRules,
  answerTimeout: Pick<AnswerTimeout, 'waitForAnswers'>,
  deliver: DeliverFirstAttempts,
): RecurringActivities {
  async function actOn(scheduleId: string, reportedUntil: number, act: Act): Promise<Taken> {
    const taken = await withLockedSchedule(db, rules, { scheduleId, reportedUntil }, act);
    // Not only its own: the worker of an earlier transaction may have died before it had sent.
    const { told } = await deliver(workflowIds.recurring(scheduleId), ANNOUNCED);
    return { ...taken, told };
  }

  const step =
    (act: Act): ScheduleActivity =>
    async (scheduleId, reportedUntil) =>
      stateOf(await actOn(scheduleId, reportedUntil, act));

  return {
    readSchedule: step(() => undefined),
    async chargeBilling(scheduleId, reportedUntil) {
      const taken = await actOn(scheduleId, reportedUntil, chargeBilling);
      const { open, schedule, facts } = taken;
      if (open && isAsked(facts.open)) {
        await answerTimeout.waitForAnswers([{ id: open.billingRequestId, bankId: schedule.bankId }]);
      }
      return stateOf(taken);
    },
    settleBilling: step(settleBilling),
    skipBillings: step(skipBillings),
    giveNotice: step(giveNotice),
    endSchedule: step(endSchedule),
    cancelSchedule: step(cancelSchedule),
  };
}

type Act = (locked: LockedSchedule) => Promise<void> | void;

type Taken = ScheduleResult & { told: string[] };

function stateOf(taken: Taken): ScheduleState {
  const { schedule, facts, events, unreported, delayMs, told } = taken;
  const before = eventsInWords(unreported, schedule);
  if (before.length > 0) before.unshift(`Done before (who was told of it: npx assent why ${schedule.id}):`);
  return {
    facts,
    delayMs,
    // This transaction's events come first, because a summary has room for the first.
    did: [...eventsInWords(events, schedule), ...before],
    told,
    sequence: schedule.sequence,
    nextBillingDate: schedule.nextDueAt?.toISOString() ?? null,
    waitingFor: waitingInWords(taken),
  };
}
