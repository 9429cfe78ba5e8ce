import { lockAgreement } from '../../src/database/agreement/agreement';
import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import { rows, type Database } from '../../src/database/pool/connection';
import { applyDecision } from '../../src/database/decision/apply-decision';
import { setEntityStatus, setEntityTrust } from '../../src/database/entity/create-entity';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { syncSchedulesOf } from '../../src/database/schedule/change-status';
import type { ScheduleTerms } from '../../src/database/schedule/create-schedule';
import { readBillings, readSchedule } from '../../src/database/schedule/list-schedules';
import { recurringRules, readConfig } from '../../src/settings/config';
import { nextStep } from '../../src/domain/recurring/recurring-step';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import { bookDifferences } from '../support/books';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { billIsAmongTheNext } from '../support/outbox';
import { reportedAll, runSchedule, scheduleActivities, type ScheduleAtRest } from '../support/schedule';
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
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let database: TestDatabase;
let db: Database;
let standing: Standing;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

async function schedule(
  terms: Partial<ScheduleTerms> = {},
  limits: { dailyLimit?: bigint } = {},
): Promise<string> {
  standing = await standingApproval(db, keyring, limits);
  return makeSchedule(db, keyring, standing, terms);
}

function advance(id: string): Promise<ScheduleAtRest> {
  return runSchedule(db, keyring, rules, id);
}

async function later(ms: number): Promise<void> {
  await moveClock(db, standing.merchantId, `${ms} milliseconds`);
}

/** The bank's answer to the open charge: its own reason, or approval. */
async function answer(declineReason?: string): Promise<void> {
  expect(await answerCharges(db, keyring, standing, declineReason)).toBe(1);
}

async function view(id: string) {
  const party = { entityId: standing.merchantId, role: 'merchant' } as const;
  return { schedule: await readSchedule(db, party, id), billings: await readBillings(db, id) };
}

async function billings(id: string): Promise<string[]> {
  const found = await view(id);
  return found.billings.map(({ n, status, reason, attempts }) =>
    [n, status, ...(reason === null ? [] : [reason]), `${attempts.length}x`].join(' '),
  );
}

function announced(entityId: string): Promise<Announced[]> {
  return announcedTo(db, keyring, entityId);
}

async function decide(
  decision: 'approve_once' | 'approve_recurring' | 'suspended' | 'deny',
  currency?: string,
): Promise<void> {
  const terms = currency === undefined ? undefined : { currency, dailyLimit: null, monthlyLimit: null };
  await db.transaction(async (trx) => {
    await lockAgreement(trx, standing.agreementId);
    const decided = { decision, blocked: false, ...(terms && { terms }) };
    await applyDecision(trx, keyring, standing.agreementId, decided, 'bank');
  });
}

async function trust(level: 'trusted' | 'untrusted'): Promise<void> {
  await db.transaction(async (trx) => {
    await setEntityTrust(trx, standing.merchantId, level);
    await syncSchedulesOf(trx, keyring, standing.merchantId, 'provider');
  });
}

async function enable(status: 'active' | 'disabled', entityId: string = standing.merchantId): Promise<void> {
  await db.transaction(async (trx) => {
    await setEntityStatus(trx, entityId, status);
    await syncSchedulesOf(trx, keyring, entityId, 'operator');
  });
}

describe('a schedule that goes well', () => {
  it('charges when due, waits for the bank, and completes after maxBillings', async () => {
    const id = await schedule({ maxBillings: 2 });
    const first = await advance(id);
    expect(first).toMatchObject({ status: 'active', sleepMs: expect.any(Number) as number });
    expect(await billings(id)).toEqual(['0 pending 1x']);

    await answer();
    const second = await advance(id);
    expect(await billings(id)).toEqual(['0 successful 1x']);
    expect(second.nextBillingDate).toBe((await view(id)).schedule.nextDueAt?.toISOString());
    expect(second.sleepMs).toBeGreaterThan(26 * DAY);

    await later((second.sleepMs ?? 0) + 1);
    await advance(id);
    expect((await announced(standing.bankId)).at(-1)).toMatchObject({ type: 'recurring.upcoming' });
    expect(await billings(id)).toHaveLength(1);

    await later(DAY);
    await advance(id);
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'completed', nextBillingDate: null, sleepMs: null });
    expect(await billings(id)).toEqual(['0 successful 1x', '1 successful 1x']);
    expect((await announced(standing.merchantId)).map(({ type }) => type)).toEqual([
      'billing.response',
      'recurring.upcoming',
      'billing.response',
      'recurring.updated',
    ]);
    expect((await announced(standing.merchantId)).at(-1)?.item).toMatchObject({
      scheduleId: id,
      status: 'completed',
      previousStatus: 'active',
      nextBillingDate: null,
      billingsCompleted: 2,
    });
  });

  it('does nothing when it is looked at again', async () => {
    const id = await schedule();
    await advance(id);
    const before = await view(id);
    await advance(id);
    await advance(id);
    expect(await view(id)).toEqual(before);
  });

  it('is charged once, however many look at it at the same time', async () => {
    const id = await schedule();
    await Promise.all(Array.from({ length: 24 }, () => advance(id)));
    expect(await billings(id)).toEqual(['0 pending 1x']);
    expect((await announced(standing.bankId)).filter(({ type }) => type === 'billing.request')).toHaveLength(
      1,
    );
    await answer();
    await Promise.all(Array.from({ length: 24 }, () => advance(id)));
    expect((await view(id)).schedule.ran).toBe(1);
  });

  it('has its own workflow send what it announces', async () => {
    const id = await schedule({ maxBillings: 1 });
    await rows(db, `UPDATE webhook_endpoints SET url = 'https://merchant.test/' WHERE entity_id = :id`, {
      id: standing.merchantId,
    });
    await advance(id);
    await answer();
    await advance(id);
    expect((await announced(standing.merchantId)).map(({ workflowId }) => workflowId)).toEqual([
      workflowIds.recurring(id),
      workflowIds.recurring(id),
    ]);
  });

  it('names its workflow on each charge, for whoever looks for it in Temporal', async () => {
    const id = await schedule();
    await advance(id);
    const charges = await rows<{ workflow: string }>(
      db,
      `SELECT workflow_id AS workflow FROM billing_requests WHERE schedule_id = :id`,
      { id },
    );
    expect(charges).toEqual([{ workflow: workflowIds.recurring(id) }]);
  });
});

describe('a declined charge', () => {
  it('is tried again 1, 3 and 5 days after the first attempt, past due all the while', async () => {
    const id = await schedule();
    // Whoever goes by a test clock has a workflow that looks on time.
    await later(1);
    await advance(id);
    for (const days of [1, 2, 2]) {
      await answer('insufficient_funds');
      const waiting = await advance(id);
      expect(waiting).toMatchObject({ status: 'past_due' });
      expect((await view(id)).schedule.retryAt).not.toBeNull();
      expect(waiting.sleepMs ?? 0).toBeGreaterThan(days * DAY - HOUR);
      expect(waiting.sleepMs ?? 0).toBeLessThanOrEqual(days * DAY);
      await later(waiting.sleepMs ?? 0);
      await advance(id);
    }
    await answer('insufficient_funds');
    expect(await advance(id)).toMatchObject({ status: 'active' });
    expect(await billings(id)).toEqual(['0 failed insufficient_funds 4x']);
    const references = (await view(id)).billings.flatMap(({ attempts }) =>
      attempts.map(({ reference }) => reference),
    );
    expect(new Set(references).size).toBe(4);
    const told = (await announced(standing.bankId)).filter(({ type }) => type === 'recurring.updated');
    expect(told.map(({ item }) => [item['previousStatus'], item['status']])).toEqual([
      ['active', 'past_due'],
      ['past_due', 'active'],
    ]);
  });

  it('that succeeds at the second attempt ends being past due', async () => {
    const id = await schedule();
    await advance(id);
    await answer('temporarily_unavailable');
    await later((await advance(id)).sleepMs ?? 0);
    expect(await advance(id)).toMatchObject({ status: 'past_due' });
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'active' });
    expect(await billings(id)).toEqual(['0 successful 2x']);
  });

  it('that the bank then calls approved is not tried again while somebody has to look into it', async () => {
    const id = await schedule();
    await advance(id);
    await answer('insufficient_funds');
    const { sleepMs } = await advance(id);
    const [asked] = await rows<{ id: string }>(
      db,
      `SELECT id FROM billing_requests WHERE schedule_id = :id`,
      { id },
    );
    const approved = { outcome: 'approved', bankTransactionId: 'late', action: null } as const;
    const late = await db.transaction((trx) =>
      answerBillingRequest(trx, keyring, 'Africa/Lagos', standing.bankId, asked?.id ?? '', approved, {}),
    );
    expect(late).toMatchObject({ status: 'declined', agreed: false });
    await later(sleepMs ?? 0);
    expect(await advance(id)).toMatchObject({ status: 'active' });
    expect(await billings(id)).toEqual(['0 failed insufficient_funds 1x']);
  });

  it('for another reason fails its billing at once', async () => {
    const id = await schedule();
    await advance(id);
    await answer('do_not_honor');
    expect(await advance(id)).toMatchObject({ status: 'active' });
    expect(await billings(id)).toEqual(['0 failed do_not_honor 1x']);
  });

  it('after silence is never tried again, and is kept for reconciliation', async () => {
    const id = await schedule();
    const asked = await advance(id);
    await rows(
      db,
      `UPDATE webhook_deliveries SET status = 'delivered', sent = 1 WHERE webhook_type = 'billing.request'`,
    );
    await later(asked.sleepMs ?? 0);
    expect(await advance(id)).toMatchObject({ status: 'active' });
    expect(await billings(id)).toEqual(['0 failed expired 1x']);
    const [kept] = await rows(
      db,
      `SELECT kind FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
       WHERE b.schedule_id = :id`,
      { id },
    );
    expect(kept).toEqual({ kind: 'unanswered' });
    expect((await announced(standing.bankId)).map(({ type }) => type)).toContain('billing.closed');
  });

  it('over a spending limit does not ask the bank, and is tried again', async () => {
    const id = await schedule({}, { dailyLimit: 149_999n });
    expect(await advance(id)).toMatchObject({ status: 'past_due' });
    expect(await billings(id)).toEqual(['0 retrying limit_reached 1x']);
    expect((await announced(standing.bankId)).map(({ type }) => type)).toEqual(['recurring.updated']);
    expect((await announced(standing.merchantId))[0]).toMatchObject({
      type: 'billing.response',
      item: { declineReason: 'limit_reached', scheduleId: id },
    });
    await rows(db, `UPDATE agreements SET daily_limit = 150000 WHERE id = :id`, { id: standing.agreementId });
    await later(DAY);
    await advance(id);
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'active' });
  });

  it('three billings in a row long ends the schedule as failed', async () => {
    const id = await schedule({ frequency: 'daily' });
    for (let n = 0; n < 3; n++) {
      const { sleepMs } = await advance(id);
      if (n > 0) expect(sleepMs).not.toBeNull();
      await answer('denied');
      const state = await advance(id);
      if (n < 2) await later(state.sleepMs ?? 0);
      else expect(state).toMatchObject({ status: 'failed', nextBillingDate: null, sleepMs: null });
    }
    expect(await billings(id)).toHaveLength(3);
  });
});

describe('an outage', () => {
  it('is caught up with oldest first, three billings a day, each after the one before it', async () => {
    const id = await schedule({ frequency: 'daily' });
    await later(10 * DAY);
    for (let n = 0; n < 3; n++) {
      await advance(id);
      expect(await billings(id)).toHaveLength(n + 1);
      await answer();
    }
    const { sleepMs } = await advance(id);
    expect(await billings(id)).toEqual(['0 successful 1x', '1 successful 1x', '2 successful 1x']);
    expect(sleepMs ?? 0).toBeGreaterThan(DAY - HOUR);
    await later(sleepMs ?? 0);
    await advance(id);
    expect(await billings(id)).toHaveLength(4);
  });

  it('skips what is more than 35 days late, in words', async () => {
    const id = await schedule({ frequency: 'weekly' });
    await later(50 * DAY);
    await advance(id);
    expect(await billings(id)).toEqual([
      '0 skipped arrears 0x',
      '1 skipped arrears 0x',
      '2 skipped arrears 0x',
      '3 pending 1x',
    ]);
  });

  it('of years is skipped in several transactions, none of them long', async () => {
    const id = await schedule({ frequency: 'daily' });
    await later(300 * DAY);
    const { facts } = await scheduleActivities(db, keyring, rules).skipBillings(id, reportedAll());
    expect(nextStep(facts)).toMatchObject({ do: 'skip', n: 100 });
    expect(await billings(id)).toHaveLength(100);
    await advance(id);
    expect((await billings(id)).at(-1)).toMatch(/^266 pending 1x$/);
  });

  it('does not stretch maxBillings: what was skipped did not run', async () => {
    const id = await schedule({ frequency: 'weekly', maxBillings: 2 });
    await later(45 * DAY);
    await advance(id);
    await answer();
    await advance(id);
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'completed' });
    expect(await billings(id)).toEqual([
      '0 skipped arrears 0x',
      '1 skipped arrears 0x',
      '2 successful 1x',
      '3 successful 1x',
    ]);
  });
});

it('a billing that is tried again after the zone was corrected has the due date of its first attempt', async () => {
  // The 29th in Lagos, and the 30th in Nairobi: February has neither.
  const startAt = new Date('2031-01-29T22:30:00Z');
  const id = await schedule({ frequency: 'monthly', startAt });
  await later(startAt.getTime() - Date.now());
  await advance(id);
  await answer();
  await advance(id);
  await later(30 * DAY);
  await advance(id);
  await answer('insufficient_funds');
  await advance(id);
  await later(DAY);
  await runSchedule(db, keyring, { ...rules, timeZone: 'Africa/Nairobi' }, id);
  expect(await billings(id)).toEqual(['0 successful 1x', '1 pending 2x']);
  expect((await bookDifferences(db)).filter((one) => one.includes(id))).toEqual([]);
});

describe('what the history of a workflow has lost', () => {
  it('is reported by the next activity, each step in the words of when it was taken', async () => {
    const id = await schedule({ frequency: 'monthly', maxBillings: 2 });
    await later(36 * DAY);
    const did = (await advance(id)).did;
    await answer('temporarily_unavailable');
    did.push(...(await advance(id)).did);
    await later(2 * DAY);
    did.push(...(await advance(id)).did);
    await answer();
    const { sleepMs, did: paid } = await advance(id);
    await later(sleepMs ?? 0);
    did.push(...paid, ...(await advance(id)).did);
    await later(DAY);
    did.push(...(await advance(id)).did);
    await answer('account_closed');
    did.push(...(await advance(id)).did);
    const verbs = /skipped|attempt|tried again at|approved|told of|not tried again|Ended/;
    expect(did.map((line) => line.match(verbs)?.[0])).toEqual([
      'skipped',
      'attempt',
      'tried again at',
      'attempt',
      'approved',
      'told of',
      'attempt',
      'not tried again',
      'Ended',
    ]);

    const startedAt = new Date().toISOString();
    const reported = async (sequence: number | null) => {
      const read = await scheduleActivities(db, keyring, rules).readSchedule(id, { sequence, startedAt });
      return read.did.slice(1);
    };
    expect(await reported(1)).toEqual(did);
    // A workflow that was started again reports nothing that was before it.
    expect(await reported(null)).toEqual([]);
  });

  it('has also that an operator cancelled, by whichever try did it', async () => {
    const id = await schedule({ frequency: 'monthly', startAt: new Date(Date.now() + 5 * DAY) });
    const startedAt = new Date().toISOString();
    const cancel = async () => {
      const until = { sequence: 1, startedAt };
      return (await scheduleActivities(db, keyring, rules).cancelSchedule(id, until)).did;
    };
    expect(await cancel()).toEqual(['Cancelled by an operator.']);
    expect(await cancel()).toEqual([expect.stringMatching(/^Done before/), 'Cancelled by an operator.']);
  });

  it('calls no cancellation an operator’s that followed from a decision', async () => {
    const id = await schedule({ frequency: 'monthly', startAt: new Date(Date.now() + 5 * DAY) });
    // Without anybody saying so: the schedule finds it by itself.
    await rows(db, `UPDATE agreements SET decision = 'deny' WHERE id = :id`, { id: standing.agreementId });
    await advance(id);
    const until = { sequence: 1, startedAt: new Date().toISOString() };
    const { facts, did } = await scheduleActivities(db, keyring, rules).readSchedule(id, until);
    expect(facts.status).toBe('cancelled');
    expect(did).toEqual([]);
  });
});

describe('the agreement behind a schedule', () => {
  it.each(['suspended', 'approve_once'] as const)(
    'becoming %s suspends it at once, and what falls due meanwhile is skipped',
    async (decision) => {
      const id = await schedule({ frequency: 'daily' });
      await advance(id);
      await answer();
      await advance(id);
      await decide(decision);
      expect((await view(id)).schedule.status).toBe('suspended');
      await later(2 * DAY);
      await advance(id);
      await decide('approve_recurring');
      expect((await view(id)).schedule.status).toBe('active');
      await advance(id);
      expect(await billings(id)).toEqual([
        '0 successful 1x',
        '1 skipped suspended 0x',
        '2 skipped suspended 0x',
      ]);
      await later(DAY);
      await advance(id);
      expect((await billings(id)).at(-1)).toBe('3 pending 1x');
    },
  );

  it('suspended while nobody was looking still has its due dates skipped, not charged', async () => {
    const id = await schedule({ frequency: 'daily' });
    await advance(id);
    await answer();
    await advance(id);
    await decide('suspended');
    await later(3 * DAY);
    await decide('approve_recurring');
    await advance(id);
    expect(await billings(id)).toEqual([
      '0 successful 1x',
      '1 skipped suspended 0x',
      '2 skipped suspended 0x',
      '3 skipped suspended 0x',
    ]);
  });

  it('in another currency counts anew, and a decline in the old one takes nothing out of that', async () => {
    const id = await schedule();
    await advance(id);
    await decide('approve_recurring', 'USD');
    await answer('insufficient_funds');
    const spent = await rows(
      db,
      `SELECT currency, spent_day_total::int AS day, spent_month_total::int AS month FROM agreements WHERE id = :id`,
      { id: standing.agreementId },
    );
    expect(spent).toEqual([{ currency: 'USD', day: 0, month: 0 }]);
  });

  it('of more schedules than move at once suspends a thousand, and signals the rest to see for themselves', async () => {
    const id = await schedule({ startAt: new Date(Date.now() + DAY) });
    await advance(id);
    await rows(
      db,
      `INSERT INTO schedules SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_z' || lpad(n::text, 25, '0')))).*
       FROM schedules s, generate_series(1, 1150) AS n WHERE s.id = :id`,
      { id },
    );
    await rows(db, `DELETE FROM outbox`);
    await decide('suspended');
    const suspended = await rows(
      db,
      `SELECT id FROM schedules WHERE merchant_id = :merchantId AND status = 'suspended'`,
      { merchantId: standing.merchantId },
    );
    expect(suspended).toHaveLength(1_000);
    const signalled = await rows(
      db,
      `SELECT DISTINCT workflow_id FROM outbox WHERE kind = 'signal' AND workflow_id LIKE :theirs`,
      { theirs: workflowIds.recurring('sch_z%') },
    );
    expect(signalled).toHaveLength(1_150);
    // Those that see for themselves, but for the first hundred, do so after what others ask for.
    expect(await billIsAmongTheNext(db, 1_101)).toBe(true);
    expect(await advance(`sch_z${'1150'.padStart(25, '0')}`)).toMatchObject({ status: 'suspended' });
  });

  it('denied cancels it for good, and an open charge runs to its end', async () => {
    const id = await schedule();
    await advance(id);
    await decide('deny');
    expect((await view(id)).schedule).toMatchObject({ status: 'cancelled', nextDueAt: null });
    expect((await advance(id)).sleepMs).toBeGreaterThan(0);
    await answer();
    expect(await advance(id)).toMatchObject({ status: 'cancelled', sleepMs: null });
    expect(await billings(id)).toEqual(['0 successful 1x']);
    await decide('approve_recurring');
    expect((await view(id)).schedule.status).toBe('cancelled');
  });

  it('denied ends a billing that waits for its retry', async () => {
    const id = await schedule();
    await advance(id);
    await answer('insufficient_funds');
    await advance(id);
    await decide('deny');
    expect(await advance(id)).toMatchObject({ status: 'cancelled', sleepMs: null });
    expect(await billings(id)).toEqual(['0 failed insufficient_funds 1x']);
  });

  it('suspended, a declined billing waits; approved again, it is tried again', async () => {
    const id = await schedule();
    await advance(id);
    await answer('insufficient_funds');
    await advance(id);
    await decide('suspended');
    await later(2 * DAY);
    await advance(id);
    expect(await billings(id)).toEqual(['0 retrying insufficient_funds 1x']);
    await decide('approve_recurring');
    expect((await view(id)).schedule.status).toBe('past_due');
    await advance(id);
    expect(await billings(id)).toEqual(['0 pending 2x']);
  });

  it('in another currency suspends it; in its own again, it goes on', async () => {
    const id = await schedule();
    await advance(id);
    await answer();
    await advance(id);
    await decide('approve_recurring', 'JPY');
    expect((await view(id)).schedule.status).toBe('suspended');
    await decide('approve_recurring', 'NGN');
    expect((await view(id)).schedule.status).toBe('active');
  });

  it('is told of, to both sides, with its workflow signalled', async () => {
    const id = await schedule({ startAt: new Date(Date.now() + DAY) });
    await advance(id);
    await rows(db, `DELETE FROM outbox`);
    await decide('suspended');
    const expected = {
      type: 'recurring.updated',
      item: { scheduleId: id, status: 'suspended', previousStatus: 'active' },
    };
    expect((await announced(standing.merchantId)).at(-1)).toMatchObject(expected);
    expect((await announced(standing.bankId)).at(-1)).toMatchObject(expected);
    expect(await rows(db, `SELECT signal, workflow_id AS workflow FROM outbox`)).toEqual([
      { signal: 'suspended', workflow: workflowIds.recurring(id) },
    ]);
  });

  it('may change while the schedule acts: neither blocks the other, and nothing is charged against it', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await schedule();
      await Promise.all([advance(id), decide('suspended'), advance(id), advance(id)]);
      expect((await view(id)).schedule.status).toBe('suspended');
      const [charged] = await rows<{ late: number }>(
        db,
        `SELECT count(*)::int AS late FROM billing_requests b JOIN agreements a ON a.id = b.agreement_id
         WHERE b.schedule_id = :id AND b.created_at > a.updated_at`,
        { id },
      );
      expect(charged).toEqual({ late: 0 });
    }
  });

  it('changed without anybody saying so is noticed before the next charge', async () => {
    const id = await schedule();
    await rows(db, `UPDATE agreements SET decision = 'suspended' WHERE id = :id`, {
      id: standing.agreementId,
    });
    expect(await advance(id)).toMatchObject({ status: 'suspended' });
    expect(await billings(id)).toEqual([]);
  });
});

it('a merchant that loses trust has its schedules suspended, and gets them back with it', async () => {
  const id = await schedule();
  await trust('untrusted');
  expect((await view(id)).schedule.status).toBe('suspended');
  await decide('approve_once');
  await trust('trusted');
  // The customer's own decision still stands in the way.
  expect((await view(id)).schedule.status).toBe('suspended');
  await decide('approve_recurring');
  expect((await view(id)).schedule.status).toBe('active');
});

it('a merchant that is disabled has its schedules suspended, misses what falls due, and gets them back', async () => {
  const id = await schedule({ frequency: 'daily', startAt: new Date(Date.now() + 3_600_000) });
  await enable('disabled');
  expect((await view(id)).schedule.status).toBe('suspended');
  await later(DAY);
  await trust('untrusted');
  await enable('active');
  // It is not trusted any more: to be let in again is not enough.
  expect((await view(id)).schedule.status).toBe('suspended');
  await trust('trusted');
  expect((await view(id)).schedule.status).toBe('active');
  await advance(id);
  expect(await billings(id)).toEqual(['0 skipped suspended 0x']);
});

it('a bank that is disabled has its customers’ schedules suspended, and gets them back', async () => {
  const id = await schedule({ frequency: 'daily' });
  await enable('disabled', standing.bankId);
  expect((await view(id)).schedule.status).toBe('suspended');
  await later(DAY);
  await enable('active', standing.bankId);
  expect((await view(id)).schedule.status).toBe('active');
  await advance(id);
  // What was due before is charged.
  expect(await billings(id)).toEqual(['0 pending 1x', '1 skipped suspended 0x']);
});

it('a schedule of a disabled merchant that nobody has told is suspended by its own read, and charges nothing', async () => {
  const id = await schedule();
  await setEntityStatus(db, standing.merchantId, 'disabled');
  expect(await advance(id)).toMatchObject({ status: 'suspended' });
  expect(await billings(id)).toEqual([]);
});

it('a paused schedule skips what falls due, and comes back from a suspension as paused', async () => {
  const id = await schedule({ frequency: 'daily' });
  await rows(
    db,
    `WITH held AS (INSERT INTO schedule_holds (schedule_id, reason, from_at) SELECT id, 'paused', created_at
       FROM schedules WHERE id = :id)
     UPDATE schedules SET paused = true, status = 'paused' WHERE id = :id`,
    { id },
  );
  await later(DAY);
  expect(await advance(id)).toMatchObject({ status: 'paused' });
  expect(await billings(id)).toEqual(['0 skipped paused 0x', '1 skipped paused 0x']);
  await decide('suspended');
  await later(DAY);
  expect(await advance(id)).toMatchObject({ status: 'suspended' });
  await decide('approve_recurring');
  expect(await advance(id)).toMatchObject({ status: 'paused' });
  expect((await billings(id)).at(-1)).toBe('2 skipped suspended 0x');
});

describe('the record', () => {
  it('has every transition once, counted without a gap', async () => {
    const id = await schedule({ maxBillings: 1 });
    await advance(id);
    await answer('insufficient_funds');
    await later((await advance(id)).sleepMs ?? 0);
    await advance(id);
    await answer();
    await advance(id);
    const events = await rows<{ sequence: number; type: string }>(
      db,
      `SELECT sequence, type FROM events WHERE resource_id = :id ORDER BY sequence`,
      { id },
    );
    expect(events.map(({ type }) => type)).toEqual([
      'schedule.created',
      'schedule.billing_charged',
      'schedule.billing_retrying',
      'schedule.past_due',
      'schedule.billing_charged',
      'schedule.billing_successful',
      'schedule.completed',
    ]);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
    expect(await rows(db, `SELECT sequence FROM schedules WHERE id = :id`, { id })).toEqual([
      { sequence: events.length },
    ]);
  });

  it('counts money in minor units, as that of every charge does', async () => {
    const id = await schedule({ amount: 150_050n });
    await advance(id);
    const written = await rows(
      db,
      `SELECT DISTINCT details->>'amount' AS amount FROM events
       WHERE resource_id = :id AND type = 'schedule.created'
          OR details->>'scheduleId' = :id AND type = 'billing_request.accepted'`,
      { id },
    );
    expect(written).toEqual([{ amount: '150050' }]);
  });

  it('takes no second billing in hand, whoever writes it', async () => {
    const id = await schedule();
    await advance(id);
    await expect(
      rows(
        db,
        `INSERT INTO billings (schedule_id, n, due_at, status, attempts, first_attempt_at)
         SELECT id, 1, start_at, 'pending', 1, start_at FROM schedules WHERE id = :id`,
        { id },
      ),
    ).rejects.toMatchObject({ constraint: 'billings_one_open' });
  });
});
