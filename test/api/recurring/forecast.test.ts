import { changeTrust } from '../../../src/database/entity-control/control-entity';
import { forecast, successRate } from '../../../src/database/recurring/forecast-billings';
import { Failure } from '../../../src/domain/failures';
import { recurringRules } from '../../../src/settings/config';
import { explaining } from '../../support/explaining';
import { serveApi } from '../../support/api';
import { asSchemaLogin, unrecorded } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { runSchedule } from '../../support/schedule';
import { callerAt, ROLES, shareApi, type Caller, type Parties } from '../../support/shared-api';
import { answerCharges, makeSchedule, moveClock } from '../../support/standing';

/** The forecast of schedules' charges by the merchant's clock, and that they come true. */

const served = shareApi();
let parties: Parties;
/** It is 20 January 2031, 11 o'clock in Lagos, for the merchant of each test. */
beforeEach(async () => {
  parties = await served.parties();
  await moveTo('2031-01-20T10:00:00Z');
});

async function nowOf({ merchantId }: Parties): Promise<Date> {
  const found = await served.db.row<{ now: Date }>`SELECT business_now(${merchantId}) AS now`;
  return found?.now ?? new Date(NaN);
}

async function moveTo(moment: string, of = parties): Promise<void> {
  const ms = Date.parse(moment) - (await nowOf(of)).getTime();
  await moveClock(served.db, of.merchantId, `${ms} milliseconds`);
}

type Terms = Parameters<typeof makeSchedule>[2];
const make = (startAt: string, terms: Terms = {}, of = parties) =>
  makeSchedule(served.db, of, { startAt: new Date(startAt), ...terms });

const rules = () => recurringRules(served.api.deps.config);
const run = (scheduleId: string) => runSchedule(served.db, rules(), scheduleId);
const answer = (declineReason?: string) => answerCharges(served.db, parties, declineReason);
const act = async (scheduleId: string, action: 'pause' | 'resume') =>
  expect((await parties.merchant.post(`/v1/billing/recurring/${scheduleId}/${action}`)).status).toBe(200);

interface Day {
  date: string;
  count: number;
  amount: number;
}

const ask = (query = '', by: Caller = parties.merchant) => by.read(`/v1/forecast${query}`);
const days = async (query = '', by?: Caller) => (await ask(query, by))['days'] as Day[];
/** `date count×amount` of each. */
const told = async (query = '', by?: Caller) =>
  (await days(query, by)).map(({ date, count, amount }) => `${date} ${count}×${amount}`);
const dates = async (query = '', by?: Caller) => (await days(query, by)).map(({ date }) => date);
const rate = async (query = '', by?: Caller) => (await ask(query, by))['successRate'];

const searched = async (by: Caller, body: object) =>
  (await by.post('/v1/billing/recurring/search', body)).body.data as {
    schedules: { scheduleId: string }[];
  };

/** One billing that ended on 20 January, or at the moment given. */
async function billed(reason?: string, at = '2031-01-20T10:30:00Z'): Promise<void> {
  const scheduleId = await make(at, { maxBillings: 1 });
  await moveTo(at.replace(':00Z', ':01Z'));
  await run(scheduleId);
  await answer(reason);
  await run(scheduleId);
}

describe('what is to come', () => {
  it('is summed up per day of the network’s zone, across a month that is too short for its day', async () => {
    // 23:30 in London is half past midnight in Lagos.
    await make('2031-01-30T23:30:00Z');
    await make('2031-02-26T09:00:00Z', { frequency: 'daily', amount: 10_050n });
    expect(await told('?days=44')).toEqual([
      '2031-01-31 1×1500',
      '2031-02-26 1×100.5',
      '2031-02-27 1×100.5',
      '2031-02-28 2×1600.5',
      '2031-03-01 1×100.5',
      '2031-03-02 1×100.5',
      '2031-03-03 1×100.5',
      '2031-03-04 1×100.5',
    ]);
  });

  it('has the days of another zone where the network is there, also over a change of its clocks', async () => {
    const berlin = await serveApi(served.db, { settings: { NETWORK_TIMEZONE: 'Europe/Berlin' } });
    await moveTo('2031-03-28T10:00:00Z');
    // Half past midnight: from 30 March on that is an hour earlier in London.
    await make('2031-03-28T23:30:00Z', { frequency: 'daily', maxBillings: 3 });
    const found = await dates('', callerAt(berlin, parties.credentials.merchant));
    expect(found).toEqual(['2031-03-29', '2031-03-30', '2031-03-31']);
    await berlin.close();
  });

  it('is 30 days from today on, and no day more', async () => {
    await make('2031-01-20T11:00:00Z', { frequency: 'daily' });
    const ahead = await dates();
    expect(ahead).toHaveLength(30);
    expect([ahead[0], ahead.at(-1)]).toEqual(['2031-01-20', '2031-02-18']);
    expect(await dates('?days=1')).toEqual(['2031-01-20']);
    expect(await dates('?days=90')).toHaveLength(90);
  });

  it.each(['0', '91', '1.5'])('of %s days is a 400', async (asked) => {
    expect(await parties.merchant.get(`/v1/forecast?days=${asked}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'query.days' }] },
    });
  });

  it('is nothing of a schedule that is paused, and all of it once it is resumed', async () => {
    const scheduleId = await make('2031-01-31T09:00:00Z');
    await act(scheduleId, 'pause');
    expect(await dates()).toEqual([]);
    await act(scheduleId, 'resume');
    expect(await dates()).toEqual(['2031-01-31']);
  });

  it('is nothing of a merchant that is not trusted, also where its schedules have not noticed', async () => {
    const scheduleId = await make('2031-01-31T09:00:00Z');
    const { merchantId } = parties;
    await served.db.transaction((trx) => changeTrust(trx, OPERATOR, { merchantId, trustLevel: 'untrusted' }));
    expect(await dates()).toEqual([]);
    await served.db
      .rows`UPDATE schedules SET status = 'active', suspended_reason = NULL WHERE id = ${scheduleId}`;
    expect(await dates()).toEqual([]);
  });

  it('counts what was declined on the day of its retry, for what it was then, and what the bank has not at all', async () => {
    const scheduleId = await make('2031-01-20T10:30:00Z', { maxBillings: 2 });
    await moveTo('2031-01-20T10:30:01Z');
    await run(scheduleId);
    // Asked, and not answered yet.
    expect(await told()).toEqual([]);
    await answer('insufficient_funds');
    // Declined: the same before and after its schedule has looked.
    expect(await told()).toEqual(['2031-01-21 1×1500']);
    expect(await run(scheduleId)).toMatchObject({ status: 'past_due' });
    await unrecorded(served.database.url, `UPDATE schedules SET amount = 200000 WHERE id = '${scheduleId}'`);
    expect(await told('?days=40')).toEqual(['2031-01-21 1×1500', '2031-02-20 1×2000']);
  });

  it('skips what was due while it was held, and charges today what was missed after that', async () => {
    const scheduleId = await make('2031-01-21T09:00:00Z', { frequency: 'daily' });
    await run(scheduleId);
    await moveTo('2031-01-21T08:00:00Z');
    await act(scheduleId, 'pause');
    await moveTo('2031-01-22T08:00:00Z');
    await act(scheduleId, 'resume');
    // Its workflow misses two due dates.
    await moveTo('2031-01-23T12:00:00Z');
    expect(await told('?days=3')).toEqual(['2031-01-23 2×3000', '2031-01-24 1×1500', '2031-01-25 1×1500']);
  });

  it('keeps sums exact that no JSON number holds', async () => {
    const scheduleId = await make('2031-01-21T09:00:00Z', { amount: 999_999_999_999n });
    expect(await days()).toEqual([
      { date: '2031-01-21', count: 1, amount: 9_999_999_999.99, currency: 'NGN' },
    ]);
    await served.db.rows`
      INSERT INTO schedules
      SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'sch_00' || right(s.merchant_id,
        19) || lpad(n::text, 5, '0')))).*
      FROM schedules s, generate_series(1, 1100) AS n WHERE s.id = ${scheduleId}`;
    // 1 101 of them, more than two pages: 1 100 999 999 998 899 kobo.
    expect(await days()).toEqual([
      {
        date: '2031-01-21',
        count: 1101,
        amount: 11_009_999_999_989,
        currency: 'NGN',
        exact: '11009999999988.99',
      },
    ]);
  });

  it('is told to nobody, rather than in part, where it would take too long', async () => {
    await make('2031-01-31T09:00:00Z');
    const { merchantId } = parties;
    const late = forecast(served.db, rules(), { merchantId }, { days: 30, deadline: performance.now() - 1 });
    await expect(late).rejects.toThrow(Failure);
    await expect(late).rejects.toMatchObject({ code: 'invalid_request', problems: [{ path: 'query.days' }] });
  });
});

describe('how much of it may be expected to be paid', () => {
  it('is the part of the billings that was paid, the same to all whose they are', async () => {
    for (const role of ROLES) expect(await rate('', parties[role])).toBeNull();
    await billed();
    await billed('account_closed', '2031-01-20T11:30:00Z');
    await billed(undefined, '2031-01-20T12:30:00Z');
    await make('2031-01-31T09:00:00Z');
    const { merchantId } = parties;
    for (const role of ROLES) {
      expect(await rate('', parties[role])).toBe(2 / 3);
      expect(await rate(`?merchantId=${merchantId}`, parties[role])).toBe(2 / 3);
      expect(await rate('?merchantId=none', parties[role])).toBeNull();
    }
    expect(await rate('', (await served.parties()).merchant)).toBeNull();
  });

  it('is of three months, by the merchant’s clock', async () => {
    await billed('account_closed');
    await moveTo('2031-04-20T10:00:00Z');
    expect(await rate()).toBe(0);
    await moveTo('2031-04-20T10:31:00Z');
    expect(await rate('', parties.bank)).toBeNull();
    await billed(undefined, '2031-04-20T11:30:00Z');
    expect(await rate()).toBe(1);
  });
});

it('finds the billings of its rate among so many charges, however few of them are of schedules', async () => {
  const { db } = served;
  const plans: string[] = [];
  await successRate(explaining(db, plans), { merchantId: parties.merchantId });
  // Below the limit nothing that it reads is passed over.
  expect(plans).toEqual([expect.stringMatching(/Filter: \(looked\.schedule_id IS NOT NULL\)\n *-> +Limit /)]);
});

describe('who sees it', () => {
  it('is the merchant, its provider and the customers’ bank, and no stranger', async () => {
    await make('2031-01-31T09:00:00Z');
    const stranger = await served.parties();
    await moveTo('2031-01-20T10:00:00Z', stranger);
    await make('2031-02-01T09:00:00Z', {}, stranger);
    for (const role of ROLES) {
      expect({ role, dates: await dates('', parties[role]) }).toEqual({ role, dates: ['2031-01-31'] });
      expect(await dates('', stranger[role])).toEqual(['2031-02-01']);
      expect(await dates(`?merchantId=${stranger.merchantId}`, parties[role])).toEqual([]);
      expect(await dates(`?merchantId=${parties.merchantId}`, parties[role])).toEqual(['2031-01-31']);
    }
  });

  it('leads from each day to the schedules that it is the sum of, for each party', async () => {
    const daily = await make('2031-01-30T09:00:00Z', { frequency: 'daily', amount: 100n });
    const once = await make('2031-01-31T09:00:00Z', { maxBillings: 1 });
    for (const role of ROLES) {
      expect(await told('?days=13', parties[role])).toEqual([
        '2031-01-30 1×1',
        '2031-01-31 2×1501',
        '2031-02-01 1×1',
      ]);
      const on = async (dueOn: string, dueInDays = 13) =>
        (await searched(parties[role], { dueOn, dueInDays })).schedules.map(({ scheduleId }) => scheduleId);
      expect(await on('2031-01-31')).toEqual([once, daily]);
      expect(await on('2031-02-01')).toEqual([daily]);
      expect(await on('2031-01-29')).toEqual([]);
      // The day is not of that forecast.
      expect(await on('2031-02-01', 12)).toEqual([]);
    }
    const stranger = await served.parties();
    await moveTo('2031-01-20T10:00:00Z', stranger);
    expect(await searched(stranger.provider, { dueOn: '2031-01-31' })).toMatchObject({ schedules: [] });
  });

  it('has each schedule of a day once in a file of many pages, oldest first, and those alone', async () => {
    const first = await make('2031-01-31T09:00:00Z', { maxBillings: 1 });
    await make('2031-02-01T09:00:00Z', { maxBillings: 1 });
    await served.db.rows`
      INSERT INTO schedules
      SELECT (jsonb_populate_record(s, jsonb_build_object(
        'id', 'sch_zz' || right(s.merchant_id, 19) || lpad(n::text, 5, '0'),
        'description', CASE WHEN n % 110 = 0 THEN 'Gold' ELSE 'Tin' END))).*
      FROM schedules s, generate_series(1, 230) AS n WHERE s.id = ${first}`;
    const due = { dueOn: '2031-01-31', dueInDays: 13, format: 'csv' };
    const ids = async (more: object) => {
      const { body } = await parties.merchant.post('/v1/billing/recurring/search', { ...due, ...more });
      return (body as unknown as string).match(/sch_\w+/g) ?? [];
    };
    const all = await ids({});
    expect(all).toHaveLength(231);
    expect(all).toEqual([...new Set(all)].toSorted());
    expect(all).toContain(first);
    // A page without a match is not the last.
    expect((await ids({ search: 'gold' })).map((id) => id.slice(-5))).toEqual(['00110', '00220']);
  });

  it('is a provider for all its merchants together, each by its own clock, or for one', async () => {
    await make('2031-01-31T09:00:00Z');
    const other = await served.parties();
    const { provider, providerId } = parties;
    await asSchemaLogin(
      served.database.url,
      `UPDATE entities SET provider_id = '${providerId}' WHERE id = '${other.merchantId}'`,
    );
    await moveTo('2031-01-31T07:00:00Z', other);
    await make('2031-01-31T09:00:00Z', {}, other);
    expect(await told('', provider)).toEqual(['2031-01-31 2×3000', '2031-02-28 1×1500']);
    expect(await told(`?merchantId=${other.merchantId}`, provider)).toEqual([
      '2031-01-31 1×1500',
      '2031-02-28 1×1500',
    ]);
  });
});

describe('what the schedule then does', () => {
  it.each([
    ['daily', { frequency: 'daily' as const, maxBillings: 20 }],
    ['weekly', { frequency: 'weekly' as const, endAt: new Date('2031-03-20T00:00:00Z') }],
    ['monthly', { frequency: 'monthly' as const }],
  ])('is what was foreseen, to the day: a %s one whose first charge was declined', async (_, terms) => {
    const scheduleId = await make('2031-01-31T22:45:00Z', terms);
    await run(scheduleId);
    await moveTo('2031-01-31T22:45:01Z');
    await run(scheduleId);
    await answer('insufficient_funds');
    await run(scheduleId);
    const foreseen = await told('?days=60');
    expect(foreseen.length).toBeGreaterThanOrEqual(2);

    const from = await nowOf(parties);
    const end = '2031-03-31T23:00:00Z';
    for (;;) {
      const { sleepMs } = await run(scheduleId);
      if ((await answer()) > 0) continue;
      const now = await nowOf(parties);
      if (sleepMs === null || now.getTime() + sleepMs >= Date.parse(end)) break;
      await moveClock(served.db, parties.merchantId, `${sleepMs} milliseconds`);
    }
    const charged = await served.db.rows<{ date: string; count: number; amount: bigint }>`
      SELECT to_char(created_at AT TIME ZONE 'Africa/Lagos', 'YYYY-MM-DD') AS date, count(*)::int AS count,
        sum(amount)::bigint AS amount
      FROM billing_requests WHERE schedule_id = ${scheduleId} AND created_at > ${from} GROUP BY 1 ORDER BY 1`;
    expect(charged.map(({ date, count, amount }) => `${date} ${count}×${amount / 100n}`)).toEqual(foreseen);
  });
});
