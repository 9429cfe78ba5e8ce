import { createHash } from 'node:crypto';
import { showStatement } from '../../../src/api/billing/statement';
import { row, type Database } from '../../../src/database/pool/connection';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { newId } from '../../../src/database/identifier/new-id';
import { postEntries } from '../../../src/database/ledger/post-entries';
import { closePeriod, reopenPeriod } from '../../../src/database/ledger/close-period';
import { LIST_REACH } from '../../../src/database/query/list-page';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { entryOf } from '../../../src/domain/books/ledger';
import { serveApi, type ServedApi } from '../../support/api';
import { asOwner, createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { postThen } from '../../support/ledger';
import { letMidnightPass } from '../../support/midnight';
import { OPERATOR } from '../../support/operator';
import {
  answerBill,
  charge,
  payAnother,
  refund,
  settleCredit,
  settleOfEachKind,
} from '../../support/settled';
import { lookupIdOf, moveClock, standingApproval, type Standing } from '../../support/standing';
import { asking, dayOf, linesOf, postCharges, settleMany, totalOf } from '../../support/statements';

/** What a finance team asks for: who is owed what, day by day, and that it stays so. */

let database: TestDatabase;
let db: Database;
let api: ServedApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db, { settings: { ACCEPTED_CURRENCIES: 'NGN,JPY' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const standingIn = () => standingApproval(db, api.deps.ring);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** As an operator resolves what is in doubt of a charge. */
async function resolveOf(
  chargeId: string,
  resolution: 'no_money_moved' | 'reversed' | 'written_off',
  bankTransactionId: string | null = null,
): Promise<void> {
  const doubted = await row<{ id: string }>(
    db,
    `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :chargeId`,
    { chargeId },
  );
  const by = { cause: 'operator', note: null } as const;
  const finding = { resolution, bankTransactionId };
  await db.transaction((trx) =>
    resolveException(trx, api.deps.ring, 'Africa/Lagos', by, doubted?.id ?? '', finding),
  );
}

describe('a statement', () => {
  let standing: Standing;
  let payee: Standing;
  let today: string;
  beforeAll(async () => {
    await letMidnightPass();
    standing = await standingIn();
    ({ payee } = await settleOfEachKind(db, api.deps.ring, standing));
    today = await dayOf(db, standing.merchantId);
  });

  it('says what each party is owed after the day, and what has moved', async () => {
    const nothing = { count: 0, amount: 0 };
    const common = {
      date: today,
      currency: 'NGN',
      timezone: 'Africa/Lagos',
      final: false,
      exceptionsOpen: 0,
    };
    const digest = { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string };
    const ofMerchant = {
      ...common,
      openingBalance: 0,
      closingBalance: 2.7,
      charges: { count: 4, amount: 4 },
      refunds: { count: 1, amount: 0.3 },
      refundReturns: nothing,
      reversals: { count: 1, amount: 1 },
      credits: nothing,
      ...digest,
    };
    expect(await (await asking(api, standing, 'merchant')).statement(today)).toEqual(ofMerchant);
    const provider = await asking(api, standing, 'provider');
    expect(await provider.statement(today)).toEqual(ofMerchant);
    expect(await provider.statement(today, `&merchantId=${standing.merchantId}`)).toEqual(ofMerchant);
    expect(await (await asking(api, standing, 'bank')).statement(today)).toEqual({
      ...common,
      openingBalance: 0,
      closingBalance: -6.7,
      charges: { count: 6, amount: 9 },
      refunds: { count: 1, amount: 0.3 },
      refundReturns: nothing,
      reversals: { count: 1, amount: 1 },
      credits: nothing,
      writeOffs: { count: 1, amount: 1 },
      ...digest,
    });
    // One of the two is still in transit: its money is the payee's bank's all the same.
    expect(await (await asking(api, payee, 'bank')).statement(today)).toMatchObject({
      closingBalance: 5,
      charges: nothing,
      credits: { count: 2, amount: 5 },
    });
    expect(await (await asking(api, standing, 'merchant')).statement(today, '&currency=JPY')).toMatchObject({
      currency: 'JPY',
      closingBalance: 0,
      charges: nothing,
    });
  });

  it.each(['bank', 'merchant', 'provider'] as const)(
    'of a %s is a file with each line of it, a total, and the SHA-256 that it says',
    async (role) => {
      const party = await asking(api, standing, role);
      const file = await party.file(`/v1/statements/${today}.csv`);
      const history = await party.file('/v1/transaction-history?format=csv');
      const settled = new Set(history.split('\r\n').filter((line) => /,(successful|completed),/.test(line)));

      expect(file.split('\r\n')[0]).toBe(history.split('\r\n')[0]);
      // All that has settled is there, word for word; of what is on its way back, only what
      // arrived.
      const known = linesOf(file).filter((line) => settled.has(line));
      expect(known).toHaveLength(settled.size - 1);
      const writeOffs = linesOf(file).filter((line) => line.includes(',write_off,'));
      expect(writeOffs).toHaveLength(role === 'bank' ? 1 : 0);
      expect(totalOf(file)).toEqual(role === 'bank' ? ['total', '9', '11.3'] : ['total', '6', '5.3']);
      expect(linesOf(file)).toHaveLength(role === 'bank' ? 9 : 6);
      expect((await party.statement(today))['sha256']).toBe(sha256(file));
    },
  );

  it('of a bank that pays to a customer of its own has both sides of it, and one line', async () => {
    const payer = await standingIn();
    const [neighbour] = await neighbours(payer);
    await payAnother(db, api.deps.ring, payer, { ...payer, customerId: String(neighbour) });
    const bank = await asking(api, payer, 'bank');
    const day = await dayOf(db, payer.bankId);
    expect(await bank.statement(day)).toMatchObject({
      closingBalance: 0,
      charges: { count: 1, amount: 2.5 },
      credits: { count: 1, amount: 2.5 },
    });
    expect(totalOf(await bank.file(`/v1/statements/${day}.csv`))).toEqual(['total', '1', '2.5']);
  });

  it('of a payment that did not stay takes it from the payee’s bank again', async () => {
    const [payer, paid] = [await standingIn(), await standingIn()];
    const { id, deliveryId } = await payAnother(db, api.deps.ring, payer, paid);
    await settleCredit(db, api.deps.ring, deliveryId);
    await answerBill(db, api.deps.ring, payer, id, null);
    const day = await dayOf(db, paid.bankId);
    expect(await (await asking(api, paid, 'bank')).statement(day)).toMatchObject({
      exceptionsOpen: 1,
      closingBalance: 2.5,
    });
    await resolveOf(id, 'no_money_moved');
    expect(await (await asking(api, paid, 'bank')).statement(day)).toMatchObject({
      credits: { count: 1, amount: 2.5 },
      creditsReversed: { count: 1, amount: 2.5 },
      closingBalance: 0,
      exceptionsOpen: 0,
    });
    expect(await (await asking(api, payer, 'bank')).statement(day)).toMatchObject({
      charges: { count: 1, amount: 2.5 },
      reversals: { count: 1, amount: 2.5 },
      closingBalance: 0,
    });
  });

  it('of a bank has a line for what it was let off of a refund that it rejected, and all lines after it', async () => {
    const one = await standingIn();
    const { id, reference } = await charge(db, api.deps.ring, one);
    const refundId = await refund(db, api.deps.ring, one, reference, 0.4);
    await answerBill(db, api.deps.ring, one, id, null);
    await resolveOf(id, 'written_off');
    await db.transaction((trx) =>
      answerRefund(trx, api.deps.ring, 'Africa/Lagos', one.bankId, refundId, {
        action: 'rejected',
        bankTransactionId: null,
        reason: 'account_closed',
      }),
    );
    // More than a page of the file, so that what is missing in one would hide what follows.
    await settleMany(db, one, 1_001);
    const bank = await asking(api, one, 'bank');
    const day = await dayOf(db, one.bankId);
    const statement = await bank.statement(day);
    const file = await bank.file(`/v1/statements/${day}.csv`);
    expect(statement).toMatchObject({
      charges: { count: 1_002, amount: 1_002 },
      writeOffs: { count: 2, amount: 1 },
      closingBalance: -1_001,
    });
    expect(linesOf(file).filter((line) => line.includes(`,${reference},write_off,`))).toHaveLength(2);
    expect(totalOf(file)).toEqual(['total', '1004', '1003']);
  });

  it('opens with what the day before closed with', async () => {
    const one = await standingIn();
    await charge(db, api.deps.ring, one);
    const day = await dayOf(db, one.merchantId);
    await moveClock(db, one.merchantId, '1 day');
    await charge(db, api.deps.ring, one);
    const merchant = await asking(api, one, 'merchant');
    expect(await merchant.statement(day)).toMatchObject({ openingBalance: 0, closingBalance: 1 });
    expect(await merchant.statement(await dayOf(db, one.merchantId))).toMatchObject({
      openingBalance: 1,
      closingBalance: 2,
    });
    expect(await merchant.statement('2999-12-31')).toMatchObject({ openingBalance: 2, closingBalance: 2 });
  });

  it('of a day that is over keeps its bytes, whatever comes of its charges later', async () => {
    const one = await standingIn();
    const { reference } = await charge(db, api.deps.ring, one);
    await refund(db, api.deps.ring, one, reference, 0.2, 'completed');
    await refund(db, api.deps.ring, one, reference, 0.1);
    const day = await dayOf(db, one.merchantId);
    const merchant = await asking(api, one, 'merchant');
    expect(await merchant.statement(day)).toMatchObject({ final: false });
    await moveClock(db, one.merchantId, '1 day');

    const first = await merchant.file(`/v1/statements/${day}.csv`);
    await refund(db, api.deps.ring, one, reference, 0.3, 'completed');
    expect(linesOf(first)[0]?.split(',')).toContain('0.2');
    expect(await merchant.file(`/v1/statements/${day}.csv`)).toBe(first);
    expect(await merchant.statement(day)).toMatchObject({ final: true, sha256: sha256(first) });
    // To its bank the day goes on: other merchants' clocks show it still.
    expect(await (await asking(api, one, 'bank')).statement(day)).toMatchObject({ final: false });
    expect(await (await asking(api, one, 'provider')).statement(day)).toMatchObject({ final: false });
    expect(
      await (await asking(api, one, 'provider')).statement(day, `&merchantId=${one.merchantId}`),
    ).toMatchObject({
      final: true,
      sha256: sha256(first),
    });
    expect(await (await asking(api, one, 'bank')).statement('2026-01-31')).toMatchObject({
      final: true,
      closingBalance: 0,
    });
  });

  it('of thousands of lines has each of them once, in a provider’s file merchant by merchant', async () => {
    const one = await standingIn();
    await settleMany(db, one, 2_001);
    const day = await dayOf(db, one.merchantId);
    for (const role of ['bank', 'merchant', 'provider'] as const) {
      const party = await asking(api, one, role);
      const file = await party.file(`/v1/statements/${day}.csv`);
      expect(new Set(linesOf(file)).size).toBe(2_001);
      expect(totalOf(file)).toEqual(['total', '2001', '2001']);
      expect(await party.statement(day)).toMatchObject({
        charges: { count: 2_001, amount: 2_001 },
        sha256: sha256(file),
      });
    }
  });

  it('of more lines than are hashed while somebody waits has its SHA-256 once the file is taken, and the history sends whoever asks there', async () => {
    const one = await standingIn();
    await settleMany(db, one, LIST_REACH + 1);
    const day = await dayOf(db, one.merchantId);
    await moveClock(db, one.merchantId, '1 day');
    const merchant = await asking(api, one, 'merchant');
    expect(await merchant.statement(day)).toMatchObject({ final: true, sha256: null });
    const file = await merchant.file(`/v1/statements/${day}.csv`);
    expect(totalOf(file)).toEqual(['total', String(LIST_REACH + 1), String(LIST_REACH + 1)]);
    await eventually(async () => (await merchant.statement(day))['sha256'] === sha256(file));
    const { status, body } = await merchant.get('/v1/transaction-history?settledFrom=2026-01-01T00:00:00Z');
    expect([status, body.message]).toEqual([400, expect.stringContaining('/v1/statements/:date.csv')]);
  });

  it('of more than fifteen digits is told in full beside the number that JSON has for it', async () => {
    const one = await standingIn();
    await postCharges(db, one, 999_999_999_999n, 10_000);
    await postCharges(db, one, 1n, 1);
    expect(
      await (await asking(api, one, 'merchant')).statement(await dayOf(db, one.merchantId)),
    ).toMatchObject({
      charges: { count: 10_001, amount: 99_999_999_999_900 },
      exact: { charges: '99999999999900.01', closingBalance: '99999999999900.01' },
    });
    expect(await (await asking(api, one, 'bank')).positions(await dayOf(db, one.bankId))).toMatchObject([
      { owedByYou: 99_999_999_999_900, exact: { owedByYou: '99999999999900.01', net: '-99999999999900.01' } },
    ]);
  });

  it.each([
    ['', 'query.date'],
    ['?date=2026-02-30', 'query.date'],
    ['?date=30.01.2026', 'query.date'],
    ['?date=2026-01-31&currency=USD', 'query.currency'],
    ['?date=2026-01-31&currency=ABC', 'query.currency'],
    ['?date=2026-01-31&colour=blue', 'query.colour'],
  ])('needs a day that there is, and a currency: %s gets 400', async (query, path) => {
    const { status, body } = await (await asking(api, standing, 'merchant')).get(`/v1/statements${query}`);
    expect(status).toBe(400);
    expect(body.errors?.map((problem) => problem.path)).toContain(path);
  });

  it('of a currency that is no longer accepted can be asked for, as what is owed in it can', async () => {
    const one = await standingIn();
    const { bankId, merchantId } = one;
    const day = await dayOf(db, merchantId);
    const entry = entryOf(
      'charge',
      { resourceId: newId('billingRequest'), settledAt: new Date() },
      { amount: 7n, currency: 'USD', bankId, merchantId, ownerId: merchantId },
    );
    await db.transaction((trx) => postEntries(trx, 'Africa/Lagos', [entry]));
    const bank = await asking(api, one, 'bank');
    expect(await bank.positions(day)).toMatchObject([{ currency: 'USD', net: -0.07 }]);
    expect(await bank.statement(day, '&currency=USD')).toMatchObject({
      closingBalance: -0.07,
      sha256: sha256(await bank.file(`/v1/statements/${day}.csv?currency=USD`)),
    });
    const other = await asking(api, standing, 'bank');
    for (const path of [`?date=${day}&`, `/${day}.csv?`]) {
      const { status, body } = await other.get(`/v1/statements${path}currency=USD`);
      expect(status).toBe(400);
      expect(body.errors).toEqual([{ path: 'query.currency', message: 'must be one of NGN, JPY' }]);
    }
  });

  it('is of the merchants of the provider that asks, and of nobody else’s', async () => {
    const stranger = await standingIn();
    for (const path of [`/v1/statements?date=${today}&`, `/v1/statements/${today}.csv?`]) {
      const named = `${path}merchantId=${standing.merchantId}`;
      expect(await (await asking(api, stranger, 'provider')).get(named)).toMatchObject({ status: 404 });
      expect(await (await asking(api, stranger, 'merchant')).get(named)).toMatchObject({ status: 404 });
      expect(await (await asking(api, standing, 'bank')).get(named)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'query.merchantId' }] },
      });
    }
    expect(
      await (await asking(api, standing, 'merchant')).get('/v1/statements/2026-02-30.csv'),
    ).toMatchObject({
      status: 404,
    });
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
  provider: [
    'transactionId,reference,type,status,amount,currency,description,customerId,merchantId,bankId,billingRequestId,scheduleId,declineReason,refundedAmount,reversedAmount,createdAt,settledAt,metadata',
    `txn-1,REF-20,charge,successful,1,NGN,"'=1+1, ""two""\n pairs",cus-2,mch-3,bnk-4,brq-5,sch-6,,0.3,0,TIME,TIME,"{}"`,
    `txn-7,REF-21,refund,completed,0.3,NGN,"'=1+1, ""two""\n pairs",cus-2,mch-3,bnk-4,brq-5,sch-6,,0,0,TIME,TIME,"{}"`,
    'txn-8,REF-22,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-9,,,0,1,TIME,TIME,"{}"',
    'txn-10,REF-23,reversal,completed,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-9,,,0,0,TIME,TIME,"{}"',
    'txn-11,REF-24,charge,successful,1,NGN,Shoes,cus-2,mch-3,bnk-4,brq-12,,,0,0,TIME,TIME,"{}"',
    'txn-13,REF-25,charge,successful,1,NGN,Shoes,cus-14,mch-15,bnk-16,brq-17,,,0,0,TIME,TIME,"{}"',
    'txn-18,REF-26,charge,successful,1,NGN,Shoes,cus-14,mch-15,bnk-16,brq-19,,,0,0,TIME,TIME,"{}"',
    'total,7,6.3,,,,,,,,,,,,,,,',
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

test('the file of each kind has the bytes that its readers and its kept SHA-256 know', async () => {
  const { ring } = api.deps;
  const [one, other] = [await standingIn(), await standingIn()];
  await asOwner(
    database.url,
    `UPDATE entities SET provider_id = '${one.providerId}' WHERE id = '${other.merchantId}'`,
  );
  // Of the merchant that comes second in the file, before and between what the first has.
  await charge(db, ring, other);
  const { id, reference } = await charge(db, ring, one);
  await refund(db, ring, one, reference, 0.3, 'completed');
  const reversed = await charge(db, ring, one);
  await charge(db, ring, other);
  await answerBill(db, ring, one, reversed.id, null);
  await resolveOf(reversed.id, 'no_money_moved');
  const writtenOff = await charge(db, ring, one);
  const refundId = await refund(db, ring, one, writtenOff.reference, 0.4);
  await answerBill(db, ring, one, writtenOff.id, null);
  await resolveOf(writtenOff.id, 'written_off');
  await db.transaction((trx) =>
    answerRefund(trx, ring, 'Africa/Lagos', one.bankId, refundId, {
      action: 'rejected',
      bankTransactionId: null,
      reason: 'account_closed',
    }),
  );
  const payment = await payAnother(db, ring, one, other);
  await settleCredit(db, ring, payment.deliveryId);
  await answerBill(db, ring, one, payment.id, null);
  await resolveOf(payment.id, 'reversed', 'tx-back');
  await asOwner(
    database.url,
    `SET session_replication_role = replica;
     UPDATE billing_requests SET schedule_id = 'sch_1', billing_n = 1, attempt = 1, description = E'=1+1, "two"\n pairs' WHERE id = '${id}'`,
  );

  const day = await dayOf(db, one.merchantId);
  const lookupId = await lookupIdOf(db, other.customerId);
  const fileOf = async (of: Standing, role: 'bank' | 'merchant' | 'provider') =>
    namedLines(await (await asking(api, of, role)).file(`/v1/statements/${day}.csv`), lookupId);
  expect({
    merchant: await fileOf(one, 'merchant'),
    provider: await fileOf(one, 'provider'),
    payersBank: await fileOf(one, 'bank'),
    payeesBank: await fileOf(other, 'bank'),
  }).toEqual(FILES);
});

/** Other customers of the same bank. */
async function neighbours({ bankId }: Standing): Promise<string[]> {
  const { customers } = await db.transaction((trx) =>
    onboardBatch(trx, api.deps.ring, bankId, [
      {
        person: {
          clientRef: 'c2',
          firstname: 'Bola',
          lastname: 'Obi',
          accountName: 'Bola Obi',
          email: 'bola@example.test',
          country: 'NG',
          accountNumber: '0123456780',
        },
      },
    ]),
  );
  return customers.map(({ customerId }) => customerId);
}

test('a statement whose month is reopened and corrected while it is read is not final', async () => {
  const standing = await standingIn();
  const { merchantId } = standing;
  const [month, date] = ['2026-03-01', '2026-03-10'];
  await postThen(db, date, standing);
  await db.transaction((trx) => closePeriod(trx, OPERATOR, 'Africa/Lagos', month));
  const merchant = await asking(api, standing, 'merchant');
  const before = await merchant.statement(date);
  expect(before).toMatchObject({ final: true, charges: { count: 1 } });

  // Between its first question and what is read, an operator has the day corrected.
  const corrected: Database = {
    ...db,
    async transaction(work) {
      await db.transaction((trx) => reopenPeriod(trx, OPERATOR, month));
      await postThen(db, date, standing);
      return db.transaction(work);
    },
  };
  const { data } = await showStatement({
    caller: { entityId: merchantId, role: 'merchant' },
    query: { date, currency: 'NGN' },
    deps: { ...api.deps, db: corrected },
  } as unknown as Parameters<typeof showStatement>[0]);
  expect(data).toMatchObject({ final: false, charges: { count: 2 } });
});
