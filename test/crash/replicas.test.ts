import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ApiClient } from '../parties/client';
import { kobo } from '../parties/kobo';
import { agreement, type Item } from '../support/cast';
import { asSchemaLogin } from '../support/database';
import { eventually } from '../support/engine';
import { valueOf } from '../support/metrics';
import {
  engine,
  secondWorker,
  apis,
  metrics,
  bank,
  merchant,
  bankAt,
  merchantAt,
  type Api,
  answerAt,
  spent,
  keptCharges,
} from './two-of-each';

/** Enough that both workers have some of them in hand. */
const CHARGES = 12;

const questions = async () =>
  (await bank.server.attempts()).filter(({ type }) => type === 'billing.request').length;

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

  await eventually(async () => (await questions()) >= CHARGES);
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
  await asSchemaLogin(
    `${url}?options=-c%20default_transaction_read_only%3Doff`,
    `ALTER DATABASE ${name} SET default_transaction_read_only = ${to}`,
  );
  await asSchemaLogin(
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

const WORKERS = 'assent_workers{version="0.2.0"}';

const readiness = async () => {
  const answer = await fetch(`${engine.apiUrl}/readyz`);
  const { message } = (await answer.json()) as { message: string };
  return { status: answer.status, message };
};

test('a frozen worker, the only one, is not ready within 15 s, the API tells what waits, and all is well when it thaws', async () => {
  // The one that was killed before has fallen silent, too, or soon does.
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

/** Calls in flight at any time. */
const CALLERS = 2;
/** It throws beside all that the process does, when it is told to. */
const FAULTS = { NODE_OPTIONS: `--require ${join(__dirname, '../support/faults.cjs')}` };

const isTold = async (billingRequestId: string) =>
  (await merchant.server.received()).some(
    ({ type, item }) => type === 'billing.response' && item['billingRequestId'] === billingRequestId,
  );

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
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!rolledOut.signal.aborted) await oneCharge().catch((error: unknown) => failed.push(String(error)));
  });

  // It was killed before: its start needs nothing of those that are restarted.
  const secondWorkerStarts = secondWorker.start(FAULTS);
  for (const api of apis) {
    const before = charged.length;
    api.inService = false;
    await api.process.stop();
    await api.process.start();
    api.inService = true;
    // It does its share again.
    await eventually(() => Promise.resolve(charged.length > before + CALLERS));
  }
  await secondWorkerStarts;
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
