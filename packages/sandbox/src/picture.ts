import type { AnswerOf, AssentClient } from '../../client/src';
import { NO_LIMITS, readLimits } from '../../../src/domain/spending-limit';
import { termsInWords } from '../../../src/domain/words/terms-in-words';
import type { Customer, Permission, SandboxState, Temperament } from './state';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';

/** The two parties in the network's books. */
export type Picture = Pick<
  SandboxState,
  'clock' | 'customers' | 'permissions' | 'charges' | 'refunds' | 'schedules'
>;

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
  { shop, bank }: { shop: AssentClient; bank: AssentClient },
  { shopId, timeZone }: { shopId: string; timeZone: string },
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
    permissions: decisions.data.decisions.flatMap((one) => {
      const { customerDecision, customerId } = one;
      // The customer has yet to answer: the question is on the phone.
      if (customerDecision === 'pending') return [];
      const own = told.filter(({ data }) => data.customerId === customerId);
      const next = own.flatMap(({ data }) => nextOf(data));
      return [{ ...one, customerDecision, inWords: inWords(one, timeZone), next }];
    }),
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

type Decision = AnswerOf<'listDecisions'>['data']['decisions'][number];

const moment = (at: string | null) => (at === null ? null : new Date(at));

function inWords({ spendingLimits: shown, currency }: Decision, timeZone: string): string {
  const span = { validFrom: moment(shown.validFrom), validUntil: moment(shown.validUntil) };
  const limits = readLimits({ ...shown, ...span }, currency, '');
  return termsInWords({ ...NO_LIMITS, ...limits }, currency, timeZone);
}

/** The billing that is due next, or that the customer has skipped. */
function nextOf({
  scheduleId,
  status,
  amount,
  billings,
}: AnswerOf<'getSchedule'>['data']): Permission['next'] {
  const next =
    billings.find(({ status: how }) => how === 'scheduled') ??
    billings.findLast(({ reason }) => reason === 'customer_skipped');
  if (!next || (status !== 'active' && status !== 'past_due')) return [];
  const { n, dueDate } = next;
  return [{ scheduleId, n, amount, dueDate, isSkipped: next.status === 'skipped' }];
}

function customerOf(known: Known, decisions: readonly Decision[]): Customer {
  const own = decisions.find(({ customerId }) => customerId === known.customerId);
  return {
    ...known,
    decision: own?.customerDecision ?? null,
    limits: own?.spendingLimits ?? { daily: null, monthly: null },
    spent: own?.spent ?? { daily: 0, monthly: 0 },
  };
}
