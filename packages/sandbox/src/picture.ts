import type { AnswerOf, AssentClient } from '../../client/src';
import type { Customer, SandboxState, Temperament } from './state';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';

/** The two parties in the network's books. */
export type Picture = Pick<SandboxState, 'clock' | 'customers' | 'charges' | 'refunds' | 'schedules'>;

/** A customer of the bank, known before any call. */
export type Known = Pick<Customer, 'customerId' | 'lookupID' | 'name'> & { temperament: Temperament };

/** Newest records of each kind for the page; older records are in the history. */
const SHOWN = 100;
/** Newest schedules whose retries and skips are told: each takes a call of its own. */
const SCHEDULES_SHOWN = 10;

/**
 * Reads everything from the API again, so that the page is right even if a webhook is lost. The
 * page makes the calls for itself: the wire does not show them.
 */
export async function takePicture(
  shop: AssentClient,
  bank: AssentClient,
  shopId: string,
  known: readonly Known[],
): Promise<Picture> {
  const newest = { limit: SHOWN, sortOrder: 'desc' } as const;
  const [transactions, schedules, decisions, exceptions, refunds, clock] = await Promise.all([
    shop.call('listTransactions', { query: { ...newest, type: 'charge' } }),
    shop.call('listSchedules', { query: newest }),
    bank.call('listDecisions', { query: { ...newest, merchantId: shopId } }),
    bank.call('listExceptions', { query: newest }),
    shop.call('listRefunds', { query: newest }),
    shop.call('getClock'),
  ]);
  const told = await Promise.all(
    schedules.data.schedules
      .slice(0, SCHEDULES_SHOWN)
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
    charges: transactions.data.transactions.map((one) => ({
      ...one,
      attempt: attemptOf.get(one.billingRequestId) ?? 1,
      exception: openAbout.get(one.billingRequestId) ?? null,
      workflowId:
        one.scheduleId === null
          ? workflowIds.billingRequest(one.billingRequestId)
          : workflowIds.recurring(one.scheduleId),
    })),
    refunds: refunds.data.refunds.map((one) => ({ ...one, workflowId: workflowIds.refund(one.refundId) })),
    schedules: schedules.data.schedules.map((one) => ({
      ...one,
      skips: (billingsOf.get(one.scheduleId) ?? [])
        .filter(({ status }) => status === 'skipped')
        .map(({ dueDate, reason }) => ({ at: dueDate, reason: reason ?? null })),
      workflowId: workflowIds.recurring(one.scheduleId),
    })),
  };
}

function customerOf(known: Known, decisions: AnswerOf<'listDecisions'>['data']['decisions']): Customer {
  const own = decisions.find(({ customerId }) => customerId === known.customerId);
  return {
    ...known,
    decision: own?.customerDecision ?? null,
    limits: own?.spendingLimits ?? { daily: null, monthly: null },
    spent: own?.spent ?? { daily: 0, monthly: 0 },
  };
}
