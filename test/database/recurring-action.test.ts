import { lockAgreement } from '../../src/database/agreement/agreement';
import { row, rows, type Database } from '../../src/database/pool/connection';
import { applyDecision } from '../../src/database/decision/apply-decision';
import { setEntityTrust } from '../../src/database/entity/create-entity';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import {
  cancelSchedule,
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
  type ScheduleChange,
} from '../../src/database/schedule/change-schedule';
import type { ScheduleTerms } from '../../src/database/schedule/create-schedule';
import { readBillings, readSchedule, type ScheduleRecord } from '../../src/database/schedule/list-schedules';
import { recurringRules, readConfig } from '../../src/settings/config';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { runSchedule, type ScheduleAtRest } from '../support/schedule';
import {
  announcedTo,
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Announced,
  type Standing,
} from '../support/standing';

const keyring = readKeyring(makeKeyring());
const rules = recurringRules(readConfig({}));
const DAY = 86_400_000;

let database: TestDatabase;
let db: Database;
let standing: Standing;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

async function schedule(terms: Partial<ScheduleTerms> = {}): Promise<string> {
  standing = await standingApproval(db, keyring);
  return makeSchedule(db, keyring, standing, terms);
}

/** A schedule whose first billing has succeeded. */
async function running(terms: Partial<ScheduleTerms> = {}): Promise<string> {
  const id = await schedule(terms);
  await advance(id);
  await answer();
  await advance(id);
  return id;
}

/** A schedule whose first billing was declined, and waits for its retry. */
async function pastDue(terms: Partial<ScheduleTerms> = {}): Promise<string> {
  const id = await schedule(terms);
  await advance(id);
  await answer('insufficient_funds');
  expect(await advance(id)).toMatchObject({ status: 'past_due' });
  return id;
}

function advance(id: string): Promise<ScheduleAtRest> {
  return runSchedule(db, keyring, rules, id);
}

async function answer(declineReason?: string): Promise<void> {
  expect(await answerCharges(db, keyring, standing, declineReason)).toBe(1);
}

async function later(ms: number): Promise<void> {
  await moveClock(db, standing.merchantId, `${ms} milliseconds`);
}

const merchant = () => ({ entityId: standing.merchantId, role: 'merchant' as const });
const bank = () => ({ entityId: standing.bankId, role: 'bank' as const });

const pause = (id: string) => db.transaction((trx) => pauseSchedule(trx, keyring, merchant(), id));
const resume = (id: string) => db.transaction((trx) => resumeSchedule(trx, keyring, merchant(), id));
const cancel = (id: string, caller: Parameters<typeof cancelSchedule>[2] = merchant()) =>
  db.transaction((trx) => cancelSchedule(trx, keyring, caller, id));
const change = (id: string, to: ScheduleChange) =>
  db.transaction((trx) => changeSchedule(trx, keyring, rules, merchant(), id, to));

async function decide(decision: 'approve_recurring' | 'suspended'): Promise<void> {
  await db.transaction(async (trx) => {
    await lockAgreement(trx, standing.agreementId);
    await applyDecision(trx, keyring, standing.agreementId, { decision, blocked: false }, 'bank');
  });
}

function view(id: string): Promise<ScheduleRecord> {
  return readSchedule(db, merchant(), id);
}

async function billings(id: string): Promise<string[]> {
  return (await readBillings(db, id)).map(({ n, status, reason, attempts }) =>
    [n, status, ...(reason === null ? [] : [reason]), `${attempts.length}x`].join(' '),
  );
}

async function charged(id: string): Promise<bigint[]> {
  const found = await rows<{ amount: bigint }>(
    db,
    `SELECT amount::bigint FROM billing_requests WHERE schedule_id = :id ORDER BY billing_n, attempt`,
    { id },
  );
  return found.map(({ amount }) => amount);
}

async function updatesTo(entityId: string): Promise<Announced['item'][]> {
  const announced = await announcedTo(db, keyring, entityId);
  return announced.filter(({ type }) => type === 'recurring.updated').map(({ item }) => item);
}

async function record(id: string): Promise<{ type: string; cause: string }[]> {
  return rows(db, `SELECT type, cause FROM events WHERE resource_id = :id ORDER BY sequence`, { id });
}

async function signals(id: string): Promise<number> {
  const found = await rows(
    db,
    `DELETE FROM outbox WHERE workflow_id = :id AND kind = 'signal' RETURNING id`,
    {
      id: workflowIds.recurring(id),
    },
  );
  return found.length;
}

describe('pausing', () => {
  it('tells both sides, signals the workflow, and is on record as the merchant’s act', async () => {
    const id = await running();
    await signals(id);
    await pause(id);
    const expected = { scheduleId: id, status: 'paused', previousStatus: 'active', billingsCompleted: 1 };
    expect(await updatesTo(standing.merchantId)).toMatchObject([expected]);
    expect(await updatesTo(standing.bankId)).toMatchObject([expected]);
    expect(await signals(id)).toBe(1);
    expect((await record(id)).at(-1)).toEqual({ type: 'schedule.paused', cause: 'merchant' });
  });

  it('has due dates skipped until it is resumed, and none after', async () => {
    const id = await running({ frequency: 'daily' });
    await pause(id);
    await later(2 * DAY);
    await advance(id);
    await resume(id);
    expect(await view(id)).toMatchObject({ status: 'active' });
    await later(DAY);
    await advance(id);
    expect(await billings(id)).toEqual([
      '0 successful 1x',
      '1 skipped paused 0x',
      '2 skipped paused 0x',
      '3 pending 1x',
    ]);
  });

  it('counts also while nobody was looking', async () => {
    const id = await running({ frequency: 'daily' });
    await pause(id);
    await later(2 * DAY);
    await resume(id);
    await advance(id);
    expect(await billings(id)).toEqual(['0 successful 1x', '1 skipped paused 0x', '2 skipped paused 0x']);
  });

  it('again, or resuming what is not paused, changes nothing and tells nobody', async () => {
    const id = await running();
    await pause(id);
    await pause(id);
    await resume(id);
    await resume(id);
    expect((await updatesTo(standing.bankId)).map(({ status }) => status)).toEqual(['paused', 'active']);
    expect((await record(id)).slice(-2).map(({ type }) => type)).toEqual([
      'schedule.paused',
      'schedule.resumed',
    ]);
  });

  it('lets a charge that the bank has been asked for run to its end', async () => {
    const id = await schedule();
    await advance(id);
    await pause(id);
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'paused' });
    expect(await billings(id)).toEqual(['0 successful 1x']);
  });

  it('holds back a retry; resumed, the schedule is past due again and retries', async () => {
    const id = await pastDue();
    await pause(id);
    await later(2 * DAY);
    await advance(id);
    expect(await billings(id)).toEqual(['0 retrying insufficient_funds 1x']);
    await resume(id);
    expect(await view(id)).toMatchObject({ status: 'past_due' });
    await advance(id);
    expect(await billings(id)).toEqual(['0 pending 2x']);
  });

  it('a suspended schedule leaves it suspended, and paused after that', async () => {
    const id = await running();
    await decide('suspended');
    await pause(id);
    expect(await view(id)).toMatchObject({ status: 'suspended' });
    expect((await record(id)).at(-1)).toEqual({ type: 'schedule.paused', cause: 'merchant' });
    await decide('approve_recurring');
    expect(await view(id)).toMatchObject({ status: 'paused' });
    await resume(id);
    expect(await view(id)).toMatchObject({ status: 'active' });
  });

  it('may meet a charge that falls due: one comes first, and nothing is charged after the pause', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await schedule();
      await Promise.all([advance(id), pause(id), advance(id)]);
      expect(await view(id)).toMatchObject({ status: 'paused' });
      const late = await rows(
        db,
        `SELECT b.id FROM billing_requests b JOIN schedule_holds h ON h.schedule_id = b.schedule_id
         WHERE b.schedule_id = :id AND b.created_at > h.from_at`,
        { id },
      );
      expect(late).toEqual([]);
    }
  });
});

describe('resuming', () => {
  it('is not the merchant’s to do for a suspended schedule', async () => {
    const id = await running();
    await decide('suspended');
    await expect(resume(id)).rejects.toMatchObject({
      code: 'schedule_suspended',
      data: { status: 'suspended' },
    });
  });

  it('does not get past a loss of trust that has not come to the schedule yet', async () => {
    const id = await running();
    await pause(id);
    await db.transaction((trx) => setEntityTrust(trx, standing.merchantId, 'untrusted'));
    await expect(resume(id)).rejects.toMatchObject({
      code: 'schedule_suspended',
      data: { status: 'suspended' },
    });
  });
});

describe('cancelling', () => {
  it('is for good, and the same again changes nothing', async () => {
    const id = await running();
    await pause(id);
    await cancel(id);
    await cancel(id);
    expect(await view(id)).toMatchObject({ status: 'cancelled', nextDueAt: null });
    expect((await updatesTo(standing.merchantId)).at(-1)).toMatchObject({
      status: 'cancelled',
      previousStatus: 'paused',
      nextBillingDate: null,
    });
    expect(await updatesTo(standing.merchantId)).toHaveLength(2);
    expect(await advance(id)).toMatchObject({ sleepMs: null });
    for (const act of [pause, resume, (one: string) => change(one, { amount: 1 })]) {
      await expect(act(id)).rejects.toMatchObject({ code: 'schedule_ended', data: { status: 'cancelled' } });
    }
    expect(
      await rows(db, `SELECT 1 FROM schedule_holds WHERE schedule_id = :id AND to_at IS NULL`, { id }),
    ).toEqual([]);
  });

  it('by the bank is on record as the bank’s act', async () => {
    const id = await running();
    await cancel(id, bank());
    expect((await record(id)).at(-1)).toEqual({ type: 'schedule.cancelled', cause: 'bank' });
  });

  it('lets an open charge run to its end, and makes no retry', async () => {
    const asked = await schedule();
    await advance(asked);
    await cancel(asked);
    await answer();
    expect(await advance(asked)).toMatchObject({ status: 'cancelled', sleepMs: null });
    expect(await billings(asked)).toEqual(['0 successful 1x']);

    const waiting = await pastDue();
    await cancel(waiting);
    await advance(waiting);
    expect(await billings(waiting)).toEqual(['0 failed insufficient_funds 1x']);
  });

  it('comes too late for a schedule that has completed', async () => {
    const id = await running({ maxBillings: 1 });
    await expect(cancel(id)).rejects.toMatchObject({ code: 'schedule_ended', data: { status: 'completed' } });
  });
});

describe('changing', () => {
  it('takes another amount from the next billing on, and keeps that of the one in hand', async () => {
    const id = await pastDue();
    await change(id, { amount: 99.5 });
    await later(DAY);
    expect((await advance(id)).waitingFor).toContain('NGN 1,500.00');
    await answer();
    await advance(id);
    await later(31 * DAY);
    await advance(id);
    expect(await charged(id)).toEqual([150_000n, 150_000n, 9_950n]);
  });

  it('of the amount after the notice is announced once more, before it is charged', async () => {
    const id = await running();
    await later((await advance(id)).sleepMs ?? 0);
    await advance(id);
    await change(id, { description: 'Gold' });
    await advance(id);
    await change(id, { amount: 2000 });
    await advance(id);
    const notices = (await announcedTo(db, keyring, standing.bankId)).filter(
      ({ type }) => type === 'recurring.upcoming',
    );
    expect(notices.map(({ item }) => item['amount'])).toEqual([1500, 2000]);
  });

  it('of the amount of what is due and not charged yet is told by the change, with its due date', async () => {
    const id = await running();
    await later((await advance(id)).sleepMs ?? 0);
    const { nextBillingDate } = await advance(id);
    // Nobody looks in the meantime, as in an outage.
    await later(2 * DAY);
    await change(id, { amount: 2000 });
    await advance(id);
    expect(await charged(id)).toEqual([150_000n, 200_000n]);
    const told = (await announcedTo(db, keyring, standing.bankId)).filter(({ type }) =>
      type.startsWith('recurring.'),
    );
    expect(told).toMatchObject([
      { type: 'recurring.upcoming', item: { amount: 1500, dueDate: nextBillingDate } },
      {
        type: 'recurring.updated',
        item: { amount: 2000, previousAmount: 1500, effectiveFrom: nextBillingDate },
      },
    ]);
  });

  it('is told to both sides, signalled, and on record without what people wrote', async () => {
    const id = await running();
    await signals(id);
    await change(id, { amount: 2000, description: 'For Ada', metadata: { note: 'Ada' } });
    const due = await row<{ nextDueAt: Date }>(
      db,
      `SELECT next_due_at AS "nextDueAt" FROM schedules WHERE id = :id`,
      { id },
    );
    const expected = {
      scheduleId: id,
      status: 'active',
      previousStatus: 'active',
      amount: 2000,
      currency: 'NGN',
      previousAmount: 1500,
      effectiveFrom: due?.nextDueAt.toISOString(),
    };
    expect(await updatesTo(standing.merchantId)).toMatchObject([expected]);
    expect(await updatesTo(standing.bankId)).toMatchObject([expected]);
    expect(await signals(id)).toBe(1);
    const [last] = await rows<{ type: string; details: unknown }>(
      db,
      `SELECT type, details FROM events WHERE resource_id = :id ORDER BY sequence DESC LIMIT 1`,
      { id },
    );
    expect(last).toEqual({
      type: 'schedule.changed',
      details: {
        status: 'active',
        previousStatus: 'active',
        changed: ['amount', 'description', 'metadata'],
        amount: '200000',
        previousAmount: '150000',
      },
    });

    // Where no terms change, there is nothing that they hold from.
    await pause(id);
    const paused = (await updatesTo(standing.bankId)).find(({ status }) => status === 'paused');
    expect(paused).toMatchObject({ amount: 2000 });
    expect(paused).not.toHaveProperty('effectiveFrom');
  });

  it('to what it is already changes nothing and tells nobody', async () => {
    const id = await running({ description: 'Gold', metadata: { a: 1, b: true } });
    await signals(id);
    const before = await view(id);
    await change(id, {
      amount: 1500,
      endAt: null,
      maxBillings: null,
      description: 'Gold',
      metadata: { b: true, a: 1 },
    });
    expect(await view(id)).toEqual(before);
    expect(await updatesTo(standing.bankId)).toEqual([]);
    expect(await signals(id)).toBe(0);
  });

  it('takes away what is null, and leaves what is not named', async () => {
    const id = await running({
      endAt: new Date(Date.now() + 90 * DAY),
      maxBillings: 3,
      description: 'Gold',
      metadata: { a: 1 },
    });
    await change(id, { endAt: null, maxBillings: null, description: null });
    expect(await view(id)).toMatchObject({
      amount: 150_000n,
      endAt: null,
      maxBillings: null,
      description: null,
      metadata: { a: 1 },
    });
    await change(id, { metadata: {} });
    expect(await view(id)).toMatchObject({ metadata: {} });
  });

  it('to an end before the next billing completes it', async () => {
    const id = await running();
    await signals(id);
    await change(id, { endAt: new Date(Date.now() + DAY) });
    expect(await view(id)).toMatchObject({ status: 'completed', nextDueAt: null });
    const told = { status: 'completed', previousStatus: 'active', nextBillingDate: null };
    for (const side of [standing.merchantId, standing.bankId]) {
      expect(await updatesTo(side)).toMatchObject([told]);
    }
    expect(await signals(id)).toBe(1);
    const recorded = await rows<{ type: string; cause: string }>(
      db,
      `SELECT type, cause FROM events WHERE resource_id = :id ORDER BY sequence DESC LIMIT 2`,
      { id },
    );
    expect(recorded).toEqual([
      { type: 'schedule.completed', cause: 'network' },
      { type: 'schedule.changed', cause: 'merchant' },
    ]);
    expect(await advance(id)).toMatchObject({ status: 'completed', sleepMs: null });
    expect(await updatesTo(standing.merchantId)).toHaveLength(1);
  });

  it('completes a paused one that is left nothing, and ends its pause', async () => {
    const id = await running();
    await pause(id);
    await change(id, { endAt: new Date(Date.now() + DAY) });
    expect(await view(id)).toMatchObject({ status: 'completed' });
    const open = await rows(db, `SELECT FROM schedule_holds WHERE schedule_id = :id AND to_at IS NULL`, {
      id,
    });
    expect(open).toEqual([]);
  });

  it('to an end at the very moment of the next billing still has it charged', async () => {
    const id = await running();
    const { nextDueAt } = await view(id);
    await change(id, { endAt: nextDueAt });
    expect(await view(id)).toMatchObject({ nextDueAt });
    await change(id, { endAt: new Date((nextDueAt?.getTime() ?? 0) - 1) });
    expect(await view(id)).toMatchObject({ nextDueAt: null });
  });

  it('gives a last billing in hand a successor, when more are allowed', async () => {
    const id = await schedule({ maxBillings: 1 });
    await advance(id);
    expect(await view(id)).toMatchObject({ nextDueAt: null });
    await change(id, { maxBillings: 2 });
    expect((await view(id)).nextDueAt).not.toBeNull();
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'active' });
  });

  it('to as many billings as have run completes it; to fewer is refused', async () => {
    const id = await running({ frequency: 'daily' });
    await later(DAY);
    await advance(id);
    await expect(change(id, { maxBillings: 1 })).rejects.toMatchObject({
      code: 'invalid_request',
      problems: [{ path: 'maxBillings', message: expect.stringContaining('at least 2') as string }],
    });
    await change(id, { maxBillings: 2 });
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'completed' });
  });

  it('names every problem at once, judged by the test clock', async () => {
    const id = await running();
    await later(10 * DAY);
    await expect(change(id, { amount: 0.001, endAt: new Date(Date.now() + 9 * DAY) })).rejects.toMatchObject({
      code: 'invalid_request',
      problems: [{ path: 'amount' }, { path: 'endDate', message: expect.stringContaining('past') as string }],
    });
    const start = (await view(id)).startAt;
    await expect(change(id, { endAt: start })).rejects.toMatchObject({
      problems: [{ path: 'endDate', message: 'must be after the start date' }],
    });
  });
});
