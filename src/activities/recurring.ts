import { advanceSchedule, type Advanced, type ScheduleActivity } from '../database/recurring/advance';
import type { StepTaken } from '../database/recurring/steps';
import type { ReportedUntil } from '../database/recurring/unreported';
import { awaitedOfWorkflow } from '../database/billing-request/read';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import type { BillingRules } from '../domain/billing-rules';
import type { ScheduleStatus } from '../domain/recurring/recurring';
import type { RecurringRules } from '../domain/recurring/recurring-step';
import type { AnswerPatience } from './answer-patience';
import { stepInWords, waitingInWords } from './recurring-words';
import type { DeliverFirstAttempts } from './webhook';

/**
 * What the workflow of a schedule does. Each brings the schedule in line with its agreement, takes
 * the steps of its name that the rule (`nextStep`) names, delivers what that announced, and says
 * what comes next. One that comes too late, or twice, finds nothing to do and says so: what comes
 * next is always the rule's word.
 */
export type RecurringActivities = Record<
  ScheduleActivity,
  (scheduleId: string, workflowId: string, reportedUntil: ReportedUntil) => Promise<ScheduleState>
>;

/** Where a schedule has come to, for its workflow and for who reads its history. */
export interface ScheduleState {
  /**
   * What was done, in words: references, dates and amounts only. What had been done before, and is
   * nowhere in the history, comes after it.
   */
  did: string[];
  /** What of it went to whom, and at which attempt. */
  told: string[];
  /** Of the schedule's last event: with this result the history has all up to it. */
  sequence: number;
  status: ScheduleStatus;
  /** RFC 3339; null when no further billing comes. */
  nextBillingDate: string | null;
  /** What its workflow does next; null once there is nothing more. */
  next: ScheduleActivity | null;
  /** In how many milliseconds; 0 is at once. */
  inMs: number;
  /** What it waits for until then, in words. */
  waitingFor: string;
}

export function createRecurringActivities(
  db: Database,
  keyring: Keyring,
  rules: BillingRules & RecurringRules,
  patience: Pick<AnswerPatience, 'waitForAnswers'>,
  deliver: DeliverFirstAttempts,
): RecurringActivities {
  const as =
    (activity: ScheduleActivity) =>
    async (scheduleId: string, workflowId: string, reportedUntil: ReportedUntil) => {
      if (activity === 'settleBilling') await waitForAnswer(workflowId);
      const advanced = await advanceSchedule(db, keyring, rules, scheduleId, activity, reportedUntil);
      const { told } = await deliver(workflowId);
      return stateOf(advanced, told);
    };

  /** A moment's, and where there is nothing to wait for, none. */
  async function waitForAnswer(workflowId: string): Promise<void> {
    const charges = await awaitedOfWorkflow(db, workflowId);
    await patience.waitForAnswers(charges.filter(({ leftMs }) => leftMs > 0));
  }

  return {
    readSchedule: as('readSchedule'),
    chargeBilling: as('chargeBilling'),
    settleBilling: as('settleBilling'),
    skipBillings: as('skipBillings'),
    giveNotice: as('giveNotice'),
    endSchedule: as('endSchedule'),
    cancelSchedule: as('cancelSchedule'),
  };
}

function stateOf(advanced: Advanced, told: string[]): ScheduleState {
  const { schedule, taken, unreported, sequence, next, inMs } = advanced;
  const inWords = (steps: StepTaken[]) => steps.map((step) => stepInWords(step, schedule));
  return {
    // What is new comes first, for a summary is cut at its end.
    did: [
      ...inWords(taken),
      ...(unreported.length > 0
        ? [`Done before (who was told of it: npx assent why ${schedule.id}):`, ...inWords(unreported)]
        : []),
    ],
    told,
    sequence,
    status: schedule.status,
    nextBillingDate: schedule.nextDueAt?.toISOString() ?? null,
    next,
    inMs,
    waitingFor: waitingInWords(advanced),
  };
}
