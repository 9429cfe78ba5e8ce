import { raw } from '../../src/database/pool/statement';
import { MockActivityEnvironment } from '@temporalio/testing';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createRecoverActivities, type Recovered } from '../../src/activities/recover';
import { beginAdvance } from '../../src/database/sandbox-clock/advance-sandbox-clock';
import { restartsWaiting } from '../../src/database/recover/open-work';
import { enqueueBulkSignals } from '../../src/database/outbox';
import {
  adoptNamespace,
  readTemporalState,
  RECOVER_SILENT_AFTER_S,
} from '../../src/database/engine/temporal-state';
import { restartProblems } from '../../src/temporal/readiness';
import { formatInstant } from '../../src/domain/calendar';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { eventually } from '../support/engine';
import { makeSchedule, standingApproval, type Standing } from '../support/standing';

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
/** The workflows that Temporal does not have. */
const gone = new Set<string>();
let logged: { fields: object; message: string }[];

beforeEach(async () => {
  gone.clear();
  logged = [];
  await db.rows`UPDATE schedules SET acts_at = 'infinity'`;
  await db.rows`DELETE FROM outbox`;
  standing = await standingApproval(db);
});

const client = {
  withDeadline: (_: number, call: () => Promise<unknown>) => call(),
  workflow: {
    getHandle: (id: string) => ({
      describe: () =>
        gone.has(id)
          ? Promise.reject(new WorkflowNotFoundError('not found', id, undefined))
          : Promise.resolve({ status: { name: 'RUNNING' }, raw: {} }),
    }),
  },
} as unknown as Client;

const log = {
  info: (fields: object, message: string) => void logged.push({ fields, message }),
  warn: () => undefined,
} as unknown as Logger;

function run(): Promise<Recovered> {
  const activities = createRecoverActivities({ db, client, afterS: 0, log, count: () => undefined });
  return new MockActivityEnvironment().run(() => activities.restartMissing());
}

/** The same, beside a relay that carries each start. */
async function runBesideRelay(): Promise<Recovered> {
  const ended = new AbortController();
  const running = run().finally(() => ended.abort());
  while (!ended.signal.aborted) {
    await db.rows`DELETE FROM outbox WHERE kind = 'start'`;
    await new Promise(setImmediate);
  }
  return running;
}

test('after a loss of Temporal’s data all of a kind is started again at once, whatever a large party’s change has left', async () => {
  const id = await makeSchedule(db, standing);
  await asSchemaLogin(
    database.url,
    `INSERT INTO schedules SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_lost' || lpad(n::text, 4, '0')))).*
     FROM schedules s, generate_series(1, 250) AS n WHERE s.id = '${id}'`,
  );
  for (let n = 1; n <= 250; n++) gone.add(workflowIds.recurring(`sch_lost${String(n).padStart(4, '0')}`));
  const change = raw(`SELECT 'recurring/sch_' || n FROM generate_series(1, 400) AS n`);
  await enqueueBulkSignals(db, 'termsChanged', 'bnk_large', change);
  await adoptNamespace(db, 'first');
  await db.rows`DELETE FROM outbox WHERE kind = 'start'`;
  const told = await Promise.all([adoptNamespace(db, 'second'), adoptNamespace(db, 'second')]);
  expect(told.toSorted()).toEqual(['known', 'lost']);
  expect(await restartProblems(db)).toEqual([
    { path: 'temporal', message: expect.stringMatching(/being started again$/) as string },
  ]);
  expect(await runBesideRelay()).toMatchObject({ restarted: 250 });
  expect(logged).toEqual([
    {
      fields: expect.objectContaining({ restarted: 250 }) as object,
      message: 'all that was open is started again',
    },
  ]);
  expect(await restartProblems(db)).toEqual([]);
  expect(await readTemporalState(db)).toMatchObject({ restartingSince: null });
  await asSchemaLogin(database.url, `DELETE FROM schedules WHERE id LIKE 'sch_lost%'`);
});

test('a loss of Temporal’s data is not over while a start waits to be carried', async () => {
  gone.add(workflowIds.recurring(await makeSchedule(db, standing)));
  await adoptNamespace(db, 'fourth');
  await adoptNamespace(db, 'fifth');
  const environment = new MockActivityEnvironment();
  const activities = createRecoverActivities({ db, client, afterS: 0, log, count: () => undefined });
  const waits = new Promise((resolve) => {
    environment.on('heartbeat', () => {
      void restartsWaiting(db).then((waiting) => waiting > 0 && resolve(undefined));
    });
  });
  const running = environment.run(() => activities.restartMissing());
  await waits;
  expect((await readTemporalState(db)).restartingSince).not.toBeNull();
  // The run lives for as long as the starts take, and no alarm says that it does not.
  await db.rows`UPDATE temporal_state SET recovered_at = clock_timestamp() - interval '1 hour'`;
  await eventually(async () => (await readTemporalState(db)).recoverAgeS < RECOVER_SILENT_AFTER_S);
  await db.rows`DELETE FROM outbox`;
  await running;
  expect((await readTemporalState(db)).restartingSince).toBeNull();
});

test('a run says that it lives while Temporal is asked about much that is overdue', async () => {
  const id = await makeSchedule(db, standing);
  await asSchemaLogin(
    database.url,
    `INSERT INTO schedules SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_late' || lpad(n::text, 4, '0')))).*
     FROM schedules s, generate_series(1, 100) AS n WHERE s.id = '${id}';
     UPDATE schedules SET acts_at = now() - interval '1 hour' WHERE id LIKE 'sch_late%'`,
  );
  let askedInSilence = 0;
  let mostInSilence = 0;
  const asked = {
    withDeadline: (_: number, call: () => Promise<unknown>) => call(),
    workflow: {
      getHandle: () => ({
        describe() {
          askedInSilence += 1;
          mostInSilence = Math.max(mostInSilence, askedInSilence);
          return Promise.resolve({ runId: 'r', raw: {} });
        },
      }),
    },
  } as unknown as Client;
  const environment = new MockActivityEnvironment();
  environment.on('heartbeat', () => (askedInSilence = 0));
  const late = createRecoverActivities({ db, client: asked, afterS: 60, log, count: () => undefined });
  const overdue: Recovered = await environment.run(() => late.restartOverdue());
  expect(overdue.found).toEqual({ schedules: 100 });
  // Temporal has 5 s for each 20, and a worker that says nothing for 30 s counts as dead.
  expect(mostInSilence).toBeLessThanOrEqual(20);
});

test('a run is known to have been, and one that cannot start anything again is not', async () => {
  await db.rows`
    UPDATE temporal_state SET recovered_at = clock_timestamp() - interval '1 hour'`;
  gone.add(workflowIds.recurring(await makeSchedule(db, standing)));
  await asSchemaLogin(database.url, `REVOKE INSERT ON outbox FROM assent_app`);
  await expect(run()).rejects.toThrow(/permission denied/);
  expect((await readTemporalState(db)).recoverAgeS).toBeGreaterThan(3000);
  await asSchemaLogin(database.url, `GRANT INSERT ON outbox TO assent_app`);
  expect(await run()).toMatchObject({ found: { schedules: 1 }, restarted: 1 });
  expect((await readTemporalState(db)).recoverAgeS).toBeLessThan(3000);
});

test('what is ended by hand does not wait until hundreds of schedules have been looked at', async () => {
  const id = await makeSchedule(db, standing);
  await asSchemaLogin(
    database.url,
    `INSERT INTO schedules SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_copy' || lpad(n::text, 4, '0')))).*
     FROM schedules s, generate_series(1, 600) AS n WHERE s.id = '${id}'`,
  );
  // It is among the schedules now, and after another run still is.
  await run();
  const target = new Date(Date.now() + 86_400_000);
  await beginAdvance(db, standing.merchantId, target);
  gone.add(workflowIds.sandboxClock(standing.merchantId, formatInstant(target)));
  expect(await run()).toMatchObject({ found: { clocks: 1 }, restarted: 1 });
  // And those, too, are gone through to the last.
  gone.add(workflowIds.recurring('sch_copy0600'));
  gone.add(workflowIds.recurring('sch_copy0001'));
  await db.rows`DELETE FROM outbox`;
  for (let i = 0; i < 8; i++) await run();
  const started = await db.rows<{ id: string }>`
    SELECT DISTINCT workflow_id AS id FROM outbox WHERE workflow_id LIKE '%sch_copy%' ORDER BY 1`;
  expect(started.map((one) => one.id)).toEqual(
    ['sch_copy0001', 'sch_copy0600'].map((one) => workflowIds.recurring(one)),
  );
});
