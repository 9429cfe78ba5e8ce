import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { dayBegin } from '../../../src/database/clock/day-begin';
import { postEntries } from '../../../src/database/ledger/post-entries';
import { readFinality, readLines, readTotals } from '../../../src/database/ledger/read-statement';
import { onDay } from '../../../src/domain/books/statement';
import { calendarDay, startOfDay } from '../../../src/domain/calendar';
import { explaining } from '../../support/explaining';
import { openBookingCase } from '../../support/bank-file';
import { asSchemaLogin, databaseOfFile } from '../../support/database';
import { anyCharge } from '../../support/ledger';
import { letMidnightPass } from '../../support/midnight';
import { openTransaction } from '../../support/open-transaction';
import { answerBill, bill, charge } from '../../support/settled';
import { moveClock, standingApproval, type Standing } from '../../support/standing';
import { sql } from '../../../src/database/pool/statement';
import { installedWith } from '../../support/keyring';

/** When a settlement day is over for good, and what becomes of what comes too late. */

const timeZone = 'Africa/Lagos';

const file = databaseOfFile();
const { db } = file;
let standing: Standing;
beforeEach(async () => {
  await letMidnightPass();
  standing = await standingApproval(db);
});

const today = async (owner = standing.merchantId): Promise<string> => {
  const found = await db.row<{ now: Date }>`SELECT business_now(${owner}) AS now`;
  return calendarDay(found?.now ?? new Date(0), timeZone);
};
const merchant = () => ({ entityId: standing.merchantId, role: 'merchant' }) as const;
const bank = () => ({ entityId: standing.bankId, role: 'bank' }) as const;
const isFinalFor = async (party: ReturnType<typeof merchant> | ReturnType<typeof bank>, date: string) =>
  (await readFinality(db, onDay(date), party)).final;
const chargedOn = async (date: string) =>
  (await readTotals(db, { party: merchant(), days: onDay(date), currency: 'NGN' })).charges.amount;
const openAtTheEndOf = async (date: string) =>
  (await readTotals(db, { party: merchant(), days: onDay(date), currency: 'NGN' })).exceptionsOpen;

describe('a night on which clocks are set back from 01:00 to 00:00', () => {
  const zone = 'Atlantic/Azores';
  /** 00:20 of the 31st, for the first time. */
  const AFTER_MIDNIGHT = '2027-10-31T00:20:00Z';
  const totalsOf = (date: string) =>
    readTotals(installedWith(db, { timeZone: zone }), {
      party: merchant(),
      days: onDay(date),
      currency: 'NGN',
    });

  it('ends the day before at the first midnight: what opens after it is not open when that ends', async () => {
    await db.rows`
      UPDATE entities SET clock_offset = ${AFTER_MIDNIGHT}::timestamptz - clock_timestamp()
      WHERE id = ${standing.merchantId}`;
    const { id } = await charge(db, standing);
    await answerBill(db, standing, id, null);
    expect((await totalsOf('2027-10-30')).exceptionsOpen).toBe(0);
    expect((await totalsOf('2027-10-31')).exceptionsOpen).toBe(1);
    expect(
      (await readFinality(installedWith(db, { timeZone: zone }), onDay('2027-10-30'), merchant())).final,
    ).toBe(true);
  });

  it.each([
    ['Atlantic/Azores', '2027-10-31', '2027-10-31T00:00:00.000Z'],
    ['Atlantic/Azores', '2028-03-26', '2028-03-26T01:00:00.000Z'],
    ['America/Havana', '2037-11-01', '2037-11-01T04:00:00.000Z'],
    ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z'],
    ['Africa/Lagos', '2026-11-21', '2026-11-20T23:00:00.000Z'],
  ])('and any other night begin the new day when the calendar does: %s, %s', async (name, day, begins) => {
    const [found] = await db.rows<{
      at: Date;
    }>`SELECT ${dayBegin(sql`${day}`, name)} AS at`;
    expect(found?.at.toISOString()).toBe(begins);
    expect(startOfDay(day, name).toISOString()).toBe(begins);
  });
});

describe('a settlement day', () => {
  it('is final for a merchant when its own clock is past it, and for its bank when real time is', async () => {
    const day = await today();
    expect(await isFinalFor(merchant(), day)).toBe(false);
    expect(await isFinalFor(bank(), day)).toBe(false);
    await moveClock(db, standing.merchantId, '1 day');
    expect(await isFinalFor(merchant(), day)).toBe(true);
    expect(await isFinalFor(merchant(), await today())).toBe(false);
    // A merchant that is made tomorrow begins with real time.
    expect(await isFinalFor(bank(), day)).toBe(false);
    expect(await isFinalFor(bank(), '2026-01-31')).toBe(true);
  });

  it('is not final while a charge of it is under way, and has that charge when it is', async () => {
    const day = await today();
    const { id } = await bill(db, standing);
    const settling = await openTransaction(db);
    await answerBillingRequest(settling.trx, standing.bankId, id, {
      outcome: 'approved',
      bankTransactionId: `tx-${id}`,
      action: null,
    });
    await moveClock(db, standing.merchantId, '1 day');
    expect(await isFinalFor(merchant(), day)).toBe(false);
    expect(await chargedOn(day)).toBe(0n);
    // Another's charge is nothing to this merchant, nor is one of this merchant's later days.
    const other = await standingApproval(db);
    const elsewhere = await openTransaction(db);
    await elsewhere.trx.rows`SELECT settling_now(${other.merchantId})`;
    await elsewhere.trx.rows`SELECT settling_now(${standing.merchantId})`;
    await settling.commit();
    expect(await isFinalFor(merchant(), day)).toBe(true);
    expect(await chargedOn(day)).toBe(100n);
    await elsewhere.rollback();
  });

  it.each(['missing_at_bank', 'amount_differs'] as const)(
    'is not final while a bank’s file is judged, and counts what that opens as open (%s)',
    async (kind) => {
      const { id } = await charge(db, standing);
      const day = await today();
      const judging = await openTransaction(db);
      await openBookingCase(judging.trx, {
        kind,
        billingRequestId: id,
        bankId: standing.bankId,
        refundId: null,
        bankTransactionId: `tx-${id}`,
        direction: 'debit',
        amount: 100n,
        currency: 'NGN',
        bookedAmount: kind === 'amount_differs' ? 90n : null,
        bookedCurrency: kind === 'amount_differs' ? 'NGN' : null,
        reference: null,
      });
      await moveClock(db, standing.merchantId, '1 day');
      expect(await isFinalFor(merchant(), day)).toBe(false);
      expect(await openAtTheEndOf(day)).toBe(0);
      await judging.commit();
      expect(await isFinalFor(merchant(), day)).toBe(true);
      expect(await openAtTheEndOf(day)).toBe(1);
    },
  );

  it('is not final while a charge is under way that has read its clock and said nothing yet', async () => {
    const day = await today();
    const settling = await openTransaction(db);
    const read = await settling.trx.row<{ at: Date }>`SELECT settling_now(${standing.merchantId}) AS at`;
    await moveClock(db, standing.merchantId, '2 days');
    expect(await isFinalFor(merchant(), day)).toBe(false);
    // It was told the time when the day was still open, and so is posted to it.
    await postEntries(settling.trx, [entry(read?.at ?? new Date(0))]);
    await settling.commit();
    expect(await isFinalFor(merchant(), day)).toBe(true);
    expect(await chargedOn(day)).toBe(1n);
  });

  it('never changes once it is final: a late entry is posted to today, and says where it belongs', async () => {
    await charge(db, standing);
    const day = await today();
    const noon = new Date(`${day}T12:00:00+01:00`);
    await moveClock(db, standing.merchantId, '40 days');
    expect(await isFinalFor(merchant(), day)).toBe(true);
    const before = await chargedOn(day);

    const late = entry(noon);
    await db.transaction((trx) => postEntries(trx, [late]));
    expect(await chargedOn(day)).toBe(before);
    expect(await chargedOn(await today())).toBe(1n);
    expect(
      await db.row`
      SELECT settlement_day::text AS day, belongs_to::text AS "belongsTo", settled_at AS "settledAt"
      FROM ledger_entries WHERE resource_id = ${late.resourceId}`,
    ).toEqual({ day: await today(), belongsTo: day, settledAt: noon });
  });

  it('does not let a late entry into the day that it is while that ends', async () => {
    const day = await today();
    const correcting = await openTransaction(db);
    await postEntries(correcting.trx, [entry(new Date('2026-01-31T12:00:00Z'))]);
    await moveClock(db, standing.merchantId, '1 day');
    expect(await isFinalFor(merchant(), day)).toBe(false);
    await correcting.commit();
    expect(await isFinalFor(merchant(), day)).toBe(true);
    expect(await chargedOn(day)).toBe(1n);
  });

  it('lets charges of one merchant settle side by side', async () => {
    const open = await Promise.all(Array.from({ length: 6 }, () => openTransaction(db)));
    for (const { trx } of open) {
      await trx.rows`SELECT settling_now(${standing.merchantId})`;
      await postEntries(trx, [entry(new Date())]);
    }
    await Promise.all(open.map((one) => one.commit()));
    expect(await chargedOn(await today())).toBe(6n);
  });
});

it('sums a party up in one step, without a sum of each of its accounts and days before', async () => {
  const plans: string[] = [];
  const party = { entityId: standing.providerId, role: 'provider' } as const;
  await readTotals(explaining(db, plans), { party, days: onDay(await today()), currency: 'NGN' });
  const sums = plans.filter((plan) => plan.includes('ledger_folded_balances'));
  expect(sums.map((plan) => plan.match(/Aggregate/g)?.length)).toEqual([1]);
});

it('reads the lines of a provider’s small merchants together, merchant by merchant', async () => {
  const others = await Promise.all(Array.from({ length: 4 }, () => standingApproval(db)));
  const all = [standing, ...others].toSorted((a, b) => (a.merchantId < b.merchantId ? -1 : 1));
  await asSchemaLogin(
    file.url,
    `UPDATE entities SET provider_id = '${standing.providerId}'
     WHERE id IN (${others.map(({ merchantId }) => `'${merchantId}'`).join(', ')})`,
  );
  for (const one of [...all, ...all.toReversed()]) await charge(db, one);
  let statements = 0;
  const counting = {
    ...db,
    query: (text: string, ...more: unknown[]) => {
      statements += 1;
      return db.query(text, ...(more as []));
    },
  };
  const party = { entityId: standing.providerId, role: 'provider' } as const;
  const read = [];
  for await (const page of readLines(counting, { party, days: onDay(await today()), currency: 'NGN' }))
    read.push(...page);
  expect(read.map(({ merchantId }) => merchantId)).toEqual(
    all.flatMap(({ merchantId }) => [merchantId, merchantId]),
  );
  // The parties, their lines, and that there are no more.
  expect(statements).toBe(3);
});

const entry = (settledAt: Date) => anyCharge(standing, settledAt);
