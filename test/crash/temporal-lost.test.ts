import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { Client, Connection } from '@temporalio/client';
import { rows } from '../../src/database/pool/connection';
import { workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../support/cast';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { installation } from '../support/installation';
import { startOwnServers, type OwnServers } from '../support/own-servers';

/** Temporal's disk is gone, and everything that waited in it; Postgres still knows what is open. */

let servers: OwnServers;
let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;
let customer: Customer;
/** The workflows of all that is open. */
let open: string[];

beforeAll(async () => {
  servers = await startOwnServers();
  engine = await startEngine({}, servers);
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  customer = bank.customers[0];
  await eventually(async () => (await fetch(`${engine.apiUrl}/readyz`)).status === 200);
  open = await openEverything();
}, 240_000);

afterAll(async () => {
  await cast.leave();
  await engine.stop();
  await servers.stop();
});

/** A charge, an intent, a refund and a schedule, none of them due for hours. */
async function openEverything(): Promise<string[]> {
  const paymentID = await agreement(bank, merchant, customer);
  const paid = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  await merchant.hears('billing.response', paid.billingRequestId);
  const refund = await merchant.api.post('/v1/refunds/initiate', { reference: paid.reference }, randomUUID());
  const schedule = await merchant.api.post(
    '/v1/billing/recurring/create',
    {
      customerId: customer.customerId,
      paymentID,
      amount: 40,
      currency: 'NGN',
      frequency: 'daily',
      startDate: new Date(Date.now() + 86_400_000).toISOString(),
    },
    randomUUID(),
  );
  await bank.answerCharges('silence', { times: 1 });
  await bank.answerIntents('silence', { times: 1 });
  const charge = await merchant.charge({ paymentIDs: [paymentID] }, 20);
  const intentId = await merchant.ask(bank.customers[1] ?? customer);
  return [
    idOf.refund(String(refund.body.data['refundId'])),
    idOf.recurring(String(schedule.body.data['scheduleId'])),
    idOf.billingRequest(charge.billingRequestId),
    idOf.intent(intentId),
  ];
}

async function onTemporal<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const connection = await Connection.connect({ address: engine.temporalAddress });
  try {
    return await work(new Client({ connection, namespace: engine.namespace }));
  } finally {
    await connection.close();
  }
}

const running = () =>
  onTemporal(async (client) => {
    const states = await Promise.all(
      open.map((id) =>
        client.workflow
          .getHandle(id)
          .describe()
          .then(
            ({ status }) => status.name === 'RUNNING',
            () => false,
          ),
      ),
    );
    return open.filter((_, i) => states[i]);
  });

interface Told {
  code: number | string | null | undefined;
  told: Record<string, unknown>;
}

/** `npx assent` beside the engine. */
async function assent(...args: string[]): Promise<Told> {
  const { assent: file } = await installation();
  const { LOG_FILE: _, ...settings } = engine.environment;
  const env = { ...settings, DATABASE_OWNER_URL: servers.ownerUrl };
  return new Promise((resolve, reject) => {
    execFile(file, [...args, '--json'], { cwd: tmpdir(), env }, (error, out, err) => {
      if (out === '') reject(new Error(err));
      else resolve({ code: error ? error.code : 0, told: JSON.parse(out) as Told['told'] });
    });
  });
}

async function loseTemporal(): Promise<void> {
  await servers.temporal.kill();
  await servers.loseTemporalData();
  await servers.temporal.start();
  // As docs/operations.md has it.
  expect(await assent('migrate', '--create-namespace')).toEqual({ code: 0, told: { migrations: [] } });
}

test('all that waited goes on by itself, and the log says so', async () => {
  await eventually(async () => (await running()).length === open.length);
  await loseTemporal();
  expect(await running()).toEqual([]);
  // Whoever runs the worker starts it again, should it have given up.
  await eventually(async () => {
    await engine.worker.start();
    return (await running()).length === open.length;
  });
  expect(await engine.log()).toContain('Temporal has lost its workflows');
  await eventually(async () => (await fetch(`${engine.apiUrl}/readyz`)).status === 200);
  const [, , charge = ''] = open;
  const billingRequestId = charge.split('/')[1] ?? '';
  expect(await merchant.retrieve(billingRequestId)).toMatchObject({ status: 'pending' });
});

test('a terminated workflow is found by "reconcile" and started again by "reconcile --fix"', async () => {
  expect(await assent('reconcile')).toMatchObject({ code: 0, told: { ok: true, found: [], checked: 4 } });
  const [, schedule = ''] = open;
  await onTemporal((client) => client.workflow.getHandle(schedule).terminate('by hand'));
  const wrong = { kind: 'schedules', workflowId: schedule, wrong: 'without a workflow' };
  expect(await assent('reconcile')).toMatchObject({
    code: 1,
    told: { ok: false, withoutWorkflow: 1, found: [wrong], restarted: 0, remaining: 1 },
  });
  expect(await assent('reconcile', '--fix', '--reason', 'ticket 7')).toMatchObject({
    code: 0,
    told: { ok: true, found: [wrong], restarted: 1, remaining: 0 },
  });
  expect(await running()).toEqual(open);
  const { told } = await assent('audit');
  const acts = told['events'] as { action: string; reason: string; after: object }[];
  expect(acts.filter(({ action }) => action.startsWith('reconcile.'))).toMatchObject([
    { action: 'reconcile.begun', reason: 'ticket 7', after: { namespace: engine.namespace } },
    { action: 'reconcile.ended', reason: 'ticket 7', after: { ok: true, restarted: 1, remaining: 0 } },
  ]);
});

test('"status" tells of the workers, of what waits, and of what is overdue', async () => {
  const { code, told } = await assent('status');
  expect(code).toBe(0);
  expect(told).toMatchObject({
    ready: true,
    problems: [],
    version: '0.2.0',
    workers: expect.arrayContaining([expect.objectContaining({ alive: true, version: '0.2.0' })]),
    outbox: { call: { messages: 0 }, later: { messages: 0 } },
    overdue: expect.arrayContaining([{ kind: 'intents', count: 0, oldestAgeS: 0 }]),
    exceptions: { open: 0, investigating: 0, kinds: [] },
    where: { temporalAddress: engine.temporalAddress, temporalNamespace: engine.namespace },
  });
});

test('"reconcile --fix" starts nothing in a namespace that no worker of this database has taken over', async () => {
  await engine.worker.kill();
  await loseTemporal();
  await eventually(async () => {
    const { told } = await assent('status');
    return JSON.stringify(told['problems']).includes('no worker has sent a heartbeat');
  });
  await expect(assent('reconcile', '--fix')).rejects.toThrow(
    /is not the one that the workflows of this database/,
  );
  expect(await running()).toEqual([]);
  expect(await rows(servers.database.db, `SELECT FROM outbox WHERE start->>'again' = 'true'`)).toEqual([]);

  await engine.worker.start();
  await eventually(async () => (await running()).length === open.length);
  expect(await assent('reconcile', '--fix')).toMatchObject({ code: 0, told: { ok: true } });
});
