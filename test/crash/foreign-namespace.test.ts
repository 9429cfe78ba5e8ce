import { execFile } from 'node:child_process';
import { Client, Connection } from '@temporalio/client';
import { row, rows } from '../../src/database/pool/connection';
import { readTemporalState } from '../../src/database/engine/temporal-state';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine } from '../support/engine';
import { installation, programOf } from '../support/installation';
import { freeOffset, fromBuild, makeStartFolder, NpmStart } from '../support/npm-start';
import { makeSchedule, standingApproval } from '../support/standing';

/** A second installation is given the Temporal of the first one by mistake. */

/** A worker that does not end by itself is ended: it would run on after the test. */
const ENDS_WITHIN_MS = 60_000;

let engine: TestEngine;
let second: TestDatabase;
/** The workflow of what is open in the second one. */
let workflowId: string;
let settings: NodeJS.ProcessEnv;
let refusal: string;

beforeAll(async () => {
  engine = await startEngine();
  second = await createTestDatabase();
  // A copy of the template, as all databases of the tests are; a migrated one has an id of its own.
  await asOwner(
    second.url,
    `UPDATE temporal_state SET installation = gen_random_uuid(), namespace_id = 'its own'`,
  );
  const standing = await standingApproval(second.db, engine.keyring);
  workflowId = workflowIds.recurring(await makeSchedule(second.db, engine.keyring, standing));
  const { LOG_FILE: _, ...environment } = engine.environment;
  settings = { ...environment, DATABASE_URL: second.url, METRICS_PORT: '0' };
  refusal =
    `The namespace "${engine.namespace}" at ${engine.temporalAddress} belongs to another Assent: ` +
    'correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE.';
});

afterAll(async () => {
  await second.drop();
  await engine.stop();
});

afterEach(async () => {
  // Nothing of it was started, or is about to be, in the namespace of the first.
  expect(await readTemporalState(second.db)).toMatchObject({ namespaceId: 'its own', restartingSince: null });
  expect(await rows(second.db, `SELECT FROM outbox WHERE start->>'again' IS NOT NULL`)).toEqual([]);
  expect(await row(second.db, `SELECT FROM worker_heartbeats`)).toBeUndefined();
  const connection = await Connection.connect({ address: engine.temporalAddress });
  const client = new Client({ connection, namespace: engine.namespace });
  await expect(client.workflow.getHandle(workflowId).describe()).rejects.toThrow(/not found/);
  await connection.close();
});

function run(file: string, args: string[]): Promise<{ code: unknown; told: string }> {
  return new Promise((resolve) => {
    execFile(file, args, { env: settings, timeout: ENDS_WITHIN_MS }, (error, out, err) =>
      resolve({ code: error ? error.code : 0, told: out + err }),
    );
  });
}

test('its worker polls nothing and starts nothing there, and says what to correct', async () => {
  const { code, told } = await run(process.execPath, [await programOf('worker')]);
  expect({ code, last: told.trim().split('\n').at(-1) }).toEqual({ code: 1, last: refusal });
  expect(told).not.toContain('worker is ready');
});

test('"assent migrate" refuses', async () => {
  const { assent } = await installation();
  const { code, told } = await run(assent, ['migrate']);
  expect({ code, told: told.trim() }).toEqual({ code: 1, told: `assent: ${refusal}` });
});

test('"npm start" refuses before it starts an API or a worker', async () => {
  const { folder, remove } = await makeStartFolder();
  const given = { ...settings, PORT_OFFSET: String(await freeOffset()) } as Record<string, string>;
  const started = new NpmStart(folder, given, await fromBuild());
  await expect(started.exit()).resolves.toBe(1);
  expect(started.output()).toContain(refusal);
  expect(started.output()).not.toContain('Starting the API');
  await remove();
});
