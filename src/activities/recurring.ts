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
  type ScheduleEvent,
} from '../database/recurring/locked-schedule';
import type { BillingRules } from '../domain/billing-rules';
import { isAsked, type Facts } from '../domain/recurring/recurring-step';
import { nextAmount, type RecurringRules } from '../domain/recurring/schedule-facts';
import type { WebhookType } from '../domain/webhook/webhook';
import { workflowIds } from '../domain/workflow/workflow-id';
import type { AnswerTimeout } from './answer-timeout';
import type { DeliverFirstAttempts } from './webhook';
import type { ScheduleRow } from '../database/schedule/lock-schedules';
import { reasonForAudit } from '../domain/charge';
import { inMoney } from '../domain/money';
import { spanInWords } from '../domain/words/span';

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
export type RecurringActivities = ReturnType<typeof createRecurringActivities>;

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
) {
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
    /** Settles the billing, too, where the bank answers within a moment. */
    chargeBilling: async (scheduleId: string, reportedUntil: number): Promise<ScheduleState> => {
      const charged = await actOn(scheduleId, reportedUntil, chargeBilling);
      const { open, schedule, facts } = charged;
      if (!open || !isAsked(facts.open)) return stateOf(charged);
      const asked = { id: open.billingRequestId, bankId: schedule.bankId };
      const [answered] = await answerTimeout.waitForAnswers([asked]);
      if (answered === undefined) return stateOf(charged);
      const settled = await actOn(scheduleId, schedule.sequence, settleBilling);
      return stateOf({
        ...settled,
        events: [...charged.events, ...settled.events],
        unreported: [...charged.unreported, ...settled.unreported],
        // A summary has room for the first: a bank that answers has been told.
        told: [...settled.told, ...charged.told],
      });
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

/**
 * A schedule in plain words, for readers of its workflow: references, dates, amounts, and the names
 * of merchant and bank. People count billings from 1; the API's `n` begins at 0.
 */

/** Events of a schedule that its workflow caused; people's actions arrive as signals. */
export function eventsInWords(events: ScheduleEvent[], schedule: ScheduleRow): string[] {
  return events.flatMap((event) => inWords(event, schedule) ?? []);
}

/** Details of billings' events; JSON has dates and amounts as text. */
interface Details {
  n: number;
  attempt: number;
  amount: bigint | string;
  reference: string;
  dueAt: Date | string;
  retryAt: Date | string;
  reason: string;
  afterS: number;
}

function inWords({ type, cause, details }: ScheduleEvent, schedule: ScheduleRow): string | undefined {
  const { n, attempt, amount, reference, dueAt, retryAt, reason, afterS } = details as unknown as Details;
  const billing = billingInWords(n, schedule);
  const declined = () =>
    `${billing} was declined (${reasonForAudit(reason)}) after ${spanInWords(afterS * 1000)}`;
  switch (type) {
    case 'schedule.billing_charged': {
      const sum = inMoney({ ...schedule, amount: BigInt(amount) });
      return `${billing}, attempt ${attempt}: ${sum}, reference ${reference}.`;
    }
    case 'schedule.billing_successful':
      return `${billing} was approved by ${schedule.bankName} after ${spanInWords(afterS * 1000)}.`;
    case 'schedule.billing_retrying':
      return `${declined()}; it is tried again at ${moment(retryAt)}.`;
    case 'schedule.billing_failed':
      return `${declined()}, and is not tried again.`;
    case 'schedule.billing_skipped':
      return `${billing}, due at ${moment(dueAt)}, was skipped (${reason}).`;
    case 'schedule.notice_given':
      return `Both sides are told of billing ${n + 1}, due at ${moment(dueAt)}.`;
    case 'schedule.completed':
      return 'Ended as completed.';
    case 'schedule.failed':
      return 'Ended as failed.';
    case 'schedule.cancelled':
      return cause === 'operator' ? 'Cancelled by an operator.' : undefined;
    default:
      return undefined;
  }
}

const moment = (at: Date | string) => new Date(at).toISOString();

/** The event that the schedule waits for; the outcome where it has ended. */
export function waitingInWords({
  schedule,
  open,
  delayMs,
}: Pick<ScheduleResult, 'schedule' | 'open' | 'delayMs'>): string {
  const ran = ranInWords(schedule);
  const amount = inMoney({ ...schedule, amount: open?.amount ?? nextAmount(schedule) });
  if (open?.status === 'pending' && open.chargeStatus === 'pending') {
    const until = open.expiresAt.toISOString();
    return `Billing ${open.n + 1}, attempt ${open.attempts}: asked ${schedule.bankName} for ${amount}, which it may confirm until ${until}. ${ran}.`;
  }
  if (open?.status === 'retrying') {
    const why = reasonForAudit(open.declineReason ?? '');
    return `Billing ${open.n + 1} was declined (${why}); attempt ${open.attempts + 1} for ${amount} comes at ${open.retryAt?.toISOString()}. ${ran}.`;
  }
  if (schedule.nextDueAt === null) {
    return `The schedule ${schedule.status === 'failed' ? 'has failed' : `is ${schedule.status}`}. ${ran}.`;
  }
  const next = `billing ${schedule.nextN + 1} for ${amount} is due at ${schedule.nextDueAt.toISOString()}`;
  if (schedule.status !== 'active') {
    return `The schedule is ${schedule.status}, so nothing is charged; ${next}. ${ran}.`;
  }
  const later =
    delayMs < 1000 ? '' : `, and comes ${spanInWords(delayMs)} later, for others are due at the same moment`;
  return `Next charge: ${next}${later}. ${ran}.`;
}

function ranInWords({ ran, maxBillings }: ScheduleRow): string {
  const of = maxBillings === null ? '' : ` of ${maxBillings}`;
  return `${ran}${of} billing${(maxBillings ?? ran) === 1 ? '' : 's'} ${ran === 1 ? 'has' : 'have'} run`;
}

/** Skipped billings do not count towards `maxBillings`, so the last may have a higher number. */
function billingInWords(n: number, { maxBillings }: ScheduleRow): string {
  return `Billing ${n + 1}${maxBillings === null || n >= maxBillings ? '' : ` of ${maxBillings}`}`;
}
