import { readConfig, recurringRules } from '../../../src/settings/config';
import { databaseOfFile } from '../../support/database';
import { runSchedule, type ScheduleAtRest } from '../../support/schedule';
import {
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';

/** Many schedules of one due moment: their workflows wake one after the other, and none early. */

const rules = { ...recurringRules(readConfig({})), dueRate: 10 };
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const { db } = databaseOfFile();
let standing: Standing;

beforeEach(async () => {
  standing = await standingApproval(db);
});

/** A due moment that no other test has, nor has the day after it. */
let moments = 0;
const moment = () => new Date(Math.floor(Date.now() / 1000) * 1000 + (10 + 2 * moments++) * DAY_MS);

async function crowd(startAt: Date, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made++) {
    ids.push(await makeSchedule(db, standing, { startAt, frequency: 'daily' }));
  }
  return ids;
}

const run = (id: string): Promise<ScheduleAtRest> => runSchedule(db, rules, id);

async function placesOf(ids: string[]): Promise<number[]> {
  const found = await db.rows<{ delayMs: number }>`
    SELECT delay_ms AS "delayMs" FROM schedules WHERE id = ANY(${ids}) ORDER BY delay_ms`;
  return found.map(({ delayMs }) => delayMs);
}

it('gives no two of them one place, also where their workflows begin at once', async () => {
  const startAt = moment();
  const ids: string[] = [];
  // Each has an agreement of its own, so that none waits for another's.
  for (let made = 0; made < 5; made++) {
    const own = await standingApproval(db);
    ids.push(await makeSchedule(db, own, { startAt, frequency: 'daily' }));
  }
  const all = await Promise.all(ids.map(run));
  expect(await placesOf(ids)).toEqual([0, 100, 200, 300, 400]);
  // The next billing date stays as agreed.
  const agreed = { nextBillingDate: startAt.toISOString(), next: 'charge' };
  expect(all).toMatchObject(ids.map(() => agreed));
});

it('wakes each after its moment by its place, never before it', async () => {
  const startAt = moment();
  const [first, second] = await crowd(startAt, 2);
  const before = startAt.getTime() - Date.now();
  const [alone, behind] = [await run(first ?? ''), await run(second ?? '')];
  expect(alone.sleepMs).toBeLessThanOrEqual(before);
  expect(alone.sleepMs).toBeGreaterThan(before - HOUR_MS);
  expect(behind.delayMs).toBe(100);
  expect(behind.sleepMs).toBeGreaterThan(Number(alone.sleepMs) - HOUR_MS);
});

it('keeps the place of one that is read again, and gives new ones for the next moment', async () => {
  const startAt = moment();
  const ids = await crowd(startAt, 3);
  for (const id of ids) await run(id);
  for (const id of ids) await run(id);
  expect(await placesOf(ids)).toEqual([0, 100, 200]);

  await moveClock(db, standing.merchantId, `${startAt.getTime() - Date.now() + 1_000} milliseconds`);
  for (const id of ids) await run(id);
  await answerCharges(db, standing);
  for (const id of ids.toReversed()) await run(id);
  expect(await placesOf(ids)).toEqual([0, 100, 200]);
  // Places are taken in the order of the charges, so that it stays what it was.
  for (const [at, id] of ids.entries()) expect(await placesOf([id])).toEqual([at * 100]);
});

it('gives none to what is paused, so that others do not wait behind it', async () => {
  const startAt = moment();
  const ids = await crowd(startAt, 3);
  const [paused, , charged] = ids;
  await run(paused ?? '');
  await db.rows`UPDATE schedules SET paused = true, status = 'paused' WHERE id = ${paused}`;
  await run(paused ?? '');
  expect((await run(charged ?? '')).delayMs).toBe(0);

  await db.rows`UPDATE schedules SET paused = false, status = 'active' WHERE id = ${paused}`;
  expect((await run(paused ?? '')).delayMs).toBe(100);
});

it('spreads retries as well: the first attempts may have been made at once, after an outage', async () => {
  const startAt = new Date();
  const ids: string[] = [];
  for (let made = 0; made < 2; made++) ids.push(await makeSchedule(db, standing, { startAt }));
  for (const id of ids) expect(await run(id)).toMatchObject({ next: 'expire' });
  await answerCharges(db, standing, 'insufficient_funds');
  for (const [at, id] of ids.entries())
    expect(await run(id)).toMatchObject({ next: 'charge', delayMs: at * 100 });
});

it('makes a retry before the next due date, whatever its place', async () => {
  const id = await makeSchedule(db, standing, { startAt: new Date() });
  await run(id);
  await answerCharges(db, standing, 'insufficient_funds');
  await run(id);
  await db.rows`
    UPDATE schedules SET delay_ms = ${6 * HOUR_MS}, noticed_n = next_n WHERE id = ${id}`;
  await db.rows`
    UPDATE billings b SET retry_at = s.next_due_at - interval '1 hour' FROM schedules s
    WHERE s.id = ${id} AND b.schedule_id = s.id`;
  expect(await run(id)).toMatchObject({ next: 'charge', delayMs: HOUR_MS / 2 });
});

it('leaves the day of a crowd that is too large for the rate as it was agreed', async () => {
  const startAt = moment();
  const ids = await crowd(startAt, 2);
  await run(ids[0] ?? '');
  await db.rows`UPDATE schedules SET delay_ms = ${6 * HOUR_MS - 50} WHERE id = ${ids[0]}`;
  expect((await run(ids[1] ?? '')).delayMs).toBeLessThan(6 * HOUR_MS);
});

it('shows every charge at its very moment where a test clock is in play', async () => {
  const startAt = moment();
  const ids = await crowd(startAt, 3);
  await moveClock(db, standing.merchantId, '1 hour');
  for (const id of ids) expect(await run(id)).toMatchObject({ delayMs: 0 });
});
