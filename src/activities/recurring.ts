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

/**
 * One turn of a schedule. It sends what was announced of the schedule, and says how that stands.
 */
type ScheduleActivity = (scheduleId: string, reported: ReportedUntil) => Promise<ScheduleState>;

/**
 * What the workflow of a schedule does. Each brings the schedule in line with its agreement and
 * does what it is named for. One that comes too late, or twice, finds nothing to do.
 */
export interface RecurringActivities {
  readSchedule: ScheduleActivity;
  /** Makes the attempt at a billing that is due, and asks the bank. */
  chargeBilling: ScheduleActivity;
  /**
   * Waits a moment for the bank's answer, and settles the billing in hand by it. A charge that the
   * bank has not answered in time is declined. Where no billing is left, the schedule ends.
   */
  settleBilling: ScheduleActivity;
  skipBillings: ScheduleActivity;
  giveNotice: ScheduleActivity;
  endSchedule: ScheduleActivity;
  /** As an operator's act. */
  cancelSchedule: ScheduleActivity;
}

/** How a schedule stands, for its workflow and for who reads its history. */
export interface ScheduleState {
  facts: Facts;
  /** How long after its moment the workflow wakes, behind others of the same moment. */
  delayMs: number;
  /**
   * What was done, in words. What had been done before, and is nowhere in the history, comes after
   * it.
   */
  did: string[];
  /** What of it went to whom, and at which attempt. */
  told: string[];
  /** Of the schedule's last event: with this result the history has all up to it. */
  sequence: number;
  /** RFC 3339; null when no further billing comes. */
  nextBillingDate: string | null;
  /** What it waits for, in words; where it has ended, how. */
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
    // What is new comes first, for a summary has room for the first.
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
