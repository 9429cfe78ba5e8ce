import type { RefundAnswer } from '../storm/plan';
import { Zone } from './oracle/calendar';
import { makePlan } from './make-plan';
import { countOf, predict } from './oracle/predict';
import {
  answerTo,
  type Act,
  type Limits,
  type MerchantPlan,
  type Plan,
  type Resolution,
  type Subscription,
} from './plan';

const zone = new Zone('Africa/Lagos');
const at = (month: number, day: number, hours: number) => zone.at(2028, month, day, hours);

/** One monthly subscription of 100 naira from 31 January on, six times. */
const monthly: Subscription = {
  n: 1,
  customer: 1,
  frequency: 'monthly',
  interval: 1,
  startAt: at(1, 31, 9),
  endAt: undefined,
  maxBillings: 6,
  kobo: 10_000n,
};
const unlimited: Limits = { daily: undefined, monthly: undefined };

function planOf(terms: Partial<Subscription>, acts: Act[] = [], limits = unlimited) {
  const merchant: MerchantPlan = {
    n: 1,
    customers: [{ n: 1, bank: 0, limits }],
    subscriptions: [{ ...monthly, ...terms }],
    acts,
    silentAt: new Set(),
    jumps: false,
  };
  const plan: Plan = {
    seed: PAYING_SEED,
    zone,
    startAt: at(1, 1, 9),
    endAt: zone.at(2029, 1, 1, 9),
    merchants: [merchant],
    accounts: [],
    payments: [],
  };
  return { plan, merchant };
}

/** By which the bank pays the first dozen of subscription 1 without a word more. */
const PAYING_SEED = payingSeed();

function payingSeed(): number {
  const silentAt = new Set<number>();
  for (let seed = 0; ; seed++) {
    const pays = Array.from({ length: 12 }, (_, i) =>
      answerTo({ seed } as Plan, { silentAt } as MerchantPlan, 1, i + 1, 0),
    );
    if (pays.every((answer) => answer === 'pay' || answer === 'payTwice')) return seed;
  }
}

function billingsOf(terms: Partial<Subscription>, acts: Act[] = [], silentAt: number[] = []) {
  const { plan, merchant } = planOf(terms, acts);
  for (const moment of silentAt) merchant.silentAt.add(moment);
  const { schedules, answers } = predict(plan, merchant);
  const [schedule] = schedules;
  if (!schedule) throw new Error('no schedule');
  const shown = schedule.billings.map(({ dueAt, status, reason, kobo }) =>
    [zone.dayOf(dueAt), status, reason, kobo === 10_000n ? undefined : kobo].filter(Boolean).join(' '),
  );
  return { schedule, shown, answers };
}

const refund = (
  n: number,
  day: number,
  kobo: bigint | undefined,
  answer: RefundAnswer = 'complete',
): Act => ({
  n,
  at: at(2, day, 15),
  what: 'refund',
  subscription: 1,
  billing: 0,
  kobo,
  answer,
});

const settle = (n: number, day: number, about: number, resolution: Resolution): Act => ({
  n,
  at: at(2, day, 15),
  what: 'settle',
  refund: about,
  resolution,
});

describe('the oracle', () => {
  it('charges each due date once, and ends after maxBillings', () => {
    const { schedule, shown } = billingsOf({});
    expect(shown).toEqual([
      '2028-01-31 successful',
      '2028-02-29 successful',
      '2028-03-31 successful',
      '2028-04-30 successful',
      '2028-05-31 successful',
      '2028-06-30 successful',
    ]);
    expect(schedule.ended).toBe('completed');
  });

  it('charges what is due at the very end, and nothing after it', () => {
    const { schedule, shown } = billingsOf({ maxBillings: undefined, endAt: at(3, 31, 9) });
    expect(shown).toHaveLength(3);
    expect(schedule.ended).toBe('completed');
  });

  it('skips what is due while paused, and does not count it', () => {
    const { shown } = billingsOf({ maxBillings: 3 }, [
      { n: 1, at: at(2, 10, 15), what: 'pause', subscription: 1 },
      { n: 2, at: at(4, 10, 15), what: 'resume', subscription: 1 },
    ]);
    expect(shown).toEqual([
      '2028-01-31 successful',
      '2028-02-29 skipped paused',
      '2028-03-31 skipped paused',
      '2028-04-30 successful',
      '2028-05-31 successful',
    ]);
  });

  it('has a suspension come before a pause', () => {
    const { shown, answers } = billingsOf({ maxBillings: 2 }, [
      { n: 1, at: at(2, 10, 15), what: 'pause', subscription: 1 },
      { n: 2, at: at(2, 11, 15), what: 'suspend', customer: 1 },
      { n: 3, at: at(2, 12, 15), what: 'resume', subscription: 1 },
      { n: 4, at: at(3, 1, 15), what: 'approve', customer: 1 },
    ]);
    expect(shown[1]).toBe('2028-02-29 skipped suspended');
    // What the merchant has paused stays so.
    expect(shown.slice(2, 4)).toEqual(['2028-03-31 skipped paused', '2028-04-30 skipped paused']);
    expect(answers.get(3)).toBe(409);
  });

  it('makes up for what was missed oldest first, three a day', () => {
    const daily = { frequency: 'daily', startAt: at(2, 1, 10), maxBillings: 12 } as const;
    const { schedule, shown } = billingsOf(daily, [
      { n: 1, at: at(2, 2, 15), what: 'jump', to: at(2, 8, 17) },
    ]);
    expect(shown.slice(0, 9).every((line, i) => line === `2028-02-0${i + 1} successful`)).toBe(true);
    expect(schedule.billings.slice(0, 10).map(({ attempts }) => attempts[0]?.at)).toEqual([
      at(2, 1, 10),
      at(2, 2, 10),
      ...Array<number>(3).fill(at(2, 8, 17)),
      ...Array<number>(3).fill(at(2, 9, 17)),
      ...Array<number>(2).fill(at(2, 10, 17)),
    ]);
  });

  it('lets be what was missed for more than 35 days', () => {
    const { shown } = billingsOf({ frequency: 'weekly', maxBillings: 3 }, [
      { n: 1, at: at(1, 20, 15), what: 'jump', to: at(3, 13, 17) },
    ]);
    expect(shown).toEqual([
      '2028-01-31 skipped arrears',
      '2028-02-07 skipped arrears',
      '2028-02-14 successful',
      '2028-02-21 successful',
      '2028-02-28 successful',
    ]);
  });

  it('never asks again after silence', () => {
    const { schedule, shown } = billingsOf({}, [], [at(2, 29, 9)]);
    expect(shown[1]).toBe('2028-02-29 failed expired');
    expect(schedule.billings[1]?.attempts).toHaveLength(1);
  });

  it('tries a billing over a limit again after one, three and five days, and then lets it be', () => {
    const { plan, merchant } = planOf({}, [], { daily: 9_999n, monthly: undefined });
    const { schedules } = predict(plan, merchant);
    const [first] = schedules[0]?.billings ?? [];
    expect(first?.attempts.map((attempt) => zone.dayOf(attempt.at))).toEqual([
      '2028-01-31',
      '2028-02-01',
      '2028-02-03',
      '2028-02-05',
    ]);
    expect(first).toMatchObject({ status: 'failed', reason: 'limit_reached' });
    expect(schedules[0]).toMatchObject({ ended: 'failed', ran: 3, asked: 0 });
  });

  it('charges new terms from the next billing on', () => {
    const { shown } = billingsOf({ maxBillings: 3 }, [
      { n: 1, at: at(2, 10, 15), what: 'amend', subscription: 1, kobo: 20_000n, maxBillings: undefined },
    ]);
    expect(shown).toEqual([
      '2028-01-31 successful',
      '2028-02-29 successful 20000',
      '2028-03-31 successful 20000',
    ]);
  });

  it('lets back what is left of a charge, and not a kobo more', () => {
    const { answers, schedule } = billingsOf({}, [
      refund(1, 1, 6_000n),
      refund(2, 2, 4_001n),
      refund(3, 3, undefined),
      refund(4, 4, undefined),
    ]);
    expect([...answers.values()]).toEqual([201, 409, 201, 409]);
    expect(schedule.billings[0]?.attempts[0]?.refunded).toBe(10_000n);
  });

  it.each([
    ['completeThenReject', 'reversed', [201, 409, 200, 201]],
    ['completeThenReject', 'no_money_moved', [201, 409, 200, 201]],
    ['completeThenReject', 'confirmed', [201, 409, 200, 409]],
    ['rejectThenComplete', 'reversed', [201, 409, 200, 201]],
    ['rejectThenComplete', 'confirmed', [201, 409, 409, 409]],
  ] as const)(
    'lets a refund of %s be made again once it is %s, or not: %j',
    (answer, resolution, statuses) => {
      const { answers } = billingsOf({}, [
        refund(1, 1, 10_000n, answer),
        refund(2, 2, 1n),
        settle(3, 3, 1, resolution),
        refund(4, 4, 10_000n),
      ]);
      expect([...answers.values()]).toEqual(statuses);
    },
  );
});

const text = (seed: number) =>
  JSON.stringify(makePlan(seed, 200, 2028).merchants, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value instanceof Set ? [...value] : value,
  );

describe('a plan', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(text(7)).toBe(text(7));
    expect(text(8)).not.toBe(text(7));
  });

  it.each([
    [4, 500, 611, 663],
    [285, 30, 27, 27],
    [155, 30, 65, 65],
  ])('of seed %d and %d has %d billings in %d charges, as the page of the proof says', (seed, ...counts) => {
    const [asked, billings, charges] = counts;
    expect(countOf(makePlan(seed, asked, 2028))).toEqual({ billings, charges });
  });

  it('has one act a day for each customer, and due dates apart, so that which comes first is no chance', () => {
    const plan = makePlan(3, 1_000, 2028);
    for (const { acts, subscriptions } of plan.merchants) {
      const customerOf = ({ subscription }: { subscription: number }) =>
        subscriptions.find(({ n }) => n === subscription)?.customer;
      const about = (act: Act): Act =>
        act.what === 'settle' ? (acts.find(({ n }) => n === act.refund) ?? act) : act;
      const everybody = acts.filter((act) => !('subscription' in about(act)) && !('customer' in act));
      for (const one of everybody) expect(acts.filter((act) => act.at === one.at)).toEqual([one]);
      const met = acts.map(({ at: moment, ...act }) => {
        const of = about({ at: moment, ...act });
        return `${moment} ${'subscription' in of ? customerOf(of) : 'customer' in of ? of.customer : 0}`;
      });
      expect(new Set(met).size).toBe(acts.length);
      const hours = subscriptions.map(({ customer, startAt }) => `${customer} ${startAt % 86_400_000}`);
      expect(new Set(hours).size).toBe(hours.length);
    }
  });
});
