import { sql } from '../../src/database/pool/statement';
import { EventEmitter, once } from 'node:events';
import { Client, ServiceError, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { createEntity, type NewEntity } from '../../src/database/entity/create-entity';
import { announceAny } from '../support/announce-any';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { enqueueBulkSignals, enqueueSignals, enqueueStarts, openOutbox } from '../../src/database/outbox';
import { createRelay, type Relay } from '../../src/temporal/relay';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { servers } from '../support/servers';
import { engineFacts } from '../support/keyring';

/** On the real server, with no worker: a workflow runs from its start until it is terminated. */

let database: TestDatabase;
let connection: NativeConnection;
let client: Client;
let relay: Relay;
let count = 0;
let workflowId: string;
let handle: WorkflowHandle;

beforeAll(async () => {
  database = await createTestDatabase();
  connection = await NativeConnection.connect({ address: (await servers()).temporalAddress });
  client = new Client({ connection });
  relay = createRelay({ db: database.db, client, log: pino({ enabled: false }) });
});
afterAll(async () => {
  await relay.stop();
  await connection.close();
  await database.drop();
});
beforeEach(() => {
  workflowId = `webhook-delivery/${database.url.slice(-12)}-${++count}`;
  handle = client.workflow.getHandle(workflowId);
});
afterEach(() => handle.terminate().catch(() => undefined));

/** Writes the message, and waits until the relay has carried it. */
async function carry(message: 'start' | 'start again' | 'signal'): Promise<void> {
  await database.db.transaction((trx) =>
    message === 'signal'
      ? enqueueSignals(trx, 'bankAnswered', [{ workflowId }])
      : enqueueStarts(trx, [
          {
            workflowId,
            args: ['dlv_1'],
            attributes: { status: 'pending' },
            summary: 'billing.response to mch_1',
            ...(message === 'start again' && { again: 'foundOverdue' as const }),
          },
        ]),
  );
  await carried();
}

/** Until the relay has carried all that this test's workflow is to hear. */
async function carried(): Promise<void> {
  await eventually(async () => {
    relay.kick();
    return (await database.db.rows`SELECT 1 FROM outbox WHERE workflow_id = ${workflowId}`).length === 0;
  });
}

async function runId(): Promise<string> {
  return (await handle.describe()).runId;
}

async function signals(): Promise<number> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes).length;
}

test('a start carried twice is one run, also where it has ended meanwhile', async () => {
  await carry('start');
  const first = await runId();
  await carry('start');
  expect(await signals()).toBe(0);
  await handle.terminate();
  await carry('start');
  expect(await runId()).toBe(first);
  expect((await handle.describe()).status.name).toBe('TERMINATED');
});

test('a start that may be again runs what has ended once more', async () => {
  await carry('start');
  const first = await runId();
  await handle.terminate();
  await carry('start again');
  expect(await runId()).not.toBe(first);
  const run = await handle.describe();
  expect(run).toMatchObject({ status: { name: 'RUNNING' }, taskQueue: 'assent-webhook' });
  expect(await run.staticSummary()).toBe('billing.response to mch_1');
  expect(await signals()).toBe(0);
});

test('a start that may be again signals what is running, and leaves it running', async () => {
  await carry('start again');
  const first = await runId();
  await carry('start again');
  expect(await runId()).toBe(first);
  expect(await signals()).toBe(1);
});

test('several starts that may be again, at once, are one run', async () => {
  await Promise.all(Array.from({ length: 5 }, () => carry('start again')));
  expect((await handle.describe()).status.name).toBe('RUNNING');
  expect(await signals()).toBe(4);
});

test('a schedule queues apart from what somebody waits for', async () => {
  await database.db.transaction((trx) =>
    enqueueStarts(
      trx,
      ['recurring', 'billing-request'].map((kind) => ({
        workflowId: `${kind}/${workflowId}`,
        args: [],
        attributes: { status: 'pending' },
        summary: kind,
      })),
    ),
  );
  await carry('signal');
  const queues = [];
  for (const kind of ['recurring', 'billing-request']) {
    const started = client.workflow.getHandle(`${kind}/${workflowId}`);
    queues.push((await started.describe()).taskQueue);
    await started.terminate();
  }
  expect(queues).toEqual(['assent-recurring', 'assent']);
});

test('a bill goes before what nobody waits for, and parties of one rank are served in turn', async () => {
  const kinds = ['billing-request', 'refund', 'customer-migration', 'sandbox-clock'];
  await database.db.transaction((trx) =>
    enqueueStarts(
      trx,
      kinds.map((kind) => ({
        workflowId: `${kind}/${workflowId}`,
        args: [],
        attributes:
          kind === 'customer-migration'
            ? { status: '', bankId: 'bnk_1' }
            : { status: '', merchantId: 'mch_1' },
        summary: kind,
      })),
    ),
  );
  await carry('signal');
  const priorities = [];
  for (const kind of kinds) {
    const started = client.workflow.getHandle(`${kind}/${workflowId}`);
    const { priority } = await started.describe();
    priorities.push([priority?.priorityKey, priority?.fairnessKey]);
    await started.terminate();
  }
  expect(priorities).toEqual([
    [1, 'mch_1'],
    [2, 'mch_1'],
    [5, 'bnk_1'],
    [3, 'mch_1'],
  ]);
});

test('webhooks of a provider and of all its merchants have one turn, and a bank has its own', async () => {
  const { db } = database;
  const webhookUrl = 'http://127.0.0.1:9/';
  const turns = await db.transaction(async (trx) => {
    const enter = async (entity: NewEntity) => (await createEntity(trx, entity))?.entityId ?? '';
    const providerId = await enter({ type: 'provider', name: 'Provider', webhookUrl });
    const merchants = ['Shop', 'Bar'].map((name) => ({
      type: 'merchant' as const,
      name,
      providerId,
      webhookUrl,
    }));
    const receivers = [providerId];
    for (const merchant of merchants) receivers.push(await enter(merchant));
    const bankId = await enter({ type: 'bank', name: 'Bank', webhookUrl });
    const deliveryIds = await announceAny(
      trx,
      [...receivers, bankId].map((entityId) => ({ entityId, webhookType: 'webhook.test', items: [{}] })),
    );
    return { deliveryIds, expected: [providerId, providerId, providerId, bankId] };
  });
  await carry('signal');
  const keys = [];
  for (const deliveryId of turns.deliveryIds) {
    const started = client.workflow.getHandle(workflowIds.webhookDelivery(deliveryId));
    keys.push((await started.describe()).priority?.fairnessKey);
    await started.terminate();
  }
  expect(keys).toEqual(turns.expected);
});

test('several signals in one poll are one', async () => {
  await carry('start');
  await database.db.transaction(async (trx) => {
    for (let n = 0; n < 3; n++) await enqueueSignals(trx, 'bankAnswered', [{ workflowId }]);
  });
  await carried();
  expect(await signals()).toBe(1);
});

test('a message is carried as soon as it is committed, where the relay neither polls nor is asked to', async () => {
  const outbox = openOutbox(
    database.url,
    engineFacts,
    () => Promise.resolve(),
    () => woken.kick(),
  );
  const woken = createRelay({ db: outbox, client, log: pino({ enabled: false }) });
  await outbox.query('SELECT 1');
  const attributes = { status: 'pending' };
  await database.db.transaction((trx) => enqueueStarts(trx, [{ workflowId, attributes, summary: '' }]));
  await eventually(() => handle.describe().then(Boolean, () => false));
  await woken.stop();
  expect(await database.db.rows`SELECT 1 FROM outbox`).toEqual([]);
  await outbox.destroy();
});

test('a clock that is set back does not keep a message waiting', async () => {
  let silent = true;
  const { db } = database;
  const flaky = {
    ...db,
    query: (...args: Parameters<typeof db.query>) =>
      silent ? Promise.reject(new Error('away')) : db.query(...args),
  };
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
  const patient = createRelay({ db: flaky, client, log: pino({ enabled: false }) });
  patient.kick();
  await new Promise(setImmediate);
  clock.mockRestore();
  silent = false;
  await enqueueSignals(db, 'bankAnswered', [{ workflowId }]);
  await eventually(async () => {
    patient.kick();
    return (await db.rows`SELECT 1 FROM outbox`).length === 0;
  });
  await patient.stop();
  expect(await db.rows`SELECT 1 FROM outbox`).toEqual([]);
});

test('all that waits is carried in one go, however unequal the owners’ parts are', async () => {
  await relay.stop();
  relay = createRelay({ db: database.db, client, log: pino({ enabled: false }) });
  for (const [bankId, n] of [
    ['bnk_a', 180],
    ['bnk_b', 1],
  ] as const)
    await enqueueSignals(
      database.db,
      'bankAnswered',
      Array.from({ length: n }, (_, i) => ({ workflowId: `${workflowId}-${i}`, bankId })),
    );
  relay.kick();
  const waiting = () => database.db.rows`SELECT 1 FROM outbox`;
  await eventually(async () => (await waiting()).length === 0);
  expect(await waiting()).toEqual([]);
});

test('a signal for what has ended, or never began, is no error', async () => {
  await carry('signal');
  await carry('start');
  await carry('signal');
  expect(await signals()).toBe(1);
  await handle.terminate();
  await carry('signal');
  expect(await signals()).toBe(1);
});

/** A change of a party, for workflows that there are not. */
const change = (n: number) =>
  enqueueBulkSignals(
    database.db,
    'termsChanged',
    'bnk_large',
    sql`SELECT ${workflowId}::text || '-bulk-' || n FROM generate_series(1, ${n}::int) AS n`,
  );

/** Has all that waits carried. @returns workflows, in the order in which Temporal heard of them */
async function carryAll(): Promise<string[]> {
  const order: string[] = [];
  const watching = new Client({
    connection,
    interceptors: {
      workflow: [
        {
          startWithDetails(input, next) {
            order.push(input.options.workflowId);
            return next(input);
          },
          signal(input, next) {
            order.push(input.workflowExecution.workflowId);
            return next(input);
          },
        },
      ],
    },
  });
  const all = createRelay({ db: database.db, client: watching, log: pino({ enabled: false }) });
  await eventually(async () => {
    all.kick();
    return (await database.db.rows`SELECT 1 FROM outbox`).length === 0;
  });
  await all.stop();
  return order;
}

describe('what one change writes without a bound', () => {
  // The relay of the tests before polls once more after what it was asked for.
  beforeAll(() => relay.stop());

  test('keeps no bill waiting that another merchant makes meanwhile', async () => {
    await change(400);
    await enqueueSignals(database.db, 'bankAnswered', [{ workflowId: `${workflowId}-call` }]);
    const order = await carryAll();
    expect(order).toHaveLength(401);
    // The first batch of each rank is carried side by side.
    expect(order.indexOf(`${workflowId}-call`)).toBeLessThan(100);
  });

  test('keeps no worker from ending: the relay leaves the rest to others after its batch', async () => {
    let stopping: Promise<void> | undefined;
    const watching = new Client({
      connection,
      interceptors: {
        workflow: [
          {
            signal(input, next) {
              stopping ??= ending.stop();
              return next(input);
            },
          },
        ],
      },
    });
    const ending = createRelay({ db: database.db, client: watching, log: pino({ enabled: false }) });
    await change(600);
    await eventually(() => {
      ending.kick();
      return Promise.resolve(stopping !== undefined);
    });
    await stopping;
    const left = await database.db.rows`DELETE FROM outbox RETURNING id`;
    expect(left.length).toBeGreaterThanOrEqual(550);
  });
});

/** On whose way to Temporal every start of a webhook's workflow meets something first. */
const slowed = (meets: (workflowId: string) => Promise<void>) =>
  new Client({
    connection,
    interceptors: {
      workflow: [
        {
          async startWithDetails(input, next) {
            if (input.options.workflowId.startsWith('webhook-delivery/'))
              await meets(input.options.workflowId);
            return next(input);
          },
        },
      ],
    },
  });
const deliveries = (n: number) =>
  Array.from({ length: n }, (_, i) => ({
    workflowId: `${workflowId}-${i}`,
    attributes: { status: 'pending' },
    summary: '',
  }));
const end = (ids: string[]) => Promise.all(ids.map((id) => client.workflow.getHandle(id).terminate()));
const outOfTime = () =>
  Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4, details: '', metadata: {} });

describe('a Temporal that is slow', () => {
  test('starts a bill while all webhooks that it has been given hang', async () => {
    const bill = `billing-request/${database.url.slice(-12)}-slow`;
    const hanging = new EventEmitter().setMaxListeners(0);
    const slow = createRelay({
      db: database.db,
      client: slowed(async () => {
        const billed = once(hanging, 'bill');
        hanging.emit('webhook');
        await billed;
      }),
      log: pino({ enabled: false }),
    });
    const hangs = once(hanging, 'webhook');
    await database.db.transaction((trx) => enqueueStarts(trx, deliveries(30)));
    slow.kick();
    await hangs;
    const attributes = { status: 'pending' };
    await enqueueStarts(database.db, [{ workflowId: bill, attributes, summary: '' }]);
    await eventually(async () => {
      slow.kick();
      return client.workflow
        .getHandle(bill)
        .describe()
        .then(Boolean, () => false);
    });
    slow.start();
    await eventually(async () => {
      hanging.emit('bill');
      return (await database.db.rows`SELECT 1 FROM outbox`).length === 0;
    });
    await slow.stop();
    expect((await client.workflow.getHandle(bill).describe()).status.name).toBe('RUNNING');
    await end([bill, ...deliveries(30).map((one) => one.workflowId)]);
  });

  test('is given fewer at a time until it gets through with them', async () => {
    let atOnce = 0;
    const slow = createRelay({
      db: database.db,
      client: slowed(async () => {
        atOnce++;
        // All of a batch are under way by then.
        await new Promise((resolve) => setImmediate(resolve));
        const tooMany = atOnce > 8;
        await new Promise((resolve) => setImmediate(resolve));
        atOnce--;
        if (tooMany) throw new ServiceError('out of time', { cause: outOfTime() });
      }),
      log: pino({ enabled: false }),
    });
    await database.db.transaction((trx) => enqueueStarts(trx, deliveries(30)));
    slow.start();
    await eventually(async () => (await database.db.rows`SELECT 1 FROM outbox`).length === 0);
    await slow.stop();
    const last = deliveries(30).map((one) => client.workflow.getHandle(one.workflowId).describe());
    expect((await Promise.all(last)).map(({ status }) => status.name)).toEqual(
      Array.from({ length: 30 }, () => 'RUNNING'),
    );
    await end(deliveries(30).map((one) => one.workflowId));
  });
});

test('a refusal is told of as one, and an outbox that cannot be read as no matter of Temporal’s', async () => {
  const lines: { msg: string }[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as { msg: string }) });
  const gone = await createTestDatabase();
  await gone.drop();
  const start = { workflowId, args: [], attributes: { status: 'pending' }, summary: '' };
  await database.db.transaction((trx) => enqueueStarts(trx, [start]));
  for (const [db, namespace, line] of [
    [database.db, 'nowhere', { msg: 'Temporal refused a message', workflowId }],
    [gone.db, 'default', { msg: 'the outbox cannot be read' }],
  ] as const) {
    const failing = createRelay({ db, client: new Client({ connection, namespace }), log });
    lines.length = 0;
    await eventually(() => {
      failing.kick();
      return Promise.resolve(lines.length > 0);
    });
    await failing.stop();
    expect(lines[0]).toMatchObject(line);
  }
});
