import type { AnswerOf, AssentClient } from '../../packages/client/src';
import type { Charge, Customer, Refund, SandboxState, Schedule, Temperament } from '../console/sandbox/state';
import { workflowIds } from '../domain/workflow/workflow-id';

/** The two parties in the network's books. */
export type Picture = Pick<SandboxState, 'clock' | 'customers' | 'charges' | 'refunds' | 'schedules'>;

/** A customer of the bank, known before any call. */
export type Known = Pick<Customer, 'customerId' | 'lookupID' | 'name'> & { temperament: Temperament };

/** Newest records of each kind for the page; older records are in the history. */
const SHOWN = 100;
/** Newest schedules whose retries and skips are told: each takes a call of its own. */
const SCHEDULES_TOLD = 10;

/**
 * Reads everything from the API again, so that the page is right even if a webhook is lost. The
 * page makes the calls for itself: the wire does not show them.
 */
export async function takePicture(
  shop: AssentClient,
  bank: AssentClient,
  known: readonly Known[],
): Promise<Picture> {
  const newest = { limit: SHOWN, sortOrder: 'desc' } as const;
  const [transactions, schedules, decisions, exceptions, refunds, clock] = await Promise.all([
    shop.call('listTransactions', { query: { ...newest, type: 'charge' } }),
    shop.call('listSchedules', { query: newest }),
    bank.call('listDecisions', { query: newest }),
    bank.call('listExceptions', { query: newest }),
    shop.call('listRefunds', { query: newest }),
    shop.call('getClock'),
  ]);
  const told = await Promise.all(
    schedules.data.schedules
      .slice(0, SCHEDULES_TOLD)
      .map(({ scheduleId }) => shop.call('getSchedule', { path: { scheduleId } })),
  );
  const billingsOf = new Map(told.map(({ data }) => [data.scheduleId, data.billings]));
  const attemptOf = new Map(
    [...billingsOf.values()]
      .flat()
      .flatMap(({ attempts }) =>
        attempts.map(({ billingRequestId }, n) => [billingRequestId, n + 1] as const),
      ),
  );
  const openAbout = new Map(
    exceptions.data.exceptions
      .filter(({ state }) => state !== 'resolved')
      .map(({ billingRequestId, kind, bankTransactionId }) => [
        billingRequestId,
        // A bank that names its transaction has debited the account after all.
        kind === 'unanswered' && bankTransactionId ? 'late_answer' : kind,
      ]),
  );
  return {
    clock: { now: clock.data.now, target: clock.data.target },
    customers: known.map((one) => customerOf(one, decisions.data.decisions)),
    charges: transactions.data.transactions.map((one) =>
      chargeOf(one, openAbout.get(one.billingRequestId) ?? null, attemptOf.get(one.billingRequestId) ?? 1),
    ),
    refunds: refunds.data.refunds.map(refundOf),
    schedules: schedules.data.schedules.map((one) => scheduleOf(one, billingsOf.get(one.scheduleId) ?? [])),
  };
}

type Decisions = AnswerOf<'listDecisions'>['data']['decisions'];
type Transaction = AnswerOf<'listTransactions'>['data']['transactions'][number];

function customerOf(known: Known, decisions: Decisions): Customer {
  const own = decisions.find(({ customerId }) => customerId === known.customerId);
  return {
    ...known,
    decision: own?.customerDecision ?? null,
    limits: own?.spendingLimits ?? { daily: null, monthly: null },
    spent: { daily: own?.spent.daily ?? 0, monthly: own?.spent.monthly ?? 0 },
  };
}

function chargeOf(transaction: Transaction, exception: string | null, attempt: number): Charge {
  const { billingRequestId, scheduleId, reference, customerId, amount, currency, description } = transaction;
  return {
    billingRequestId,
    reference,
    customerId,
    amount,
    currency,
    description,
    status: transaction.status as Charge['status'],
    declineReason: transaction.declineReason,
    refundedAmount: transaction.refundedAmount,
    scheduleId,
    attempt,
    at: transaction.createdAt,
    exception,
    workflowId:
      scheduleId === null ? workflowIds.billingRequest(billingRequestId) : workflowIds.recurring(scheduleId),
  };
}

function refundOf(refund: AnswerOf<'listRefunds'>['data']['refunds'][number]): Refund {
  const { refundId, originalReference, amount, currency, status, createdAt } = refund;
  const workflowId = workflowIds.refund(refundId);
  return { refundId, originalReference, amount, currency, status, at: createdAt, workflowId };
}

type Billings = AnswerOf<'getSchedule'>['data']['billings'];

function scheduleOf(
  schedule: AnswerOf<'listSchedules'>['data']['schedules'][number],
  billings: Billings,
): Schedule {
  const { scheduleId, customerId, amount, currency, description, status } = schedule;
  const { nextBillingDate, billingsCompleted } = schedule;
  return {
    scheduleId,
    customerId,
    amount,
    currency,
    description,
    status,
    nextBillingDate,
    billingsCompleted,
    skips: billings
      .filter((billing) => billing.status === 'skipped')
      .map(({ dueDate, reason }) => ({ at: dueDate, reason: reason ?? null })),
    workflowId: workflowIds.recurring(scheduleId),
  };
}
