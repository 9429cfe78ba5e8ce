import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import {
  cancelSchedule,
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
} from '../../../src/database/schedule/change-schedule';
import type { ScheduleTerms } from '../../../src/database/schedule/create-schedule';
import { changeDecision } from '../../../src/database/intent/change-decision';
import { readBillings } from '../../../src/database/schedule/list-schedules';
import { upcomingBillings } from '../../../src/database/recurring/upcoming-billings';
import { nextStep } from '../../../src/domain/recurring/recurring-step';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { readConfig, recurringRules } from '../../../src/settings/config';
import { databaseOfFile, unrecorded } from '../../support/database';
import { billIsAmongTheNext } from '../../support/outbox';
import {
  DAY_MS,
  playSchedule,
  REPORTED_ALL,
  runSchedule,
  scheduleActivities,
  type PlayedSchedule,
} from '../../support/schedule';
import { resolveAsOperator } from '../../support/settled';
import { acceptFile, matchingOf, sendFile } from '../../support/bank-file';
import { matchLines } from '../../../src/database/bank-file/match-lines';
import { calendarDay } from '../../../src/domain/calendar';

const rules = recurringRules(readConfig({}));
const HOUR_MS = DAY_MS / 24;

const database = databaseOfFile();
const { db } = database;

const play = (terms: Partial<ScheduleTerms> = {}) => playSchedule(db, rules, terms);
const activities = () => scheduleActivities(db, rules);

const merchant = ({ standing }: PlayedSchedule) =>
  ({ entityId: standing.merchantId, role: 'merchant' }) as const;
const pause = (played: PlayedSchedule) =>
  db.transaction((trx) => pauseSchedule(trx, merchant(played), played.id));
const resume = (played: PlayedSchedule) =>
  db.transaction((trx) => resumeSchedule(trx, merchant(played), played.id));
const cancel = (played: PlayedSchedule) =>
  db.transaction((trx) => cancelSchedule(trx, merchant(played), played.id));
const suspend = (played: PlayedSchedule) => played.decide('suspended');
const deny = (played: PlayedSchedule) => played.decide('deny');
const approve = (played: PlayedSchedule) => played.decide('approve_recurring');

const signals = (played: PlayedSchedule) => db.rows`
  SELECT signal FROM outbox WHERE workflow_id = ${workflowIds.recurring(played.id)} AND signal IS NOT NULL`;

it('a schedule is charged once, however many look at it at the same time, and names its workflow', async () => {
  const played = await play();
  await Promise.all(Array.from({ length: 24 }, () => played.advance()));
  expect(await played.billings()).toEqual(['0 pending 1x']);
  const charges = await db.rows`
    SELECT workflow_id AS workflow FROM billing_requests WHERE schedule_id = ${played.id}`;
  expect(charges).toEqual([{ workflow: workflowIds.recurring(played.id) }]);
  await played.answer();
  await Promise.all(Array.from({ length: 24 }, () => played.advance()));
  expect(await played.shown()).toMatchObject({ ran: 1 });
});

it('no second billing is in hand, whoever writes it', async () => {
  const played = await play();
  await played.advance();
  const second = db.rows`
    INSERT INTO billings (schedule_id, n, due_at, status, attempts, first_attempt_at)
    SELECT id, 1, start_at, 'pending', 1, start_at FROM schedules WHERE id = ${played.id}`;
  await expect(second).rejects.toMatchObject({
    constraint: 'billings_one_open',
  });
});

describe('a declined charge', () => {
  it('is tried again 1, 3 and 5 days after the first attempt, past due meanwhile, each step once on record', async () => {
    const played = await play();
    // A workflow looks on time where a test clock is in play.
    await played.later(1);
    await played.advance();
    for (const days of [1, 2, 2]) {
      await played.answer('insufficient_funds');
      const { status, sleepMs } = await played.advance();
      expect(status).toBe('past_due');
      expect(sleepMs).toBeGreaterThan(days * DAY_MS - HOUR_MS);
      expect(sleepMs).toBeLessThanOrEqual(days * DAY_MS);
      await played.later(sleepMs ?? 0);
      await played.advance();
    }
    await played.answer('insufficient_funds');
    expect(await played.advance()).toMatchObject({ status: 'active' });
    expect(await played.billings()).toEqual(['0 failed insufficient_funds 4x']);
    const [billing] = await readBillings(db, played.id);
    expect(new Set(billing?.attempts.map(({ reference }) => reference)).size).toBe(4);
    const told = (await played.announced('bank')).filter(({ type }) => type === 'recurring.updated');
    expect(told.map(({ item }) => [item['previousStatus'], item['status']])).toEqual([
      ['active', 'past_due'],
      ['past_due', 'active'],
    ]);
    const events = await db.rows<{ sequence: number; type: string }>`
      SELECT sequence, replace(type, 'schedule.', '') AS type FROM events WHERE resource_id = ${played.id}
      ORDER BY sequence`;
    const attempt = ['billing_charged', 'billing_retrying'];
    expect(events.map(({ type }) => type)).toEqual([
      'created',
      ...attempt,
      'past_due',
      ...attempt,
      ...attempt,
      'billing_charged',
      'billing_failed',
      'active',
    ]);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
  });

  it.each([
    ['while somebody has to look into it', () => Promise.resolve()],
    [
      'once the operator has written it off',
      (billingRequestId: string) => resolveAsOperator(db, billingRequestId, 'written_off'),
    ],
  ])('that the bank then calls approved is not tried again %s', async (_, resolve) => {
    const played = await play();
    await played.advance();
    await played.answer('insufficient_funds');
    const { sleepMs } = await played.advance();
    const [asked] = await db.rows<{
      id: string;
    }>`SELECT id FROM billing_requests WHERE schedule_id = ${played.id}`;
    const approved = { outcome: 'approved', bankTransactionId: `late-${asked?.id}`, action: null } as const;
    const late = await db.transaction((trx) =>
      answerBillingRequest(trx, played.standing.bankId, asked?.id ?? '', approved),
    );
    expect(late).toMatchObject({ status: 'declined', agreed: false });
    await resolve(asked?.id ?? '');
    await played.later(sleepMs ?? 0);
    expect(await played.advance()).toMatchObject({ status: 'active' });
    expect(await played.billings()).toEqual(['0 failed insufficient_funds 1x']);
  });

  describe('that a file of the bank has all the same', () => {
    const today = calendarDay(new Date(), 'Africa/Lagos');
    async function bookedAfterDecline(work = sendFile) {
      const played = await play();
      await played.advance();
      await played.answer('insufficient_funds');
      const { sleepMs } = await played.advance();
      const [asked] = await db.rows<{ id: string; reference: string; amount: bigint }>`
        SELECT id, reference, amount::bigint FROM billing_requests WHERE schedule_id = ${played.id}`;
      if (!asked) throw new Error('nothing was charged');
      const { reference } = asked;
      const send = (id: string, direction: 'debit' | 'credit') =>
        sendFile(db, played.standing.bankId, [
          { id, direction, amount: Number(asked.amount), day: today, reference },
        ]);
      await work(db, played.standing.bankId, [
        { id: 'X', direction: 'debit', amount: Number(asked.amount), day: today, reference },
      ]);
      await played.later(sleepMs ?? 0);
      await played.advance();
      expect(await played.billings()).toEqual(['0 retrying insufficient_funds 1x']);
      return { played, asked, send };
    }
    it('is not tried again while the file has no exception of it yet', async () => {
      const { played } = await bookedAfterDecline(async (at, bankId, lines) => {
        const statementId = await acceptFile(at, bankId, lines);
        await matchLines(matchingOf(at, statementId), statementId);
        return statementId;
      });
      await played.advance();
      expect(await played.billings()).toEqual(['0 retrying insufficient_funds 1x']);
    });

    it('is tried again once its counterpart is in a file', async () => {
      const { played, send } = await bookedAfterDecline();
      await db.rows`DELETE FROM outbox`;
      await send('Y', 'credit');
      expect(await signals(played)).toEqual([{ signal: 'bankAnswered' }]);
      await played.advance();
      expect(await played.billings()).toEqual(['0 pending 2x']);
    });

    it('is tried again once the bank says that it is reversed', async () => {
      const { played, asked } = await bookedAfterDecline();
      await resolveAsOperator(db, asked.id, 'reversed', 'Y');
      await played.advance();
      expect(await played.billings()).toEqual(['0 pending 2x']);
    });

    it('is not tried again once it is written off', async () => {
      const { played, asked } = await bookedAfterDecline();
      await resolveAsOperator(db, asked.id, 'written_off');
      await played.advance();
      expect(await played.billings()).toEqual(['0 failed insufficient_funds 1x']);
    });
  });

  it('three billings in a row long ends the schedule as failed', async () => {
    const played = await play({ frequency: 'daily' });
    for (let n = 0; n < 3; n++) {
      expect((await played.advance()).sleepMs).not.toBeNull();
      await played.answer('denied');
      const state = await played.advance();
      if (n < 2) await played.later(state.sleepMs ?? 0);
      else expect(state).toMatchObject({ status: 'failed', nextBillingDate: null, sleepMs: null });
    }
    expect(await played.billings()).toHaveLength(3);
  });

  it.each([
    ['paused', pause, resume],
    ['suspended', suspend, approve],
  ] as const)('waits while its schedule is %s, and is tried again after that', async (status, hold, free) => {
    const played = await play();
    await played.advance();
    await played.answer('insufficient_funds');
    await played.advance();
    await hold(played);
    await played.later(2 * DAY_MS);
    expect(await played.advance()).toMatchObject({ status });
    expect(await played.billings()).toEqual(['0 retrying insufficient_funds 1x']);
    await free(played);
    expect(await played.shown()).toMatchObject({ status: 'past_due' });
    await played.advance();
    expect(await played.billings()).toEqual(['0 pending 2x']);
  });
});

it.each([
  ['cancelled', 'cancelled', cancel],
  ['denied', 'cancelled', deny],
  ['paused', 'paused', pause],
] as const)(
  'a charge that the bank has been asked for runs to its end once its schedule is %s',
  async (_, status, act) => {
    const played = await play();
    await played.advance();
    await act(played);
    expect((await played.advance()).sleepMs).toBeGreaterThan(0);
    await played.answer();
    expect(await played.advance()).toMatchObject({ status });
    expect(await played.billings()).toEqual(['0 successful 1x']);
  },
);

it('a charge that no bank has seen ends with the denial that cancels its schedule', async () => {
  const played = await play();
  await played.advance();
  const { bankId, agreementId } = played.standing;
  await db.transaction((trx) => changeDecision(trx, bankId, agreementId, { customerDecision: 'deny' }));
  expect(await signals(played)).toEqual([{ signal: 'cancelled' }, { signal: 'bankAnswered' }]);
  expect(await played.advance()).toMatchObject({ status: 'cancelled', sleepMs: null });
  expect(await played.billings()).toEqual(['0 failed denied 1x']);
});

it('a billing that is tried again is the first to come, by its due date and its own amount', async () => {
  const played = await play({ maxBillings: 3 });
  await played.advance();
  await played.answer('insufficient_funds');
  await played.advance();
  await db.transaction((trx) =>
    changeSchedule(trx, rules, { caller: merchant(played), scheduleId: played.id }, { amount: 7 }),
  );
  const { startAt } = await played.shown();
  const [retried, ...later] = await upcomingBillings(db, rules, played.standing.agreementId);
  expect(retried).toMatchObject({ n: 0, amount: 150_000n, dueDate: startAt });
  expect(later.map(({ n, amount }) => [n, amount])).toEqual([
    [1, 700n],
    [2, 700n],
  ]);
});

it.each([
  ['its merchant cancels', cancel],
  ['the customer denies', deny],
])('a billing that waits for its retry fails where %s, which is for good', async (_, end) => {
  const played = await play();
  await played.advance();
  await played.answer('insufficient_funds');
  await played.advance();
  await end(played);
  expect(await played.advance()).toMatchObject({ status: 'cancelled', sleepMs: null });
  expect(await played.billings()).toEqual(['0 failed insufficient_funds 1x']);
  await approve(played);
  expect(await played.shown()).toMatchObject({ status: 'cancelled', nextDueAt: null });
});

it('an outage of years is skipped in several transactions, none of them long, and counts for no billing', async () => {
  const played = await play({ frequency: 'daily', maxBillings: 1 });
  await played.later(300 * DAY_MS);
  const { facts } = await activities().skipBillings(played.id, REPORTED_ALL);
  expect(nextStep(facts)).toMatchObject({ do: 'skip', n: 100 });
  expect(await played.billings()).toHaveLength(100);
  await played.advance();
  expect((await played.billings()).slice(-2)).toEqual(['265 skipped arrears 0x', '266 pending 1x']);
  await played.answer();
  expect(await played.advance()).toMatchObject({ status: 'completed' });
});

it('a billing that is tried again after the zone was corrected has the due date of its first attempt', async () => {
  // The 29th in Lagos, and the 30th in Nairobi: February has neither.
  const startAt = new Date('2031-01-29T22:30:00Z');
  const played = await play({ frequency: 'monthly', startAt });
  await played.later(startAt.getTime() - Date.now());
  await played.advance();
  await played.answer();
  await played.advance();
  await played.later(30 * DAY_MS);
  await played.advance();
  await played.answer('insufficient_funds');
  await played.advance();
  await played.later(DAY_MS);
  await runSchedule(db, { ...rules, timeZone: 'Africa/Nairobi' }, played.id);
  expect(await played.billings()).toEqual(['0 successful 1x', '1 pending 2x']);
});

describe('what the history of a workflow has lost', () => {
  it('is reported by the next activity, each step in the words of when it was taken', async () => {
    const played = await play({ maxBillings: 2 });
    await played.later(36 * DAY_MS);
    const did = (await played.advance()).did;
    await played.answer('temporarily_unavailable');
    did.push(...(await played.advance()).did);
    await played.later(2 * DAY_MS);
    did.push(...(await played.advance()).did);
    await played.answer('account_closed');
    did.push(...(await played.advance()).did);
    const verbs = /skipped|attempt|tried again at|not tried again|told of/;
    expect(did.map((line) => line.match(verbs)?.[0])).toEqual([
      'skipped',
      'attempt',
      'tried again at',
      'attempt',
      'not tried again',
    ]);

    const read = await activities().readSchedule(played.id, 1);
    expect(read.did.slice(1)).toEqual(did);
  });

  it('has also that an operator cancelled, by whichever try did it, and that of no decision', async () => {
    const startAt = new Date(Date.now() + 5 * DAY_MS);
    const { id } = await play({ startAt });
    const cancelled = async () => (await activities().cancelSchedule(id, 1)).did;
    expect(await cancelled()).toEqual(['Cancelled by an operator.']);
    expect(await cancelled()).toEqual([expect.stringMatching(/^Done before/), 'Cancelled by an operator.']);

    const denied = await play({ startAt });
    await unrecorded(
      database.url,
      `UPDATE agreements SET decision = 'deny' WHERE id = '${denied.standing.agreementId}'`,
    );
    await denied.advance();
    const { facts, did } = await activities().readSchedule(denied.id, 1);
    expect([facts.status, did]).toEqual(['cancelled', []]);
  });
});

it('an operator who cancels a paused schedule ends its pause, as its merchant does', async () => {
  const played = await play();
  await pause(played);
  await activities().cancelSchedule(played.id, REPORTED_ALL);
  expect(await played.shown()).toMatchObject({ status: 'cancelled', nextDueAt: null });
  expect(
    await db.rows`SELECT FROM schedule_holds WHERE schedule_id = ${played.id} AND to_at IS NULL`,
  ).toEqual([]);
});

it.each([
  ['suspended', suspend, approve],
  ['paused', pause, resume],
] as const)(
  'due dates while it was %s are skipped, not charged, also where nobody looked',
  async (reason, hold, free) => {
    const played = await play({ frequency: 'daily' });
    await played.advance();
    await played.answer();
    await played.advance();
    await hold(played);
    await played.later(2 * DAY_MS);
    await free(played);
    await played.advance();
    await played.later(DAY_MS);
    await played.advance();
    expect(await played.billings()).toEqual([
      '0 successful 1x',
      `1 skipped ${reason} 0x`,
      `2 skipped ${reason} 0x`,
      '3 pending 1x',
    ]);
  },
);

it.each([
  ['suspended', suspend],
  ['paused', pause],
] as const)(
  'a schedule that is %s while it acts is charged before that or not at all',
  async (status, hold) => {
    for (let round = 0; round < 5; round++) {
      const played = await play();
      await Promise.all([played.advance(), hold(played), played.advance(), played.advance()]);
      expect(await played.shown()).toMatchObject({ status });
      const late = await db.rows`
        SELECT b.id FROM billing_requests b JOIN schedule_holds h ON h.schedule_id = b.schedule_id
        WHERE b.schedule_id = ${played.id} AND b.created_at > h.from_at`;
      expect(late).toEqual([]);
    }
  },
);

it('an agreement in another currency counts anew, and a decline in the old one takes nothing out of that', async () => {
  const played = await play();
  await played.advance();
  await played.decide('approve_recurring', 'USD');
  await played.answer('insufficient_funds');
  const spent = await db.rows`
    SELECT currency, spent_daily::int AS day, spent_monthly::int AS month FROM agreements
    WHERE id = ${played.standing.agreementId}`;
  expect(spent).toEqual([{ currency: 'USD', day: 0, month: 0 }]);
});

it('an agreement of more schedules than move at once suspends a thousand, and has the rest see for themselves', async () => {
  const played = await play({ startAt: new Date(Date.now() + DAY_MS) });
  await played.advance();
  await db.rows`
    INSERT INTO schedules SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_z' || lpad(n::text,
      25, '0')))).*
    FROM schedules s, generate_series(1, 1150) AS n WHERE s.id = ${played.id}`;
  await db.rows`DELETE FROM outbox`;
  await suspend(played);
  const suspended = await db.rows`
    SELECT id FROM schedules WHERE merchant_id = ${played.standing.merchantId} AND status = 'suspended'`;
  expect(suspended).toHaveLength(1_000);
  const signalled = await db.rows`
    SELECT DISTINCT workflow_id FROM outbox
    WHERE kind = 'signal' AND workflow_id LIKE ${workflowIds.recurring('sch_z%')}`;
  expect(signalled).toHaveLength(1_150);
  // All but the first hundred of the others do so after what other parties ask for.
  expect(await billIsAmongTheNext(db, 1_101)).toBe(true);
  const last = `sch_z${'1150'.padStart(25, '0')}`;
  expect(await runSchedule(db, rules, last)).toMatchObject({ status: 'suspended' });
});
