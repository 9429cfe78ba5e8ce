import { once } from 'node:events';
import { rows, type Database } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { advanceDueSchedule } from '../../src/database/recurring-due';
import { createDueWatch, type DueWatch } from '../../src/worker/due-watch';
import { recurringRules, readConfig } from '../../src/config';
import { workflowId } from '../../src/workflows/messages';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { answerCharges, makeSchedule, standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = recurringRules(readConfig({}));

let database: TestDatabase;
let db: Database;
let standing: Standing;
let watches: DueWatch[];
let warnings: number;

beforeEach(async () => {
  database = await createTestDatabase();
  db = database.db;
  standing = await standingApproval(db, keyring);
  watches = [];
  warnings = 0;
});
afterEach(async () => {
  await Promise.all(watches.map((one) => one.stop()));
  await database.drop();
});

/** A worker's watch. @param tell of one look */
function watch(tell: (carrier: string) => Promise<void> = () => Promise.resolve()): DueWatch {
  const made = createDueWatch(db, keyring, rules, 2, tell, { warn: () => void warnings++ });
  watches.push(made);
  made.start();
  return made;
}

/** Due now, of one agreement, after the first looks of their workflows, which will look again in some minutes. */
async function schedules(count: number): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => makeSchedule(db, keyring, standing)));
  await rows(db, `UPDATE schedules SET looks_at = now() + interval '3 minutes' WHERE id = ANY(:ids)`, {
    ids,
  });
  return ids;
}

async function counted(of: string): Promise<number> {
  const [found] = await rows<{ n: number }>(db, `SELECT count(*)::int AS n FROM ${of}`);
  return found?.n ?? 0;
}

const charged = () => counted('billing_requests');
const settled = () => counted(`billings WHERE status = 'successful'`);
const wokenWorkflows = async () => {
  const found = await rows<{ id: string }>(db, `SELECT workflow_id AS id FROM outbox WHERE kind = 'wake'`);
  return found.map(({ id }) => id);
};

it('two workers charge a crowd, each schedule once, and wake nobody whose timer comes anyway', async () => {
  await schedules(60);
  const told: string[] = [];
  const tell = (carrier: string) => Promise.resolve(void told.push(carrier));
  watch(tell);
  watch(tell);
  await eventually(async () => (await charged()) === 60);
  await answerCharges(db, keyring, standing);
  await eventually(async () => (await settled()) === 60);
  expect(await charged()).toBe(60);
  expect(new Set(told).size).toBe(60);
  expect(await wokenWorkflows()).toEqual([]);
  expect(warnings).toBe(0);
});

it('one that fails is left to its workflow, once, and the others are charged', async () => {
  const [broken = '', whole = ''] = await schedules(2);
  await asOwner(
    database.url,
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
     CREATE TRIGGER broken BEFORE INSERT ON billings FOR EACH ROW WHEN (new.schedule_id = '${broken}')
       EXECUTE FUNCTION refuse()`,
  );
  watch();
  await eventually(async () => (await charged()) === 1);
  await eventually(async () => (await wokenWorkflows()).length > 0);
  const [later = ''] = await schedules(1);
  await eventually(async () => (await charged()) === 2);
  const found = await rows<{ id: string }>(db, `SELECT schedule_id AS id FROM billing_requests`);
  expect(new Set(found.map(({ id }) => id))).toEqual(new Set([whole, later]));
  expect(await wokenWorkflows()).toEqual([workflowId.recurring(broken)]);
  expect(warnings).toBe(1);
});

it('a receiver that takes its time holds nobody else up', async () => {
  const [slow = '', quick = ''] = await schedules(2);
  const released = new AbortController();
  const held = once(released.signal, 'abort');
  const told: string[] = [];
  watch(async (carrier) => {
    if (carrier === workflowId.recurring(slow)) await held;
    told.push(carrier);
  });
  await eventually(async () => (await charged()) === 2 && told.includes(workflowId.recurring(quick)));
  await answerCharges(db, keyring, standing);
  await eventually(async () => (await settled()) === 2);
  expect(told).not.toContain(workflowId.recurring(slow));
  released.abort();
});

it('goes on by itself when Postgres has refused it for a while', async () => {
  watch();
  await asOwner(database.url, `REVOKE SELECT ON schedules FROM assent_app`);
  await eventually(() => Promise.resolve(warnings > 0));
  await asOwner(database.url, `GRANT SELECT ON schedules TO assent_app`);
  await schedules(1);
  await eventually(async () => (await charged()) === 1);
  expect(await wokenWorkflows()).toEqual([]);
});

it('tells of what a worker that died had announced and not told of', async () => {
  const [id = ''] = await schedules(1);
  await rows(db, `UPDATE webhook_endpoints SET url = 'https://bank.test/' WHERE entity_id = :id`, {
    id: standing.bankId,
  });
  await advanceDueSchedule(db, keyring, rules, id, false);
  await asOwner(database.url, `UPDATE webhook_deliveries SET created_at = now() - interval '1 minute'`);
  const told: string[] = [];
  watch((carrier) => Promise.resolve(void told.push(carrier)));
  await eventually(() => Promise.resolve(told.length > 0));
  expect(told).toEqual([workflowId.recurring(id)]);
});
