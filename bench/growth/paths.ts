import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import { awaitedCharges, readBillingRequest } from '../../src/database/billing-request/read-billing-request';
import { acceptCharges } from '../../src/database/billing-request/accept-billing-requests';
import type { Database } from '../../src/database/pool/connection';
import { banksOfEmail } from '../../src/database/customer/find-customers';
import { onboardBatch } from '../../src/database/customer/migrate-customers';
import { listCustomers } from '../../src/database/customer/list-customers';
import { listDecisions } from '../../src/database/decision/list-decisions';
import { listDevices } from '../../src/database/customer/link-device';
import { FEED_START, findFeedPosition, readFeed } from '../../src/database/webhook/read-event-feed';
import { claimKey, expireKeys, storeAnswer } from '../../src/database/call/idempotency';
import { answerIntent } from '../../src/database/intent/answer-intent';
import { KeyringError } from '../../src/database/keyring/keyring';
import { LIST_REACH } from '../../src/database/query/list-page';
import { endLease, enqueueSignals, leaseOutboxRows } from '../../src/database/outbox';
import { deleteFullBuckets, takeTokens } from '../../src/database/call/rate-limit';
import { chargeBilling } from '../../src/database/recurring/take-steps';
import { withLockedSchedule } from '../../src/database/recurring/locked-schedule';
import { listSchedules, readBillings, readSchedule } from '../../src/database/schedule/list-schedules';
import {
  listExceptions,
  unresolvedExceptions,
} from '../../src/database/reconciliation-exception/list-exceptions';
import { initiateRefund, listRefunds } from '../../src/database/refund/accept-refund';
import {
  listTransactions,
  readTransaction,
  readTransactions,
} from '../../src/database/ledger/list-transactions';
import { searchTransactions, type TransactionSearch } from '../../src/database/ledger/search-transactions';
import type { Party } from '../../src/database/query/party';
import {
  claimUnattempted,
  deliveryToAttempt,
  recordAttempt,
} from '../../src/database/webhook/attempt-delivery';
import { listDeliveries, readDelivery } from '../../src/database/webhook/list-deliveries';
import { forgetDeliveries } from '../../src/database/webhook/delete-old-deliveries';
import { WEBHOOK_TYPES } from '../../src/domain/webhook/webhook';
import type { Subjects } from './subjects';
import { closeExpiredRequests } from '../../src/database/billing-request/close-expired-requests';

/**
 * The engine's own verbs on every hot path, as they are; the n-th run takes the n-th subject of its
 * kind.
 */
export type Path = (db: Database, n: number) => Promise<unknown>;

const RULES = {
  timeZone: 'Africa/Lagos',
  intentWindowS: 86_400,
  intentsPerCustomerDay: 1_000_000,
  approvalsPerCustomerDay: 1_000_000,
  approvalWindowS: 900,
  settlementWindowS: 86_400,
  retryDays: [1, 3, 5],
  catchUpPerDay: 3,
  dueRate: 20,
  arrearsDays: 35,
  noticeHours: 24,
};

/** The last page of a list that is longer than its reach. */
const LAST = { page: LIST_REACH / 100, limit: 100 };
const FIRST = { page: 1, limit: 20 };

const textOf = (text: string) => ({ search: { text, currencies: ['NGN'] } });
const searched =
  (party: Party, filter: TransactionSearch): Path =>
  (db) =>
    searchTransactions(db, party, filter, { place: undefined, most: 25 });

export function paths(s: Subjects): Record<string, Path> {
  const bank: Party = { entityId: s.bank, role: 'bank' };
  const merchant: Party = { entityId: s.merchant, role: 'merchant' };
  const provider: Party = { entityId: s.provider, role: 'provider' };
  const byOpening = { sortBy: 'openedAt', sortOrder: 'desc' } as const;
  const byTime = { sortBy: 'createdAt', sortOrder: 'desc' } as const;
  const first = { ...FIRST, ...byTime };
  const last = { ...LAST, ...byTime };
  const charge = { amount: 5_000n, currency: 'NGN', description: 'Membership' };
  const bill = (
    db: Database,
    lines: { phrase: string; agreementId: string }[] | { phrase: string; lookupId: string }[],
  ) =>
    acceptCharges(db, RULES, s.merchant, {
      lines,
      charge,
    });
  const history =
    (party: Party, filter: Parameters<typeof listTransactions>[2] = {}, page = FIRST): Path =>
    (db) =>
      listTransactions(db, party, filter, { ...page, ...byTime });
  const file =
    (
      party: Party,
      filter: Parameters<typeof listTransactions>[2],
      sortBy: 'createdAt' | 'amount' = 'createdAt',
    ): Path =>
    async (db) => {
      let pages = 0;
      for await (const _ of readTransactions(db, party, filter, { ...byTime, sortBy }))
        if (++pages === 3) break;
    };
  const customersBy = (db: Database, search: string, page = FIRST) =>
    unopened(listCustomers(db, s.bank, { search }, { ...page, ...byTime }));
  const devices = (db: Database, search?: string) =>
    listDevices(db, s.bank, search, { ...FIRST, sortBy: 'linkedAt', sortOrder: 'desc' });
  const decisions = (db: Database, filter: Parameters<typeof listDecisions>[2], page: typeof first) =>
    listDecisions(db, bank, filter, page);
  const key = (n: number) => ({
    callerId: s.merchant,
    path: '/v1/customer/bill',
    key: `bench-${n}`,
    bodyIndexes: [Buffer.alloc(32)] as [Buffer],
  });

  return {
    'take a token': (db, n) =>
      takeTokens(db, [{ key: `bench-${n % 50}`, rate: { perSecond: 50, burst: 100 } }]),
    'idempotency key: read and store': (db, n) =>
      db.transaction(async (trx) => {
        await claimKey(trx, key(n));
        await storeAnswer(trx, key(n), { status: 201, body: {} }, undefined);
      }),
    'idempotency key: known': (db, n) =>
      db.transaction((trx) =>
        claimKey(trx, { ...of(s.keys, n), bodyIndexes: [Buffer.alloc(32)] as [Buffer] }),
      ),
    'bill, one paymentID': (db, n) => bill(db, [{ phrase: 'p', agreementId: of(s.agreements, n).id }]),
    'bill, one lookupID': (db, n) => bill(db, [{ phrase: 'p', lookupId: of(s.agreements, n).lookupId }]),
    'bill, 100 paymentIDs': (db) =>
      bill(
        db,
        s.agreements.slice(0, 100).map(({ id }) => ({ phrase: id, agreementId: id })),
      ),
    'bill, 100 lookupIDs': (db) =>
      bill(
        db,
        s.agreements.slice(0, 100).map(({ lookupId }) => ({ phrase: lookupId, lookupId })),
      ),
    'what of a call is open': (db, n) => awaitedCharges(db, [of(s.pending, n).id]),
    "bank's answer": (db, n) =>
      answered(db, of(s.pending, n), { outcome: 'approved', bankTransactionId: `bench-${n}`, action: null }),
    "bank's answer, the same again": (db, n) =>
      answered(db, of(s.closed, n), { outcome: 'declined', declineReason: 'late', action: null }),
    'windows passed of a workflow': (db, n) => closeExpiredRequests(db, [of(s.pending, n).id]),
    'webhooks: what a workflow has to send': (db, n) =>
      claimUnattempted(db, of(s.undelivered, n).workflowId, 8_000, WEBHOOK_TYPES),
    'webhooks: one to attempt': (db, n) => deliveryToAttempt(db, of(s.deliveries, n)),
    'webhooks: record an attempt': (db, n) =>
      recordAttempt(
        db,
        {
          deliveryId: of(s.undelivered, n).id,
          n: 1,
          begun: true,
          nextAttemptAt: null,
          reached: 'yes',
          durationMs: 5,
          httpStatus: 200,
          error: null,
          responseHead: null,
        },
        { maxAttempts: 12, retryInMs: 5_000 },
      ),
    'outbox: write, lease and delete': async (db, n) => {
      await enqueueSignals(db, 'bankAnswered', [{ workflowId: `billing-request/bench-${n}` }]);
      await endLease(db, (await leaseOutboxRows(db, 'call', 100, 10)).leased, [], 0);
    },
    'schedule: charge what is due': (db, n) =>
      withLockedSchedule(db, RULES, { scheduleId: of(s.due, n), reportedUntil: Infinity }, chargeBilling),
    'schedule: nothing to do': (db, n) =>
      withLockedSchedule(
        db,
        RULES,
        { scheduleId: of(s.schedules, n), reportedUntil: Infinity },
        () => undefined,
      ),
    refund: (db, n) =>
      initiateRefund(db, s.merchant, {
        reference: of(s.refundable, n),
        amount: undefined,
        reason: undefined,
      }),
    'onboard 100 customers': (db, n) => db.transaction((trx) => onboardBatch(trx, s.bank, people(n))),
    "intent: bank's answer": (db, n) => {
      const { bankId, ...pair } = of(s.intents, n);
      const answer = { customerDecision: 'approve_recurring', spendingLimits: { daily: 500 } } as const;
      return answerIntent(db, bankId, { ...pair, ...answer, blockMerchant: false });
    },
    'banks of an e-mail address': (db) => banksOfEmail(db, 'ada@example.test'),
    'charge by id': (db, n) => readBillingRequest(db, of(s.closed, n).bankId, of(s.closed, n).id),
    'transaction with its time line': (db, n) =>
      readTransaction(db, { entityId: of(s.closed, n).bankId, role: 'bank' }, of(s.closed, n).reference),
    'history of a bank': history(bank),
    'history of a bank, last page': history(bank, {}, LAST),
    'history of a bank, from half way': history(bank, { to: s.halfway }),
    'history of a bank, last month': history(bank, { from: s.lastMonth }),
    'history of a bank, pending': history(bank, { status: 'pending' }),
    'history of a bank, declined': history(bank, { status: 'declined' }),
    'history of a bank, successful': history(bank, { status: 'successful' }),
    'history of a bank, rejected': history(bank, { status: 'rejected' }),
    'history of a bank, completed': history(bank, { status: 'completed' }),
    'history of a bank, refunds': history(bank, { type: 'refund' }),
    'history of a bank, large merchant': history(bank, { merchantId: s.merchant }),
    'history of a bank, small merchant': history(bank, { merchantId: s.smallMerchant }),
    'history of a small bank, large merchant': history(
      { entityId: s.smallBank, role: 'bank' },
      { merchantId: s.merchant },
    ),
    'history of a bank, customer': (db, n) =>
      history(bank, { customerId: of(s.agreements, n).customerId })(db, n),
    'history of a merchant': history(merchant),
    'history of a merchant, last page': history(merchant, {}, LAST),
    'history of a merchant, pending': history(merchant, { status: 'pending' }),
    'history of a merchant, by reference': (db, n) =>
      history(merchant, { reference: of(s.refundable, n) })(db, n),
    'history of a merchant, a day by amount': (db) =>
      listTransactions(
        db,
        merchant,
        { from: new Date(Date.now() - 86_400_000) },
        { ...FIRST, sortBy: 'amount', sortOrder: 'desc' },
      ),
    'search of a merchant': searched(merchant, {}),
    'search of a merchant, words that are nowhere': searched(merchant, textOf('saffron')),
    'search of a merchant, settled in a month': searched(merchant, { settledFrom: s.lastMonth }),
    'search of a bank, a name': searched(bank, textOf('obi ada')),
    'search of a bank, declined in a month': searched(bank, { status: 'declined', closedFrom: s.lastMonth }),
    'history of a provider': history(provider),
    'history of a provider, last page': history(provider, {}, LAST),
    'history of a provider, pending': history(provider, { status: 'pending' }),
    'history of a provider, declined': history(provider, { status: 'declined' }),
    'file of a bank, 3 000 rows': file(bank, {}),
    'file of a bank, 3 000 rows from half way': file(bank, { to: s.halfway }),
    'file of a provider, 3 000 rows': file(provider, {}),
    'feed of a bank, from the start': (db) => unopened(readFeed(db, s.bank, FEED_START, 100)),
    'feed of a bank, after an event': async (db, n) => {
      const position = await findFeedPosition(db, s.bank, of(s.events, n));
      if (position) await unopened(readFeed(db, s.bank, position, 100));
    },
    'deliveries of a bank': (db) => listDeliveries(db, s.bank, {}, first),
    'deliveries of a bank, last page': (db) => listDeliveries(db, s.bank, {}, last),
    'deliveries of a bank, delivered': (db) => listDeliveries(db, s.bank, { status: 'delivered' }, first),
    'deliveries of a merchant, failed': (db) => listDeliveries(db, s.merchant, { status: 'failed' }, first),
    'deliveries of a bank, pending': (db) => listDeliveries(db, s.bank, { status: 'pending' }, first),
    'deliveries of a bank, of a type it has none of': (db) =>
      listDeliveries(db, s.bank, { webhookType: 'webhook.test' }, first),
    'delivery by id': (db, n) => readDelivery(db, s.bank, of(s.deliveries, n)),
    'refunds of a bank': (db) => listRefunds(db, bank, {}, first),
    'refunds of a bank, pending': (db) => listRefunds(db, bank, { status: 'pending' }, first),
    'refunds of a bank, completed': (db) => listRefunds(db, bank, { status: 'completed' }, first),
    'exceptions of a bank, resolved': (db) =>
      listExceptions(db, bank, { state: 'resolved' }, { ...FIRST, ...byOpening }),
    'exceptions of a provider': (db) => listExceptions(db, provider, {}, { ...FIRST, ...byOpening }),
    'unresolved exceptions, counted': (db) => unresolvedExceptions(db),
    'refunds of a provider': (db) => listRefunds(db, provider, {}, first),
    'refunds of a provider, rejected': (db) => listRefunds(db, provider, { status: 'rejected' }, first),
    'schedules of a merchant': (db) => listSchedules(db, merchant, {}, first),
    'schedules of a merchant, past due': (db) => listSchedules(db, merchant, { status: 'past_due' }, first),
    'schedules of a provider': (db) => listSchedules(db, provider, {}, first),
    'schedules of a provider, past due': (db) => listSchedules(db, provider, { status: 'past_due' }, first),
    'subscriptions of a bank, last page': (db) => listSchedules(db, bank, {}, last),
    'subscriptions of a bank, suspended': (db) => listSchedules(db, bank, { status: 'suspended' }, first),
    'subscriptions of a bank, customer': (db, n) =>
      listSchedules(db, bank, { customerId: of(s.agreements, n).customerId }, first),
    'schedule with its billings': async (db, n) => {
      await readSchedule(db, merchant, of(s.schedules, n));
      await readBillings(db, of(s.schedules, n));
    },
    'decisions of a bank': (db) => decisions(db, {}, first),
    'decisions of a bank, last page': (db) => decisions(db, {}, last),
    'decisions of a bank, suspended': (db) => decisions(db, { decision: 'suspended' }, first),
    'decisions of a bank, merchant': (db) => decisions(db, { merchantId: s.smallMerchant }, first),
    'decisions of a bank, customer': (db, n) =>
      listDecisions(db, bank, { customerId: of(s.agreements, n).customerId }, first),
    'customers of a bank': (db) => unopened(listCustomers(db, s.bank, {}, first)),
    'customers of a bank, by last name, last page': (db) =>
      unopened(listCustomers(db, s.bank, {}, { ...LAST, sortBy: 'lastname', sortOrder: 'asc' })),
    'customers of a bank, by clientRef, last page': (db) =>
      unopened(listCustomers(db, s.bank, {}, { ...LAST, sortBy: 'clientRef', sortOrder: 'asc' })),
    'customers of a bank, search for a clientRef': (db, n) => customersBy(db, `ref-${n}`),
    ...Object.fromEntries(
      ['abe', 'ab', 'zz', 'e', 'ẹ', 'abẹ', 'ab ol'].map((search): [string, Path] => [
        `customers of a bank, search for '${search}'`,
        (db) => customersBy(db, search),
      ]),
    ),
    "customers of a bank, search for 'ab', last page": (db) => customersBy(db, 'ab', LAST),
    "customers of a bank, search for 'e', last page": (db) => customersBy(db, 'e', LAST),
    'devices of a bank': (db) => devices(db),
    "devices of a bank, search for 'cus_'": (db) => devices(db, 'cus_'),
    "devices of a bank, search for 'k'": (db) => devices(db, 'k'),
    "devices of a bank, search for 'kaa'": (db) => devices(db, 'kaa'),
    'sweep: 200 deliveries': (db) => forgetDeliveries(db, 30),
    'sweep: 1 000 idempotency keys': (db) => expireKeys(db),
    'sweep: token buckets': (db) => deleteFullBuckets(db),
  };
}

const answered = (
  db: Database,
  { id, bankId }: { id: string; bankId: string },
  answer: Parameters<typeof answerBillingRequest>[3],
) => db.transaction((trx) => answerBillingRequest(trx, bankId, id, answer));

function of<Item>(items: Item[], n: number): Item {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('there is nothing to measure it with');
  return item;
}

/** Generated rows open with no key; beyond the statement they are not measured. */
async function unopened(read: Promise<unknown>): Promise<void> {
  await read.catch((error: unknown) => {
    if (!(error instanceof KeyringError)) throw error;
  });
}

const people = (n: number) =>
  Array.from({ length: 100 }, (_, i) => ({
    person: {
      clientRef: `bench-${n}-${i}`,
      firstname: 'Ada',
      lastname: 'Obi',
      accountName: 'Ada Obi',
      email: `ada-${n}-${i}@example.test`,
      country: 'NG',
      accountNumber: `BENCH${n}X${i}`,
    },
  }));
