import { rows, type Database } from '../../../src/database/pool/connection';
import { restartWork, type Work } from '../../../src/database/reconcile/open-work';
import { send, serveApi, tokenOf, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { answerCharges, standingApproval, type Standing } from '../../support/standing';

/** What an operator reads as the title of a workflow that has run before. */

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
/** Of two customers, at two banks. */
let lookupIDs: string[];
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
  standing = await standingApproval(db, api.deps.ring);
  const { customerId } = await standingApproval(db, api.deps.ring);
  const customers = await rows<{ lookupId: string }>(
    db,
    `SELECT lookup_id AS "lookupId" FROM customers WHERE id = ANY(:ids)`,
    { ids: [standing.customerId, customerId] },
  );
  lookupIDs = customers.map(({ lookupId }) => lookupId);
  token = await tokenOf(api, standing.credentials.merchant);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(() => rows(db, `DELETE FROM outbox`));

interface Start {
  workflowId: string;
  summary: string;
}

const starts = () =>
  rows<Start>(
    db,
    `SELECT workflow_id AS "workflowId", start->>'summary' AS summary FROM outbox WHERE kind = 'start' ORDER BY id`,
  );

const post = async (path: string, body: object) => {
  const { status, body: answer } = await send(api.url, 'POST', path, body, {
    authorization: `Bearer ${token}`,
  });
  expect([200, 201]).toContain(status);
  return answer;
};

const sum = { amount: 100, currency: 'NGN' };
const bill = (whom: object = { paymentIDs: [standing.paymentId] }) =>
  post('/v1/customer/bill', { ...whom, ...sum, description: 'Shoes' });
const ask = () =>
  post('/v1/billing/intent', { lookupIDs: lookupIDs.slice(0, 1), currency: 'NGN', description: 'Shoes' });
const schedule = () =>
  post('/v1/billing/recurring/create', {
    customerId: standing.customerId,
    paymentID: standing.paymentId,
    ...sum,
    frequency: 'monthly',
  });

async function refund(): Promise<void> {
  const [charge] = (await bill()) as unknown as { reference: string }[];
  await answerCharges(db, api.deps.ring, standing);
  await rows(db, `DELETE FROM outbox`);
  await post('/v1/refunds/initiate', { reference: charge?.reference });
}

const work = (workflowId: string): Work => ({
  kind: 'webhooks',
  key: '',
  workflowId,
  status: 'pending',
  merchantId: standing.merchantId,
  bankId: null,
  since: new Date(),
  now: new Date(),
});

test.each<[string, () => Promise<unknown>, RegExp]>([
  ['a charge', () => bill(), /^Charge \S+ of NGN 100\.00 by Merchant/],
  [
    'a call of two charges',
    () => bill({ lookupIDs }),
    /^2 charges of one call, each of NGN 100\.00 by Merchant/,
  ],
  ['an intent', ask, /^Intent \S+ by Merchant: may it bill the customer\?$/],
  ['a schedule', schedule, /^Schedule: NGN 100\.00 monthly by Merchant/],
  ['a refund', refund, /^Refund \S+ of NGN 100\.00, of charge \S+, by Merchant/],
])('%s that is started again is still titled with what it is about', async (_, begin, title) => {
  await begin();
  const [first] = await starts();
  expect(first?.summary).toMatch(title);
  await rows(db, `DELETE FROM outbox`);
  await restartWork(db, [work(String(first?.workflowId))]);
  expect(await starts()).toEqual([
    {
      workflowId: first?.workflowId,
      summary: `${first?.summary} (started again: it was overdue, or open without its workflow)`,
    },
  ]);
});

test('a schedule that its merchant resumes is still titled with what it is about', async () => {
  const { data } = await schedule();
  await rows(db, `DELETE FROM outbox`);
  const path = `/v1/billing/recurring/${String(data?.['scheduleId'])}`;
  await post(`${path}/pause`, {});
  await post(`${path}/resume`, {});
  expect((await starts()).map(({ summary }) => summary)).toEqual([
    'Schedule: NGN 100.00 monthly by Merchant (resumed)',
  ]);
});

test.each(['webhook-delivery/dlv_1', 'customer-migration/bat_1', 'billing-batch/brq_1'])(
  'a workflow whose rows say nothing of it any more has its id for a title: %s',
  async (workflowId) => {
    await restartWork(db, [work(workflowId)]);
    expect((await starts()).map(({ summary }) => summary)).toEqual([
      `${workflowId} (started again: it was overdue, or open without its workflow)`,
    ]);
  },
);
