import { createHash } from 'node:crypto';
import { showStatement } from '../../../src/api/billing/statement';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { newId } from '../../../src/database/identifier/new-id';
import { closePeriod, reopenPeriod } from '../../../src/database/ledger/close-period';
import { postEntries } from '../../../src/database/ledger/post-entries';
import { readPositions, type Position } from '../../../src/database/ledger/read-positions';
import { type Database } from '../../../src/database/pool/connection';
import { LIST_REACH } from '../../../src/database/query/list-page';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import { entryOf } from '../../../src/domain/books/ledger';
import { eachDay, HASHED_MAX, MOVEMENTS } from '../../../src/domain/books/statement';
import { asSchemaLogin } from '../../support/database';
import { eventually } from '../../support/engine';
import { postThen } from '../../support/ledger';
import { letMidnightPass } from '../../support/midnight';
import { OPERATOR } from '../../support/operator';
import { person } from '../../support/person';
import {
  answerBill,
  charge,
  payAnother,
  refund,
  settleCredit,
  settleOfEachKind,
  resolveAsOperator,
} from '../../support/settled';
import { callerAt, ROLES, shareApi, type Caller, type Parties, type Shown } from '../../support/shared-api';
import { lookupIdOf, moveClock, type Standing } from '../../support/standing';
import { dayOf, linesOf, postCharges, settleMany, totalOf } from '../../support/statements';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';

/** Statements and positions: who is owed what, day by day, and that it stays so. */

const served = shareApi({ ACCEPTED_CURRENCIES: 'NGN,JPY' });
let one: Parties;
beforeEach(async () => {
  await letMidnightPass();
  one = await served.parties();
});

const LAGOS = 'Africa/Lagos';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const statement = (caller: Caller, date: string, more = '') =>
  caller.read(`/v1/statements?date=${date}${more}`);
const fileOf = (caller: Caller, date: string) => caller.file(`/v1/statements/${date}.csv`);
const positions = (caller: Caller, date: string) => caller.list(`/v1/positions?date=${date}`);
const today = () => dayOf(served.db, one.merchantId);

const charged = (of: Standing = one) => charge(served.db, of);
const refunded = (reference: string, amount: number, action?: 'completed') =>
  refund(served.db, one, reference, amount, action);
const deny = (id: string) => answerBill(served.db, one, id, null);

const resolveOf = (chargeId: string, resolution: Resolution, bankTransactionId?: string) =>
  resolveAsOperator(served.db, chargeId, resolution, bankTransactionId);

/** A charge that is written off, and whose bank rejects the refund of a part after that. */
async function chargeWrittenOff(): Promise<string> {
  const { id, reference } = await charged();
  const refundId = await refunded(reference, 0.4);
  await deny(id);
  await resolveOf(id, 'written_off');
  const rejected = { action: 'rejected', bankTransactionId: null, reason: 'account_closed' } as const;
  await served.db.transaction((trx) => answerRefund(trx, one.bankId, refundId, rejected));
  return reference;
}

describe('a statement', () => {
  it('says what each party is owed after the day and what has moved, and its file has each line and a total', async () => {
    const { payee } = await settleOfEachKind(served.db, one);
    const day = await today();
    const nothing = { count: 0, amount: 0 };
    const common = {
      date: day,
      currency: 'NGN',
      timezone: LAGOS,
      final: false,
      exceptionsOpen: 0,
      openingBalance: 0,
      refunds: { count: 1, amount: 0.3 },
      refundReturns: nothing,
      reversals: { count: 1, amount: 1 },
      credits: nothing,
    };
    const ofMerchant = { ...common, closingBalance: 2.7, charges: { count: 4, amount: 4 } };
    const ofBank = {
      ...common,
      closingBalance: -6.7,
      charges: { count: 6, amount: 9 },
      writeOffs: { count: 1, amount: 1 },
    };
    for (const role of ROLES) {
      const isBank = role === 'bank';
      const history = await one[role].file('/v1/transaction-history?format=csv');
      const settled = new Set(history.split('\r\n').filter((line) => /,(successful|completed),/.test(line)));
      const file = await fileOf(one[role], day);
      expect(await statement(one[role], day)).toEqual({
        ...(isBank ? ofBank : ofMerchant),
        sha256: sha256(file),
      });
      expect(file.split('\r\n')[0]).toBe(history.split('\r\n')[0]);
      // All that has settled is there, word for word; of what is on its way back, only what
      // arrived.
      expect(linesOf(file).filter((line) => settled.has(line))).toHaveLength(settled.size - 1);
      expect(linesOf(file).filter((line) => line.includes(',write_off,'))).toHaveLength(isBank ? 1 : 0);
      expect(linesOf(file)).toHaveLength(isBank ? 9 : 6);
      expect(totalOf(file)).toEqual(isBank ? ['total', '9', '11.3'] : ['total', '6', '5.3']);
    }
    expect(await statement(one.provider, day, `&merchantId=${one.merchantId}`)).toMatchObject(ofMerchant);
    // One of the two is still in transit: its money is the payee's bank's all the same.
    const payeesBank = await statement(callerAt(served.api, payee.credentials.bank), day);
    expect(payeesBank).toMatchObject({
      closingBalance: 5,
      charges: nothing,
      credits: { count: 2, amount: 5 },
    });
    expect(await statement(one.merchant, day, '&currency=JPY')).toMatchObject({
      currency: 'JPY',
      closingBalance: 0,
      charges: nothing,
    });
  });

  it('of a bank that pays to a customer of its own has both sides of it, and one line', async () => {
    const { customers } = await served.db.transaction((trx) =>
      onboardBatch(trx, one.bankId, [{ person: person() }]),
    );
    const neighbour = { ...one, customerId: String(customers[0]?.customerId) };
    await payAnother(served.db, one, neighbour);
    const day = await today();
    expect(await statement(one.bank, day)).toMatchObject({
      closingBalance: 0,
      charges: { count: 1, amount: 2.5 },
      credits: { count: 1, amount: 2.5 },
    });
    expect(totalOf(await fileOf(one.bank, day))).toEqual(['total', '1', '2.5']);
  });

  it('of a payment that did not stay takes it from the payee’s bank again', async () => {
    const paid = await served.parties();
    const { id, deliveryId } = await payAnother(served.db, one, paid);
    await settleCredit(served.db, deliveryId);
    await deny(id);
    const day = await today();
    expect(await statement(paid.bank, day)).toMatchObject({ exceptionsOpen: 1, closingBalance: 2.5 });
    await resolveOf(id, 'no_money_moved');
    expect(await statement(paid.bank, day)).toMatchObject({
      credits: { count: 1, amount: 2.5 },
      creditsReversed: { count: 1, amount: 2.5 },
      closingBalance: 0,
      exceptionsOpen: 0,
    });
    expect(await statement(one.bank, day)).toMatchObject({
      charges: { count: 1, amount: 2.5 },
      reversals: { count: 1, amount: 2.5 },
      closingBalance: 0,
    });
  });

  it('of more lines than a page has each of them once, also those that a bank was let off', async () => {
    const reference = await chargeWrittenOff();
    // A line missing in one page would hide those that follow.
    await settleMany(served.db, one, 1_001);
    const day = await today();
    expect(await statement(one.bank, day)).toMatchObject({
      charges: { count: 1_002, amount: 1_002 },
      writeOffs: { count: 2, amount: 1 },
      closingBalance: -1_001,
    });
    for (const role of ROLES) {
      const isBank = role === 'bank';
      const file = await fileOf(one[role], day);
      const writtenOff = linesOf(file).filter((line) => line.includes(`,${reference},write_off,`));
      expect(writtenOff).toHaveLength(isBank ? 2 : 0);
      expect(new Set(linesOf(file)).size).toBe(isBank ? 1_004 : 1_002);
      expect(totalOf(file)).toEqual(isBank ? ['total', '1004', '1003'] : ['total', '1002', '1002']);
    }
  });

  it('opens with what the day before closed with', async () => {
    await charged();
    const day = await today();
    await moveClock(served.db, one.merchantId, '1 day');
    await charged();
    expect(await statement(one.merchant, day)).toMatchObject({ openingBalance: 0, closingBalance: 1 });
    expect(await statement(one.merchant, await today())).toMatchObject({
      openingBalance: 1,
      closingBalance: 2,
    });
    expect(await statement(one.merchant, '2999-12-31')).toMatchObject({
      openingBalance: 2,
      closingBalance: 2,
    });
  });

  it('of a day that is over keeps its bytes, whatever comes of its charges later', async () => {
    const { reference } = await charged();
    await refunded(reference, 0.2, 'completed');
    await refunded(reference, 0.1);
    const day = await today();
    expect(await statement(one.merchant, day)).toMatchObject({ final: false });
    await moveClock(served.db, one.merchantId, '1 day');

    const first = await fileOf(one.merchant, day);
    await refunded(reference, 0.3, 'completed');
    expect(linesOf(first)[0]?.split(',')).toContain('0.2');
    expect(await fileOf(one.merchant, day)).toBe(first);
    const final = { final: true, sha256: sha256(first) };
    expect(await statement(one.merchant, day)).toMatchObject(final);
    expect(await statement(one.provider, day, `&merchantId=${one.merchantId}`)).toMatchObject(final);
    // To its bank the day goes on: other merchants' clocks show it still.
    expect(await statement(one.bank, day)).toMatchObject({ final: false });
    expect(await statement(one.provider, day)).toMatchObject({ final: false });
    expect(await statement(one.bank, '2026-01-31')).toMatchObject({ final: true, closingBalance: 0 });
  });

  it('of more lines than are hashed while somebody waits has its SHA-256 once the file is taken; of more than fifteen digits is told in full', async () => {
    await postCharges(served.db, one, 999_999_999_999n, HASHED_MAX);
    await postCharges(served.db, one, 1n, 1);
    const day = await today();
    await moveClock(served.db, one.merchantId, '1 day');
    expect(await statement(one.merchant, day)).toMatchObject({
      final: true,
      sha256: null,
      charges: { count: 10_001, amount: 99_999_999_999_900 },
      exact: { charges: '99999999999900.01', closingBalance: '99999999999900.01' },
    });
    const sum = { owedByYou: '99999999999900.01', net: '-99999999999900.01' };
    expect(await positions(one.bank, day)).toMatchObject([{ owedByYou: 99_999_999_999_900, exact: sum }]);
    const file = await fileOf(one.merchant, day);
    await eventually(async () => (await statement(one.merchant, day))['sha256'] === sha256(file));
  });

  it('is where the history sends a caller that asks for more of what has settled than a list reaches', async () => {
    const { id } = await charged();
    await asSchemaLogin(
      served.database.url,
      `SET session_replication_role = replica;
       INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
         amount, currency, description, approval_required, expires_at, workflow_id, created_at, status, closed_by, closed_at,
         bank_transaction_id)
       SELECT 'brq_' || n, 'R' || n, batch_id, merchant_id, customer_id, bank_id, lookup_id,
         amount, currency, description, approval_required, expires_at, workflow_id, created_at, status, closed_by, closed_at,
         'tx-' || n
       FROM billing_requests b, generate_series(1, ${LIST_REACH}) AS n WHERE b.id = '${id}'`,
    );
    expect(await one.merchant.get('/v1/transaction-history?settledFrom=2026-01-01T00:00:00Z')).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('/v1/statements/:date.csv') as string },
    });
  });

  it.each([
    ['', 'query.date'],
    ['?date=2026-02-30', 'query.date'],
    ['?date=30.01.2026', 'query.date'],
    ['?month=2026-13', 'query.month'],
    ['?month=2026-01-31', 'query.month'],
    ['?month=2999-12', 'query.month'],
    ['?date=2026-01-31&month=2026-01', 'query.month'],
    ['?date=2026-01-31&currency=USD', 'query.currency'],
    ['?date=2026-01-31&currency=ABC', 'query.currency'],
  ])(
    'needs a day that there is, or a month that has begun, and a currency: %s gets 400',
    async (query, path) => {
      const { status, body } = await one.merchant.get(`/v1/statements${query}`);
      expect([status, body.errors?.map((problem) => problem.path)]).toEqual([400, [path]]);
      expect((await one.merchant.get('/v1/statements/2026-02-30.csv')).status).toBe(404);
      expect((await one.merchant.get('/v1/statements/2999-12.csv')).status).toBe(400);
    },
  );

  it('of a currency that is no longer accepted can be asked for, as what is owed in it can', async () => {
    const { bankId, merchantId } = one;
    const day = await today();
    const entry = entryOf({
      kind: 'charge',
      resourceId: newId('billingRequest'),
      settledAt: new Date(),
      paid: { amount: 7n, currency: 'USD', bankId, merchantId, billerId: merchantId },
    });
    await served.db.transaction((trx) => postEntries(trx, [entry]));
    expect(await positions(one.bank, day)).toMatchObject([{ currency: 'USD', net: -0.07 }]);
    expect(await statement(one.bank, day, '&currency=USD')).toMatchObject({
      closingBalance: -0.07,
      sha256: sha256(await one.bank.file(`/v1/statements/${day}.csv?currency=USD`)),
    });
    const other = await served.parties();
    for (const path of [`?date=${day}&`, `/${day}.csv?`]) {
      const { status, body } = await other.bank.get(`/v1/statements${path}currency=USD`);
      const message = 'must be one of NGN, JPY';
      expect([status, body.errors]).toEqual([400, [{ path: 'query.currency', message }]]);
    }
  });

  it('is of one merchant for its provider, never for a bank', async () => {
    for (const path of [`/v1/statements?date=2026-01-31&`, `/v1/statements/2026-01-31.csv?`]) {
      expect(await one.bank.get(`${path}merchantId=${one.merchantId}`)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'query.merchantId' }] },
      });
    }
  });

  it('is not final where its month is reopened and corrected while it is read', async () => {
    const [month, date] = ['2026-03-01', '2026-03-10'];
    await postThen(served.db, date, one);
    await served.db.transaction((trx) => closePeriod(trx, OPERATOR, month));
    expect(await statement(one.merchant, date)).toMatchObject({ final: true, charges: { count: 1 } });

    // Between its first question and what is read, an operator has the day corrected.
    const corrected: Database = {
      ...served.db,
      async transaction(work) {
        await served.db.transaction((trx) => reopenPeriod(trx, OPERATOR, month));
        await postThen(served.db, date, one);
        return served.db.transaction(work);
      },
    };
    const { data } = await showStatement({
      caller: { entityId: one.merchantId, role: 'merchant' },
      query: { date, currency: 'NGN' },
      deps: { ...served.api.deps, db: corrected },
    } as unknown as Parameters<typeof showStatement>[0]);
    expect(data).toMatchObject({ final: false, charges: { count: 2 } });
    // While it is open, no later day of these tests would be final.
    await served.db.transaction((trx) => closePeriod(trx, OPERATOR, month));
  });
});

const monthly = (caller: Caller, month: string, more = '') =>
  caller.read(`/v1/statements?month=${month}${more}`);

/** The clocks that say when what is done here settles. */
const setClocks = (to: string) =>
  served.db.rows`
    UPDATE entities SET clock_offset = ${`${to}+01:00`}::timestamptz - clock_timestamp()
    WHERE id = ANY(${[one.bankId, one.merchantId, one.providerId]})`;

describe('the statement of a month', () => {
  it('is the sum of its days for each party, and its file their files one after the other', async () => {
    for (const date of ['2028-02-29', '2028-03-01', '2028-03-14', '2028-03-31', '2028-04-01']) {
      await setClocks(`${date}T10:00`);
      await settleOfEachKind(served.db, one);
    }
    const march = eachDay({ first: '2028-03-01', last: '2028-03-31' });
    for (const caller of ROLES.map((role) => one[role])) {
      const { days, month, sha256: digest, ...shown } = await monthly(caller, '2028-03');
      const ofDays = await Promise.all(march.map((date) => statement(caller, date)));
      const summed = MOVEMENTS.flatMap((name) => {
        const moved = ofDays.flatMap((day) => (day[name] as { count: number; amount: number }) ?? []);
        const sum = (field: 'count' | 'amount') =>
          moved.reduce((all, day) => all + kobo(day[field]), 0) / 100;
        return moved.length === 0 ? [] : [[name, { count: sum('count'), amount: sum('amount') }]];
      });
      const { openingBalance } = ofDays[0] ?? {};
      // The last day has the rest: what was owed, and what was open, when it ended.
      expect(shown).toEqual({
        ...ofDays.at(-1),
        ...Object.fromEntries(summed),
        openingBalance,
        sha256: undefined,
      });
      expect(month).toBe('2028-03');
      expect(days).toEqual(
        ofDays.map(({ date, closingBalance, final }) => ({ date, closingBalance, final })),
      );

      const file = await fileOf(caller, '2028-03');
      const lines: string[] = [];
      for (const date of march) lines.push(...linesOf(await fileOf(caller, date)));
      expect(linesOf(file)).toEqual(lines);
      expect(totalOf(file)?.slice(0, 2)).toEqual(['total', String(lines.length)]);
      expect(digest).toBe(shown['final'] ? sha256(file) : null);
    }
  });

  it('that goes on has its days until today by the clock of the party, and is final once all of them are', async () => {
    await setClocks('2028-02-28T10:00');
    await charged();
    expect(await monthly(one.merchant, '2028-02')).toMatchObject({
      date: '2028-02-28',
      final: false,
      sha256: null,
    });
    await setClocks('2028-02-29T10:00');
    await charged();
    const lasting = await monthly(one.merchant, '2028-02');
    expect(lasting).toMatchObject({ date: '2028-02-29', closingBalance: 2, final: false, sha256: null });
    expect((lasting['days'] as Shown[]).slice(-3)).toEqual([
      { date: '2028-02-27', closingBalance: 0, final: true },
      { date: '2028-02-28', closingBalance: 1, final: true },
      { date: '2028-02-29', closingBalance: 2, final: false },
    ]);
    expect((await one.merchant.get('/v1/statements?month=2028-03')).status).toBe(400);
    expect((await one.merchant.get('/v1/statements/2028-03.csv')).status).toBe(400);

    await setClocks('2028-03-01T10:00');
    const file = await fileOf(one.merchant, '2028-02');
    expect(await monthly(one.merchant, '2028-02')).toMatchObject({ final: true, sha256: sha256(file) });
    expect(await monthly(one.provider, '2028-02', `&merchantId=${one.merchantId}`)).toMatchObject({
      final: true,
      charges: { count: 2, amount: 2 },
    });
    // To its bank the month goes on: other merchants' clocks show it still.
    expect(await monthly(one.bank, '2028-02')).toMatchObject({ final: false, sha256: null });
    expect(await monthly(one.merchant, '2028-03')).toMatchObject({
      date: '2028-03-01',
      openingBalance: 2,
      days: [{ date: '2028-03-01', closingBalance: 2, final: false }],
    });
  });

  it('of more than fifteen digits is told in full, and of more lines than are hashed meanwhile has its SHA-256 once its file is taken', async () => {
    await postCharges(served.db, one, 999_999_999_999n, HASHED_MAX);
    await postCharges(served.db, one, 1n, 1);
    const month = (await today()).slice(0, 7);
    await moveClock(served.db, one.merchantId, '32 days');
    const closingBalance = '99999999999900.01';
    const long = await monthly(one.merchant, month);
    expect(long).toMatchObject({ final: true, sha256: null, exact: { closingBalance } });
    expect((long['days'] as Shown[]).at(-1)).toMatchObject({ exact: { closingBalance } });
    const file = await fileOf(one.merchant, month);
    await eventually(async () => (await monthly(one.merchant, month))['sha256'] === sha256(file));
  });
});

/** A file of each kind, with names in place of what is new each time. */
const FILES: Record<string, string[]> = {
  merchant: [
    'transactionId,reference,type,status,amount,currency,description,customerId,merchantId,bankId,billingRequestId,scheduleId,declineReason,refundedAmount,reversedAmount,createdAt,settledAt,metadata',
    `txn-1,REF-13,charge,successful,1,NGN,"'=1+1, ""two""\n pairs",cus-2,mch-3,bnk-4,brq-5,sch-6,,0.3,0,TIME,TIME,"{}"`,
    `txn-7,REF-14,refund,completed,0.3,NGN,"'=1+1, ""two""\n pairs",cus-2,mch-3,bnk-4,brq-5,sch-6,,0,0,TIME,TIME,"{}"`,
    'txn-8,REF-15,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-9,,,0,1,TIME,TIME,"{}"',
    'txn-10,REF-16,reversal,completed,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-9,,,0,0,TIME,TIME,"{}"',
    'txn-11,REF-17,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-12,,,0,0,TIME,TIME,"{}"',
    'total,5,4.3,,,,,,,,,,,,,,,',
    '',
  ],
  payersBank: [
    'transactionId,reference,type,status,amount,currency,description,customerId,merchantId,bankId,billingRequestId,scheduleId,declineReason,refundedAmount,reversedAmount,createdAt,settledAt,bankTransactionId,payeeBankId,payeeLookupID',
    `txn-1,REF-18,charge,successful,1,NGN,"'=1+1, ""two""\n pairs",cus-2,mch-3,bnk-4,brq-5,sch-6,,0.3,0,TIME,TIME,tx-brq-5,,`,
    `txn-7,REF-19,refund,completed,0.3,NGN,"'=1+1, ""two""\n pairs",cus-2,mch-3,bnk-4,brq-5,sch-6,,0,0,TIME,TIME,tx-rfd-8,,`,
    'txn-9,REF-20,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-10,,,0,1,TIME,TIME,tx-brq-10,,',
    'txn-11,REF-21,reversal,completed,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-10,,,0,0,TIME,TIME,,,',
    'txn-12,REF-22,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-13,,,0,0,TIME,TIME,tx-brq-13,,',
    ',REF-22,write_off,completed,0.6,NGN,Shoes,cus-2,mch-3,bnk-4,brq-13,,,0,0,TIME,TIME,,,',
    ',REF-22,write_off,completed,0.4,NGN,Shoes,cus-2,mch-3,bnk-4,brq-13,,,0,0,TIME,TIME,,,',
    'txn-14,REF-23,charge,successful,2.5,NGN,Rent,cus-2,,bnk-4,brq-15,,,0,2.5,TIME,TIME,tx-brq-15,bnk-16,LOOKUP',
    'txn-17,REF-24,reversal,completed,2.5,NGN,Rent,cus-2,,bnk-4,brq-15,,,0,0,TIME,TIME,tx-back,bnk-16,LOOKUP',
    'total,9,10.3,,,,,,,,,,,,,,,,,',
    '',
  ],
  payeesBank: [
    'transactionId,reference,type,status,amount,currency,description,customerId,merchantId,bankId,billingRequestId,scheduleId,declineReason,refundedAmount,reversedAmount,createdAt,settledAt,bankTransactionId,payeeBankId,payeeLookupID',
    'txn-1,REF-13,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-5,,,0,0,TIME,TIME,tx-brq-5,,',
    'txn-6,REF-14,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-7,,,0,0,TIME,TIME,tx-brq-7,,',
    'txn-8,REF-15,charge,successful,2.5,NGN,Rent,cus-9,,bnk-10,brq-11,,,0,2.5,TIME,TIME,tx-brq-11,bnk-4,LOOKUP',
    'txn-12,REF-16,reversal,completed,2.5,NGN,Rent,cus-9,,bnk-10,brq-11,,,0,0,TIME,TIME,,bnk-4,LOOKUP',
    'total,4,7,,,,,,,,,,,,,,,,,',
    '',
  ],
};

/** The lines of a file: each id and reference by a name of its own, each moment by its shape. */
function namedLines(file: string, lookupId: string): string[] {
  const names = new Map<string, string>();
  const name = (found: string, kind: string) => {
    if (!names.has(found)) names.set(found, `${kind}-${names.size + 1}`);
    return names.get(found) ?? '';
  };
  return file
    .replaceAll(lookupId, 'LOOKUP')
    .replaceAll(/\b([a-z]{3})_[0-9a-z]+/g, (found, kind: string) => name(found, kind))
    .replaceAll(/(?<=,)[0-9A-Z]{24}(?=,)/g, (found) => name(found, 'REF'))
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .split('\r\n');
}

test('the file of each kind has the bytes that its readers and its kept SHA-256 know, a provider’s merchant by merchant', async () => {
  const { db } = served;
  const other = await served.parties();
  await asSchemaLogin(
    served.database.url,
    `UPDATE entities SET provider_id = '${one.providerId}' WHERE id = '${other.merchantId}'`,
  );
  // The merchant that comes second in the file charges before and between the first one's.
  await charged(other);
  const { id, reference } = await charged();
  await refunded(reference, 0.3, 'completed');
  const reversed = await charged();
  await charged(other);
  await deny(reversed.id);
  await resolveOf(reversed.id, 'no_money_moved');
  await chargeWrittenOff();
  const payment = await payAnother(db, one, other);
  await settleCredit(db, payment.deliveryId);
  await deny(payment.id);
  await resolveOf(payment.id, 'reversed', 'tx-back');
  await asSchemaLogin(
    served.database.url,
    `SET session_replication_role = replica;
     UPDATE billing_requests SET schedule_id = 'sch_1', billing_n = 1, attempt = 1, description = E'=1+1, "two"\n pairs' WHERE id = '${id}'`,
  );

  const day = await today();
  const lookupId = await lookupIdOf(db, other.customerId);
  const named = async (caller: Caller) => namedLines(await fileOf(caller, day), lookupId);
  expect({
    merchant: await named(one.merchant),
    payersBank: await named(one.bank),
    payeesBank: await named(other.bank),
  }).toEqual(FILES);
  const merchants = await Promise.all([one.merchant, other.merchant].map((caller) => fileOf(caller, day)));
  expect(linesOf(await fileOf(one.provider, day))).toEqual(merchants.flatMap(linesOf));
});

const inOrder = (a: Shown, b: Shown) => (String(a['counterpartyId']) < String(b['counterpartyId']) ? -1 : 1);
const named = (counterpartyId: string, counterpartyName: string | null) => ({
  counterpartyId,
  counterpartyName,
  currency: 'NGN',
});
const kobo = (naira: unknown) => Math.round(Number(naira) * 100);
const netOf = (some: Position[]) =>
  some.reduce((sum, { owedToIt, owedByIt }) => sum + owedToIt - owedByIt, 0n);

describe('net positions', () => {
  it('say who owes whom of what settled that day, and add up to nothing over the network', async () => {
    const { db } = served;
    const other = await served.parties();
    const { payee } = await settleOfEachKind(db, one);
    const { payee: othersPayee } = await settleOfEachKind(db, other);
    await payAnother(db, other, one);
    await payAnother(db, one, other);
    await payAnother(db, one, other);
    const day = await today();

    const ofMerchant = {
      counterpartyId: one.bankId,
      counterpartyName: 'Bank',
      currency: 'NGN',
      owedToYou: 4,
      owedByYou: 1.3,
      net: 2.7,
    };
    expect(await positions(one.merchant, day)).toEqual([ofMerchant]);
    expect(await positions(one.provider, day)).toEqual([ofMerchant]);
    const ofBank = await positions(one.bank, day);
    expect(ofBank).toEqual(
      [
        { ...named(payee.bankId, 'Bank'), owedToYou: 0, owedByYou: 5, net: -5 },
        { ...named(other.bankId, 'Bank'), owedToYou: 2.5, owedByYou: 5, net: -2.5 },
        { ...named(one.merchantId, 'Merchant'), owedToYou: 1.3, owedByYou: 4, net: -2.7 },
        { ...named('network', null), owedToYou: 1, owedByYou: 0, net: 1 },
      ].toSorted(inOrder),
    );
    // The positions come to the sum that the statement moved.
    const { closingBalance } = await statement(one.bank, day);
    expect(kobo(closingBalance)).toBe(ofBank.reduce((sum, { net }) => sum + kobo(net), 0));

    // Both sides tell each line that settled between them that day.
    const told: Position[] = [];
    for (const { bankId, merchantId } of [one, other, payee, othersPayee]) {
      for (const [entityId, role] of [
        [bankId, 'bank'],
        [merchantId, 'merchant'],
      ] as const) {
        told.push(...(await readPositions(db, { entityId, role }, day, 1_000)));
      }
    }
    const between = told.filter(({ counterpartyId }) => counterpartyId !== 'network');
    expect(between).toHaveLength(10);
    expect(netOf(between)).toBe(0n);
    // The network bears what was written off: a naira of each.
    expect(netOf(told)).toBe(200n);
  });

  it('of what was written off and is taken back after all are between the merchant and the network', async () => {
    const { id } = await charged();
    for (const resolution of ['written_off', 'no_money_moved'] as const) {
      await deny(id);
      await resolveOf(id, resolution);
    }
    const day = await today();
    expect(await positions(one.merchant, day)).toMatchObject([
      { counterpartyId: one.bankId, owedToYou: 1, owedByYou: 0 },
      { counterpartyId: 'network', owedToYou: 0, owedByYou: 1 },
    ]);
    expect(await positions(one.bank, day)).toMatchObject([
      { counterpartyId: one.merchantId, owedToYou: 0, owedByYou: 1 },
      { counterpartyId: 'network', owedToYou: 1, owedByYou: 0 },
    ]);
    expect(await statement(one.bank, day)).toMatchObject({
      closingBalance: 0,
      charges: { count: 1, amount: 1 },
      reversals: { count: 0, amount: 0 },
      writeOffs: { count: 1, amount: 1 },
    });
    expect(await statement(one.merchant, day)).toMatchObject({ closingBalance: 0 });
  });

  it('are a file as well, in which less than nothing is a number', async () => {
    await charged();
    expect(await one.bank.file(`/v1/positions?date=${await today()}&format=csv`)).toBe(
      `counterpartyId,currency,owedToYou,owedByYou,net\r\n${one.merchantId},NGN,0,1,-1\r\n`,
    );
    expect(await one.bank.read('/v1/positions?date=2026-01-31')).toEqual({
      date: '2026-01-31',
      timezone: LAGOS,
      final: true,
      positions: [],
    });
  });
});
