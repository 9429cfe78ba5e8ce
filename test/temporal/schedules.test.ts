import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { prepareNamespace } from '../../src/start/temporal';
import { ForeignNamespaceError } from '../../src/temporal/foreign-namespace';
import { ensureSchedules } from '../../src/temporal/schedules';
import { eventually } from '../support/engine';
import { servers } from '../support/servers';

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

const claim = (installation: string) => ensureSchedules(client, installation, ADDRESS);
/** A namespace that was just made is not known to all parts of the server at once. */
const claimed = (installation: string) =>
  eventually(() =>
    claim(installation).then(
      () => true,
      () => false,
    ),
  );
const describeSchedule = () => client.schedule.getHandle('reconcile').describe();

test('a namespace belongs to the database that came first, and another is told which settings to correct', async () => {
  await claimed(MINE);
  const before = await describeSchedule();
  await expect(claim(ANOTHERS)).rejects.toThrow(
    new ForeignNamespaceError(client.options.namespace, ADDRESS).message,
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
  await expect(prepareNamespace(settings, 30_000, ANOTHERS)).rejects.toThrow(ForeignNamespaceError);
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
  await expect(claim(ANOTHERS)).rejects.toThrow(ForeignNamespaceError);
});
