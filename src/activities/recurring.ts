import { awaitedOfWorkflow } from '../database/billing-request/read-billing-request';
import type { Database } from '../database/pool/connection';
import type { Keyring } from '../database/keys/keyring';
import {
  cancelSchedule,
  chargeBilling,
  endSchedule,
  giveNotice,
  settleBilling,
  skipBillings,
} from '../database/recurring/take-steps';
import { takeTurn, type Turn, type TurnTaken } from '../database/recurring/take-turn';
import type { ReportedUntil } from '../database/recurring/read-untold';
import type { BillingRules } from '../domain/billing-rules';
import type { Facts } from '../domain/recurring/recurring-step';
import type { RecurringRules } from '../domain/recurring/schedule-facts';
import { workflowIds } from '../domain/workflow/workflow-id';
import type { AnswerPatience } from './answer-patience';
import { eventsInWords, waitingInWords } from './recurring-words';
import type { DeliverFirstAttempts } from './webhook';

/** A turn of a schedule: sends its announcements, and returns its state. */
type ScheduleActivity = (scheduleId: string, reported: ReportedUntil) => Promise<ScheduleState>;

/**
 * The steps of a schedule's workflow. Each brings the schedule in line with its agreement and does
 * its own step. A step that comes too late, or twice, finds nothing to do.
 */
export interface RecurringActivities {
  readSchedule: ScheduleActivity;
  /** Makes the attempt at a due billing, and asks the bank. */
  chargeBilling: ScheduleActivity;
  /**
   * Waits a moment for the bank's answer, and settles the billing in hand by it. A charge without
   * an answer in time is declined. The schedule ends with its last billing.
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
  /** Events of this turn, in words, then earlier events that the history lacks. */
  did: string[];
  /** Webhooks sent, by receiver and attempt. */
  told: string[];
  /**
   * The sequence of the schedule's last event: with this result the history is complete up to it.
   */
  sequence: number;
  /** RFC 3339; null when no further billing comes. */
  nextBillingDate: string | null;
  /** The event that the schedule waits for, in words; the outcome where it has ended. */
  waitingFor: string;
}

export function createRecurringActivities(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  patience: Pick<AnswerPatience, 'waitForAnswers'>,
  deliver: DeliverFirstAttempts,
): RecurringActivities {
  async function turn(
    scheduleId: string,
    reported: ReportedUntil,
    act: (turn: Turn) => Promise<void>,
  ): Promise<ScheduleState> {
    const taken = await takeTurn(db, keyring, rules, scheduleId, reported, act);
    const { told } = await deliver(workflowIds.recurring(scheduleId));
    return stateOf(taken, told);
  }

  return {
    readSchedule: (id, reported) => turn(id, reported, () => Promise.resolve()),
    chargeBilling: (id, reported) => turn(id, reported, chargeBilling),
    async settleBilling(id, reported) {
      const charges = await awaitedOfWorkflow(db, workflowIds.recurring(id));
      await patience.waitForAnswers(charges.filter(({ leftMs }) => leftMs > 0));
      return turn(id, reported, settleBilling);
    },
    skipBillings: (id, reported) => turn(id, reported, skipBillings),
    giveNotice: (id, reported) => turn(id, reported, giveNotice),
    endSchedule: (id, reported) => turn(id, reported, endSchedule),
    cancelSchedule: (id, reported) => turn(id, reported, cancelSchedule),
  };
}

function stateOf(taken: TurnTaken, told: string[]): ScheduleState {
  const { schedule, facts, events, untold, sequence, delayMs } = taken;
  const before = eventsInWords(untold, schedule);
  return {
    facts,
    delayMs,
    // This turn's events come first, because a summary has room for the first.
    did: [
      ...eventsInWords(events, schedule),
      ...(before.length > 0
        ? [`Done before (who was told of it: npx assent why ${schedule.id}):`, ...before]
        : []),
    ],
    told,
    sequence,
    nextBillingDate: schedule.nextDueAt?.toISOString() ?? null,
    waitingFor: waitingInWords(taken),
  };
}
