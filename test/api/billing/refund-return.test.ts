import type { Database } from '../../../src/database/pool/connection';
import { rows } from '../../../src/database/pool/connection';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { chargeUnder, send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { bookDifferences } from '../../support/books';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { balancesOf, postingsOf } from '../../support/ledger';
import { openTransaction } from '../../support/open-transaction';
import {
  announcedTo,
  answerCharges,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';

/** A completed refund whose money comes back to the bank, and what every party then sees. */

const ROLES = ['bank', 'provider', 'merchant'] as const;
type Role = (typeof ROLES)[number];
type Shown = Record<string, unknown>;

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<Role, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db, { settings: { RATE_LIMIT_TOKEN_ADDRESS: '999/999' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring);
  tokens = await tokensOf(api, standing);
});

const LAGOS = 'Africa/Lagos';
const EXCEPTIONS = '/v1/reconciliation/exceptions';
const get = (role: Role, path: string): Promise<Answered> =>
  send(api.url, 'GET', path, undefined, { authorization: `Bearer ${tokens[role]}` });
const post = (role: Role, path: string, body: unknown): Promise<Answered> =>
  send(api.url, 'POST', path, body, { authorization: `Bearer ${tokens[role]}` });
const initiate = (reference: string, amount?: number) =>
  post('merchant', '/v1/refunds/initiate', { reference, ...(amount !== undefined && { amount }) });
const answer = (refundId: string, action: 'completed' | 'rejected', bankTransactionId?: string) =>
  post('bank', '/v1/bank/refund-response', { refundId, action, bankTransactionId });

/** A successful charge of 100 naira. */
async function charge(): Promise<{ reference: string; id: string }> {
  const made = await chargeUnder(api, standing, tokens.merchant);
  await answerCharges(db, api.deps.ring, standing);
  return made;
}

/** A completed refund. */
async function refund(reference: string, amount?: number): Promise<string> {
  const { status, body } = await initiate(reference, amount);
  expect(status).toBe(201);
  const refundId = String(body.data?.['refundId']);
  expect((await answer(refundId, 'completed', `transfer-${refundId}`)).status).toBe(200);
  return refundId;
}

async function openOf(refundId: string): Promise<string> {
  const all = listIn(await get('bank', `${EXCEPTIONS}?state=open`), 'exceptions');
  const open = all.find((one) => one['refundId'] === refundId);
  return String(open?.['exceptionId']);
}
const respond = async (refundId: string, finding: object) =>
  (await post('bank', `${EXCEPTIONS}/${await openOf(refundId)}/respond`, finding)).status;

const listIn = ({ body }: Answered, name: string) => (body.data?.[name] ?? []) as Shown[];

const NO_MONEY = { resolution: 'no_money_moved' };
const REVERSED = { resolution: 'reversed', bankTransactionId: 'came-back' };

/** A completed refund that its bank calls rejected later. */
async function bounced(reference: string, amount?: number): Promise<string> {
  const refundId = await refund(reference, amount);
  expect((await answer(refundId, 'rejected')).status).toBe(409);
  return refundId;
}

async function returned(reference: string, amount?: number, finding: object = NO_MONEY): Promise<string> {
  const refundId = await bounced(reference, amount);
  expect(await respond(refundId, finding)).toBe(200);
  return refundId;
}

const show = async (refundId: string) => (await get('merchant', `/v1/refunds/${refundId}`)).body.data;
async function history(role: Role, query: string): Promise<Shown[]> {
  return listIn(await get(role, `/v1/transaction-history${query}`), 'transactions');
}

test.each([
  ['that no money moved', NO_MONEY],
  ['that the money came back', REVERSED],
])('a refund that bounces is returned once its bank says %s, and can be made again', async (_, finding) => {
  const { reference } = await charge();

  const refundId = await returned(reference, undefined, finding);

  expect(await show(refundId)).toMatchObject({ status: 'returned', amount: 100 });
  expect(await history('merchant', `?reference=${reference}`)).toMatchObject([{ refundedAmount: 0 }]);
  expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 10_000n });
  expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: -10_000n });
  expect(await show(await refund(reference))).toMatchObject({ status: 'completed', amount: 100 });
  expect((await initiate(reference, 0.01)).status).toBe(409);
  expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 0n });
  expect(await bookDifferences(db)).toEqual([]);
});

test('the operator returns a refund as well', async () => {
  const { reference } = await charge();
  const refundId = await bounced(reference);
  const exceptionId = await openOf(refundId);

  await db.transaction((trx) =>
    resolveException(trx, api.deps.ring, LAGOS, { cause: 'operator', note: null }, exceptionId, {
      resolution: 'reversed',
      bankTransactionId: null,
    }),
  );

  expect(await show(refundId)).toMatchObject({ status: 'returned' });
  expect(await bookDifferences(db)).toEqual([]);
});

test.each(['written_off', 'no_difference', 'confirmed'] as const)(
  'a refund whose exception ends %s stays completed',
  async (resolution) => {
    const { reference } = await charge();
    const refundId = await bounced(reference);
    const exceptionId = await openOf(refundId);

    await db.transaction((trx) =>
      resolveException(trx, api.deps.ring, LAGOS, { cause: 'operator', note: null }, exceptionId, {
        resolution,
        bankTransactionId: null,
      }),
    );

    expect(await show(refundId)).toMatchObject({ status: 'completed' });
    expect((await initiate(reference, 0.01)).status).toBe(409);
  },
);

test('a used id that is cleared returns nothing', async () => {
  const [one, other] = [await charge(), await charge()];
  const refundId = await refund(one.reference);
  expect((await answer(refundId, 'completed', `tx-${other.id}`)).status).toBe(409);

  expect(await respond(refundId, NO_MONEY)).toBe(200);

  expect(await show(refundId)).toMatchObject({ status: 'completed' });
});

test.each([NO_MONEY, REVERSED])(
  'a second transfer is what the bank speaks of, and the refund stays completed: %j',
  async (finding) => {
    const { reference } = await charge();
    const refundId = await refund(reference, 40);
    expect((await answer(refundId, 'completed', `second-${refundId}`)).status).toBe(409);

    expect(await respond(refundId, finding)).toBe(200);

    expect(await show(refundId)).toMatchObject({ status: 'completed' });
    expect((await initiate(reference)).body.data).toMatchObject({ amount: 60 });
  },
);

test('merchant and bank are told, each in its own numbers', async () => {
  const { reference } = await charge();
  const refundId = await returned(reference, 40);
  const refunded = await show(refundId);

  const item = {
    refundId,
    reference: refunded?.['reference'],
    originalReference: reference,
    amount: 40,
    currency: 'NGN',
    status: 'returned',
    sequence: 2,
  };
  for (const [party, own] of [
    [standing.merchantId, { metadata: {} }],
    [standing.bankId, {}],
  ] as const) {
    const told = await announcedTo(db, api.deps.ring, party);
    expect(told.filter(({ type }) => type === 'refund.returned').map((one) => one.item)).toEqual([
      { ...item, ...own },
    ]);
    const numbers = told.filter((one) => one.type.startsWith('refund.')).map((one) => one.item['sequence']);
    expect(numbers).toEqual([1, 2]);
  }
});

test.each([['completed'], ['rejected']] as const)(
  'a later answer %s is a 409 on the time line, and opens nothing',
  async (action) => {
    const { reference } = await charge();
    const refundId = await returned(reference);
    const named = action === 'completed' ? `transfer-${refundId}` : undefined;

    for (let again = 0; again < 2; again++) {
      const refused = { status: 409, body: { code: 'late_answer', data: { refundId, status: 'returned' } } };
      expect(await answer(refundId, action, named)).toMatchObject(refused);
    }

    expect((await get('bank', `${EXCEPTIONS}?state=open`)).body.data).toMatchObject({ total: 0 });
    const own = String((await show(refundId))?.['reference']);
    const details = await get('merchant', `/v1/transaction-details?reference=${own}`);
    expect(listIn(details, 'events').map(({ type }) => type)).toEqual([
      'refund.requested',
      'refund.completed',
      'exception.opened',
      'exception.resolved',
      'refund.returned',
      'refund.answer_refused',
    ]);
    expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
    expect(await bookDifferences(db)).toEqual([]);
  },
);

test.each(ROLES)('the return is a transaction of its own in the history of a %s', async (role) => {
  const { reference, id } = await charge();
  const refundId = await returned(reference, 40, REVERSED);
  const refunded = await show(refundId);

  const [found, ...others] = await history(role, '?type=refund_return&status=completed');

  expect(others).toEqual([]);
  expect(found).toMatchObject({
    type: 'refund_return',
    amount: 40,
    billingRequestId: id,
    settledAt: expect.any(String) as string,
    ...(role === 'bank' && { bankTransactionId: 'came-back' }),
  });
  expect(found?.['transactionId']).not.toBe(refunded?.['transactionId']);
  expect(await history(role, '?status=returned')).toMatchObject([{ type: 'refund', status: 'returned' }]);
  const details = await get(role, `/v1/transaction-details?reference=${String(found?.['reference'])}`);
  expect(details.body.data).toMatchObject({ type: 'refund_return', transactionId: found?.['transactionId'] });
  expect(listIn(details, 'events').map(({ type }) => type)).toContain('refund.returned');
  expect(details.body.data?.['timeline']).toContainEqual(
    expect.objectContaining({
      what: 'ledger',
      text: expect.stringContaining('refund_return of txn_') as string,
    }),
  );
  if (role === 'bank') expect(await history(role, '?bankTransactionId=came-back')).toEqual([found]);
});

test('the refund’s day stays as it was, and the return counts on its own', async () => {
  const { reference } = await charge();
  const refundId = await bounced(reference, 40);
  const dayOf = async () => {
    const { body } = await get('merchant', '/v1/sandbox/clock');
    return new Intl.DateTimeFormat('en-CA', { timeZone: LAGOS }).format(new Date(String(body.data?.['now'])));
  };
  const day = await dayOf();
  const file = async (role: Role, date: string) =>
    (await get(role, `/v1/statements/${date}.csv`)).body as unknown as string;
  await moveClock(db, standing.merchantId, '2 days');
  const merchants = () => get('merchant', `/v1/statements?date=${day}`);
  const [before, linesBefore] = [(await merchants()).body.data, await file('merchant', day)];
  expect(before).toMatchObject({ final: true, closingBalance: 60, refunds: { count: 1, amount: 40 } });

  expect(await respond(refundId, NO_MONEY)).toBe(200);

  const later = await dayOf();
  const { exceptionsOpen: _, ...totals } = before ?? {};
  expect((await merchants()).body.data).toMatchObject(totals);
  expect(await file('merchant', day)).toEqual(linesBefore);
  const returns = { count: 1, amount: 40 };
  expect((await get('merchant', `/v1/statements?date=${later}`)).body.data).toMatchObject({
    openingBalance: 60,
    closingBalance: 100,
    refundReturns: returns,
  });
  expect((await get('bank', `/v1/statements?date=${later}`)).body.data).toMatchObject({
    openingBalance: -60,
    closingBalance: -100,
    refundReturns: returns,
  });
  expect((await get('merchant', `/v1/positions?date=${later}`)).body.data?.['positions']).toMatchObject([
    { counterpartyId: standing.bankId, owedToYou: 40, owedByYou: 0, net: 40 },
  ]);
  expect((await get('merchant', `/v1/summary?from=${day}&to=${later}`)).body.data?.['totals']).toMatchObject([
    { refunded: returns, returned: returns },
  ]);
  expect(await bookDifferences(db)).toEqual([]);
});

test('the contra entry undoes the entry of the refund', async () => {
  const { reference } = await charge();
  const refundId = await returned(reference, 40);
  const [found] = await history('merchant', '?type=refund_return');

  expect(await postingsOf(db, refundId)).toEqual([
    `refund: -4000 NGN merchant of ${standing.merchantId}`,
    `refund: +4000 NGN customer_bank of ${standing.bankId}`,
  ]);
  expect(await postingsOf(db, String(found?.['transactionId']))).toEqual([
    `refund_return: -4000 NGN customer_bank of ${standing.bankId}`,
    `refund_return: +4000 NGN merchant of ${standing.merchantId}`,
  ]);
});

test('what is returned of a charge that was found reversed goes back with it, and is refunded to nobody', async () => {
  const { reference, id } = await charge();
  const refundId = await bounced(reference, 40);
  const declined = { billingRequestId: id, declineReason: 'insufficient_funds' };
  expect((await post('bank', '/v1/billing/bank-response', declined)).status).toBe(409);
  const [doubted] = listIn(await get('bank', `${EXCEPTIONS}?kind=conflicting_answer`), 'exceptions');
  await post('bank', `${EXCEPTIONS}/${String(doubted?.['exceptionId'])}/respond`, NO_MONEY);

  expect(await respond(refundId, NO_MONEY)).toBe(200);

  expect(await history('merchant', '?type=reversal')).toMatchObject([{ amount: 40 }, { amount: 60 }]);
  expect((await initiate(reference, 0.01)).status).toBe(409);
  expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 0n });
  expect(await bookDifferences(db)).toEqual([]);
});

test('a refund waits for a return that is being written, and is given what is left after it', async () => {
  const { reference } = await charge();
  const refundId = await bounced(reference);
  const exceptionId = await openOf(refundId);
  const bank = await openTransaction(db);
  await resolveException(
    bank.trx,
    api.deps.ring,
    LAGOS,
    { cause: 'bank', bankId: standing.bankId, note: null },
    exceptionId,
    { resolution: 'no_money_moved', bankTransactionId: null },
  );
  const again = initiate(reference);
  await bank.commit();

  // It waits for the lock on the charge, or has come to it before: then nothing was left yet.
  const { status } = await again;
  expect([201, 409]).toContain(status);
  expect((await initiate(reference)).status).toBe(status === 201 ? 409 : 201);
});

test('several refunds and a return at once take no more than the charge', async () => {
  const { reference, id } = await charge();
  const refundId = await bounced(reference, 60);

  const all = await Promise.all([
    ...[50, 50, 60, 40, 100].map(async (amount) => {
      const { status } = await initiate(reference, amount);
      return status === 201 ? amount : 0;
    }),
    respond(refundId, NO_MONEY).then(() => 0),
  ]);

  const taken = all.reduce((sum, amount) => sum + amount, 0);
  expect(taken).toBeLessThanOrEqual(100);
  const [kept] = await rows<{ refunded: bigint }>(
    db,
    `SELECT refunded_amount AS refunded FROM billing_requests WHERE id = :id`,
    { id },
  );
  expect(kept?.refunded).toBe(BigInt(taken) * 100n);
  expect(await show(refundId)).toMatchObject({ status: 'returned' });
  expect(await bookDifferences(db)).toEqual([]);
});

test.each(['refund', 'refund_return'])('the reference of a %s is no charge to be refunded', async (type) => {
  const { reference } = await charge();
  await returned(reference, 40);
  const [found] = await history('merchant', `?type=${type}`);

  const { status, body } = await initiate(String(found?.['reference']));

  expect({ status, body }).toMatchObject({ status: 409, body: { code: 'not_a_charge' } });
  expect(body.message).toContain(`the reference of a ${type.replace('_', ' ')}`);
});
