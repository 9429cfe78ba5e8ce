import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiClient, type Answer } from '../../examples/demo/api-client';
import { kobo } from '../../examples/demo/kobo';
import { agreement, Cast, type Bank, type Customer, type Item, type Merchant } from '../support/cast';
import { asOwner } from '../support/database';
import { eventually, startEngine, type EngineProcess, type TestEngine } from '../support/engine';
import { metricsOnFreePorts, valueOf, type Metrics } from '../support/metrics';

/** Two APIs and two workers on the same servers, and no code of ours between them. */

let engine: TestEngine;
let secondWorker: EngineProcess;
let apis: Api[];
let cast: Cast;
let metrics: Metrics;
let bank: Bank;
let merchant: Merchant;
/** The same bank and the same merchant, each at either of the APIs. */
let bankAt: [ApiClient, ApiClient];
let merchantAt: [ApiClient, ApiClient];

/** One of those behind the balancer. */
interface Api {
  url: string;
  process: EngineProcess;
  /** The balancer sends nothing to one that is about to stop. */
  inService: boolean;
}

/** The window of charges that the customer must approve. */
const WINDOW_S = 2;
/**
 * Charges run side by side in lanes, each with a customer of its own, one after another. A lane has
 * turns enough to come about the moment on a busy machine.
 */
const LANES = 10;
const CHARGES_PER_LANE = 6;

beforeAll(async () => {
  metrics = await metricsOnFreePorts();
  engine = await startEngine({
    APPROVAL_WINDOW_S: String(WINDOW_S),
    RATE_LIMIT_CALLER: '1000/1000',
    RATE_LIMIT_ANSWER: '1000/1000',
    ...metrics.settings,
  });
  const [another, worker] = await Promise.all([engine.startAnotherApi(), engine.startAnotherWorker()]);
  secondWorker = worker;
  apis = [
    { url: engine.apiUrl, process: engine.api, inService: true },
    { url: another.apiUrl, process: another.process, inService: true },
  ];
  cast = new Cast(engine);
});

beforeEach(async () => {
  [bank, merchant] = await Promise.all([cast.bank(LANES), cast.merchant()]);
  bankAt = [bank.api, await alsoAt(bank.entityId)];
  merchantAt = [merchant.api, await alsoAt(merchant.entityId)];
});

/**
 * The same caller at the other process, with its token fetched: of those there are few a second.
 */
async function alsoAt(entityId: string): Promise<ApiClient> {
  const api = new ApiClient(apis[1]?.url ?? '', cast.identityOf(entityId));
  await api.accessToken();
  return api;
}

afterAll(async () => {
  engine.worker.thaw();
  await cast.leave();
  await engine.stop();
});

const answerAt = (api: ApiClient, billingRequestId: string, answer: object): Promise<Answer> =>
  api.answer('/v1/billing/bank-response', { billingRequestId, ...answer });

const debit = () => ({ bankTransactionId: `tx-${randomUUID()}` });

/** All that the merchant's agreements have counted this month. */
async function spent(): Promise<bigint> {
  const [found] = await engine.database.db.rows<{ total: string }>`
    SELECT sum(spent_month_total) AS total FROM agreements WHERE merchant_id = ${merchant.entityId}`;
  return BigInt(found?.total ?? 0);
}

interface Kept {
  id: string;
  status: string;
  declineReason: string | null;
  sequences: number[];
  exceptions: string[];
}

/** The merchant's charges. */
const keptCharges = () =>
  engine.database.db.rows<Kept>`
  SELECT id, status, decline_reason,
    ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences,
    ARRAY(SELECT kind FROM reconciliation_exceptions WHERE billing_request_id = b.id) AS exceptions
  FROM billing_requests b WHERE merchant_id = ${merchant.entityId} ORDER BY id`;

describe('what only one of many may have, asked of two APIs at once', () => {
  interface Raced {
    billingRequestId: string;
    amount: number;
    status: number;
    /** The status in the response to the bank. */
    said: unknown;
  }

  beforeEach(() => bank.answerCharges('silence'));

  /**
   * How far a lane moves its next answer towards the side that lost, and twice as far each time
   * that the same side loses again: it comes to swing about the very moment, however long a busy
   * machine takes to carry an answer.
   */
  const STRIDE_MS = 30;

  /**
   * Charges one customer again and again, and has the bank answer each at about the moment at which
   * its window closes, through both processes at once.
   */
  async function raceInLane(customer: Customer): Promise<Raced[]> {
    const paymentID = await agreement(bank, merchant, customer, { decision: 'approve_once' });
    const raced: Raced[] = [];
    let offsetMs = 0;
    let strideMs = -STRIDE_MS;
    for (let n = 1; n <= CHARGES_PER_LANE; n++) {
      const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, n);
      const { expiresAt } = await merchant.retrieve(billingRequestId);
      await wait(Math.max(0, Date.parse(String(expiresAt)) + offsetMs - Date.now()));
      const answer = debit();
      const [first, second] = await Promise.all(
        bankAt.map((api) => answerAt(api, billingRequestId, { action: 'approve_once', ...answer })),
      );
      expect(second?.status).toBe(first?.status);
      expect(second?.body.data).toEqual(first?.body.data);
      const status = first?.status ?? 0;
      raced.push({ billingRequestId, amount: n, status, said: first?.body.data['status'] });
      const later = status === 200;
      strideMs = later === strideMs > 0 ? strideMs * 2 : later ? STRIDE_MS : -STRIDE_MS;
      offsetMs += strideMs;
    }
    return raced;
  }

  test('a bank that answers as its window closes is told the truth, sixty times, and so is the merchant', async () => {
    const raced = (await Promise.all(bank.customers.map(raceInLane))).flat();
    await Promise.all(
      raced.map(({ billingRequestId }) => merchant.hears('billing.response', billingRequestId)),
    );

    const kept = new Map((await keptCharges()).map((one) => [one.id, one]));
    const told = new Map<unknown, unknown[]>();
    for (const { type, item } of await merchant.server.received()) {
      if (type !== 'billing.response') continue;
      const { billingRequestId: id, status, customerAction } = item;
      told.set(id, [...(told.get(id) ?? []), { status, customerAction }]);
    }
    for (const { billingRequestId: id, status, said } of raced) {
      const one = kept.get(id);
      const seen = { ...one, answered: status, said, told: told.get(id) };
      // So short a window may close before the network has noted that the bank was reached.
      const declineReason = one?.declineReason === 'not_delivered' ? 'not_delivered' : 'expired';
      expect(seen).toEqual(
        status === 200
          ? {
              id,
              status: 'successful',
              declineReason: null,
              sequences: [1, 2],
              exceptions: [],
              answered: 200,
              said: 'successful',
              told: [{ status: 'successful', customerAction: 'approved' }],
            }
          : {
              id,
              status: 'declined',
              declineReason,
              sequences: [1, 2],
              exceptions: [declineReason === 'expired' ? 'unanswered' : 'late_answer'],
              answered: 409,
              said: 'declined',
              told: [{ status: 'declined', customerAction: 'declined' }],
            },
      );
    }
    // A race that one side always wins is none.
    expect(raced).toHaveLength(LANES * CHARGES_PER_LANE);
    for (const status of [200, 409]) {
      expect(raced.filter((one) => one.status === status).length).toBeGreaterThan(raced.length / 20);
    }
    const debited = raced.reduce((sum, { amount, status }) => sum + (status === 200 ? kobo(amount) : 0n), 0n);
    expect(await spent()).toBe(debited);
  });

  test('forty bills at once against one limit let exactly the limit through', async () => {
    const [customer] = bank.customers;
    const paymentID = await agreement(bank, merchant, customer, { spendingLimits: { daily: 100 } });
    const bill = { paymentIDs: [paymentID], amount: 7, currency: 'NGN', description: 'Shoes' };

    const bills = await Promise.all(
      Array.from({ length: 40 }, (_, i) => of(merchantAt, i).post<Item[]>('/v1/customer/bill', bill)),
    );

    expect(counts(bills.map(({ status }) => status))).toEqual({ 201: 14, 403: 26 });
    expect(await spent()).toBe(kobo(98));
  });

  test('of twenty different answers at once to one charge the first counts, and all are told which', async () => {
    const paymentID = await agreement(bank, merchant, bank.customers[0]);
    const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    const refusals = ['insufficient_funds', 'account_closed'].map((declineReason) => ({ declineReason }));
    const sent = [...Array.from({ length: 18 }, debit), ...refusals];

    const answers = await Promise.all(
      sent.map((answer, i) => answerAt(of(bankAt, i), billingRequestId, answer)),
    );

    expect(counts(answers.map(({ status }) => status))).toEqual({ 200: 1, 409: 19 });
    const winner = sent[answers.findIndex(({ status }) => status === 200)];
    const status = winner && 'declineReason' in winner ? 'declined' : 'successful';
    expect(new Set(answers.map(({ body }) => body.data['status']))).toEqual(new Set([status]));
    expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({ status });
    expect(await spent()).toBe(status === 'successful' ? kobo(10) : 0n);
    const kept = await engine.database.db.rows<{ kind: string; answers: number }>`
      SELECT kind, (SELECT count(*)::int FROM exception_answers a WHERE a.exception_id = x.id) AS answers
      FROM reconciliation_exceptions x WHERE billing_request_id = ${billingRequestId}`;
    // Each debit that did not count is money of its own; a repeated refusal adds nothing.
    expect(kept).toEqual([{ kind: 'conflicting_answer', answers: status === 'successful' ? 17 + 1 : 18 }]);
  });
});

function of<Thing>([first, second]: [Thing, Thing], i: number): Thing {
  return i % 2 === 0 ? first : second;
}

function counts(all: (string | number)[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const one of all) found[one] = (found[one] ?? 0) + 1;
  return found;
}

/** Enough that both workers have some of them in hand. */
const CHARGES = 12;

test('one key sent to both APIs, and a worker that dies with charges in hand, make one charge of each key', async () => {
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  await bank.answerCharges('silence');
  // Each webhook hangs at the bank, in the hands of the worker that sent it.
  await bank.server.misbehave({ kind: 'slow', type: 'billing.request', times: CHARGES, delayMs: 3_000 });
  const bill = { paymentIDs: [paymentID], amount: 10, currency: 'NGN', description: 'Shoes' };

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
    ids.map(async (id) => {
      const answer = { bankTransactionId: `tx-${id}` };
      const told = await Promise.all(bankAt.map((api) => answerAt(api, id, answer)));
      expect(told.map(({ status, body }) => [status, body.data['status']])).toEqual([
        [200, 'successful'],
        [200, 'successful'],
      ]);
    }),
  );

  await Promise.all(ids.map((id) => merchant.hears('billing.response', id)));
  expect(await keptCharges()).toMatchObject(
    ids.toSorted().map((id) => ({ id, status: 'successful', sequences: [1, 2] })),
  );
  const heard = (await merchant.server.received()).filter(({ type }) => type === 'billing.response');
  expect(heard.map(({ item }) => String(item['billingRequestId'])).toSorted()).toEqual(ids.toSorted());
  expect(await spent()).toBe(kobo(CHARGES * 10));
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

test('a frozen worker, the only one, is not ready within 15 s, the API tells what waits, and all is well when it thaws', async () => {
  const WORKERS = 'assent_workers{version="0.2.0"}';
  const readiness = async () => {
    const answer = await fetch(`${engine.apiUrl}/readyz`);
    const { message } = (await answer.json()) as { message: string };
    return { status: answer.status, message };
  };
  // The one that was killed before falls silent, too.
  await eventually(async () => valueOf(await metrics.api(), WORKERS) === 1);
  expect((await readiness()).status).toBe(200);
  expect(await metrics.workerProbes()).toEqual({ healthz: 200, readyz: 200 });

  engine.worker.freeze();
  // The contract promises this; the machine may be quicker.
  let refused: Awaited<ReturnType<typeof readiness>> | undefined;
  await eventually(async () => (refused = await readiness()).status === 503, 15_000);
  expect(refused?.message).toMatch(/^Not ready: worker: no worker has sent a heartbeat for \d+ s$/);
  const told = await metrics.api();
  expect(valueOf(told, WORKERS)).toBeUndefined();
  expect(valueOf(told, 'assent_outbox_messages{rank="call"}')).toBe(0);
  expect(valueOf(told, 'assent_outbox_oldest_age_seconds{rank="call"}')).toBe(0);
  expect(valueOf(told, 'assent_dependency_up{dependency="temporal"}')).toBe(1);
  expect(valueOf(told, 'assent_dependency_up{dependency="worker"}')).toBe(0);

  // A supervisor that restarts what does not answer notices it.
  await expect(metrics.workerProbes()).rejects.toThrow('aborted due to timeout');

  engine.worker.thaw();
  await eventually(async () => (await readiness()).status === 200);
  expect(await metrics.workerProbes()).toEqual({ healthz: 200, readyz: 200 });
});

/** A try without patience, as the balancer makes it. */
function call(url: string, token: string, body?: object, key: string = randomUUID()): Promise<Response> {
  return fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** For all sessions of this database, of which none is left as it was. */
async function setReadOnly(to: 'on' | 'off'): Promise<void> {
  const { url } = engine.database;
  const name = new URL(url).pathname.slice(1);
  // Else it could not be written that writing is allowed again.
  await asOwner(
    `${url}?options=-c%20default_transaction_read_only%3Doff`,
    `ALTER DATABASE ${name} SET default_transaction_read_only = ${to}`,
  );
  await asOwner(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`,
  );
}

/** The first of them may come upon a session that has just ended; the last do not. */
const CALLS = 10;

test('calls get 503 while Postgres only reads, as a failover may leave it, and go on, with the same processes, when it writes again', async () => {
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  const token = await merchant.api.accessToken();
  const key = randomUUID();
  const body = { paymentIDs: [paymentID], amount: 10, currency: 'NGN', description: 'Shoes' };
  const bill = () => call(`${engine.apiUrl}/v1/customer/bill`, token, body, key);

  await setReadOnly('on');
  for (let n = 1; n <= CALLS; n++) {
    const refused = await bill();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await refused.json()).toMatchObject({ statusCode: 503, success: false });
  }

  await setReadOnly('off');
  let billingRequestId = '';
  await eventually(async () => {
    const answer = await bill();
    const [item] = answer.status === 201 ? ((await answer.json()) as { billingRequestId: string }[]) : [];
    billingRequestId = item?.billingRequestId ?? '';
    return item !== undefined;
  });
  expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({ status: 'successful' });
});

/** Calls in flight at any time. */
const CALLERS = 2;
/** It throws beside all that the process does, when it is told to. */
const FAULTS = { NODE_OPTIONS: `--require ${join(__dirname, '../support/faults.cjs')}` };

test('no call fails, and every charge ends and is told, while APIs and workers are restarted one by one, and one of them fails', async () => {
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  await bank.answerCharges('silence');
  const [merchantToken, bankToken] = await Promise.all([merchant.api.accessToken(), bank.api.accessToken()]);
  const failed: string[] = [];
  const charged: string[] = [];
  const rolledOut = new AbortController();

  const callOne = async (token: string, status: number, path: string, body?: object): Promise<unknown> => {
    const at = apis.filter(({ inService }) => inService);
    const api = at[charged.length % at.length] as Api;
    const answer = await call(api.url + path, token, body);
    if (answer.status !== status) throw new Error(`${path} got ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const oneCharge = async () => {
    const bill = { paymentIDs: [paymentID], amount: 10, currency: 'NGN', description: 'Shoes' };
    const [item] = (await callOne(merchantToken, 201, '/v1/customer/bill', bill)) as Item[];
    const billingRequestId = item?.billingRequestId ?? '';
    charged.push(billingRequestId);
    const answer = { billingRequestId, bankTransactionId: `tx-${billingRequestId}` };
    await callOne(bankToken, 200, '/v1/billing/bank-response', answer);
    await callOne(merchantToken, 200, `/v1/billing/requests/${billingRequestId}`);
    // What is in hand stays bounded, however long a restart takes.
    await eventually(() => isTold(billingRequestId));
  };
  const isTold = async (billingRequestId: string) =>
    (await merchant.server.received()).some(
      ({ type, item }) => type === 'billing.response' && item['billingRequestId'] === billingRequestId,
    );
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!rolledOut.signal.aborted) await oneCharge().catch((error: unknown) => failed.push(String(error)));
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
  await secondWorker.start(FAULTS);
  await engine.worker.stop();
  await engine.worker.start();
  secondWorker.signal('SIGUSR2');
  expect(await secondWorker.ended()).toBe(1);
  rolledOut.abort();
  await Promise.all(callers);

  expect(failed).toEqual([]);
  await Promise.all(
    charged.map(async (id) =>
      expect(await merchant.hears('billing.response', id)).toMatchObject({ status: 'successful' }),
    ),
  );
  // The one that failed has said why, and has ended in order.
  const lines = (await engine.log())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const thrown = lines.filter(({ err }) => err?.message === 'thrown beside all requests');
  const stack = expect.stringContaining('faults.cjs') as string;
  expect(thrown).toMatchObject([{ level: 60, kind: 'exception', process: 'worker', err: { stack } }]);
  const said = lines.filter(({ pid }) => pid === thrown[0]?.pid).map(({ msg }) => msg);
  expect(said).toContain('worker has stopped');
});

interface Line {
  pid: number;
  msg: string;
  err?: { message: string };
}
