import * as fc from 'fast-check';
import { nextStep as stepOf, type Step } from '../../../src/domain/recurring/recurring-step';
import {
  factsOf,
  nextBilling,
  type Billings,
  type InHand,
  type Schedule,
} from '../../../src/domain/recurring/schedule-facts';
import { hasEnded } from '../../../src/domain/recurring/recurring';
import { daily, inHand as first, monthly, rules, START } from '../../support/schedule-facts';

const DAY = 86_400_000;
const idle: Billings = { open: undefined, starts: [], heldFor: null };

/** The rule, on the facts as the calendar makes them; moments as people read them. */
function nextStep(schedule: Schedule, billings: Billings, now: Date, playRules = rules) {
  const named = stepOf(factsOf(schedule, billings, now, playRules));
  return Object.fromEntries(
    Object.entries(named).map(([name, value]) =>
      ['until', 'retryAt', 'dueAt'].includes(name) ? [name, new Date(Number(value))] : [name, value],
    ),
  ) as Dated;
}

type Dated<One = Step> = One extends Step
  ? { [Name in keyof One]: Name extends 'until' | 'retryAt' | 'dueAt' ? Date : One[Name] }
  : never;

function after(ms: number, from = START): Date {
  return new Date(from.getTime() + ms);
}

function step(schedule: Partial<Schedule>, billings: Partial<Billings>, now: Date): Dated {
  return nextStep({ ...monthly, ...schedule }, { ...idle, ...billings }, now, rules);
}

function declined(reason: string, more: Partial<InHand> = {}): InHand {
  return { ...first, ...more, chargeStatus: 'declined', declineReason: reason };
}

function pending(expiresAt: Date): InHand {
  return { ...first, expiresAt };
}

function retrying(retryAt: Date): InHand {
  return { ...declined('insufficient_funds'), status: 'retrying', retryAt };
}

const FEBRUARY = new Date('2026-02-28T08:00:00.000Z');
const APRIL = new Date('2026-04-30T08:00:00.000Z');

const wait = (until: Date): Dated => ({ do: 'wait', until });
const charge = (n: number, attempt = 1): Dated => ({ do: 'charge', n, attempt });
const end = (as: 'completed' | 'failed'): Dated => ({ do: 'end', as });
const skip = (reason: 'arrears' | 'paused' | 'suspended'): Dated => ({
  do: 'skip',
  n: 0,
  dueAt: START,
  reason,
});
const retryOn = (day: number): Dated => ({ do: 'retry', n: 0, retryAt: after(day * DAY) });
const fail: Dated = { do: 'fail', n: 0, counted: true };
/** The customer's consent has lapsed meanwhile. */
const lapse: Dated = { ...fail, counted: false };

type Row = [says: string, now: Date, step: Dated, given: Partial<Schedule>, billings?: Partial<Billings>];

/** A schedule whose first billing has run. */
const second = { nextN: 1, ran: 1 };

describe('a billing that comes next', () => {
  const fell = { ...second, noticedN: 1 };
  const third = { maxBillings: 3, nextN: 3, noticedN: 3 };

  it.each<Row>([
    ['waits until the last millisecond before its due date', after(-1), wait(START), {}],
    ['is charged at its due date', START, charge(0), {}],
    ['is charged where it falls on the end date', FEBRUARY, charge(1), { ...fell, endAt: FEBRUARY }],
    ['is none beyond the end date', after(1), end('completed'), { ...fell, endAt: after(-1, FEBRUARY) }],
    ['is none where maxBillings have run', after(1), end('completed'), { ...third, ran: 3 }],
    ['is made where one of maxBillings was skipped', APRIL, charge(3), { ...third, ran: 2 }],
  ])('%s', (_, now, expected, given) => {
    expect(step(given, {}, now)).toEqual(expected);
  });

  it('is not begun beyond maxBillings while the last of them is in hand', () => {
    const until = after(3 * DAY);
    const last = { maxBillings: 1, nextN: 1 };
    expect(step(last, { open: pending(until) }, after(DAY))).toEqual(wait(until));
    expect(nextBilling({ ...monthly, ...last }, true, rules)).toBeUndefined();
  });

  it('is due by the calendar, counted from the start date', () => {
    const dates = [1, 2, 3].map((n) => nextBilling({ ...monthly, nextN: n }, false, rules)?.dueAt);
    expect(dates).toEqual([FEBRUARY, new Date('2026-03-31T08:00:00.000Z'), APRIL]);
  });
});

describe('the notice of a charge', () => {
  const notify: Dated = { do: 'notify', n: 1, dueAt: FEBRUARY };
  const dayBefore = after(-DAY, FEBRUARY);
  const late = after(-1, FEBRUARY);

  it.each<Row>([
    ['waits until a day before', after(-1, dayBefore), wait(dayBefore), {}],
    ['comes a day before', dayBefore, notify, {}],
    ['comes late rather than never', late, notify, {}],
    ['comes once', dayBefore, wait(FEBRUARY), { noticedN: 1 }],
    ['does not come with the charge', FEBRUARY, charge(1), {}],
    ['comes where exactly a day was possible', late, notify, { createdAt: dayBefore }],
    ['does not come where less was possible', late, wait(FEBRUARY), { createdAt: after(1, dayBefore) }],
    ['does not come while paused', dayBefore, wait(FEBRUARY), { status: 'paused' }],
    ['does not come while suspended', dayBefore, wait(FEBRUARY), { status: 'suspended' }],
    ['comes beside a billing that is retried', dayBefore, notify, {}, { open: retrying(APRIL) }],
    ['does not come for daily charges', after(29 * DAY), wait(after(30 * DAY)), { ...daily, interval: 30 }],
  ])('%s', (_, now, expected, given, billings = {}) => {
    expect(step({ ...given, ...second }, billings, now)).toEqual(expected);
  });
});

type Attempt = [says: string, open: InHand, now: Date, step: Dated, given?: Partial<Schedule>];

describe('an attempt', () => {
  const ended = { status: 'cancelled' } as const;
  const weekly = { frequency: 'weekly' } as const;
  const number = (attempts: number, day: number) =>
    declined('insufficient_funds', { attempts, lastAttemptAt: after(day * DAY) });
  const on4 = { firstAttemptAt: after(4 * DAY), lastAttemptAt: after(4 * DAY) };
  const on5 = { ...on4, lastAttemptAt: after(5 * DAY), attempts: 2 };

  it.each<Attempt>([
    ['waits to the end of its window', pending(after(DAY)), after(DAY - 1), wait(after(DAY))],
    ['expires then', pending(after(DAY)), after(DAY), { do: 'expire', n: 0 }],
    ['waits where its schedule has ended, too', pending(after(5)), after(1), wait(after(5)), ended],
    ['expires then, too', pending(after(DAY)), after(DAY), { do: 'expire', n: 0 }, ended],
    ['succeeds', { ...first, chargeStatus: 'successful' }, after(1), { do: 'succeed', n: 0 }],
    ['number 2 on day 1 is followed by one on day 3', number(2, 1), after(DAY + 1), retryOn(3)],
    ['number 3 on day 3 is followed by one on day 5', number(3, 3), after(3 * DAY + 1), retryOn(5)],
    ['number 4 on day 5 is the last', number(4, 5), after(5 * DAY + 1), fail],
    ['after an outage uses up the moments that passed', number(2, 4), after(4 * DAY + 1), retryOn(5)],
    [
      'has a retry until the next due date',
      declined('limit_reached', on4),
      on4.lastAttemptAt,
      retryOn(5),
      weekly,
    ],
    ['has none from then on', declined('limit_reached', on5), on5.lastAttemptAt, fail, weekly],
    ['of a daily schedule has none', declined('limit_reached'), after(1), fail, daily],
    ['has none where consent has lapsed', declined('limit_reached', { lapsed: true }), after(1), lapse],
    ['is final as ever then', declined('denied', { lapsed: true }), after(1), fail],
    ['of an ended schedule has none', declined('insufficient_funds'), after(1), fail, ended],
    [
      'called approved, too, has none',
      declined('insufficient_funds', { maybeDebited: true }),
      after(1),
      fail,
    ],
  ])('%s', (_, open, now, expected, given = {}) => {
    expect(step({ ...given, nextN: 1 }, { open }, now)).toEqual(expected);
  });

  it.each([
    ...['insufficient_funds', 'limit_reached', 'temporarily_unavailable'].map(
      (reason) => [reason, retryOn(1)] as const,
    ),
    ...['expired', 'not_delivered', 'denied', 'suspended', 'do_not_honor', 'Insufficient_Funds'].map(
      (reason) => [reason, fail] as const,
    ),
  ])('is followed, after %s, by %j', (reason, expected) => {
    expect(step({ nextN: 1 }, { open: declined(reason) }, after(1))).toEqual(expected);
  });
});

describe('a billing that waits for a retry', () => {
  const later = after(2 * DAY);
  const lapsed = { open: { ...retrying(after(DAY)), lapsed: true } };
  const doubtful = { open: { ...retrying(after(DAY)), maybeDebited: true } };
  const booked = { open: { ...retrying(after(DAY)), isBooked: true } };

  it.each<Row>([
    ['waits to its moment', after(DAY - 1), wait(after(DAY)), {}],
    ['is tried again then', after(DAY), charge(0, 2), {}],
    ['is not tried while paused', later, wait(FEBRUARY), { status: 'paused' }],
    ['is not tried while suspended', later, wait(FEBRUARY), { status: 'suspended' }],
    ['is tried after that', later, charge(0, 2), { status: 'past_due' }],
    ['fails when the next due date comes first', FEBRUARY, fail, { status: 'past_due' }],
    ['fails then while paused, too', FEBRUARY, fail, { status: 'paused' }],
    ['fails then while suspended, too', FEBRUARY, fail, { status: 'suspended' }],
    ['fails with its schedule', after(1), fail, { status: 'cancelled' }],
    ['fails at once where the bank has also called it approved', after(1), fail, {}, doubtful],
    ['fails at its moment then, too', after(DAY), fail, {}, doubtful],
    ['waits where a file of the bank has booked it', after(DAY - 1), wait(FEBRUARY), { noticedN: 1 }, booked],
    ['is not tried again while that is unresolved', later, wait(FEBRUARY), { noticedN: 1 }, booked],
    ['fails when the next due date comes first, too', FEBRUARY, fail, {}, booked],
    ['fails uncounted where consent has lapsed since', after(1), lapse, { status: 'suspended' }, lapsed],
    ['fails so, too, where it holds again', later, lapse, {}, lapsed],
    ['fails so, however late that is seen', FEBRUARY, lapse, {}, lapsed],
  ])('%s', (_, now, expected, given, billings = { open: retrying(after(DAY)) }) => {
    expect(step({ ...given, nextN: 1 }, billings, now)).toEqual(expected);
  });
});

describe('due dates that were missed', () => {
  const now10 = after(10 * DAY);
  const missed = { nextN: 7, ran: 7 };
  const paused = { status: 'paused' } as const;
  /** When the last three billings began. */
  const starts = [1, 2, 3].map((ms) => after(-ms, now10));
  const dayOld = after(DAY - 3, now10);
  const tooLate = after(35 * DAY + 1);

  it.each<Row>([
    ['are charged oldest first', now10, charge(7), missed],
    ['wait for the charge in hand', now10, wait(dayOld), missed, { open: pending(dayOld) }],
    [
      'wait where three were begun within a day, until one is a day old',
      now10,
      wait(dayOld),
      missed,
      { starts },
    ],
    ['are charged then', dayOld, charge(7), missed, { starts }],
    ['are charged where two were', now10, charge(7), missed, { starts: starts.slice(1) }],
    ['are charged when exactly 35 days late', after(35 * DAY), charge(0), {}],
    ['are skipped a millisecond later', tooLate, skip('arrears'), {}],
    ['before a pause wait for its end', after(1), wait(tooLate), paused],
    ['are skipped where it ends too late', tooLate, skip('arrears'), paused],
    ['while paused are skipped with that reason', START, skip('paused'), paused, { heldFor: 'paused' }],
    [
      'while paused are skipped also after its end',
      after(90 * DAY),
      skip('paused'),
      {},
      { heldFor: 'paused' },
    ],
    ['while suspended are so, too', after(90 * DAY), skip('suspended'), {}, { heldFor: 'suspended' }],
  ])('%s', (_, now, expected, given, billings = {}) => {
    expect(step({ ...daily, ...given }, billings, now)).toEqual(expected);
  });
});

describe('the end of a schedule', () => {
  const failed = { nextN: 3, ran: 3, failedInARow: 3 };

  it.each<Row>([
    [
      'is failed after three failed in a row, even if they were the last',
      after(1),
      end('failed'),
      { ...failed, maxBillings: 3 },
    ],
    [
      'is failed also while it is paused',
      after(1),
      end('failed'),
      { ...failed, status: 'paused' },
      { heldFor: 'paused' },
    ],
    ['is completed after two', after(1), end('completed'), { ...failed, failedInARow: 2, maxBillings: 3 }],
  ])('%s', (_, now, expected, given, billings = {}) => {
    expect(step(given, billings, now)).toEqual(expected);
  });

  it.each(['completed', 'cancelled', 'failed'] as const)('is final: %s', (status) => {
    expect(step({ status }, {}, after(1_000 * DAY))).toEqual({ do: 'nothing' });
    expect(nextBilling({ ...monthly, status }, false, rules)).toBeUndefined();
  });
});

/**
 * Plays a schedule by the rule alone, with a bank that answers as told, read only at the moments
 * given.
 */
function play(
  schedule: Schedule,
  answers: ('approve' | 'insufficient_funds' | 'denied' | 'silent')[],
  reads: Date[],
  playRules = rules,
) {
  let state = schedule;
  let open: InHand | undefined;
  const starts: Date[] = [];
  const log: { step: Dated; at: Date; dueAt: Date }[] = [];
  let asked = 0;
  for (const now of reads) {
    for (let i = 0; ; i++) {
      if (i > 20_000) throw new Error('the rule never comes to rest');
      const next = nextStep(state, { open, starts, heldFor: null }, now, playRules);
      log.push({ step: next, at: now, dueAt: nextBilling(state, false, playRules)?.dueAt ?? START });
      if (next.do === 'nothing' || next.do === 'wait') {
        if (next.do === 'wait' && next.until <= now) throw new Error('waits for a moment that has passed');
        break;
      }
      switch (next.do) {
        case 'charge': {
          const answer = answers[asked++ % answers.length] ?? 'approve';
          const outcome =
            answer === 'silent'
              ? ({ chargeStatus: 'pending', declineReason: null } as const)
              : answer === 'approve'
                ? ({ chargeStatus: 'successful', declineReason: null } as const)
                : ({ chargeStatus: 'declined', declineReason: answer } as const);
          if (next.attempt === 1) {
            starts.unshift(now);
            state = { ...state, nextN: next.n + 1 };
          }
          open = {
            n: next.n,
            attempts: next.attempt,
            firstAttemptAt: next.attempt === 1 ? now : (open?.firstAttemptAt ?? now),
            lastAttemptAt: now,
            maybeDebited: false,
            isBooked: false,
            lapsed: false,
            status: 'pending',
            retryAt: null,
            declinedLimit: null,
            expiresAt: after(DAY, now),
            ...outcome,
          };
          break;
        }
        case 'expire':
          if (open) open = { ...open, chargeStatus: 'declined', declineReason: 'expired' };
          break;
        case 'succeed':
          open = undefined;
          state = { ...state, ran: state.ran + 1, failedInARow: 0 };
          break;
        case 'fail':
          open = undefined;
          state = { ...state, ran: state.ran + 1, failedInARow: state.failedInARow + 1 };
          break;
        case 'retry':
          if (open) open = { ...open, status: 'retrying', retryAt: next.retryAt };
          break;
        case 'skip':
          state = { ...state, nextN: next.n + 1 };
          break;
        case 'notify':
          state = { ...state, noticedN: next.n };
          break;
        case 'end':
          state = { ...state, status: next.as };
      }
    }
  }
  return { state, log };
}

const anySchedule = fc.record({
  frequency: fc.constantFrom('daily', 'weekly', 'monthly', 'yearly'),
  interval: fc.integer({ min: 1, max: 3 }),
  maxBillings: fc.option(fc.integer({ min: 1, max: 40 })),
  endAfterDays: fc.option(fc.integer({ min: 1, max: 800 })),
});
const anyAnswers = fc.array(fc.constantFrom('approve', 'approve', 'insufficient_funds', 'denied', 'silent'), {
  minLength: 1,
  maxLength: 12,
});
/** Gaps between reads in hours, from minutes to outages of months. */
const anyGaps = fc.array(fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 3_000 })), {
  minLength: 1,
  maxLength: 120,
});

function playAny(
  {
    endAfterDays,
    ...terms
  }: {
    frequency: Schedule['frequency'];
    interval: number;
    maxBillings: number | null;
    endAfterDays: number | null;
  },
  answers: Parameters<typeof play>[1],
  gapsInHours: number[],
) {
  let at = START;
  const reads = gapsInHours.map((hours) => (at = after(hours * 3_600_000, at)));
  const schedule = {
    ...monthly,
    ...terms,
    endAt: endAfterDays === null ? null : after(endAfterDays * DAY),
  };
  return { schedule, ...play(schedule, answers, reads) };
}

it('whatever banks answer and however long the service was away, a schedule keeps its rules', () => {
  fc.assert(
    fc.property(anySchedule, anyAnswers, anyGaps, (terms, answers, gaps) => {
      const { schedule, state, log } = playAny(terms, answers, gaps);
      expectEachDueDateOnce(schedule, state, log);
      expectNoRush(log);
      expectItsEnd(terms.maxBillings, state, log);
      expectFewAttempts(schedule, log);
    }),
  );
});

type Log = ReturnType<typeof play>['log'];

/** Each is charged or skipped once, in order, never early and never beyond the end. */
function expectEachDueDateOnce(schedule: Schedule, state: Schedule, log: Log): void {
  const begun = log.filter(
    ({ step: one }) => one.do === 'skip' || (one.do === 'charge' && one.attempt === 1),
  );
  expect(begun.map(({ step: one }) => 'n' in one && one.n)).toEqual(begun.map((_, i) => i));
  expect(state.nextN).toBe(begun.length);
  for (const { at, dueAt } of begun) {
    expect(at.getTime()).toBeGreaterThanOrEqual(dueAt.getTime());
    if (schedule.endAt) expect(dueAt.getTime()).toBeLessThanOrEqual(schedule.endAt.getTime());
  }
}

/** At most three billings begin within 24 h, none later than 35 days. */
function expectNoRush(log: Log): void {
  const charges = log.filter(({ step: one }) => one.do === 'charge' && one.attempt === 1);
  charges.forEach(({ at, dueAt }, i) => {
    const third = charges[i - 3];
    if (third) expect(at.getTime() - third.at.getTime()).toBeGreaterThanOrEqual(DAY);
    expect(at.getTime() - dueAt.getTime()).toBeLessThanOrEqual(35 * DAY);
  });
}

/** At most maxBillings run, and three failures in a row are the end. */
function expectItsEnd(maxBillings: number | null, state: Schedule, log: Log): void {
  const ends = log.flatMap(({ step: one }) => (one.do === 'succeed' || one.do === 'fail' ? [one.do] : []));
  expect(state.ran).toBe(ends.length);
  if (maxBillings !== null) expect(state.ran).toBeLessThanOrEqual(maxBillings);
  const streak = ends.join(' ').indexOf('fail fail fail');
  if (streak >= 0) expect(ends.join(' ')).toHaveLength(streak + 'fail fail fail'.length);
  expect(state.status === 'failed').toBe(streak >= 0);
  expect(hasEnded(state.status)).toBe(log.at(-1)?.step.do === 'nothing');
}

/** At most four, each after a decline that another day may undo, before the next due date. */
function expectFewAttempts(schedule: Schedule, log: Log): void {
  for (const [i, { step: one, at }] of log.entries()) {
    if (one.do !== 'charge' || one.attempt === 1) continue;
    expect(one.attempt).toBeLessThanOrEqual(4);
    const endless = { ...schedule, maxBillings: null, endAt: null };
    const giveUpAt = nextBilling({ ...endless, nextN: one.n + 1 }, false, rules)?.dueAt;
    expect(at.getTime()).toBeLessThan(giveUpAt?.getTime() ?? 0);
    const before = log.slice(0, i).findLast(({ step: earlier }) => earlier.do === 'retry');
    expect(before?.step).toMatchObject({ n: one.n });
  }
}

it('a monthly schedule runs for 36 months on the right days, told of each a day ahead', () => {
  const reads = Array.from({ length: 36 * 31 * 3 }, (_, i) => after((i * DAY) / 3));
  const { state, log } = play({ ...monthly, maxBillings: 36 }, ['approve'], reads);
  const charged = log.flatMap(({ step: one, at }) =>
    one.do === 'charge' ? [at.toISOString().slice(0, 10)] : [],
  );
  expect(charged).toHaveLength(36);
  expect(charged.slice(0, 5)).toEqual(['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31']);
  expect(charged[25]).toBe('2028-02-29');
  expect(log.filter(({ step: one }) => one.do === 'notify')).toHaveLength(35);
  expect(state.status).toBe('completed');
});

it.each([
  [1, 'weekly', 7 * 24 - 1],
  [167, 'weekly', 1],
  // Two weeks before would be earlier than the due date before.
  [336, 'weekly', 0],
  [336, 'monthly', 28 * 24 - 336],
] as const)(
  '%i hours of notice of a %s billing begin at the earliest when the one before is due',
  (noticeHours, frequency, hours) => {
    const schedule = { ...monthly, frequency, nextN: 1 } as const;
    const { next } = factsOf(schedule, idle, START, { ...rules, noticeHours });
    expect(next?.noticeAt).toBe(START.getTime() + hours * 3_600_000);
  },
);
