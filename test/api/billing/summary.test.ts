import { foldBalances } from '../../../src/database/ledger/fold-balances';
import { KINDS_OF_REASON } from '../../../src/domain/charge';
import { recurringRules } from '../../../src/settings/config';
import { letMidnightPass } from '../../support/midnight';
import { runSchedule } from '../../support/schedule';
import { answerBill, bill, charge, refund, settleOfEachKind } from '../../support/settled';
import { ROLES, shareApi, type Caller, type Parties } from '../../support/shared-api';
import { answerCharges, makeSchedule, moveClock } from '../../support/standing';
import { dayOf, postCharges } from '../../support/statements';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  await letMidnightPass();
  parties = await served.parties();
});

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

const summaryOf = async (caller: Caller = parties.merchant, query = '') =>
  (await caller.read(`/v1/summary${query}`)) as unknown as Summary;
const charged = () => charge(served.db, parties);
const declined = async () => answerBill(served.db, parties, (await bill(served.db, parties)).id, null);

/** Lets it be this moment by the merchant's clock. */
async function moveTo(moment: string): Promise<void> {
  const { merchantId } = parties;
  const found = await served.db.row<{ now: Date }>`SELECT business_now(${merchantId}) AS now`;
  const ms = Date.parse(moment) - (found?.now.getTime() ?? NaN);
  await moveClock(served.db, merchantId, `${ms} milliseconds`);
}

describe('a summary', () => {
  it('is what was charged, declined, refunded and reversed, and moves as much as the statement says', async () => {
    await settleOfEachKind(served.db, parties);
    const today = await dayOf(served.db, parties.merchantId);
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
    expect(await summaryOf()).toEqual({
      timezone: 'Africa/Lagos',
      today,
      from: `${today.slice(0, 7)}-01`,
      to: today,
      totals: [moved],
      days: [{ date: today, ...moved }],
    });
    expect((await summaryOf(parties.provider)).totals).toEqual([moved]);
    // The bank's customers have also paid others.
    const paid = { charged: { count: 6, amount: 9 }, successRate: 0.8571 };
    expect((await summaryOf(parties.bank)).totals).toEqual([{ ...moved, ...paid }]);
    const strangers = await served.parties();
    for (const role of ROLES) {
      const [total] = (await summaryOf(parties[role])).totals;
      const statement = await parties[role].read(`/v1/statements?date=${today}`);
      expect({ charges: total?.charged, refunds: total?.refunded, reversals: total?.reversed }).toEqual({
        charges: statement['charges'],
        refunds: statement['refunds'],
        reversals: statement['reversals'],
      });
      expect(await summaryOf(strangers[role])).toMatchObject({ totals: [], days: [] });
    }
  });

  it('knows each reason of the network, and keeps a bank’s own words to one kind', async () => {
    for (const reason of [...KINDS_OF_REASON, 'Mrs Obi has moved', 'constructor']) {
      await bill(served.db, parties);
      await answerCharges(served.db, parties, reason);
    }
    const { totals } = await summaryOf();
    const counts = totals[0]?.declined.reasons.map(({ reason, count }) => [reason, count]);
    const known = KINDS_OF_REASON.toSorted().map((reason) => [reason, reason === 'other' ? 3 : 1]);
    expect(counts).toEqual(known);
    expect(totals[0]).toMatchObject({ declined: { count: 11, amount: 11 }, successRate: 0 });
  });

  it('counts what a limit has declined before any bank was asked', async () => {
    parties = await served.parties({ limits: { daily: 100n } });
    const scheduleId = await makeSchedule(served.db, parties);
    await runSchedule(served.db, recurringRules(served.api.deps.config), scheduleId);
    expect((await summaryOf()).totals).toMatchObject([
      { declined: { count: 1, amount: 1500, reasons: [{ reason: 'limit_reached' }] } },
    ]);
  });

  it('has the days of the network’s zone, by the merchant’s clock, and those that were asked for', async () => {
    await moveTo('2031-01-30T22:58:00Z');
    const { reference } = await charged();
    await declined();
    // Half past midnight in Lagos.
    await moveTo('2031-01-30T23:30:00Z');
    await charged();
    await declined();
    await moveTo('2031-02-02T10:00:00Z');
    await refund(served.db, parties, reference, 0.5, 'completed');

    const told = async (query: string) =>
      (await summaryOf(parties.merchant, query)).days.map(
        (day) => `${day.date} ${day.charged.count} ${day.declined.count} ${day.refunded.count}`,
      );
    expect(await summaryOf()).toMatchObject({ today: '2031-02-02', from: '2031-02-01' });
    expect(await told('')).toEqual(['2031-02-02 0 0 1']);
    expect(await told('?to=2031-01-31')).toEqual(['2031-01-30 1 1 0', '2031-01-31 1 1 0']);
    expect(await told('?from=2031-01-31')).toEqual(['2031-01-31 1 1 0', '2031-02-02 0 0 1']);
    expect(await told('?from=2031-01-31&to=2031-01-31')).toEqual(['2031-01-31 1 1 0']);
  });

  it('is of at most 92 days, from one that is not after the last', async () => {
    for (const [query, path] of [
      ['?from=2031-02-02&to=2031-02-01', 'query.from'],
      ['?from=2031-01-01&to=2031-04-03', 'query.from'],
      ['?from=2031-02-30', 'query.from'],
      ['?to=today', 'query.to'],
    ]) {
      expect(await parties.merchant.get(`/v1/summary${query}`)).toMatchObject({
        status: 400,
        body: { errors: [{ path }] },
      });
    }
    expect((await summaryOf(parties.merchant, '?from=2031-01-01&to=2031-04-02')).days).toEqual([]);
  });

  it('keeps sums exact that no JSON number holds', async () => {
    await postCharges(served.db, parties, 999_999_999_999n, 1_101);
    const [total] = (await summaryOf()).totals;
    expect(total?.charged).toEqual({ count: 1_101, amount: 11_009_999_999_989, exact: '11009999999988.99' });
  });

  it('is the same when balances are folded, by several at once too, and counts what comes later', async () => {
    const { db } = served;
    await settleOfEachKind(db, parties);
    const before = await summaryOf();
    await Promise.all([foldBalances(db), foldBalances(db), foldBalances(db)]);
    expect(await db.row`SELECT FROM ledger_balance_changes`).toBeUndefined();
    expect(await summaryOf()).toEqual(before);
    await charged();
    for (let folded = 0; folded < 2; folded++) {
      expect((await summaryOf()).totals).toMatchObject([{ charged: { count: 5, amount: 5 } }]);
      await foldBalances(db);
    }
  });
});
