import { randomUUID } from 'node:crypto';
import { ApiClient } from '../../examples/demo/api-client';
import { rows } from '../../src/database/pool/connection';
import { agreement, Cast, type Bank, type Item, type Merchant } from '../support/cast';
import { eventually, startEngine, type EngineProcess, type TestEngine } from '../support/engine';

/** Two APIs and two workers on the same servers, and no code of ours between them. */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let secondWorker: EngineProcess;
let bankAt: [ApiClient, ApiClient];
let merchantAt: [ApiClient, ApiClient];

/** Enough that both workers have some of them in hand. */
const CHARGES = 12;
const AMOUNT = 10;

beforeAll(async () => {
  engine = await startEngine({ RATE_LIMIT_CALLER: '1000/1000', RATE_LIMIT_ANSWER: '1000/1000' });
  const [{ apiUrl: elsewhere }, worker] = await Promise.all([
    engine.startAnotherApi(),
    engine.startAnotherWorker(),
  ]);
  secondWorker = worker;
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(1), cast.merchant()]);
  const alsoAt = (entityId: string) => new ApiClient(elsewhere, cast.identityOf(entityId));
  bankAt = [bank.api, alsoAt(bank.entityId)];
  merchantAt = [merchant.api, alsoAt(merchant.entityId)];
});

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

test('one key sent to both, and a worker that dies with charges in hand, make one charge of each key', async () => {
  const [customer] = bank.customers;
  const paymentID = await agreement(bank, merchant, customer);
  await bank.answerCharges('silence');
  // Each webhook hangs at the bank, in the hands of the worker that sent it.
  await bank.server.misbehave({ kind: 'slow', type: 'billing.request', times: CHARGES, delayMs: 3_000 });
  const bill = { paymentIDs: [paymentID], amount: AMOUNT, currency: 'NGN', description: 'Shoes' };

  const ids = await Promise.all(
    Array.from({ length: CHARGES }, async () => {
      const key = randomUUID();
      const [one, other] = await Promise.all(merchantAt.map((api) => accept(api, bill, key)));
      expect(other).toBe(one);
      return String(one);
    }),
  );
  expect(new Set(ids).size).toBe(CHARGES);

  const attempts = async () =>
    (await bank.server.attempts()).filter(({ type }) => type === 'billing.request').length;
  await eventually(async () => (await attempts()) >= CHARGES);
  await secondWorker.kill();
  await Promise.all(
    ids.map(async (billingRequestId) => {
      const answer = { billingRequestId, bankTransactionId: `tx-${billingRequestId}` };
      const told = await Promise.all(bankAt.map((api) => api.answer('/v1/billing/bank-response', answer)));
      expect(told.map(({ status, body }) => [status, body.data['status']])).toEqual([
        [200, 'successful'],
        [200, 'successful'],
      ]);
    }),
  );

  await Promise.all(ids.map((id) => merchant.hears('billing.response', id)));
  const charges = await rows<{ id: string; status: string; sequences: number[] }>(
    engine.database.db,
    `SELECT id, status, ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences
     FROM billing_requests b WHERE merchant_id = :merchantId`,
    { merchantId: merchant.entityId },
  );
  const whole = ids.map((id) => ({ id, status: 'successful', sequences: [1, 2] }));
  expect(charges.toSorted(byId)).toEqual(whole.toSorted(byId));
  const heard = (await merchant.server.received()).filter(({ type }) => type === 'billing.response');
  expect(heard.map(({ item }) => String(item['billingRequestId'])).toSorted()).toEqual(ids.toSorted());
  const spent = await rows(engine.database.db, `SELECT spent_day_total::int AS total FROM agreements`);
  expect(spent).toEqual([{ total: CHARGES * AMOUNT * 100 }]);
});

/** The charge that this key stands for, as soon as the call that came first with it has ended. */
async function accept(api: ApiClient, bill: object, key: string): Promise<string> {
  let id: string | undefined;
  await eventually(async () => {
    const { status, body } = await api.post<Item[]>('/v1/customer/bill', bill, key);
    if (status === 409) return false;
    if (status !== 201) throw new Error(`a bill was refused: ${status} ${JSON.stringify(body)}`);
    id = String(body[0]?.billingRequestId);
    return true;
  });
  return String(id);
}

const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id);
