import {
  answerBillingRequest,
  closeExpiredRequests,
} from '../../src/database/billing-request/settle-billing-request';
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
import { answerIntent } from '../../src/database/intent/end-intents';
import { KeyringError, type Keyring } from '../../src/database/keys/keyring';
import { LIST_REACH } from '../../src/database/query/list-page';
import { enqueueSignals, takeOutboxRows } from '../../src/database/outbox';
import { deleteFullBuckets, takeTokens } from '../../src/database/call/rate-limit';
import { chargeBilling } from '../../src/database/recurring/take-steps';
import { takeTurn } from '../../src/database/recurring/take-turn';
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
import type { Party } from '../../src/database/query/party';
import {
  claimUnattempted,
  deliveryToAttempt,
  recordAttempt,
} from '../../src/database/webhook/attempt-delivery';
import { listDeliveries, readDelivery } from '../../src/database/webhook/list-deliveries';
import { forgetDeliveries } from '../../src/database/webhook/delete-old-deliveries';
import type { Subjects } from './subjects';

/**
 * The engine's own verbs on every hot path, as they are; the n-th run takes the n-th subject of its
 * kind.
 */
export interface Path {
  name: string;
  run: (db: Database, n: number) => Promise<unknown>;
}

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
};

/** The last page of a list that is longer than its reach. */
const LAST = { page: LIST_REACH / 100, limit: 100 };
const FIRST = { page: 1, limit: 20 };

export function paths(s: Subjects, keyring: Keyring): Path[] {
  const bank: Party = { entityId: s.bank, role: 'bank' };
  const merchant: Party = { entityId: s.merchant, role: 'merchant' };
  const provider: Party = { entityId: s.provider, role: 'provider' };
  const byOpening = { sortBy: 'openedAt', sortOrder: 'desc' } as const;
  const byTime = { sortBy: 'createdAt', sortOrder: 'desc' } as const;
  const charge = { amount: 5_000n, currency: 'NGN', description: 'Membership' };
  const bill = (
    db: Database,
    lines: { phrase: string; agreementId: string }[] | { phrase: string; lookupId: string }[],
  ) =>
    acceptCharges(db, keyring, RULES, s.merchant, lines, charge, (_, [id = '']) => `billing-request/${id}`);
  const history =
    (party: Party, filter: Parameters<typeof listTransactions>[2] = {}, page = FIRST): Path['run'] =>
    (db) =>
      listTransactions(db, party, filter, { ...page, ...byTime });
  const file =
    (
      party: Party,
      filter: Parameters<typeof listTransactions>[2],
      sortBy: 'createdAt' | 'amount' = 'createdAt',
    ): Path['run'] =>
    async (db) => {
      let pages = 0;
      for await (const _ of readTransactions(db, party, filter, { ...byTime, sortBy }))
        if (++pages === 3) break;
    };
  const searched = (db: Database, search: string, page = FIRST) =>
    unopened(listCustomers(db, keyring, s.bank, search, { ...page, ...byTime }));
  const devices = (db: Database, search?: string) =>
    listDevices(db, keyring, s.bank, search, { ...FIRST, sortBy: 'linkedAt', sortOrder: 'desc' });
  const key = (n: number) => ({
    callerId: s.merchant,
    path: '/v1/customer/bill',
    key: `bench-${n}`,
    bodyIndexes: [Buffer.alloc(32)] as [Buffer],
  });

  return [
    {
      name: 'take a token',
      run: (db, n) => takeTokens(db, [{ key: `bench-${n % 50}`, rate: { perSecond: 50, burst: 100 } }]),
    },
    {
      name: 'idempotency key: read and store',
      run: (db, n) =>
        db.transaction(async (trx) => {
          await claimKey(trx, keyring, key(n));
          await storeAnswer(trx, keyring, key(n), { status: 201, body: {} }, undefined);
        }),
    },
    {
      name: 'idempotency key: known',
      run: (db, n) =>
        db.transaction((trx) =>
          claimKey(trx, keyring, { ...of(s.keys, n), bodyIndexes: [Buffer.alloc(32)] as [Buffer] }),
        ),
    },
    {
      name: 'bill, one paymentID',
      run: (db, n) => bill(db, [{ phrase: 'p', agreementId: of(s.agreements, n).id }]),
    },
    {
      name: 'bill, one lookupID',
      run: (db, n) => bill(db, [{ phrase: 'p', lookupId: of(s.agreements, n).lookupId }]),
    },
    {
      name: 'bill, 100 paymentIDs',
      run: (db) =>
        bill(
          db,
          s.agreements.slice(0, 100).map(({ id }) => ({ phrase: id, agreementId: id })),
        ),
    },
    {
      name: 'bill, 100 lookupIDs',
      run: (db) =>
        bill(
          db,
          s.agreements.slice(0, 100).map(({ lookupId }) => ({ phrase: lookupId, lookupId })),
        ),
    },
    { name: 'what of a call is open', run: (db, n) => awaitedCharges(db, [of(s.pending, n).id]) },
    {
      name: "bank's answer",
      run: (db, n) => {
        const { id, bankId } = of(s.pending, n);
        const answer = { outcome: 'approved', bankTransactionId: `bench-${n}`, action: null } as const;
        return db.transaction((trx) =>
          answerBillingRequest(trx, keyring, 'Africa/Lagos', bankId, id, answer, {}),
        );
      },
    },
    {
      name: "bank's answer, the same again",
      run: (db, n) => {
        const { id, bankId } = of(s.closed, n);
        const answer = { outcome: 'declined', declineReason: 'late', action: null } as const;
        return db.transaction((trx) =>
          answerBillingRequest(trx, keyring, 'Africa/Lagos', bankId, id, answer, {}),
        );
      },
    },
    {
      name: 'windows passed of a workflow',
      run: (db, n) => closeExpiredRequests(db, keyring, [of(s.pending, n).id]),
    },
    {
      name: 'webhooks: what a workflow has to send',
      run: (db, n) => claimUnattempted(db, of(s.undelivered, n).workflowId, 8_000),
    },
    { name: 'webhooks: one to attempt', run: (db, n) => deliveryToAttempt(db, of(s.deliveries, n)) },
    {
      name: 'webhooks: record an attempt',
      run: (db, n) =>
        recordAttempt(
          db,
          keyring,
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
    },
    {
      name: 'outbox: write and take',
      run: async (db, n) => {
        await enqueueSignals(db, 'bankAnswered', [{ workflowId: `billing-request/bench-${n}` }]);
        await takeOutboxRows(db, 'call', 100);
      },
    },
    {
      name: 'schedule: charge what is due',
      run: (db, n) => takeTurn(db, keyring, RULES, of(s.due, n), null, chargeBilling),
    },
    {
      name: 'schedule: nothing to do',
      run: (db, n) => takeTurn(db, keyring, RULES, of(s.schedules, n), null, () => undefined),
    },
    {
      name: 'refund',
      run: (db, n) =>
        initiateRefund(db, keyring, 'Africa/Lagos', s.merchant, {
          reference: of(s.refundable, n),
          amount: undefined,
          reason: undefined,
        }),
    },
    {
      name: 'onboard 100 customers',
      run: (db, n) => db.transaction((trx) => onboardBatch(trx, keyring, s.bank, people(n))),
    },
    {
      name: "intent: bank's answer",
      run: (db, n) => {
        const { bankId, ...pair } = of(s.intents, n);
        const answer = { customerDecision: 'approve_recurring', spendingLimits: { daily: 500 } } as const;
        return answerIntent(db, keyring, bankId, { ...pair, ...answer, blockMerchant: false });
      },
    },
    { name: 'banks of an e-mail address', run: (db) => banksOfEmail(db, keyring, 'ada@example.test') },

    {
      name: 'charge by id',
      run: (db, n) => readBillingRequest(db, of(s.closed, n).bankId, of(s.closed, n).id),
    },
    {
      name: 'transaction with its time line',
      run: (db, n) =>
        readTransaction(db, { entityId: of(s.closed, n).bankId, role: 'bank' }, of(s.closed, n).reference),
    },
    { name: 'history of a bank', run: history(bank) },
    { name: 'history of a bank, last page', run: history(bank, {}, LAST) },
    { name: 'history of a bank, from half way', run: history(bank, { to: s.halfway }) },
    { name: 'history of a bank, last month', run: history(bank, { from: s.lastMonth }) },
    { name: 'history of a bank, pending', run: history(bank, { status: 'pending' }) },
    { name: 'history of a bank, declined', run: history(bank, { status: 'declined' }) },
    { name: 'history of a bank, successful', run: history(bank, { status: 'successful' }) },
    { name: 'history of a bank, rejected', run: history(bank, { status: 'rejected' }) },
    { name: 'history of a bank, completed', run: history(bank, { status: 'completed' }) },
    { name: 'history of a bank, refunds', run: history(bank, { type: 'refund' }) },
    { name: 'history of a bank, large merchant', run: history(bank, { merchantId: s.merchant }) },
    { name: 'history of a bank, small merchant', run: history(bank, { merchantId: s.smallMerchant }) },
    {
      name: 'history of a small bank, large merchant',
      run: history({ entityId: s.smallBank, role: 'bank' }, { merchantId: s.merchant }),
    },
    {
      name: 'history of a bank, customer',
      run: (db, n) => history(bank, { customerId: of(s.agreements, n).customerId })(db, n),
    },
    { name: 'history of a merchant', run: history(merchant) },
    { name: 'history of a merchant, last page', run: history(merchant, {}, LAST) },
    { name: 'history of a merchant, pending', run: history(merchant, { status: 'pending' }) },
    {
      name: 'history of a merchant, by reference',
      run: (db, n) => history(merchant, { reference: of(s.refundable, n) })(db, n),
    },
    {
      name: 'history of a merchant, a day by amount',
      run: (db) =>
        listTransactions(
          db,
          merchant,
          { from: new Date(Date.now() - 86_400_000) },
          { ...FIRST, sortBy: 'amount', sortOrder: 'desc' },
        ),
    },
    { name: 'history of a provider', run: history(provider) },
    { name: 'history of a provider, last page', run: history(provider, {}, LAST) },
    { name: 'history of a provider, pending', run: history(provider, { status: 'pending' }) },
    { name: 'history of a provider, declined', run: history(provider, { status: 'declined' }) },
    { name: 'file of a bank, 3 000 rows', run: file(bank, {}) },
    { name: 'file of a bank, 3 000 rows from half way', run: file(bank, { to: s.halfway }) },
    { name: 'file of a provider, 3 000 rows', run: file(provider, {}) },

    {
      name: 'feed of a bank, from the start',
      run: (db) => unopened(readFeed(db, keyring, s.bank, FEED_START, 100)),
    },
    {
      name: 'feed of a bank, after an event',
      run: async (db, n) => {
        const position = await findFeedPosition(db, s.bank, of(s.events, n));
        if (position) await unopened(readFeed(db, keyring, s.bank, position, 100));
      },
    },
    { name: 'deliveries of a bank', run: (db) => listDeliveries(db, s.bank, {}, { ...FIRST, ...byTime }) },
    {
      name: 'deliveries of a bank, last page',
      run: (db) => listDeliveries(db, s.bank, {}, { ...LAST, ...byTime }),
    },
    {
      name: 'deliveries of a bank, delivered',
      run: (db) => listDeliveries(db, s.bank, { status: 'delivered' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'deliveries of a merchant, failed',
      run: (db) => listDeliveries(db, s.merchant, { status: 'failed' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'deliveries of a bank, pending',
      run: (db) => listDeliveries(db, s.bank, { status: 'pending' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'deliveries of a bank, of a type it has none of',
      run: (db) => listDeliveries(db, s.bank, { webhookType: 'webhook.test' }, { ...FIRST, ...byTime }),
    },
    { name: 'delivery by id', run: (db, n) => readDelivery(db, s.bank, of(s.deliveries, n)) },
    { name: 'refunds of a bank', run: (db) => listRefunds(db, bank, {}, { ...FIRST, ...byTime }) },
    {
      name: 'refunds of a bank, pending',
      run: (db) => listRefunds(db, bank, { status: 'pending' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'refunds of a bank, completed',
      run: (db) => listRefunds(db, bank, { status: 'completed' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'exceptions of a bank, resolved',
      run: (db) => listExceptions(db, bank, { state: 'resolved' }, { ...FIRST, ...byOpening }),
    },
    {
      name: 'exceptions of a provider',
      run: (db) => listExceptions(db, provider, {}, { ...FIRST, ...byOpening }),
    },
    { name: 'unresolved exceptions, counted', run: (db) => unresolvedExceptions(db) },
    { name: 'refunds of a provider', run: (db) => listRefunds(db, provider, {}, { ...FIRST, ...byTime }) },
    {
      name: 'refunds of a provider, rejected',
      run: (db) => listRefunds(db, provider, { status: 'rejected' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'schedules of a merchant',
      run: (db) => listSchedules(db, merchant, {}, { ...FIRST, ...byTime }),
    },
    {
      name: 'schedules of a merchant, past due',
      run: (db) => listSchedules(db, merchant, { status: 'past_due' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'schedules of a provider',
      run: (db) => listSchedules(db, provider, {}, { ...FIRST, ...byTime }),
    },
    {
      name: 'schedules of a provider, past due',
      run: (db) => listSchedules(db, provider, { status: 'past_due' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'subscriptions of a bank, last page',
      run: (db) => listSchedules(db, bank, {}, { ...LAST, ...byTime }),
    },
    {
      name: 'subscriptions of a bank, suspended',
      run: (db) => listSchedules(db, bank, { status: 'suspended' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'subscriptions of a bank, customer',
      run: (db, n) =>
        listSchedules(db, bank, { customerId: of(s.agreements, n).customerId }, { ...FIRST, ...byTime }),
    },
    {
      name: 'schedule with its billings',
      run: async (db, n) => {
        await readSchedule(db, merchant, of(s.schedules, n));
        await readBillings(db, of(s.schedules, n));
      },
    },
    {
      name: 'decisions of a bank',
      run: (db) => listDecisions(db, 'Africa/Lagos', bank, {}, { ...FIRST, ...byTime }),
    },
    {
      name: 'decisions of a bank, last page',
      run: (db) => listDecisions(db, 'Africa/Lagos', bank, {}, { ...LAST, ...byTime }),
    },
    {
      name: 'decisions of a bank, suspended',
      run: (db) =>
        listDecisions(db, 'Africa/Lagos', bank, { decision: 'suspended' }, { ...FIRST, ...byTime }),
    },
    {
      name: 'decisions of a bank, merchant',
      run: (db) =>
        listDecisions(db, 'Africa/Lagos', bank, { merchantId: s.smallMerchant }, { ...FIRST, ...byTime }),
    },
    {
      name: 'decisions of a bank, customer',
      run: (db, n) =>
        listDecisions(
          db,
          'Africa/Lagos',
          bank,
          { customerId: of(s.agreements, n).customerId },
          { ...FIRST, ...byTime },
        ),
    },
    {
      name: 'customers of a bank',
      run: (db) => unopened(listCustomers(db, keyring, s.bank, undefined, { ...FIRST, ...byTime })),
    },
    {
      name: 'customers of a bank, by last name, last page',
      run: (db) =>
        unopened(
          listCustomers(db, keyring, s.bank, undefined, { ...LAST, sortBy: 'lastname', sortOrder: 'asc' }),
        ),
    },
    {
      name: 'customers of a bank, by clientRef, last page',
      run: (db) =>
        unopened(
          listCustomers(db, keyring, s.bank, undefined, { ...LAST, sortBy: 'clientRef', sortOrder: 'asc' }),
        ),
    },
    {
      name: 'customers of a bank, search for a clientRef',
      run: (db, n) => searched(db, `ref-${n}`),
    },
    ...['abe', 'ab', 'zz', 'e', 'ẹ', 'abẹ', 'ab ol'].map((search): Path => ({
      name: `customers of a bank, search for '${search}'`,
      run: (db) => searched(db, search),
    })),
    {
      name: `customers of a bank, search for 'ab', last page`,
      run: (db) => searched(db, 'ab', LAST),
    },
    {
      name: `customers of a bank, search for 'e', last page`,
      run: (db) => searched(db, 'e', LAST),
    },
    { name: 'devices of a bank', run: (db) => devices(db) },
    { name: `devices of a bank, search for 'cus_'`, run: (db) => devices(db, 'cus_') },
    { name: `devices of a bank, search for 'k'`, run: (db) => devices(db, 'k') },
    { name: `devices of a bank, search for 'kaa'`, run: (db) => devices(db, 'kaa') },

    { name: 'sweep: 200 deliveries', run: (db) => forgetDeliveries(db, keyring, 30) },
    { name: 'sweep: 1 000 idempotency keys', run: (db) => expireKeys(db) },
    { name: 'sweep: token buckets', run: (db) => deleteFullBuckets(db) },
  ];
}

function of<Item>(items: Item[], n: number): Item {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('there is nothing to measure it with');
  return item;
}

/** What is generated opens with no key: beyond the statement it is not measured. */
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
