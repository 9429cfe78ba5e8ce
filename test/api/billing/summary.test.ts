import { recurringRules } from '../../../src/settings/config';
import { row, type Database } from '../../../src/database/pool/connection';
import { foldBalances } from '../../../src/database/ledger/fold-balances';
import { KINDS_OF_REASON } from '../../../src/domain/charge';
import type { Role } from '../../../src/domain/entity';
import { serveApi, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { letMidnightPass } from '../../support/midnight';
import { runSchedule } from '../../support/schedule';
import { answerBill, bill, charge, refund, settleOfEachKind } from '../../support/settled';
import {
  answerCharges,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';
import { asking, dayOf, postCharges } from '../../support/statements';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db, { settings: { RATE_LIMIT_TOKEN_ADDRESS: '999/999' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const ring = () => api.deps.ring;
const standingIn = (terms = {}) => standingApproval(db, ring(), terms);

interface Moved {
  count: number;
  amount: number;
  exact?: string;
}

interface Shown {
  date?: string;
  currency: string;
  charged: Moved;
  declined: Moved & { reasons: ({ reason: string } & Moved)[] };
  refunded: Moved;
  reversed: Moved;
  successRate: number | null;
}

interface Summary {
  timezone: string;
  today: string;
  from: string;
  to: string;
  totals: Shown[];
  days: Shown[];
}

async function summaryOf(standing: Standing, role: Role = 'merchant', query = ''): Promise<Summary> {
  const { status, body } = await (await asking(api, standing, role)).get(`/v1/summary${query}`);
  expect({ status, message: body.message }).toMatchObject({ status: 200 });
  return body.data as unknown as Summary;
}

/** Lets it be this moment by the merchant's clock. */
async function moveTo(moment: string, { merchantId }: Standing): Promise<void> {
  const found = await row<{ now: Date }>(db, 'SELECT business_now(:merchantId) AS now', { merchantId });
  const ms = Date.parse(moment) - (found?.now.getTime() ?? NaN);
  await moveClock(db, merchantId, `${ms} milliseconds`);
}

describe('a summary', () => {
  beforeEach(() => letMidnightPass());

  it('is what was charged, declined, refunded and reversed, and moves as much as the statement says', async () => {
    const standing = await standingIn();
    await settleOfEachKind(db, ring(), standing);
    const today = await dayOf(db, standing.merchantId);
    const moved = {
      currency: 'NGN',
      charged: { count: 4, amount: 4 },
      declined: {
        count: 1,
        amount: 1,
        reasons: [{ reason: 'insufficient_funds', count: 1, amount: 1 }],
      },
      refunded: { count: 1, amount: 0.3 },
      returned: { count: 0, amount: 0 },
      reversed: { count: 1, amount: 1 },
      successRate: 0.8,
    };
    expect(await summaryOf(standing)).toEqual({
      timezone: 'Africa/Lagos',
      today,
      from: `${today.slice(0, 7)}-01`,
      to: today,
      totals: [moved],
      days: [{ date: today, ...moved }],
    });
    expect((await summaryOf(standing, 'provider')).totals).toEqual([moved]);
    // The bank's customers have also paid others.
    const paid = { charged: { count: 6, amount: 9 }, successRate: 0.8571 };
    expect((await summaryOf(standing, 'bank')).totals).toEqual([{ ...moved, ...paid }]);
    for (const role of ['merchant', 'bank', 'provider'] as const) {
      const [total] = (await summaryOf(standing, role)).totals;
      const statement = await (await asking(api, standing, role)).statement(today);
      expect({ charges: total?.charged, refunds: total?.refunded, reversals: total?.reversed }).toEqual({
        charges: statement['charges'],
        refunds: statement['refunds'],
        reversals: statement['reversals'],
      });
    }
  });

  it('shows nobody what is another’s', async () => {
    const [one, other] = [await standingIn(), await standingIn()];
    await charge(db, ring(), one);
    for (const role of ['merchant', 'bank', 'provider'] as const) {
      expect(await summaryOf(other, role)).toMatchObject({ totals: [], days: [] });
    }
  });

  it('knows each reason of the network, and keeps a bank’s own words to one kind', async () => {
    const standing = await standingIn();
    for (const reason of [...KINDS_OF_REASON, 'Mrs Obi has moved', 'constructor']) {
      await bill(db, ring(), standing);
      await answerCharges(db, ring(), standing, reason);
    }
    const { totals } = await summaryOf(standing);
    const counts = totals[0]?.declined.reasons.map(({ reason, count }) => [reason, count]);
    const known = KINDS_OF_REASON.toSorted().map((reason) => [reason, reason === 'other' ? 3 : 1]);
    expect(counts).toEqual(known);
    expect(totals[0]).toMatchObject({ declined: { count: 11, amount: 11 }, successRate: 0 });
  });

  it('counts what a limit has declined before any bank was asked', async () => {
    const standing = await standingIn({ dailyLimit: 100n });
    const scheduleId = await makeSchedule(db, ring(), standing);
    await runSchedule(db, ring(), recurringRules(api.deps.config), scheduleId);
    expect((await summaryOf(standing)).totals).toMatchObject([
      { declined: { count: 1, amount: 1500, reasons: [{ reason: 'limit_reached' }] } },
    ]);
  });

  it('has the days of the network’s zone, by the merchant’s clock, and those that were asked for', async () => {
    const standing = await standingIn();
    await moveTo('2031-01-30T22:58:00Z', standing);
    const { reference } = await charge(db, ring(), standing);
    await answerBill(db, ring(), standing, (await bill(db, ring(), standing)).id, null);
    // Half past midnight in Lagos.
    await moveTo('2031-01-30T23:30:00Z', standing);
    await charge(db, ring(), standing);
    await answerBill(db, ring(), standing, (await bill(db, ring(), standing)).id, null);
    await moveTo('2031-02-02T10:00:00Z', standing);
    await refund(db, ring(), standing, reference, 0.5, 'completed');

    const told = async (query: string) =>
      (await summaryOf(standing, 'merchant', query)).days.map(
        ({ date, charged, declined, refunded }) =>
          `${date} ${charged.count} ${declined.count} ${refunded.count}`,
      );
    expect(await summaryOf(standing)).toMatchObject({ today: '2031-02-02', from: '2031-02-01' });
    expect(await told('')).toEqual(['2031-02-02 0 0 1']);
    expect(await told('?to=2031-01-31')).toEqual(['2031-01-30 1 1 0', '2031-01-31 1 1 0']);
    expect(await told('?from=2031-01-31')).toEqual(['2031-01-31 1 1 0', '2031-02-02 0 0 1']);
    expect(await told('?from=2031-01-31&to=2031-01-31')).toEqual(['2031-01-31 1 1 0']);
  });

  it.each([
    ['?from=2031-02-02&to=2031-02-01', 'query.from'],
    ['?from=2031-01-01&to=2031-04-03', 'query.from'],
    ['?from=2031-02-30', 'query.from'],
    ['?to=today', 'query.to'],
    ['?date=2031-01-01', 'query.date'],
  ])('of %s is a 400', async (query, path) => {
    const standing = await standingIn();
    const { status, body } = await (await asking(api, standing, 'merchant')).get(`/v1/summary${query}`);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ path }]);
    expect(await summaryOf(standing, 'merchant', '?from=2031-01-01&to=2031-04-02')).toMatchObject({
      days: [],
    });
  });

  it('keeps sums exact that no JSON number holds', async () => {
    const standing = await standingIn();
    await postCharges(db, standing, 999_999_999_999n, 1_101);
    const [total] = (await summaryOf(standing)).totals;
    expect(total?.charged).toEqual({ count: 1_101, amount: 11_009_999_999_989, exact: '11009999999988.99' });
  });

  it('is the same when balances are folded, by several at once too, and counts what comes later', async () => {
    const standing = await standingIn();
    await settleOfEachKind(db, ring(), standing);
    const before = await summaryOf(standing);
    await Promise.all([foldBalances(db), foldBalances(db), foldBalances(db)]);
    expect(await row(db, 'SELECT FROM ledger_balance_changes')).toBeUndefined();
    expect(await summaryOf(standing)).toEqual(before);
    await charge(db, ring(), standing);
    expect((await summaryOf(standing)).totals).toMatchObject([{ charged: { count: 5, amount: 5 } }]);
    await foldBalances(db);
    expect((await summaryOf(standing)).totals).toMatchObject([{ charged: { count: 5, amount: 5 } }]);
  });
});
