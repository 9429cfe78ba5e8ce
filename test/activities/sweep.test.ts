import { MockActivityEnvironment } from '@temporalio/testing';
import { createSweepActivities } from '../../src/activities/sweep';
import { readTemporalState } from '../../src/database/engine/temporal-state';
import { SWEPT, type Swept } from '../../src/domain/workflow/messages';
import { serviceWarnings } from '../../src/temporal/readiness';
import { asSchemaLogin, databaseOfFile } from '../support/database';

const database = databaseOfFile();
const { db } = database;

const KEPT_DAYS = 30;
const sweep = (kind: Swept): Promise<boolean> =>
  new MockActivityEnvironment().run(() => createSweepActivities(db, KEPT_DAYS).sweepAway(kind));
const lastSwept = (ago: string) => db.rows`
  UPDATE temporal_state
  SET swept = swept || jsonb_build_object('webhooks', clock_timestamp() - ${ago}::interval)`;
const warned = async () => (await serviceWarnings(db)).find(({ path }) => path === 'sweep');
const sweepAgeS = async () => (await readTemporalState(db)).sweepAgeS;

test('a kind that always fails is known by its age, among all others that are swept each minute', async () => {
  await asSchemaLogin(
    database.url,
    `UPDATE temporal_state SET begun_at = clock_timestamp() - interval '31 minutes', swept = '{}';
     REVOKE DELETE ON ended_console_sessions FROM assent_app`,
  );
  const failed: Swept[] = [];
  for (const kind of SWEPT) await sweep(kind).catch(() => failed.push(kind));
  expect(failed).toEqual(['console sessions']);
  expect(await sweepAgeS()).toBeGreaterThan(1_800);
  expect(await warned()).toMatchObject({ message: expect.stringMatching(/^has not run for 18\d\d s: /) });
  await asSchemaLogin(database.url, 'GRANT DELETE ON ended_console_sessions TO assent_app');
  await sweep('console sessions');
  expect(await sweepAgeS()).toBeLessThan(1_800);
  expect(await warned()).toBeUndefined();
});

test('a kind that was swept once and then no more is warned of after half an hour', async () => {
  for (const kind of SWEPT) await sweep(kind);
  await lastSwept('29 minutes');
  expect(await warned()).toBeUndefined();
  await lastSwept('31 minutes');
  expect(await warned()).toBeDefined();
  await sweep('webhooks');
  expect(await warned()).toBeUndefined();
});
