import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { readTemporalState } from '../../src/database/engine/temporal-state';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { prepareNamespace } from '../../src/temporal/namespace';
import { ensureSchedules } from '../../src/temporal/schedules';
import { asSchemaLogin, createTestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { installation, programOf } from '../support/installation';
import { makeFolder } from '../launch/folder';
import { freeOffset, fromBuild, NpmStart } from '../support/npm-start';
import { servers } from '../support/servers';
import { makeSchedule, standingApproval } from '../support/standing';

/** The Temporal Schedule of `reconcile` says whose a namespace is. */

const ADDRESS = 'temporal.example:7233';
const [MINE, ANOTHERS] = [randomUUID(), randomUUID()];

let connection: Connection;
let client: Client;

beforeAll(async () => {
  const { temporalAddress } = await servers();
  connection = await Connection.connect({ address: temporalAddress });
});
afterAll(() => connection.close());
beforeEach(async () => {
  const namespace = `own-${randomUUID()}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  client = new Client({ connection, namespace });
});

const claim = (owner: string) => ensureSchedules(client, owner, ADDRESS);
/** A namespace that was just made is not known to all parts of the server at once. */
const claimed = (owner: string) =>
  eventually(() =>
    claim(owner).then(
      () => true,
      () => false,
    ),
  );
const describeSchedule = () => client.schedule.getHandle('reconcile').describe();

test('a namespace belongs to the database that came first, and another is told which settings to correct', async () => {
  await claimed(MINE);
  const before = await describeSchedule();
  await expect(claim(ANOTHERS)).rejects.toThrow(
    `The namespace "${client.options.namespace}" at ${ADDRESS} belongs to another Assent`,
  );
  expect((await describeSchedule()).info.lastUpdatedAt).toEqual(before.info.lastUpdatedAt);
  await claim(MINE);
});

test('nothing is left in a namespace that is another’s', async () => {
  await claimed(MINE);
  const { namespace } = client.options;
  const settings = { TEMPORAL_ADDRESS: (await servers()).temporalAddress, TEMPORAL_NAMESPACE: namespace };
  const ours = async () => {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.keys(customAttributes ?? {}).filter((name) => name.startsWith('Assent'));
  };
  await expect(prepareNamespace(settings, 30_000, ANOTHERS)).rejects.toThrow(/belongs to another Assent/);
  expect(await ours()).toEqual([]);
  await prepareNamespace(settings, 30_000, MINE);
  expect(await ours()).not.toEqual([]);
});

test('of two databases that come at once one has the namespace', async () => {
  await claimed(MINE);
  await client.schedule.getHandle('reconcile').delete();
  const come = await Promise.allSettled([claim(MINE), claim(ANOTHERS)]);
  expect(come.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
});

test('a namespace of an older version is taken over by the first that comes, and what was paused stays paused', async () => {
  await eventually(() =>
    client.schedule
      .create({
        scheduleId: 'reconcile',
        spec: { intervals: [{ every: '1m' }] },
        action: { type: 'startWorkflow', workflowType: 'reconcile', taskQueue: 'assent' },
        state: { paused: true },
      })
      .then(
        () => true,
        () => false,
      ),
  );
  await claim(MINE);
  expect(await describeSchedule()).toMatchObject({ state: { paused: true } });
  await expect(claim(ANOTHERS)).rejects.toThrow(/belongs to another Assent/);
});

/** A program that does not end by itself is ended: it would run on after the test. */
const ENDS_WITHIN_MS = 60_000;

test('worker, "assent migrate" and "npm start" of an installation that was given the Temporal of another start nothing there, and say what to correct', async () => {
  await claimed(ANOTHERS);
  const { namespace } = client.options;
  const { temporalAddress } = await servers();
  const mine = await createTestDatabase();
  // A copy of the template, as all databases of the tests are; a migrated one has an id of its own.
  await asSchemaLogin(
    mine.url,
    `UPDATE temporal_state SET installation = gen_random_uuid(), namespace_id = 'its own'`,
  );
  const keys = makeKeyring();
  const standing = await standingApproval(mine.db);
  const scheduleId = await makeSchedule(mine.db, standing);
  const settings = {
    ASSENT_MODE: 'sandbox',
    DATABASE_URL: mine.url,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    ASSENT_KEYS: keys,
    METRICS_PORT: '0',
  };
  const run = (file: string, ...args: string[]) =>
    new Promise<{ code: unknown; last: string | undefined }>((resolve) => {
      const env = { ...process.env, ...settings };
      execFile(file, args, { env, timeout: ENDS_WITHIN_MS }, (error, out, err) =>
        resolve({ code: error?.code ?? 0, last: `${out}${err}`.trim().split('\n').at(-1) }),
      );
    });
  const { assent } = await installation();
  const { folder, remove } = makeFolder('start');
  const offset = { PORT_OFFSET: String(await freeOffset()) };
  const started = new NpmStart(folder, { ...settings, ...offset }, await fromBuild());

  const refusal =
    `The namespace "${namespace}" at ${temporalAddress} belongs to another Assent: ` +
    'correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE.';
  expect(await run(process.execPath, await programOf('worker'))).toEqual({ code: 1, last: refusal });
  expect(await run(assent, 'migrate')).toEqual({ code: 1, last: `assent: ${refusal}` });
  await expect(started.ended()).resolves.toBe(1);
  expect(started.output).toContain(refusal);
  expect(started.output).not.toContain('Starting the API');

  expect(await readTemporalState(mine.db)).toMatchObject({ namespaceId: 'its own', restartingSince: null });
  expect(await mine.db.rows`SELECT FROM outbox WHERE start->>'again' IS NOT NULL`).toEqual([]);
  expect(await mine.db.rows`SELECT FROM worker_heartbeats`).toEqual([]);
  const workflow = client.workflow.getHandle(workflowIds.recurring(scheduleId));
  await expect(workflow.describe()).rejects.toThrow(/not found/);
  remove();
  await mine.drop();
});
