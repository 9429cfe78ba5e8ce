import {
  awaitedCharges,
  awaitedOfWorkflow,
  markChargesWaiting,
  type AwaitedCharge,
} from '../database/billing-request/read-billing-request';
import type { Database } from '../database/pool/connection';
import { followCredits } from '../database/credit/follow-credit';
import { reasonForAudit } from '../domain/charge';
import { inMoney } from '../domain/money';
import type { Moment } from '../domain/workflow/moment';
import type { AnswerTimeout } from './answer-timeout';
import { closeExpiredRequests } from '../database/billing-request/close-expired-requests';

/** The state of the charges that a workflow waits for. */
export interface Answers {
  /** Charges that have ended: their outcome, and their duration in business time. */
  ended: EndedCharge[];
  /** Ids of charges that their banks have not answered. */
  open: string[];
  /** The only open charge; null where there are none, or several. */
  onlyOpen: Pick<EndedCharge, 'reference' | 'amount' | 'bank'> | null;
  /** When the next window closes; null where nothing is open. */
  closes: Moment | null;
}

export interface EndedCharge {
  billingRequestId: string;
  reference: string;
  /** The amount in major units, for people. */
  amount: string;
  /** The name of the bank that was asked. */
  bank: string;
  status: string;
  /** Only where it was declined. */
  declineReason?: string;
  /** Only where the merchant, or its provider, has cancelled it. */
  cancelledBy?: 'merchant' | 'provider';
  afterS: number;
  /** The payee's bank is still to be notified of the money. */
  creditWaits?: true;
}

interface Credits {
  /** Ids of charges that still wait for the payee's bank. */
  waiting: string[];
  /** When the first waiting charge is overdue; null where none waits. */
  overdue: Moment | null;
}

export type BillingRequestActivities = ReturnType<typeof createBillingRequestActivities>;

export function createBillingRequestActivities(db: Database, answerTimeout: AnswerTimeout<AwaitedCharge>) {
  return {
    /**
     * Waits a moment for the banks' answers; a later answer signals the workflow.
     *
     * @param billingRequestIds empty for the workflow's open charges
     */
    async awaitAnswer(billingRequestIds: string[], workflowId: string): Promise<Answers> {
      const taken = billingRequestIds.length === 0;
      const before = await (taken
        ? awaitedOfWorkflow(db, workflowId)
        : awaitedCharges(db, billingRequestIds));
      const open = before.filter(isOpen);
      if (open.length === 0) return answersOf(before);
      // A customer's approval takes longer than this wait.
      const ended = await answerTimeout.waitForAnswers(
        open.filter((one) => !one.approvalRequired && one.leftMs > 0),
      );
      const after = new Map([...before, ...ended].map((one) => [one.id, one]));
      if (ended.length === open.length) return answersOf([...after.values()]);
      const ids = [...after.keys()];
      await markChargesWaiting(db, ids);
      return answersOf(await awaitedCharges(db, ids));
    },

    async closeWindow(billingRequestIds: string[]): Promise<Answers> {
      await db.transaction((trx) => closeExpiredRequests(trx, billingRequestIds));
      return answersOf(await awaitedCharges(db, billingRequestIds));
    },

    /**
     * Settles charges whose payees' banks were notified of their money, and notes the charges that
     * are overdue.
     */
    async awaitCredit(billingRequestIds: string[]): Promise<Credits> {
      await db.transaction((trx) => followCredits(trx, billingRequestIds));
      const waiting = (await awaitedCharges(db, billingRequestIds)).filter((one) => one.creditWaits);
      return { waiting: waiting.map(({ id }) => id), overdue: firstOf(waiting) };
    },
  };
}

const isOpen = ({ status }: AwaitedCharge) => status === 'pending';

function answersOf(charges: AwaitedCharge[]): Answers {
  const open = charges.filter(isOpen);
  const [first] = open;
  return {
    ended: charges.filter((one) => !isOpen(one)).map(endOf),
    open: open.map(({ id }) => id),
    onlyOpen:
      first !== undefined && open.length === 1
        ? { reference: first.reference, amount: inMoney(first), bank: first.bankName }
        : null,
    closes: firstOf(open),
  };
}

function endOf(charge: AwaitedCharge): EndedCharge {
  const { declineReason, closedBy } = charge;
  return {
    billingRequestId: charge.id,
    reference: charge.reference,
    amount: inMoney(charge),
    bank: charge.bankName,
    status: charge.status,
    // A bank's own words may speak of a person.
    ...(declineReason !== null && { declineReason: reasonForAudit(declineReason) }),
    ...((closedBy === 'merchant' || closedBy === 'provider') &&
      declineReason === 'cancelled' && { cancelledBy: closedBy }),
    afterS: charge.afterS,
    ...(charge.creditWaits && { creditWaits: true }),
  };
}

function firstOf(charges: AwaitedCharge[]): Moment | null {
  const first = charges.toSorted((one, other) => one.leftMs - other.leftMs)[0];
  return first ? { inMs: Math.max(0, first.leftMs), at: first.endsAt } : null;
}
