import type { Database } from '../../../src/database/pool/connection';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { serveApi, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { answerBill, bill, charge, payAnother, refund } from '../../support/settled';
import { moveClock, standingApproval, type Standing } from '../../support/standing';
import { letMidnightPass } from '../../support/midnight';
import { asking, linesOf } from '../../support/statements';

/** The history as a bank's books ask for it: by when money moved, and by the bank's own ids. */

let database: TestDatabase;
let db: Database;
let api: ServedApi;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const standingIn = () => standingApproval(db, api.deps.ring);

async function typesNamed(by: Standing, bankTransactionId: string): Promise<string[]> {
  const bank = await asking(api, by, 'bank');
  return (await bank.transactions(`bankTransactionId=${bankTransactionId}`)).map(({ type }) => type);
}

describe('the history', () => {
  it('is asked for by when its money moved, whenever it was made', async () => {
    const one = await standingIn();
    const { reference } = await charge(db, api.deps.ring, one);
    const pending = await bill(db, api.deps.ring, one);
    const before = new Date().toISOString();
    await moveClock(db, one.merchantId, '3 hours');
    const later = await charge(db, api.deps.ring, one);
    await refund(db, api.deps.ring, one, reference, 0.2, 'completed');
    await answerBill(db, api.deps.ring, one, pending.id, `tx-${pending.id}`);
    for (const role of ['bank', 'merchant', 'provider'] as const) {
      const party = await asking(api, one, role);
      const found = (query: string) => party.transactions(`sortOrder=asc&${query}`);
      expect((await found(`settledTo=${before}`)).map((charged) => charged.reference)).toEqual([reference]);
      const since = await found(`settledFrom=${before}`);
      expect(since.map(({ type }) => type)).toEqual(['charge', 'charge', 'refund']);
      expect(since.map((charged) => charged.reference).slice(0, 2)).toEqual([
        pending.reference,
        later.reference,
      ]);
      expect(await found(`settledFrom=${before}&settledTo=${before}`)).toEqual([]);
      expect(
        linesOf(`${await party.file(`/v1/transaction-history?format=csv&settledFrom=${before}`)}\r\n`),
      ).toHaveLength(3);
    }
  });

  it('is asked for by settlement days of the network’s zone, both included', async () => {
    await letMidnightPass();
    const one = await standingIn();
    const today = await charge(db, api.deps.ring, one);
    await moveClock(db, one.merchantId, '24 hours');
    const tomorrow = await charge(db, api.deps.ring, one);
    const merchant = await asking(api, one, 'merchant');
    const found = async (query: string) =>
      (await merchant.transactions(`sortOrder=asc&${query}`)).map(({ reference }) => reference);
    const first = calendarDay(new Date(), 'Africa/Lagos');
    const second = addDays(first, 1);
    expect(await found(`settledFrom=${first}&settledTo=${first}`)).toEqual([today.reference]);
    expect(await found(`settledFrom=${first}&settledTo=${second}`)).toHaveLength(2);
    expect(await found(`settledFrom=${second}`)).toEqual([tomorrow.reference]);
    expect(await merchant.get(`/v1/transaction-history?settledTo=yesterday`)).toMatchObject({
      status: 400,
      body: {
        errors: [
          { path: 'query.settledTo', message: expect.stringMatching(/^must be a day, as in/) as string },
        ],
      },
    });
  });

  it('is asked for by the id that a bank gave, by banks alone', async () => {
    const one = await standingIn();
    const stranger = await standingIn();
    const { id, reference } = await charge(db, api.deps.ring, one);
    const refundId = await refund(db, api.deps.ring, one, reference, 0.2, 'completed');
    const payment = await payAnother(db, api.deps.ring, one, stranger);
    expect(await typesNamed(one, `tx-${id}`)).toEqual(['charge']);
    expect(await typesNamed(one, `tx-${refundId}`)).toEqual(['refund']);
    expect(await typesNamed(stranger, `tx-${id}`)).toEqual([]);
    // The payee's bank got the id with the money.
    expect(await typesNamed(stranger, `tx-${payment.id}`)).toEqual(['charge']);
    for (const role of ['merchant', 'provider'] as const) {
      expect(
        await (await asking(api, one, role)).get(`/v1/transaction-history?bankTransactionId=tx-${id}`),
      ).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'query.bankTransactionId' }] },
      });
    }
  });
});
