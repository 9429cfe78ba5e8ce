import { rows, type Database } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { advanceSchedule } from '../../src/database/recurring-advance';
import {
  advanceDueSchedule,
  dueBacklog,
  dueSchedules,
  leaveToWorkflow,
  untoldSchedules,
} from '../../src/database/recurring-due';
import { recurringRules, readConfig } from '../../src/config';
import { workflowId } from '../../src/workflows/messages';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import {
  announcedTo,
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = recurringRules(readConfig({}));
const MINUTE = 60_000;
const LIMIT = 100;

let database: TestDatabase;
let db: Database;
let standing: Standing;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await rows(db, `UPDATE schedules SET acts_at = 'infinity' WHERE acts_at IS NOT NULL`);
  await rows(db, `DELETE FROM outbox`);
  standing = await standingApproval(db, keyring);
});

/** One that its workflow has looked at before it fell due, and will look at again in some minutes. */
async function schedule(terms: Parameters<typeof makeSchedule>[3] = {}): Promise<string> {
  const id = await makeSchedule(db, keyring, standing, terms);
  await rows(db, `UPDATE schedules SET looks_at = now() + interval '3 minutes' WHERE id = :id`, { id });
  return id;
}

const due = () => dueSchedules(db, LIMIT);
const lookAhead = (id: string, crowded = false) => advanceDueSchedule(db, keyring, rules, id, crowded);
/** As its workflow looks. */
const lookItself = (id: string) => advanceSchedule(db, keyring, rules, id);
const answer = () => answerCharges(db, keyring, standing);

async function charges(id: string): Promise<string[]> {
  const found = await rows<{ status: string }>(
    db,
    `SELECT status FROM billing_requests WHERE schedule_id = :id ORDER BY id`,
    { id },
  );
  return found.map(({ status }) => status);
}

async function woken(id: string): Promise<boolean> {
  const wakes = await rows(db, `SELECT FROM outbox WHERE kind = 'wake' AND workflow_id = :workflow`, {
    workflow: workflowId.recurring(id),
  });
  return wakes.length > 0;
}

describe('a look ahead of the workflow', () => {
  it('charges what is due, once, however many workers look at the same time', async () => {
    const id = await schedule();
    expect(await due()).toEqual([id]);
    await Promise.all([...Array.from({ length: 12 }, () => lookAhead(id)), lookItself(id), lookItself(id)]);
    expect(await charges(id)).toEqual(['pending']);
    const asked = await announcedTo(db, keyring, standing.bankId);
    expect(asked.map(({ type }) => type)).toEqual(['billing.request']);
    expect(await due()).toEqual([]);
    expect(await lookAhead(id)).toBe(false);
  });

  it('takes note of the answer as soon as the bank has given it, and only then is the workflow woken', async () => {
    const id = await schedule({ maxBillings: 1 });
    await lookAhead(id);
    expect(await woken(id)).toBe(false);
    await answer();
    expect(await due()).toEqual([id]);
    expect(await woken(id)).toBe(false);
    await lookAhead(id);
    expect(await woken(id)).toBe(true);
    expect(await due()).toEqual([]);
    const told = await announcedTo(db, keyring, standing.merchantId);
    expect(told.map(({ type }) => type)).toEqual(['billing.response', 'recurring.updated']);
    expect(await lookItself(id)).toMatchObject({ status: 'completed', sleepMs: null });
  });

  it('wakes a workflow that would not look for long, also while the bank is asked', async () => {
    const id = await schedule();
    await rows(db, `UPDATE schedules SET looks_at = now() + interval '1 day' WHERE id = :id`, { id });
    await lookAhead(id);
    expect(await woken(id)).toBe(true);
  });

  it('is not taken of one that was left to its workflow, until that has looked', async () => {
    const id = await schedule();
    await leaveToWorkflow(db, id);
    expect(await woken(id)).toBe(true);
    expect(await due()).toEqual([]);
    expect(await dueBacklog(db)).toMatchObject({ schedules: 1 });
    await lookItself(id);
    await answer();
    expect(await due()).toEqual([id]);
  });

  it('in a crowd leaves a workflow asleep that looks by itself within minutes, and wakes one that does not', async () => {
    const [soon, late] = [await schedule(), await schedule()];
    await lookItself(soon);
    await lookItself(late);
    await rows(db, `UPDATE schedules SET looks_at = now() + interval '4 minutes' WHERE id = :soon`, { soon });
    await answer();
    await Promise.all([lookAhead(soon, true), lookAhead(late, true)]);
    expect([await woken(soon), await woken(late)]).toEqual([false, true]);
  });

  it('leaves a schedule to its workflow until that has looked for the first time', async () => {
    const id = await makeSchedule(db, keyring, standing);
    expect(await due()).toEqual([]);
    expect(await lookAhead(id)).toBe(false);
    await lookItself(id);
    expect(await charges(id)).toEqual(['pending']);
    await answer();
    expect(await due()).toEqual([id]);
  });

  it('leaves what goes by a test clock to the workflow, which the clock wakes, and so the answer does', async () => {
    const id = await schedule();
    await moveClock(db, standing.merchantId, '1 hour');
    expect(await due()).toEqual([]);
    await lookItself(id);
    await answer();
    expect(await due()).toEqual([]);
    expect(await woken(id)).toBe(true);
  });
});

it('lists what has been due longest beside what has been due shortest', async () => {
  const ids: string[] = [];
  for (let n = 1; n <= 5; n++) {
    const id = await schedule();
    await rows(db, `UPDATE schedules SET acts_at = now() - :n * interval '1 minute' WHERE id = :id`, {
      id,
      n,
    });
    ids.push(id);
  }
  expect(new Set(await dueSchedules(db, 2))).toEqual(new Set([ids[0], ids[4]]));
});

it('says how many are due, and for how long the first has been', async () => {
  expect(await dueBacklog(db)).toEqual({ schedules: 0, oldestAgeS: 0 });
  const late = await schedule();
  await schedule();
  await schedule({ startAt: new Date(Date.now() + 60 * MINUTE) }).then(lookItself);
  await rows(db, `UPDATE schedules SET acts_at = now() - interval '90 seconds' WHERE id = :late`, { late });
  const { schedules, oldestAgeS } = await dueBacklog(db);
  expect(schedules).toBe(2);
  expect(oldestAgeS).toBeGreaterThanOrEqual(90);
  expect(oldestAgeS).toBeLessThan(120);
});

it('the workflow of a schedule looks by itself within five minutes of what is due, and not in the first', async () => {
  const startAt = new Date(Date.now() + 60 * MINUTE);
  for (let n = 0; n < 20; n++) {
    const { sleepMs } = await lookItself(await schedule({ startAt }));
    const lag = Date.now() + Number(sleepMs) - startAt.getTime();
    expect(lag).toBeGreaterThan(0.9 * MINUTE);
    expect(lag).toBeLessThan(5.1 * MINUTE);
  }
});

it('what was announced and never told of is found again, once whoever announced it has had its time', async () => {
  const id = await schedule();
  await rows(db, `UPDATE webhook_endpoints SET url = 'https://bank.test/' WHERE entity_id = :id`, {
    id: standing.bankId,
  });
  await lookAhead(id);
  expect(await untoldSchedules(db, LIMIT)).toEqual([]);
  await asOwner(database.url, `UPDATE webhook_deliveries SET created_at = now() - interval '11 seconds'`);
  expect(await untoldSchedules(db, LIMIT)).toEqual([workflowId.recurring(id)]);
});
