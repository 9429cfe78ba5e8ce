import * as fc from 'fast-check';
import { nextStep as stepOf, type Step } from '../../../src/domain/recurring/recurring-step';
import {
  factsOf,
  nextBilling,
  type Billings,
  type InHand,
  type RecurringRules,
  type Schedule,
} from '../../../src/domain/recurring/schedule-facts';
import { hasEnded } from '../../../src/domain/recurring/recurring';

const DAY = 86_400_000;
const START = new Date('2026-01-31T08:00:00.000Z');
const rules: RecurringRules = {
  timeZone: 'Africa/Lagos',
  retryDays: [1, 3, 5],
  catchUpPerDay: 3,
  arrearsDays: 35,
  dueRate: 20,
};

const monthly: Schedule = {
  startAt: START,
  frequency: 'monthly',
  interval: 1,
  endAt: null,
  maxBillings: null,
  createdAt: START,
  status: 'active',
  nextN: 0,
  noticedN: null,
  ran: 0,
  failedInARow: 0,
};
const daily: Schedule = { ...monthly, frequency: 'daily' };
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

const first: InHand = {
  n: 0,
  attempts: 1,
  firstAttemptAt: START,
  lastAttemptAt: START,
  maybeDebited: false,
  status: 'pending',
  retryAt: null,
  chargeStatus: 'pending',
  declineReason: null,
  expiresAt: after(DAY),
};

function declined(reason: string, more: Partial<InHand> = {}): InHand {
  return { ...first, ...more, chargeStatus: 'declined', declineReason: reason };
}

function pending(expiresAt: Date): InHand {
  return { ...first, expiresAt };
}

function retrying(retryAt: Date): InHand {
  return { ...declined('insufficient_funds'), status: 'retrying', retryAt };
}

describe('a billing that comes next', () => {
  it('waits until the last millisecond before its due date', () => {
    expect(step({}, {}, after(-1))).toEqual({ do: 'wait', until: START });
  });

  it('is charged at its due date', () => {
    expect(step({}, {}, START)).toEqual({ do: 'charge', n: 0, attempt: 1 });
  });

  it('is due by the calendar, counted from the start date', () => {
    const dates = [1, 2, 3].map((n) =>
      nextBilling({ ...monthly, nextN: n }, false, rules)?.dueAt.toISOString(),
    );
    expect(dates).toEqual([
      '2026-02-28T08:00:00.000Z',
      '2026-03-31T08:00:00.000Z',
      '2026-04-30T08:00:00.000Z',
    ]);
  });

  it('is charged when it falls on the end date itself', () => {
    const endAt = new Date('2026-02-28T08:00:00.000Z');
    expect(step({ endAt, nextN: 1, ran: 1, noticedN: 1 }, {}, endAt)).toMatchObject({ do: 'charge', n: 1 });
  });

  it('completes the schedule when it would fall one millisecond after the end date', () => {
    const endAt = new Date('2026-02-28T07:59:59.999Z');
    expect(step({ endAt, nextN: 1, ran: 1 }, {}, after(DAY))).toEqual({ do: 'end', as: 'completed' });
  });

  it('completes the schedule as soon as maxBillings have run', () => {
    expect(step({ maxBillings: 3, nextN: 3, ran: 3 }, {}, after(1))).toEqual({ do: 'end', as: 'completed' });
  });

  it('is still made when one of maxBillings was skipped, which did not run', () => {
    const dueAt = new Date('2026-04-30T08:00:00.000Z');
    expect(step({ maxBillings: 3, nextN: 3, ran: 2, noticedN: 3 }, {}, dueAt)).toMatchObject({
      do: 'charge',
      n: 3,
    });
  });

  it('is not begun beyond maxBillings while the last of them is in hand', () => {
    const open = pending(after(3 * DAY));
    expect(step({ maxBillings: 1, nextN: 1 }, { open }, after(DAY))).toEqual({
      do: 'wait',
      until: after(3 * DAY),
    });
    expect(nextBilling({ ...monthly, maxBillings: 1, nextN: 1 }, true, rules)).toBeUndefined();
  });
});

describe('the notice of a charge', () => {
  const dueAt = new Date('2026-02-28T08:00:00.000Z');
  const second = { nextN: 1, ran: 1 };

  it.each([
    ['waits until a day before', {}, after(-DAY - 1, dueAt), { do: 'wait', until: after(-DAY, dueAt) }],
    ['comes a day before', {}, after(-DAY, dueAt), { do: 'notify', n: 1, dueAt }],
    ['comes late rather than never', {}, after(-1, dueAt), { do: 'notify', n: 1, dueAt }],
    ['comes once', { noticedN: 1 }, after(-DAY, dueAt), { do: 'wait', until: dueAt }],
    ['does not come with the charge', {}, dueAt, { do: 'charge', n: 1, attempt: 1 }],
    [
      'comes where exactly a day was possible',
      { createdAt: after(-DAY, dueAt) },
      after(-1, dueAt),
      { do: 'notify', n: 1, dueAt },
    ],
    [
      'does not come where less was possible',
      { createdAt: after(-DAY + 1, dueAt) },
      after(-1, dueAt),
      { do: 'wait', until: dueAt },
    ],
    ['does not come while paused', { status: 'paused' }, after(-DAY, dueAt), { do: 'wait', until: dueAt }],
    [
      'does not come while suspended',
      { status: 'suspended' },
      after(-DAY, dueAt),
      { do: 'wait', until: dueAt },
    ],
  ] as const)('%s', (_, given, now, expected) => {
    expect(step({ ...second, ...given }, {}, now)).toEqual(expected);
  });

  it('does not come for a schedule that charges daily', () => {
    expect(step({ frequency: 'daily', interval: 30, nextN: 1, ran: 1 }, {}, after(29 * DAY))).toEqual({
      do: 'wait',
      until: after(30 * DAY),
    });
  });

  it('comes while the billing before is still being retried', () => {
    const open = retrying(after(5 * DAY, dueAt));
    expect(step(second, { open }, after(-DAY, dueAt))).toMatchObject({ do: 'notify', n: 1 });
  });
});

describe('an attempt that its bank has not answered', () => {
  it('expires at the end of its window, and not a millisecond before', () => {
    const open = pending(after(DAY));
    expect(step({ nextN: 1 }, { open }, after(DAY - 1))).toEqual({ do: 'wait', until: after(DAY) });
    expect(step({ nextN: 1 }, { open }, after(DAY))).toEqual({ do: 'expire', n: 0 });
  });

  it('expires also where its schedule has ended', () => {
    const open = pending(after(DAY));
    expect(step({ status: 'cancelled' }, { open }, after(DAY))).toEqual({ do: 'expire', n: 0 });
  });
});

describe('an attempt with an outcome', () => {
  it('ends its billing when the bank has approved', () => {
    const open: InHand = { ...first, chargeStatus: 'successful' };
    expect(step({ nextN: 1 }, { open }, after(1))).toEqual({ do: 'succeed', n: 0 });
  });

  it.each(['insufficient_funds', 'limit_reached', 'temporarily_unavailable'])(
    'is tried again a day later after %s',
    (reason) => {
      expect(step({ nextN: 1 }, { open: declined(reason) }, after(1))).toEqual({
        do: 'retry',
        n: 0,
        retryAt: after(DAY),
      });
    },
  );

  it.each(['expired', 'not_delivered', 'denied', 'suspended', 'do_not_honor', 'Insufficient_Funds'])(
    'is never tried again after %s',
    (reason) => {
      expect(step({ nextN: 1 }, { open: declined(reason) }, after(1))).toEqual({ do: 'fail', n: 0 });
    },
  );

  it.each([
    [1, 0, 1],
    [2, 1, 3],
    [3, 3, 5],
  ])('number %i, made on day %i, is followed by one on day %i', (attempts, madeOn, nextOn) => {
    const open = declined('insufficient_funds', { attempts, lastAttemptAt: after(madeOn * DAY) });
    expect(step({ nextN: 1 }, { open }, after(madeOn * DAY + 1))).toMatchObject({
      retryAt: after(nextOn * DAY),
    });
  });

  it('fails its billing after the last moment of the table', () => {
    const open = declined('insufficient_funds', { attempts: 4, lastAttemptAt: after(5 * DAY) });
    expect(step({ nextN: 1 }, { open }, after(5 * DAY + 1))).toMatchObject({ do: 'fail', n: 0 });
  });

  it('uses up the moments that passed during an outage', () => {
    const open = declined('insufficient_funds', { attempts: 2, lastAttemptAt: after(4 * DAY) });
    expect(step({ nextN: 1 }, { open }, after(4 * DAY + 1))).toMatchObject({ retryAt: after(5 * DAY) });
  });

  it('has no retry from the next due date on', () => {
    const weekly = { frequency: 'weekly', nextN: 1 } as const;
    const late = { firstAttemptAt: after(4 * DAY), lastAttemptAt: after(4 * DAY) };
    expect(step(weekly, { open: declined('limit_reached', late) }, after(4 * DAY))).toMatchObject({
      retryAt: after(5 * DAY),
    });
    const later = { firstAttemptAt: after(4 * DAY), lastAttemptAt: after(5 * DAY), attempts: 2 };
    expect(step(weekly, { open: declined('limit_reached', later) }, after(5 * DAY))).toMatchObject({
      do: 'fail',
    });
    expect(
      step({ frequency: 'daily', nextN: 1 }, { open: declined('limit_reached') }, after(1)),
    ).toMatchObject({ do: 'fail' });
  });

  it('is settled before a schedule that has ended is left alone, and then not tried again', () => {
    expect(step({ status: 'cancelled' }, { open: declined('insufficient_funds') }, after(1))).toMatchObject({
      do: 'fail',
    });
  });
});

describe('a billing that waits for a retry', () => {
  const open = retrying(after(DAY));

  it('is tried again at its moment', () => {
    expect(step({ nextN: 1 }, { open }, after(DAY - 1))).toEqual({ do: 'wait', until: after(DAY) });
    expect(step({ nextN: 1 }, { open }, after(DAY))).toEqual({
      do: 'charge',
      n: 0,
      attempt: 2,
    });
  });

  it.each(['past_due', 'paused', 'suspended'] as const)(
    'fails when the next due date comes first: %s',
    (status) => {
      const dueAt = new Date('2026-02-28T08:00:00.000Z');
      expect(step({ status, nextN: 1 }, { open }, dueAt)).toEqual({ do: 'fail', n: 0 });
    },
  );

  it.each(['paused', 'suspended'] as const)(
    'is not tried while the schedule is %s, and tried after that',
    (status) => {
      const until = new Date('2026-02-28T08:00:00.000Z');
      expect(step({ status, nextN: 1 }, { open }, after(2 * DAY))).toEqual({ do: 'wait', until });
      expect(step({ status: 'past_due', nextN: 1 }, { open }, after(2 * DAY))).toMatchObject({
        do: 'charge',
        attempt: 2,
      });
    },
  );

  it.each([
    ['waits for its retry', open, after(1)],
    ['comes to the moment of its retry', open, after(DAY)],
    ['has just been declined', declined('insufficient_funds'), after(1)],
  ])('fails where it %s and the bank has also called it approved', (_, billing, now) => {
    const doubtful = { ...billing, maybeDebited: true };
    expect(step({ nextN: 1 }, { open: doubtful }, now)).toEqual({ do: 'fail', n: 0 });
  });

  it('fails with its schedule', () => {
    expect(step({ status: 'cancelled' }, { open }, after(1))).toMatchObject({ do: 'fail', n: 0 });
  });
});

describe('due dates that were missed', () => {
  it('are charged oldest first', () => {
    expect(step({ ...daily, nextN: 4, ran: 4 }, {}, after(10 * DAY))).toMatchObject({ do: 'charge', n: 4 });
  });

  it('wait for the charge in hand', () => {
    const expiresAt = after(10 * DAY + 5);
    expect(step({ ...daily, nextN: 4, ran: 3 }, { open: pending(expiresAt) }, after(10 * DAY))).toEqual({
      do: 'wait',
      until: expiresAt,
    });
  });

  it('wait once three were begun within a day, until the oldest of these is a day old', () => {
    const now = after(10 * DAY);
    const starts = [after(-1, now), after(-2, now), after(-3, now)];
    const until = after(DAY - 3, now);
    expect(step({ ...daily, nextN: 7, ran: 7 }, { starts }, now)).toEqual({ do: 'wait', until });
    expect(step({ ...daily, nextN: 7, ran: 7 }, { starts }, until)).toMatchObject({ do: 'charge', n: 7 });
    expect(step({ ...daily, nextN: 7, ran: 7 }, { starts: starts.slice(1) }, now)).toMatchObject({
      do: 'charge',
    });
  });

  it('are charged when exactly 35 days late, and skipped a millisecond later', () => {
    expect(step(daily, {}, after(35 * DAY))).toMatchObject({ do: 'charge', n: 0 });
    expect(step(daily, {}, after(35 * DAY + 1))).toEqual({
      do: 'skip',
      n: 0,
      dueAt: START,
      reason: 'arrears',
    });
  });

  it.each(['paused', 'suspended'] as const)(
    'while %s are skipped with that reason, also after the end of it',
    (heldFor) => {
      const skipped = { do: 'skip', n: 0, dueAt: START, reason: heldFor };
      expect(step({ ...daily, status: heldFor }, { heldFor }, START)).toEqual(skipped);
      expect(step({ ...daily, status: 'active' }, { heldFor }, after(90 * DAY))).toEqual(skipped);
    },
  );

  it('before a pause wait for its end, unless that comes too late', () => {
    expect(step({ ...daily, status: 'paused' }, {}, after(1))).toEqual({
      do: 'wait',
      until: after(35 * DAY + 1),
    });
    expect(step({ ...daily, status: 'active' }, {}, after(30 * DAY))).toMatchObject({ do: 'charge', n: 0 });
    expect(step({ ...daily, status: 'paused' }, {}, after(35 * DAY + 1))).toMatchObject({
      reason: 'arrears',
    });
  });
});

describe('the end of a schedule', () => {
  it.each(['paused', 'suspended'] as const)(
    'is failed after three failed billings in a row also while it is %s, which resuming does not mend',
    (status) => {
      const end = { do: 'end', as: 'failed' };
      expect(step({ status, nextN: 3, ran: 3, failedInARow: 3 }, { heldFor: status }, after(1))).toEqual(end);
    },
  );

  it('is failed after three failed billings in a row, even if they were the last', () => {
    expect(step({ nextN: 3, ran: 3, failedInARow: 3, maxBillings: 3 }, {}, after(1))).toEqual({
      do: 'end',
      as: 'failed',
    });
    expect(step({ nextN: 3, ran: 3, failedInARow: 2, maxBillings: 3 }, {}, after(1))).toEqual({
      do: 'end',
      as: 'completed',
    });
  });

  it.each(['completed', 'cancelled', 'failed'] as const)(
    'is final: %s, nothing is charged any more',
    (status) => {
      expect(step({ status }, {}, after(1_000 * DAY))).toEqual({ do: 'nothing' });
      expect(nextBilling({ ...monthly, status }, false, rules)).toBeUndefined();
    },
  );

  it('lets a charge that is open run to its own end', () => {
    expect(step({ status: 'cancelled' }, { open: pending(after(5)) }, after(1))).toEqual({
      do: 'wait',
      until: after(5),
    });
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
            status: 'pending',
            retryAt: null,
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

describe('whatever banks answer and however long the service was away', () => {
  it('every due date is charged or skipped once, in order, never early and never beyond the end', () => {
    fc.assert(
      fc.property(anySchedule, anyAnswers, anyGaps, (terms, answers, gaps) => {
        const { schedule, state, log } = playAny(terms, answers, gaps);
        const begun = log.filter(
          ({ step: one }) => one.do === 'skip' || (one.do === 'charge' && one.attempt === 1),
        );
        expect(begun.map(({ step: one }) => 'n' in one && one.n)).toEqual(begun.map((_, i) => i));
        expect(state.nextN).toBe(begun.length);
        for (const { at, dueAt } of begun) {
          expect(at.getTime()).toBeGreaterThanOrEqual(dueAt.getTime());
          if (schedule.endAt) expect(dueAt.getTime()).toBeLessThanOrEqual(schedule.endAt.getTime());
        }
      }),
    );
  });

  it('no more than three billings begin within 24 h, none later than 35 days', () => {
    fc.assert(
      fc.property(anySchedule, anyAnswers, anyGaps, (terms, answers, gaps) => {
        const { log } = playAny(terms, answers, gaps);
        const charges = log.filter(({ step: one }) => one.do === 'charge' && one.attempt === 1);
        charges.forEach(({ at, dueAt }, i) => {
          const third = charges[i - 3];
          if (third) expect(at.getTime() - third.at.getTime()).toBeGreaterThanOrEqual(DAY);
          expect(at.getTime() - dueAt.getTime()).toBeLessThanOrEqual(35 * DAY);
        });
      }),
    );
  });

  it('at most maxBillings run, and three failures in a row are the end', () => {
    fc.assert(
      fc.property(anySchedule, anyAnswers, anyGaps, (terms, answers, gaps) => {
        const { state, log } = playAny(terms, answers, gaps);
        const ends = log
          .filter(({ step: one }) => one.do === 'succeed' || one.do === 'fail')
          .map(({ step: one }) => one.do);
        expect(state.ran).toBe(ends.length);
        if (terms.maxBillings !== null) expect(state.ran).toBeLessThanOrEqual(terms.maxBillings);
        const streak = ends.join(' ').indexOf('fail fail fail');
        if (streak >= 0) expect(ends.join(' ')).toHaveLength(streak + 'fail fail fail'.length);
        expect(state.status === 'failed').toBe(streak >= 0);
        expect(hasEnded(state.status)).toBe(log.at(-1)?.step.do === 'nothing');
      }),
    );
  });

  it('a billing has at most four attempts, each after a decline that another day may undo, before the next due date', () => {
    fc.assert(
      fc.property(anySchedule, anyAnswers, anyGaps, (terms, answers, gaps) => {
        const { schedule, log } = playAny(terms, answers, gaps);
        for (const [i, { step: one, at }] of log.entries()) {
          if (one.do !== 'charge' || one.attempt === 1) continue;
          expect(one.attempt).toBeLessThanOrEqual(4);
          const giveUpAt = nextBilling(
            { ...schedule, maxBillings: null, endAt: null, nextN: one.n + 1 },
            false,
            rules,
          )?.dueAt;
          expect(at.getTime()).toBeLessThan(giveUpAt?.getTime() ?? 0);
          const before = log.slice(0, i).findLast(({ step: earlier }) => earlier.do === 'retry');
          expect(before?.step).toMatchObject({ n: one.n });
        }
      }),
    );
  });
});

it('a monthly schedule runs for 36 months on the right days, told of each a day ahead', () => {
  const hours = Array.from({ length: 36 * 31 * 24 }, (_, i) => after(i * 3_600_000));
  const { state, log } = play({ ...monthly, maxBillings: 36 }, ['approve'], hours);
  const charged = log.flatMap(({ step: one, at }) =>
    one.do === 'charge' ? [at.toISOString().slice(0, 10)] : [],
  );
  expect(charged).toHaveLength(36);
  expect(charged.slice(0, 5)).toEqual(['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31']);
  expect(charged[25]).toBe('2028-02-29');
  expect(log.filter(({ step: one }) => one.do === 'notify')).toHaveLength(35);
  expect(state.status).toBe('completed');
});
