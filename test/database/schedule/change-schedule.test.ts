import {
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
  type ScheduleChange,
} from '../../../src/database/schedule/change-schedule';
import type { ScheduleTerms } from '../../../src/database/schedule/create-schedule';
import { lockSchedules } from '../../../src/database/schedule/lock-schedules';
import { writeSchedules } from '../../../src/database/schedule/write-schedules';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { readConfig, recurringRules } from '../../../src/settings/config';
import { databaseOfFile } from '../../support/database';
import { DAY_MS, playSchedule, type PlayedSchedule } from '../../support/schedule';
import { setEntityTrust } from '../../support/recorded-change';

const rules = recurringRules(readConfig({}));

const { db } = databaseOfFile();

const play = (terms: Partial<ScheduleTerms> = {}) => playSchedule(db, rules, terms);

/** A schedule whose first billing has succeeded. */
async function running(terms: Partial<ScheduleTerms> = {}): Promise<PlayedSchedule> {
  const played = await play(terms);
  await played.advance();
  await played.answer();
  await played.advance();
  return played;
}

const merchant = ({ standing }: PlayedSchedule) =>
  ({ entityId: standing.merchantId, role: 'merchant' }) as const;
const pause = (played: PlayedSchedule) =>
  db.transaction((trx) => pauseSchedule(trx, merchant(played), played.id));
const resume = (played: PlayedSchedule) =>
  db.transaction((trx) => resumeSchedule(trx, merchant(played), played.id));
const change = (played: PlayedSchedule, to: ScheduleChange) =>
  db.transaction((trx) =>
    changeSchedule(trx, rules, { caller: merchant(played), scheduleId: played.id }, to),
  );

async function charged({ id }: PlayedSchedule): Promise<bigint[]> {
  const found = await db.rows<{ amount: bigint }>`
    SELECT amount::bigint FROM billing_requests WHERE schedule_id = ${id} ORDER BY billing_n, attempt`;
  return found.map(({ amount }) => amount);
}

const itemsTo = async (played: PlayedSchedule, party: 'bank' | 'merchant') =>
  (await played.announced(party)).map(({ item }) => item);

const record = ({ id }: PlayedSchedule) =>
  db.rows<{ type: string; cause: string; details: unknown }>`
  SELECT type, cause, details FROM events WHERE resource_id = ${id} ORDER BY sequence`;

const signals = async ({ id }: PlayedSchedule) =>
  (
    await db.rows`
  DELETE FROM outbox WHERE workflow_id = ${workflowIds.recurring(id)} AND kind = 'signal' RETURNING id`
  ).length;

describe('pausing', () => {
  it('again, or resuming what is not paused, changes nothing and tells nobody', async () => {
    const played = await running();
    await pause(played);
    await pause(played);
    await resume(played);
    await resume(played);
    expect((await itemsTo(played, 'bank')).map(({ status }) => status)).toEqual(['paused', 'active']);
    expect((await record(played)).slice(-2)).toMatchObject([
      { type: 'schedule.paused', cause: 'merchant' },
      { type: 'schedule.resumed', cause: 'merchant' },
    ]);
  });

  it('a suspended schedule leaves it suspended, and paused after that, with each due date skipped for its reason', async () => {
    const played = await running({ frequency: 'daily' });
    await played.decide('suspended');
    await pause(played);
    expect(await played.shown()).toMatchObject({ status: 'suspended' });
    await played.later(DAY_MS);
    await played.decide('approve_recurring');
    expect(await played.shown()).toMatchObject({ status: 'paused' });
    await played.later(DAY_MS);
    await resume(played);
    expect(await played.shown()).toMatchObject({ status: 'active' });
    await played.advance();
    expect(await played.billings()).toEqual([
      '0 successful 1x',
      '1 skipped suspended 0x',
      '2 skipped paused 0x',
    ]);
  });

  it('is not ended past a loss of trust that has not come to the schedule yet', async () => {
    const played = await running();
    await pause(played);
    await setEntityTrust(db, played.standing.merchantId, 'untrusted');
    await expect(resume(played)).rejects.toMatchObject({
      code: 'schedule_suspended',
      data: { status: 'suspended' },
    });
  });
});

/** The amounts that the bank was told of beforehand. */
const noticed = async (played: PlayedSchedule) =>
  (await played.announced('bank'))
    .filter(({ type }) => type === 'recurring.upcoming')
    .map(({ item }) => item['amount']);

describe('changing', () => {
  it('takes another amount from the next billing on, and keeps that of the one in hand', async () => {
    const played = await play();
    await played.advance();
    await played.answer('insufficient_funds');
    await played.advance();
    await change(played, { amount: 99.5 });
    await played.later(DAY_MS);
    expect((await played.advance()).waitingFor).toContain('NGN 1,500.00');
    await played.answer();
    await played.advance();
    await played.later(31 * DAY_MS);
    await played.advance();
    expect(await charged(played)).toEqual([150_000n, 150_000n, 9_950n]);
  });

  it('to a lower amount after the notice is announced once more, before it is charged', async () => {
    const played = await running();
    await played.later((await played.advance()).sleepMs ?? 0);
    await played.advance();
    await change(played, { description: 'Gold' });
    await played.advance();
    await change(played, { amount: 1000 });
    await played.advance();
    expect(await noticed(played)).toEqual([1500, 1000]);
  });

  it('to a higher amount after the notice is for the billing after, which both sides are told', async () => {
    const played = await running();
    await played.later((await played.advance()).sleepMs ?? 0);
    const { nextBillingDate } = await played.advance();
    await change(played, { amount: 1400 });
    // The schedule is not read in between: nobody was told of the lower amount yet.
    await change(played, { amount: 2000 });
    const { waitingFor } = await played.advance();
    expect(waitingFor).toContain('NGN 1,400.00');
    const raised = (await played.announced('merchant')).find(({ item }) => item['amount'] === 2000);
    expect(raised?.item).toMatchObject({ amount: 2000, previousAmount: 1400 });
    expect(String(raised?.item['effectiveFrom']) > String(nextBillingDate)).toBe(true);
    await played.later(DAY_MS);
    await played.advance();
    await played.answer();
    await played.later((await played.advance()).sleepMs ?? 0);
    await played.advance();
    expect(await noticed(played)).toEqual([1500, 1400, 2000]);
    await played.later(DAY_MS);
    await played.advance();
    expect(await charged(played)).toEqual([150_000n, 140_000n, 200_000n]);
  });

  it('to a lower amount of what is due and not charged yet is told by the change, with its due date', async () => {
    const played = await running();
    await played.later((await played.advance()).sleepMs ?? 0);
    const { nextBillingDate } = await played.advance();
    // The schedule is not read in the meantime, as in an outage.
    await played.later(2 * DAY_MS);
    await change(played, { amount: 1000 });
    await played.advance();
    expect(await charged(played)).toEqual([150_000n, 100_000n]);
    expect(await played.announced('bank')).toMatchObject([
      { type: 'recurring.upcoming', item: { amount: 1500, dueDate: nextBillingDate } },
      {
        type: 'recurring.updated',
        item: { amount: 1000, previousAmount: 1500, effectiveFrom: nextBillingDate },
      },
    ]);
  });

  it('is told to both sides, signalled, and on record without what people wrote', async () => {
    const played = await running();
    await signals(played);
    await change(played, { amount: 2000, description: 'For Ada', metadata: { note: 'Ada' } });
    const expected = {
      scheduleId: played.id,
      status: 'active',
      previousStatus: 'active',
      amount: 2000,
      currency: 'NGN',
      previousAmount: 1500,
      effectiveFrom: (await played.shown()).nextDueAt?.toISOString(),
    };
    expect(await itemsTo(played, 'merchant')).toMatchObject([expected]);
    expect(await itemsTo(played, 'bank')).toMatchObject([expected]);
    expect(await signals(played)).toBe(1);
    expect((await record(played)).at(-1)).toMatchObject({
      type: 'schedule.changed',
      details: {
        changed: ['amount', 'description', 'metadata'],
        amount: '200000',
        previousAmount: '150000',
      },
    });
    expect(JSON.stringify(await record(played))).not.toContain('Ada');

    // A pause changes no terms, so they hold from no date.
    await pause(played);
    const paused = (await itemsTo(played, 'bank')).at(-1);
    expect(paused).toMatchObject({ status: 'paused', amount: 2000 });
    expect(paused).not.toHaveProperty('effectiveFrom');
  });

  it('to what it is already changes nothing and tells nobody', async () => {
    const played = await running({ description: 'Gold', metadata: { a: 1, b: true } });
    await signals(played);
    const before = await played.shown();
    await change(played, {
      amount: 1500,
      endAt: null,
      maxBillings: null,
      description: 'Gold',
      metadata: { b: true, a: 1 },
    });
    expect(await played.shown()).toEqual(before);
    expect(await played.announced('bank')).toEqual([]);
    expect(await signals(played)).toBe(0);
  });

  it('completes a paused schedule that is left nothing, tells both sides of the end alone, and ends the pause', async () => {
    const played = await running();
    await pause(played);
    await change(played, { endAt: new Date(Date.now() + DAY_MS) });
    expect(await played.shown()).toMatchObject({ status: 'completed', nextDueAt: null });
    for (const party of ['bank', 'merchant'] as const) {
      expect(await itemsTo(played, party)).toMatchObject([
        { status: 'paused' },
        { status: 'completed', previousStatus: 'paused', nextBillingDate: null },
      ]);
    }
    expect((await record(played)).slice(-2)).toMatchObject([
      { type: 'schedule.changed', cause: 'merchant' },
      { type: 'schedule.completed', cause: 'network' },
    ]);
    const open = await db.rows`
      SELECT FROM schedule_holds WHERE schedule_id = ${played.id} AND to_at IS NULL`;
    expect(open).toEqual([]);
  });

  it('to an end at the very moment of the next billing still has it charged', async () => {
    const played = await running();
    const { nextDueAt } = await played.shown();
    await change(played, { endAt: nextDueAt });
    expect(await played.shown()).toMatchObject({ nextDueAt });
    await change(played, { endAt: new Date((nextDueAt?.getTime() ?? 0) - 1) });
    expect(await played.shown()).toMatchObject({ nextDueAt: null });
  });

  it('gives a last billing in hand a successor, when more are allowed', async () => {
    const played = await play({ maxBillings: 1 });
    await played.advance();
    expect(await played.shown()).toMatchObject({ nextDueAt: null });
    await change(played, { maxBillings: 2 });
    expect((await played.shown()).nextDueAt).not.toBeNull();
    await played.answer();
    expect(await played.advance()).toMatchObject({ status: 'active' });
  });

  it('to as many billings as have run completes it; to fewer is refused', async () => {
    const played = await running({ frequency: 'daily' });
    await played.later(DAY_MS);
    await played.advance();
    await expect(change(played, { maxBillings: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
      problems: [{ path: 'maxBillings', message: expect.stringContaining('at least 2') as string }],
    });
    await change(played, { maxBillings: 2 });
    await played.answer();
    expect(await played.advance()).toMatchObject({ status: 'completed' });
  });

  it('names every problem at once, judged by the test clock', async () => {
    const played = await running();
    await played.later(10 * DAY_MS);
    const endAt = new Date(Date.now() + 9 * DAY_MS);
    await expect(change(played, { amount: 0.001, endAt })).rejects.toMatchObject({
      code: 'invalid_request',
      problems: [{ path: 'amount' }, { path: 'endDate', message: expect.stringContaining('past') as string }],
    });
    await expect(change(played, { endAt: (await played.shown()).startAt })).rejects.toMatchObject({
      problems: [{ path: 'endDate', message: 'must be after the start date' }],
    });
  });
});

it('a change of terms leaves the metadata of another schedule that is written with it', async () => {
  const [changed, other] = [await running(), await running({ metadata: { order: '7' } })];
  await db.transaction(async (trx) => {
    const [before] = await lockSchedules(trx, [changed.id]);
    const [untouched] = await lockSchedules(trx, [other.id]);
    if (!before || !untouched) throw new Error('a schedule is gone');
    const terms = { ...before, amount: 99n, metadata: { order: '8' } };
    await writeSchedules(trx, [
      { before, after: terms, cause: 'merchant', event: 'schedule.changed' },
      { before: untouched, after: untouched, cause: 'network' },
    ]);
  });
  expect(await changed.shown()).toMatchObject({ amount: 99n, metadata: { order: '8' } });
  expect(await other.shown()).toMatchObject({ amount: 150_000n, metadata: { order: '7' } });
});
