import * as fc from 'fast-check';
import {
  countSpending,
  limitsFrom,
  releaseSpending,
  spentFrom,
} from '../../../src/database/agreement/spending-limit';
import { acceptCharges } from '../../../src/database/billing-request/accept-billing-requests';
import { pauseDecision, resumeDecision } from '../../../src/database/decision/pause-decision';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { readDecision } from '../../../src/database/decision/list-decisions';
import type { Executor } from '../../../src/database/pool/connection';
import { addDays, calendarDay, startOfDay } from '../../../src/domain/calendar';
import { limitOf } from '../../../src/domain/charge';
import type { Decision } from '../../../src/domain/lifecycle';
import { MAX_AMOUNT_MINOR } from '../../../src/domain/money';
import {
  chargeableNow,
  LIMITS,
  NO_LIMITS,
  WINDOWS,
  type Limit,
  type SpendingLimits,
  type Window,
} from '../../../src/domain/spending-limit';
import { databaseOfFile } from '../../support/database';
import { installedWith } from '../../support/keyring';
import { undone } from '../../support/open-transaction';
import { standingApproval, type Standing } from '../../support/standing';

/** The statement that judges and counts charges, held to a model in memory and to races. */

const { db } = databaseOfFile();

/** Changes of clocks make most of them longer or shorter, in two zones at midnight. */
const DAYS: [zone: string, day: string][] = [
  ['Africa/Lagos', '2027-02-28'],
  ['Europe/Berlin', '2027-03-28'],
  ['Europe/Berlin', '2027-10-31'],
  ['Atlantic/Azores', '2027-10-31'],
  ['America/Havana', '2027-11-07'],
  ['America/Havana', '2027-03-14'],
  ['Pacific/Auckland', '2027-12-31'],
];
const HOUR_MS = 3_600_000;

interface Counted {
  amount: bigint;
  day: string;
  terms: number;
}

/** What the contract says, from the list of all charges. */
class Model {
  readonly counted: Counted[] = [];
  decision: Decision = 'approve_recurring';
  terms = 0;

  constructor(public limits: SpendingLimits) {}

  /** A clock that was set back stays in the window of the latest charge. */
  dayAt(today: string): string {
    return this.latest > today ? this.latest : today;
  }
  latest = '';
  pausedUntil: Date | null = null;

  private in(window: Window, today: string): Counted[] {
    const now = windowOf(window, this.dayAt(today));
    return this.counted.filter((one) =>
      window === 'total' ? one.terms === this.terms : windowOf(window, one.day) === now,
    );
  }

  spent(today: string): Record<Exclude<Limit, 'perCharge'>, bigint> {
    const sums = WINDOWS.flatMap((window) => {
      const own = this.in(window, today);
      const sum = own.reduce((all, { amount }) => all + amount, 0n);
      return [[window, sum] as const, [`count.${window}`, BigInt(own.length)] as const];
    });
    return Object.fromEntries(sums) as Record<Exclude<Limit, 'perCharge'>, bigint>;
  }

  refusal(amount: bigint, at: Date, today: string): string | null {
    const { limits } = this;
    if (!this.decision.startsWith('approve')) return 'not_approved';
    if (limits.validFrom && at < limits.validFrom) return 'consent_not_yet_valid';
    if (limits.validUntil && at >= limits.validUntil) return 'consent_expired';
    if (this.pausedUntil && at < this.pausedUntil) return 'consent_paused';
    const after: Record<string, bigint> = { perCharge: amount };
    for (const [name, sum] of Object.entries(this.spent(today)))
      after[name] = sum + (name.startsWith('count.') ? 1n : amount);
    return LIMITS.find((name) => limits[name] !== null && (after[name] ?? 0n) > limits[name]) ?? null;
  }
}

/** A name of the window that a day is in. */
function windowOf(window: Window, day: string): string {
  if (window === 'monthly') return day.slice(0, 7);
  if (window === 'yearly') return day.slice(0, 4);
  if (window === 'daily') return day;
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
  return addDays(day, -weekday);
}

const limitsAbout = (start: Date) => {
  const moment = fc
    .integer({ min: -2, max: 60 })
    .map((days) => new Date(start.getTime() + days * 12 * HOUR_MS));
  const seldom = fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: moment });
  const each = LIMITS.map((name) => {
    const [least, most] = name.startsWith('count.')
      ? [1n, 4n]
      : name === 'perCharge'
        ? [15n, 40n]
        : [20n, 90n];
    const limit = fc.bigInt({ min: least, max: most });
    const none = { weight: name.startsWith('count.') ? 2 : 3, arbitrary: fc.constant(null) };
    return [name, fc.oneof(none, { weight: 1, arbitrary: limit })] as const;
  });
  return fc.record({
    ...(Object.fromEntries(each) as Record<Limit, fc.Arbitrary<bigint | null>>),
    validFrom: seldom,
    validUntil: seldom,
  }) satisfies fc.Arbitrary<SpendingLimits>;
};

const actsFrom = (start: Date) =>
  fc.array(
    fc.oneof(
      {
        weight: 10,
        arbitrary: fc.record({
          do: fc.constant('charge' as const),
          amount: fc.bigInt({ min: 1n, max: 30n }),
        }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('decline' as const), which: fc.nat() }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('move' as const),
          days: fc.constantFrom(1, 1, 2, 6, 30, -1, 364),
          hours: fc.integer({ min: -1, max: 24 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constantFrom('limit' as const, 'renew' as const),
          limits: limitsAbout(start),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('pause' as const),
          hours: fc.constantFrom(null, 1, 24, 48),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('decide' as const),
          decision: fc.constantFrom<Decision>('approve_recurring', 'approve_once', 'suspended', 'deny'),
        }),
      },
    ),
    { minLength: 20, maxLength: 40 },
  );

const stories = fc.constantFrom(...DAYS).chain(([timeZone, day]) => {
  const start = new Date(startOfDay(day, timeZone).getTime() + 20 * HOUR_MS);
  return fc.record({
    timeZone: fc.constant(timeZone),
    start: fc.constant(start),
    limits: limitsAbout(start),
    acts: actsFrom(start),
  });
});

it('charges count in every window, and are refused by the first limit that they pass, as a model in memory has it', async () => {
  const { merchantId, bankId, agreementId } = await standingApproval(db);
  const party = { entityId: merchantId, role: 'merchant' } as const;
  const seen = new Set<string | null>();

  const property = fc.asyncProperty(stories, async ({ timeZone, start, limits: first, acts }) => {
    await undone(installedWith(db, { timeZone }), async (trx) => {
      const model = new Model(first);
      let now = start;
      await setClock(trx, merchantId, now);
      const decide = (renews = false) =>
        applyDecision(trx, agreementId, {
          decision: model.decision,
          blocked: false,
          terms: { currency: 'NGN', limits: model.limits },
          ...(renews && { renews }),
        });
      await decide();
      for (const act of acts) {
        switch (act.do) {
          case 'charge': {
            const { amount } = act;
            const [judged] = await countSpending(trx, merchantId, [agreementId], { amount, currency: 'NGN' });
            if (!judged) throw new Error('nothing was judged');
            const today = calendarDay(judged.at, timeZone);
            const refusal = model.refusal(amount, judged.at, today);
            seen.add(refusal);
            expect([act, judged.refusal]).toEqual([act, refusal]);
            if (refusal !== null) break;
            const day = model.dayAt(today);
            expect(judged).toMatchObject({ day, terms: model.terms });
            model.counted.push({ amount, day, terms: model.terms });
            model.latest = day;
            break;
          }
          case 'decline': {
            const [one] = model.counted.splice(act.which % Math.max(1, model.counted.length), 1);
            if (one) await releaseSpending(trx, [{ ...one, agreementId, currency: 'NGN' }]);
            break;
          }
          case 'move':
            now = new Date(
              Math.max(start.getTime(), now.getTime() + act.days * 24 * HOUR_MS + act.hours * HOUR_MS),
            );
            await setClock(trx, merchantId, now);
            break;
          case 'pause': {
            const { state } = await readDecision(trx, party, agreementId);
            if (state === 'revoked' || state === 'expired') break;
            model.pausedUntil = act.hours === null ? null : new Date(now.getTime() + act.hours * HOUR_MS);
            if (model.pausedUntil) await pauseDecision(trx, bankId, agreementId, model.pausedUntil);
            else await resumeDecision(trx, bankId, agreementId);
            break;
          }
          case 'decide':
            model.decision = act.decision;
            if (act.decision === 'deny') model.pausedUntil = null;
            await decide();
            break;
          default:
            model.limits = act.limits;
            if (act.do === 'renew') model.terms += 1;
            await decide(act.do === 'renew');
        }
        const shown = await readDecision(trx, party, agreementId);
        const at = await trx.oneRow<{ now: Date }>`SELECT business_now(${merchantId}) AS now`;
        const today = calendarDay(at.now, timeZone);
        const spent = spentFrom(shown.spent);
        expect([act, spent]).toEqual([act, model.spent(today)]);
        const limits = limitsFrom(shown.limits);
        expect(limits).toEqual(model.limits);
        const most = chargeableNow({ ...shown, limits, spent });
        const accepts = (amount: bigint) => model.refusal(amount, at.now, today) === null;
        if (most === null) expect(accepts(MAX_AMOUNT_MINOR)).toBe(true);
        else expect([act, most === 0n || accepts(most), accepts(most + 1n)]).toEqual([act, true, false]);
      }
    });
  });
  await fc.assert(property, { numRuns: 60 });
  expect(seen).toEqual(
    new Set([null, 'not_approved', 'consent_not_yet_valid', 'consent_expired', 'consent_paused', ...LIMITS]),
  );
});

const setClock = (trx: Executor, merchantId: string, moment: Date) => trx.rows`
  UPDATE entities SET clock_offset = ${moment} - clock_timestamp() WHERE id = ${merchantId}`;

const RULES = {
  timeZone: 'Africa/Lagos',
  intentWindowS: 86_400,
  approvalWindowS: 900,
  settlementWindowS: 86_400,
  intentsPerCustomerDay: 20,
  approvalsPerCustomerDay: 20,
};

/** @returns the limit that refuses it */
async function billTen({ merchantId, agreementId }: Standing): Promise<Limit | undefined> {
  const { items } = await db.transaction((trx) =>
    acceptCharges(trx, RULES, merchantId, {
      lines: [{ phrase: agreementId, agreementId }],
      charge: { amount: 10n, currency: 'NGN', description: 'Shoes' },
      workflowIdOf: (batchId) => `billing-request/${batchId}`,
    }),
  );
  const [item] = items;
  return item && 'refused' in item ? limitOf(item.refused) : undefined;
}

const OF_WINDOWS = WINDOWS.flatMap((window): [Limit, Window][] => [
  [window, window],
  [`count.${window}`, window],
]);
const BILLS = 50;
const FIT = 7;

it.each(OF_WINDOWS)('of fifty racing bills as many pass `%s` as fit', async (limit) => {
  const most = limit.startsWith('count.') ? BigInt(FIT) : BigInt(FIT) * 10n + 9n;
  const standing = await standingApproval(db, { limits: { [limit]: most } });
  const refusals = await Promise.all(Array.from({ length: BILLS }, () => billTen(standing)));
  expect(refusals.filter((one) => one === undefined)).toHaveLength(FIT);
  expect(refusals.filter((one) => one === limit)).toHaveLength(BILLS - FIT);
});

it('the statement lets through no more by itself, without the locks of its callers', async () => {
  const { merchantId, agreementId } = await standingApproval(db, {
    limits: { monthly: 70n, 'count.total': 9n },
  });
  const count = () =>
    db.transaction((trx) => countSpending(trx, merchantId, [agreementId], { amount: 10n, currency: 'NGN' }));
  const judged = (await Promise.all(Array.from({ length: BILLS }, count))).flat();
  expect(judged.filter(({ refusal }) => refusal === null)).toHaveLength(FIT);
  expect(judged.filter(({ refusal }) => refusal === 'monthly')).toHaveLength(BILLS - FIT);
});

/** Beginnings of windows that are not of a longer one, too. */
const BEGINNINGS = { daily: '2027-06-10', weekly: '2027-06-14', monthly: '2027-07-01', yearly: '2028-01-01' };

it.each(OF_WINDOWS.filter(([, window]) => window !== 'total'))(
  'bills that race over the end of a window of `%s` fit into each of the two exactly, by the time that they show',
  async (limit, window) => {
    const most = limit.startsWith('count.') ? BigInt(FIT) : BigInt(FIT) * 10n;
    const standing = await standingApproval(db, { limits: { [limit]: most } });
    const { merchantId, agreementId } = standing;
    const end = startOfDay(BEGINNINGS[window as keyof typeof BEGINNINGS], RULES.timeZone);
    // Most of them before the race, which lasts no longer than the two that are left.
    await setClock(db, merchantId, new Date(end.getTime() - HOUR_MS));
    for (let n = 2; n < FIT; n++) await billTen(standing);
    await setClock(db, merchantId, new Date(end.getTime() - 400));
    const isOver = async () => {
      const { now } = await db.oneRow<{ now: Date }>`SELECT business_now(${merchantId}) AS now`;
      return now >= end;
    };
    const billUntilFull = async (): Promise<void> => {
      for (;;) {
        const over = await isOver();
        if ((await billTen(standing)) !== undefined && over) return;
      }
    };
    await Promise.all(Array.from({ length: 6 }, billUntilFull));
    const counted = await db.rows`
      SELECT created_at >= ${end} AS later, count(*)::int AS count FROM billing_requests
      WHERE agreement_id = ${agreementId} GROUP BY 1 ORDER BY 1`;
    expect(counted).toEqual([
      { later: false, count: FIT },
      { later: true, count: FIT },
    ]);
  },
);

it('a limit that is set later finds all that was charged before it', async () => {
  const standing = await standingApproval(db, { limits: NO_LIMITS });
  for (let n = 0; n < 3; n++) expect(await billTen(standing)).toBeUndefined();
  for (const limit of ['yearly', 'total', 'count.weekly'] as const) {
    await db.transaction((trx) =>
      applyDecision(trx, standing.agreementId, {
        decision: 'approve_recurring',
        blocked: false,
        terms: { currency: 'NGN', limits: { ...NO_LIMITS, [limit]: limit === 'count.weekly' ? 3n : 39n } },
      }),
    );
    expect(await billTen(standing)).toBe(limit);
  }
});
