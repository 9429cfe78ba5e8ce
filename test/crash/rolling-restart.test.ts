import { randomUUID } from 'node:crypto';
import { agreement, Cast, type Bank, type Item, type Merchant } from '../support/cast';
import { eventually, startEngine, type EngineProcess, type TestEngine } from '../support/engine';

/**
 * A new version is rolled out: APIs and workers are stopped in order and started again, one after
 * the other.
 */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let apis: Api[];
let workers: EngineProcess[];

/** One of those behind the balancer. */
interface Api {
  url: string;
  process: EngineProcess;
  /** The balancer sends nothing to one that is about to stop. */
  inService: boolean;
}

/** Each process that is started takes seconds, and a worker compiles the workflows. */
const STARTS_WITHIN_MS = 240_000;
/** Calls in flight at any time. */
const CALLERS = 2;

beforeAll(async () => {
  engine = await startEngine({ RATE_LIMIT_CALLER: '1000/1000', RATE_LIMIT_ANSWER: '1000/1000' });
  const [another, worker] = await Promise.all([engine.startAnotherApi(), engine.startAnotherWorker()]);
  apis = [
    { url: engine.apiUrl, process: engine.api, inService: true },
    { url: another.apiUrl, process: another.process, inService: true },
  ];
  workers = [engine.worker, worker];
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
}, STARTS_WITHIN_MS);

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

test(
  'no call fails, and every charge ends and is told, while APIs and workers are restarted one by one',
  async () => {
    const paymentID = await agreement(bank, merchant, bank.customers[0]);
    await bank.answerCharges('silence');
    const [merchantToken, bankToken] = await Promise.all([
      merchant.api.accessToken(),
      bank.api.accessToken(),
    ]);
    const failed: string[] = [];
    const charged: string[] = [];
    const rolledOut = new AbortController();

    /** One try, as the balancer makes it: nobody repeats what fails. */
    const call = async (token: string, status: number, path: string, body?: object): Promise<unknown> => {
      const at = apis.filter(({ inService }) => inService);
      const api = at[charged.length % at.length] as Api;
      const answer = await fetch(api.url + path, {
        method: body ? 'POST' : 'GET',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': randomUUID(),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (answer.status !== status) throw new Error(`${path} got ${answer.status}: ${await answer.text()}`);
      return answer.json();
    };
    const oneCharge = async () => {
      const bill = { paymentIDs: [paymentID], amount: 10, currency: 'NGN', description: 'Shoes' };
      const [item] = (await call(merchantToken, 201, '/v1/customer/bill', bill)) as Item[];
      const billingRequestId = item?.billingRequestId ?? '';
      charged.push(billingRequestId);
      await call(bankToken, 200, '/v1/billing/bank-response', {
        billingRequestId,
        bankTransactionId: `tx-${billingRequestId}`,
      });
      await call(merchantToken, 200, `/v1/billing/requests/${billingRequestId}`);
      // What is in hand stays bounded, however long a restart takes.
      await eventually(() => isTold(billingRequestId));
    };
    const isTold = async (billingRequestId: string) =>
      (await merchant.server.received()).some(
        ({ type, item }) => type === 'billing.response' && item['billingRequestId'] === billingRequestId,
      );
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!rolledOut.signal.aborted)
        await oneCharge().catch((error: unknown) => failed.push(String(error)));
    });

    for (const api of apis) {
      const before = charged.length;
      api.inService = false;
      await api.process.stop();
      await api.process.start();
      api.inService = true;
      // It does its share again.
      await eventually(() => Promise.resolve(charged.length > before + CALLERS));
    }
    for (const worker of workers) {
      await worker.stop();
      await worker.start();
    }
    rolledOut.abort();
    await Promise.all(callers);

    expect(failed).toEqual([]);
    await Promise.all(
      charged.map(async (id) =>
        expect(await merchant.hears('billing.response', id)).toMatchObject({ status: 'successful' }),
      ),
    );
  },
  STARTS_WITHIN_MS,
);
