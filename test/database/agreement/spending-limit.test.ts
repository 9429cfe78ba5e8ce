import * as fc from 'fast-check';
import { countSpending } from '../../../src/database/agreement/spending-limit';
import type { Transaction } from '../../../src/database/pool/connection';
import { addDays, calendarDay, startOfDay } from '../../../src/domain/calendar';
import { chargeRefusal } from '../../../src/domain/charge';
import { AGREEMENT_DECISIONS } from '../../../src/domain/lifecycle';
import { MAX_AMOUNT_MINOR, MAX_SUM_MINOR } from '../../../src/domain/money';
import { refusingLimit } from '../../../src/domain/spending-limit';
import { databaseOfFile } from '../../support/database';
import { installedWith } from '../../support/keyring';
import { undone } from '../../support/open-transaction';
import { standingApproval, type Standing } from '../../support/standing';

/** The statement that counts an amount, held to the rule that it decides by. */

const { db } = databaseOfFile();
let standing: Standing;
beforeAll(async () => {
  standing = await standingApproval(db);
});

/** Changes of clocks make most of them longer or shorter, in two zones at midnight. */
const DAYS: [zone: string, day: string][] = [
  ['Africa/Lagos', '2027-02-28'],
  ['Europe/Berlin', '2027-03-28'],
  ['Europe/Berlin', '2027-10-31'],
  ['Atlantic/Azores', '2027-10-31'],
  ['America/Havana', '2027-11-07'],
  ['America/Havana', '2027-03-14'],
  ['Pacific/Auckland', '2028-01-01'],
];
const HOUR_MS = 3_600_000;

const aboutZero = fc.constantFrom(-1n, 0n, 1n);
const amounts = fc.bigInt({ min: 1n, max: MAX_AMOUNT_MINOR });
/** At a limit and a minor unit beside it, or anywhere. */
const totals = (limit: bigint | null, amount: bigint) =>
  fc.oneof(
    aboutZero.map((beside) => (limit ?? MAX_SUM_MINOR) - amount + beside),
    fc.bigInt({ min: 0n, max: MAX_SUM_MINOR }),
  );

const cases = fc
  .record({
    amount: amounts,
    limits: fc.record({ daily: fc.option(amounts), monthly: fc.option(amounts) }),
    terms: fc.oneof(
      { weight: 5, arbitrary: fc.constant({ decision: 'approve_recurring', blocked: false } as const) },
      fc.constant({ decision: 'deny', blocked: true } as const),
      fc.record({ decision: fc.constantFrom(...AGREEMENT_DECISIONS), blocked: fc.constant(false) }),
    ),
    currency: fc.oneof({ weight: 5, arbitrary: fc.constant('NGN') }, fc.constant('KES')),
    at: fc.constantFrom(...DAYS),
    dayAfter: fc.constantFrom(0, 1),
    msAfter: fc.oneof(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -HOUR_MS, max: 26 * HOUR_MS })),
    daysSpent: fc.constantFrom(-40, -1, 0, 0, 1, 40, undefined),
    monthsSpent: fc.constantFrom(-1, 0, 0, 1, undefined),
  })
  .chain((one) =>
    fc
      .record({
        onDay: totals(one.limits.daily, one.amount),
        inMonth: totals(one.limits.monthly, one.amount),
      })
      .filter(({ onDay, inMonth }) => onDay >= 0n && inMonth >= 0n)
      .map((sums) => ({ ...one, sums })),
  );

const never = '-infinity';
const monthOf = (day: string, after: number) => {
  const first = new Date(`${day.slice(0, 7)}-01T00:00:00Z`);
  first.setUTCMonth(first.getUTCMonth() + after);
  return first.toISOString().slice(0, 10);
};

const dayOf = async (trx: Transaction) => {
  const { now } = await trx.oneRow<{ now: Date }>`SELECT business_now(${standing.merchantId}) AS now`;
  return calendarDay(now, trx.timeZone);
};

it('a charge is counted exactly where no limit refuses it, on days of any length and to the minor unit', async () => {
  const seen = new Set<string | undefined>();
  const property = fc.asyncProperty(cases, async ({ amount, limits, terms, currency, sums, ...one }) => {
    const [timeZone, day] = one.at;
    const moment = new Date(startOfDay(addDays(day, one.dayAfter), timeZone).getTime() + one.msAfter);
    const today = calendarDay(moment, timeZone);
    const spent = {
      ...sums,
      day: one.daysSpent === undefined ? never : addDays(today, one.daysSpent),
      month: one.monthsSpent === undefined ? never : monthOf(today, one.monthsSpent),
    };
    const [before, counted, after] = await undone(installedWith(db, { timeZone }), async (trx) => {
      await trx.rows`
        UPDATE agreements SET decision = ${terms.decision}, blocked = ${terms.blocked},
          daily_limit = ${limits.daily}, monthly_limit = ${limits.monthly},
          spent_day = ${spent.day}, spent_day_total = ${spent.onDay},
          spent_month = ${spent.month}, spent_month_total = ${spent.inMonth}
        WHERE id = ${standing.agreementId}`;
      await trx.rows`
        UPDATE entities SET clock_offset = ${moment} - clock_timestamp() WHERE id = ${standing.merchantId}`;
      return [
        await dayOf(trx),
        await countSpending(trx, standing.merchantId, [standing.agreementId], { amount, currency }),
        await dayOf(trx),
      ];
    });
    // A midnight that comes meanwhile leaves open by which of two days the statement went.
    fc.pre(before === after);
    const limit = refusingLimit(amount, limits, spent, before);
    const isAgreed = chargeRefusal({ ...terms, currency: 'NGN' }, currency).code === 'limit_reached';
    expect(counted.length === 1).toBe(isAgreed && limit === undefined);
    if (isAgreed) seen.add(limit);
  });
  await fc.assert(property, { numRuns: 400 });
  expect(seen).toEqual(new Set(['daily', 'monthly', undefined]));
});
