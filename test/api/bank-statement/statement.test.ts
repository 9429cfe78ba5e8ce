import { readFileSync } from 'node:fs';
import path from 'node:path';
import { matchLines } from '../../../src/database/bank-file/match-lines';
import { closeExpiredRequests } from '../../../src/database/billing-request/settle-billing-request';
import { rows as select } from '../../../src/database/pool/connection';
import { claimKey } from '../../../src/database/call/idempotency';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { isBusinessDay } from '../../../src/domain/business-day';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';
import { chargeUnder, send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { bookDifferences } from '../../support/books';
import { lookForMissing, matchingOf, workOnFile } from '../../support/bank-file';
import { copyOfDatabase, createTestDatabase, type TestDatabase } from '../../support/database';
import { balancesOf } from '../../support/ledger';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { payAnother, settleCredit } from '../../support/settled';
import { announcedTo, moveClock, standingApproval, type Standing } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';

/** A bank sends what it booked: what agrees, what does not, and what follows of it. */

const LAGOS = 'Africa/Lagos';
const STATEMENTS = '/v1/bank/statements';
const ADVANCE = '/v1/sandbox/clock/advance';
const EXCEPTIONS = '/v1/reconciliation/exceptions';
const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
/** Of the test, which midnight may come before. */
let today: string;

type Shown = Record<string, unknown>;
interface Tokens {
  bank: string;
  merchant: string;
}

let database: TestDatabase;
let api: ServedApi;
let standing: Standing;
let tokens: Tokens;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await serveApi(database.db, { settings: SETTINGS });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  today = calendarDay(new Date(), LAGOS);
  standing = await standingApproval(database.db, api.deps.ring);
  tokens = await tokensAt(api);
});

const SETTINGS = { RATE_LIMIT_TOKEN_ADDRESS: '999/999' };

async function tokensAt(served: ServedApi): Promise<Tokens> {
  const { bank, merchant } = standing.credentials;
  return { bank: await tokenOf(served, bank), merchant: await tokenOf(served, merchant) };
}

const get = (token: string, url: string, served = api): Promise<Answered> =>
  send(served.url, 'GET', url, undefined, { authorization: `Bearer ${token}` });
const post = (token: string, url: string, body: unknown, served = api): Promise<Answered> =>
  send(served.url, 'POST', url, body, { authorization: `Bearer ${token}` });

/** A charge of 100 naira, not answered yet. */
const charge = (amount = 100) => chargeUnder(api, standing, tokens.merchant, amount);

/** The same, approved. */
async function paid(bankTransactionId: string, amount = 100): Promise<{ reference: string; id: string }> {
  const made = await charge(amount);
  const body = { billingRequestId: made.id, bankTransactionId };
  expect((await post(tokens.bank, '/v1/billing/bank-response', body)).status).toBe(200);
  return made;
}

async function refunded(reference: string, amount: number, bankTransactionId: string): Promise<unknown> {
  const { body } = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount });
  const refundId = body.data?.['refundId'];
  const answer = { refundId, action: 'completed', bankTransactionId };
  expect((await post(tokens.bank, '/v1/bank/refund-response', answer)).status).toBe(200);
  return refundId;
}

const debit = (id: string, amount: number | string = 100, reference = '') =>
  `${id},${today},${amount},NGN,debit,${reference}`;
const credit = (id: string, amount: number, reference = '') =>
  `${id},${today},${amount},NGN,credit,${reference}`;
const csv = (...lines: string[]) => [HEADER, ...lines, ''].join('\r\n');

async function upload(
  file: string,
  headers: Record<string, string> = {},
  { token = tokens.bank, served = api }: { token?: string; served?: ServedApi } = {},
  query = '',
): Promise<Answered> {
  return send(served.url, 'POST', `${STATEMENTS}${query}`, file, {
    'content-type': 'text/csv',
    authorization: `Bearer ${token}`,
    ...headers,
  });
}

/** Sends a file, and does what its workflow does. */
async function match(
  file: string,
  query: string | Promise<string> = '',
  headers: Record<string, string> = {},
  served = api,
  token = tokens.bank,
): Promise<{ id: string; summary: Shown; differences: string[] }> {
  const { status, body } = await upload(file, headers, { token, served }, await query);
  expect({ status, body }).toMatchObject({ status: 202 });
  const id = String(body.data?.['statementId']);
  await workOnFile(served.deps.db, served.deps.ring, id);
  const shown = await get(token, `${STATEMENTS}/${id}`, served);
  expect(shown.body.data).toMatchObject({ statementId: id, status: 'completed' });
  const { body: text } = await get(token, String(shown.body.data?.['differencesUrl']), served);
  const [, ...differences] = (text as unknown as string).trimEnd().split('\r\n');
  return { id, summary: shown.body.data?.['summary'] as Shown, differences };
}

/** The day that comes so many days after today, once it has come for the bank. */
async function ahead(days: number): Promise<string> {
  await select(
    database.db,
    `UPDATE entities SET clock_offset = greatest(clock_offset, make_interval(days => :days)) WHERE id = :id`,
    { days, id: standing.bankId },
  );
  return addDays(today, days);
}

/** Has a file reach a day, of itself a week from now: what settled today is late in it. */
const reaching = async (day?: string) => `?through=${day ?? (await ahead(7))}`;

const NOTHING = {
  matched: 0,
  duplicates: 0,
  unknownHere: 0,
  missingAtBank: 0,
  amountDiffers: 0,
  malformed: 0,
};

async function exceptions(token = tokens.bank, query = '', served = api): Promise<Shown[]> {
  const { status, body } = await get(token, `${EXCEPTIONS}?sortOrder=asc${query}`, served);
  expect(status).toBe(200);
  return body.data?.['exceptions'] as Shown[];
}
/** Sorted by their words: those of a charge are opened by its merchant's clock. */
const kinds = async (token = tokens.bank, query = '') =>
  (await exceptions(token, query)).map(({ kind, state }) => `${String(kind)} ${String(state)}`).toSorted();

const respond = (exceptionId: unknown, body: object) =>
  post(tokens.bank, `${EXCEPTIONS}/${String(exceptionId)}/respond`, body);

const resolveAsOperator = (exceptionId: unknown, resolution: Resolution) =>
  database.db.transaction((trx) =>
    resolveException(trx, api.deps.ring, LAGOS, { cause: 'operator', note: 'Case 1' }, String(exceptionId), {
      resolution,
      bankTransactionId: null,
    }),
  );

const status = async (id: string, served = api, token = tokens.merchant) =>
  (await get(token, `/v1/billing/requests/${id}`, served)).body.data?.['status'];

async function theBooksAreRight(served = api): Promise<void> {
  expect(await bookDifferences(served.deps.db)).toEqual([]);
}

test('a file that agrees is matched, line by line, and opens nothing', async () => {
  const { reference } = await paid('A1');
  await refunded(reference, 30, 'A2');
  const { summary, differences } = await match(csv(debit('A1'), credit('A2', 30)), reaching());
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  expect(differences).toEqual([]);
  expect(await kinds()).toEqual([]);
});

test('each difference becomes an exception, and its file says line by line what it is', async () => {
  await paid('B1');
  const differing = await paid('B2');
  const missing = await paid('B3');
  const lines = [debit('B1'), debit('B2', 90), debit('B2', 90), debit('B1'), debit('B9', 5), ',,,,,'];
  const { summary, differences } = await match(csv(...lines, debit('B9', 5)));
  expect(summary).toEqual({
    lines: 7,
    matched: 1,
    duplicates: 3,
    unknownHere: 1,
    missingAtBank: 0,
    amountDiffers: 1,
    malformed: 1,
  });
  const opened = await exceptions();
  expect(opened).toMatchObject([
    { kind: 'amount_differs', amount: 100, reference: differing.reference, bankTransactionId: 'B2' },
    { kind: 'unknown_here', amount: 5, reference: null, billingRequestId: null, merchantId: null },
  ]);
  const [differs, unknown] = opened.map(({ exceptionId }) => String(exceptionId));
  expect(differences).toEqual([
    `3,amount_differs,B2,${today},debit,90,NGN,,${differing.reference},100,NGN,${differs},`,
    `4,duplicate,B2,${today},debit,90,NGN,,${differing.reference},100,NGN,,`,
    `5,duplicate,B1,${today},debit,100,NGN,,${await referenceOf('B1')},100,NGN,,`,
    `6,unknown_here,B9,${today},debit,5,NGN,,,,,${unknown},`,
    '7,malformed,,,,,,,,,,,"bankTransactionId is missing; bookingDate is missing; currency is missing; direction is missing"',
    `8,duplicate,B9,${today},debit,5,NGN,,,,,,`,
  ]);

  const later = await match(csv(), reaching());
  // A line of another amount is told of as that, and is not missing besides.
  expect(later.summary).toEqual({ ...NOTHING, lines: 0, missingAtBank: 1 });
  const [lacking] = await exceptions(tokens.bank, '&kind=missing_at_bank');
  expect(later.differences).toEqual([
    `,missing_at_bank,B3,,debit,,,,${missing.reference},100,NGN,${String(lacking?.['exceptionId'])},`,
  ]);
  // The merchant sees what is about its charges, without the bank's ids.
  expect(new Set(await kinds(tokens.merchant))).toEqual(
    new Set(['amount_differs open', 'missing_at_bank open']),
  );
  expect(JSON.stringify(await exceptions(tokens.merchant))).not.toContain('bankTransactionId');
  const told = await announcedTo(database.db, api.deps.ring, standing.bankId);
  expect(told.filter(({ type }) => type === 'exception.opened')).toMatchObject([
    { item: { exceptionId: differs, sequence: 1 } },
    { item: { exceptionId: unknown, sequence: 1 } },
    { item: { exceptionId: lacking?.['exceptionId'], sequence: 1 } },
  ]);
});

async function referenceOf(bankTransactionId: string): Promise<string> {
  const { body } = await get(tokens.bank, '/v1/transaction-history');
  const all = body.data?.['transactions'] as Shown[];
  return String(all.find((one) => one['bankTransactionId'] === bankTransactionId)?.['reference']);
}

test('the same file again is the same statement, and nothing new', async () => {
  await paid('C1');
  const file = csv(debit('C9', 7));
  const { id, summary } = await match(file, '', { 'idempotency-key': 'c' });
  const before = await exceptions();
  const again = await upload(file);
  expect(again).toMatchObject({ status: 202, body: { data: { statementId: id, status: 'completed' } } });
  await workOnFile(api.deps.db, api.deps.ring, id);
  expect((await get(tokens.bank, `${STATEMENTS}/${id}`)).body.data).toMatchObject({ summary });
  expect(await exceptions()).toEqual(before);

  const replayed = await upload(file, { 'idempotency-key': 'c' });
  expect(replayed).toMatchObject({ status: 202, body: { data: { statementId: id, status: 'processing' } } });
  expect(replayed.headers.get('idempotent-replayed')).toBe('true');
  expect((await upload(csv(debit('C8')), { 'idempotency-key': 'c' })).status).toBe(422);
  // Of what was sent in vain nothing waits.
  const { rows } = await database.db.query('SELECT FROM bank_statement_pages');
  expect(rows).toEqual([]);
});

test('files that overlap tell of a difference once, and one that brings what was missing ends it', async () => {
  await paid('D1');
  await paid('D2');
  await match(csv(debit('D1'), debit('D9')), reaching());
  expect(await kinds()).toEqual(['missing_at_bank open', 'unknown_here open']);
  const second = await match(csv(debit('D9'), debit('D1'), debit('D8')), reaching());
  expect(second.summary).toEqual({ ...NOTHING, lines: 3, matched: 1, unknownHere: 2 });
  expect(await kinds()).toEqual(['missing_at_bank open', 'unknown_here open', 'unknown_here open']);

  // The debit that was unknown is answered for, and what was missing is booked days later.
  await paid('D9');
  const third = await match(csv(debit('D9'), debit('D2')), reaching());
  expect(third.summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  expect(await exceptions()).toMatchObject([
    { kind: 'missing_at_bank', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'D2' },
    { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'D9' },
    { kind: 'unknown_here', state: 'open', bankTransactionId: 'D8' },
  ]);
  expect(await kinds(tokens.merchant)).toEqual(['missing_at_bank resolved']);
  await theBooksAreRight();
});

test.each(['missing', 'has'] as const)(
  'of two files at once, what the one has is not missing in the end: the one that %s it is first',
  async (first) => {
    const { db, ring } = api.deps;
    await paid('W1');
    const { reference } = await paid('W2');
    const files = { missing: csv(debit('W1')), has: csv(debit('W1'), debit('W2')) };
    const ids = { missing: '', has: '' };
    for (const file of ['missing', 'has'] as const) {
      ids[file] = String((await upload(files[file], {}, {}, await reaching())).body.data?.['statementId']);
    }
    const matching = matchingOf(db, ring, 'stm_w');
    await matchLines(matching, ids.missing);
    const steps = { missing: lookForMissing, has: matchLines };
    const second = first === 'missing' ? 'has' : 'missing';

    const open = await openTransaction(db);
    const uncommitted = { ...matching, db: { ...db, transaction: (run) => run(open.trx) } as typeof db };
    await steps[first](uncommitted, ids[first]);
    const other = steps[second](matching, ids[second]);
    await Promise.race([other, waitsForALock(db)]);
    await open.commit();
    await other;
    await workOnFile(db, ring, ids.has);

    expect(await exceptions(tokens.bank, '&state=open')).toEqual([]);
    const refund = { reference, amount: 100 };
    expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
  },
);

const bookedOn = (day: string, line: string) => line.replace(today, day);

/** A camt.053 without entries, of a period from today on. */
const camt = (currency: string, until: string) =>
  `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><FrToDt><FrDtTm>${today}T00:00:00</FrDtTm><ToDtTm>${until}T23:59:59</ToDtTm></FrToDt><Bal><Amt Ccy="${currency}">0.00</Amt></Bal></Stmt></BkToCstmrStmt></Document>`;

describe('what no file has is missing', () => {
  test.each([
    ['a day before', -1, 0],
    ['on', 0, 1],
  ])(
    'once the files reach two business days past its settlement: %s that day %i',
    async (_, days, missing) => {
      await paid('M1');
      let due = today;
      for (let left = 2; left > 0;) {
        due = addDays(due, 1);
        if (isBusinessDay(due, 'NG')) left -= 1;
      }
      await ahead(9);
      const { summary } = await match(csv(debit('M0')), reaching(addDays(due, days)));
      expect(summary).toMatchObject({ missingAtBank: missing });
    },
  );

  test('also on a day that no file covers', async () => {
    await match(csv(bookedOn(addDays(today, -5), debit('M2'))));
    await paid('M3');
    const { summary } = await match(csv(bookedOn(await ahead(9), debit('M4'))));
    expect(summary).toMatchObject({ missingAtBank: 1 });
    expect(await exceptions(tokens.bank, '&kind=missing_at_bank')).toMatchObject([
      { state: 'open', bankTransactionId: 'M3' },
    ]);
  });

  test('in the currency that its files reach so far, and in all where they say so', async () => {
    await paid('M5');
    await match(csv(debit('M6')));
    const dollars = bookedOn(await ahead(9), debit('M7')).replace('NGN', 'USD');
    expect((await match(csv(dollars))).summary).toMatchObject({ missingAtBank: 0 });
    expect((await match(csv(dollars), reaching())).summary).toMatchObject({ missingAtBank: 1 });
  });

  test('from the first day of the bank’s first file on, or from the day that this says', async () => {
    await paid('M8');
    await match(csv(bookedOn(await ahead(1), debit('M9'))));
    expect((await match(csv(), reaching())).summary).toMatchObject({ missingAtBank: 0 });

    standing = await standingApproval(database.db, api.deps.ring);
    tokens = await tokensAt(api);
    await paid('M8');
    await match(csv(bookedOn(await ahead(1), debit('M9'))), `?from=${today}`);
    expect((await match(csv(), reaching())).summary).toMatchObject({ missingAtBank: 1 });
  });

  test('to the bank’s own today: a later line counts as that, and is matched', async () => {
    await paid('M10');
    await paid('M11');
    const { summary } = await match(csv(bookedOn(addDays(today, 400), debit('M10'))));
    expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
    expect((await match(csv(), reaching())).summary).toMatchObject({ missingAtBank: 1 });
  });

  test('once: later files do not tell it again, however its exception ended', async () => {
    await paid('M12');
    const { id: charged } = await paid('M13');
    await match(csv(debit('M12')), reaching());
    const [one] = await exceptions();
    expect(one).toMatchObject({ kind: 'missing_at_bank', billingRequestId: charged });
    await resolveAsOperator(one?.['exceptionId'], 'no_difference');
    expect((await match(csv(debit('M12')), reaching(await ahead(10)))).summary).toMatchObject({
      matched: 1,
      missingAtBank: 0,
    });
    expect(await openOnes()).toEqual([]);
  });

  test('and where a camt.053 says by its period that it reaches so far', async () => {
    await paid('M14');
    await match(csv(debit('M15')));
    const until = await ahead(9);
    const xml = { 'content-type': 'application/xml' };
    expect((await match(camt('USD', until), '', xml)).summary).toMatchObject({ missingAtBank: 0 });
    expect((await match(camt('NGN', until), '', xml)).summary).toMatchObject({ missingAtBank: 1 });
  });

  test('so is a refund, and what took a charge back', async () => {
    const { reference } = await paid('M16');
    await refunded(reference, 30, 'M17');
    const { id } = await paid('M18');
    await contradict(id);
    await answerReversed('M19');
    const { summary } = await match(csv(debit('M16'), debit('M18')), reaching());
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2, missingAtBank: 2 });
    expect(await openOnes()).toMatchObject([
      { bankTransactionId: 'M17', amount: 30 },
      { bankTransactionId: 'M19', amount: 100 },
    ]);
    // The bank never took it back: that is expected no more, and the debit is as before.
    const [, back] = await openOnes();
    expect((await respond(back?.['exceptionId'], { resolution: 'no_money_moved' })).status).toBe(200);
    const later = await match(csv(debit('M18'), credit('M19', 100)));
    expect(later.summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
    await theBooksAreRight();
  });
});

test('a line that is booked twelve years ago is an error of that line', async () => {
  await paid('T1');
  // On a 29 February, too, that is a day.
  const old = `${Number(today.slice(0, 4)) - 12}${today.slice(4)}`;
  const { summary, differences } = await match(csv(debit('T1').replace(today, old)));
  expect(summary).toEqual({ ...NOTHING, lines: 1, malformed: 1 });
  expect(differences).toEqual([expect.stringMatching(/^2,malformed,.*bookingDate is before \d{4}-/)]);
});

test('a merchant whose test clock is as far as it goes can still charge, and its bank sends files', async () => {
  await select(
    database.db,
    `UPDATE entities SET clock_offset = '9997-12-31' - clock_timestamp() WHERE id = :id`,
    { id: standing.merchantId },
  );
  // The longest steps first, each until it leads too far.
  for (const by of ['P1Y', 'P1D', 'PT12H', 'PT1H']) {
    const answers = [];
    do answers.push((await post(tokens.merchant, ADVANCE, { by, jump: true })).status);
    while (answers.at(-1) === 202);
    expect(answers.at(-1)).toBe(400);
  }
  await paid('Z1');
  expect((await match(csv(debit('Z1')))).summary).toMatchObject({ matched: 1 });
});

test('by a test clock that is ahead a bank books ahead as well', async () => {
  await moveClock(database.db, standing.merchantId, '400 days');
  await paid('T4');
  const { summary } = await match(csv(debit('T4').replace(today, addDays(today, 400))));
  expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
});

test('what the bank has not booked cannot be refunded, is reversed where it never moved, and unknown here from then on', async () => {
  await paid('E0');
  const { reference, id } = await paid('E1');
  await match(csv(debit('E0')), reaching());
  const refusal = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 1 });
  expect(refusal.status).toBe(409);
  const billed = await post(tokens.merchant, '/v1/customer/bill', {
    paymentIDs: [standing.paymentId],
    amount: 100,
    currency: 'NGN',
    description: 'Shoes again',
  });
  const [one] = await exceptions();
  expect(billed.body).toMatchObject([{ warning: 'open_exception', exceptionId: one?.['exceptionId'] }]);
  expect((await respond(one?.['exceptionId'], { resolution: 'confirmed' })).status).toBe(409);
  const answer = { resolution: 'no_money_moved' };
  expect((await respond(one?.['exceptionId'], answer)).status).toBe(200);
  const { body } = await get(tokens.merchant, `/v1/transaction-details?reference=${reference}`);
  expect(body.data).toMatchObject({ status: 'successful', reversedAmount: 100, billingRequestId: id });
  const later = await match(csv(debit('E0'), debit('E1')), reaching());
  expect(later.summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
  expect(await openOnes()).toMatchObject([
    { kind: 'unknown_here', bankTransactionId: 'E1', billingRequestId: null, merchantId: null },
  ]);
  // No file explains it: its bank does.
  await match(csv(debit('E1'), debit('E2')), reaching());
  expect(await kinds(tokens.bank, '&kind=unknown_here')).toEqual(['unknown_here open', 'unknown_here open']);
  await theBooksAreRight();
});

test.each([
  ['no_money_moved', {}, 0],
  ['reversed', { bankTransactionId: 'RB3' }, 2],
])(
  'a refund that the bank has not booked is returned once it is %s, and what is booked later is judged by that',
  async (resolution, by, matched) => {
    const { reference } = await paid('RB1');
    const refundId = await refunded(reference, 40, 'RB2');
    expect((await match(csv(debit('RB1')), reaching())).summary).toMatchObject({
      matched: 1,
      missingAtBank: 1,
    });
    const [one] = await exceptions();
    expect(one).toMatchObject({ kind: 'missing_at_bank', refundId });

    expect((await respond(one?.['exceptionId'], { resolution, ...by })).status).toBe(200);

    const { body } = await get(tokens.merchant, `/v1/refunds/${String(refundId)}`);
    expect(body.data).toMatchObject({ status: 'returned' });
    const again = await match(csv(debit('RB1'), debit('RB9')), reaching());
    expect(again.summary).toMatchObject({ matched: 1, missingAtBank: 0 });
    const { summary } = await match(csv(credit('RB2', 40), debit('RB3', 40)));
    expect(summary).toMatchObject({ lines: 2, matched, unknownHere: 2 - matched });
    expect((await post(tokens.merchant, '/v1/refunds/initiate', { reference })).body.data).toMatchObject({
      amount: 100,
    });
    await theBooksAreRight();
  },
);

test('a second debit and what took it back are both accounted for, and the first is booked as ever', async () => {
  const { id } = await paid('SD1');
  const second = { billingRequestId: id, bankTransactionId: 'SD2' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', second)).status).toBe(409);
  const [doubted] = await exceptions();
  const taken = { resolution: 'reversed', bankTransactionId: 'SD3' };
  expect((await respond(doubted?.['exceptionId'], taken)).status).toBe(200);

  const { summary } = await match(csv(debit('SD1'), debit('SD2'), credit('SD3', 100)), reaching());

  expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 3 });
  const next = await paid('SD4');
  const again = { billingRequestId: next.id, bankTransactionId: 'SD5' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', again)).status).toBe(409);
  const [never] = await exceptions(tokens.bank, '&state=open');
  expect((await respond(never?.['exceptionId'], { resolution: 'no_money_moved' })).status).toBe(200);
  // The second one never moved, and is none of the network's where it has after all.
  expect((await match(csv(debit('SD4'), debit('SD5')))).summary).toEqual({
    ...NOTHING,
    lines: 2,
    matched: 1,
    unknownHere: 1,
  });
  await theBooksAreRight();
});

test('a second debit that is booked with another amount is unknown here, and its end leaves the charge', async () => {
  const { id, reference } = await paid('SD6');
  const second = { billingRequestId: id, bankTransactionId: 'SD7' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', second)).status).toBe(409);
  const { summary } = await match(csv(debit('SD6'), debit('SD7', 7)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
  for (const { exceptionId } of await openOnes()) {
    expect((await respond(exceptionId, { resolution: 'no_money_moved' })).status).toBe(200);
  }
  const { body } = await get(tokens.merchant, `/v1/transaction-details?reference=${reference}`);
  expect(body.data).toMatchObject({ status: 'successful', reversedAmount: 0 });
  await theBooksAreRight();
});

test('of an amount that differs only what was not booked is written off', async () => {
  const { reference } = await paid('F1');
  await match(csv(debit('F1', '60.50')));
  const [one] = await exceptions();
  const refund = (amount: number) => post(tokens.merchant, '/v1/refunds/initiate', { reference, amount });
  expect((await refund(60.51)).status).toBe(409);
  await resolveAsOperator(one?.['exceptionId'], 'written_off');
  expect(await balancesOf(database.db, standing.bankId)).toMatchObject({
    customer_bank: -6050n,
    disputed: -3950n,
  });
  expect((await refund(100)).status).toBe(201);
  await theBooksAreRight();
});

test('a refund that is booked too high is no match, and holds what was booked beyond it', async () => {
  const { reference } = await paid('F2');
  await refunded(reference, 30, 'F3');
  const { summary } = await match(csv(debit('F2'), credit('F3', 50)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, amountDiffers: 1 });
  const refund = { reference, amount: 70 };
  expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(409);
  await theBooksAreRight();
});

const contradict = (billingRequestId: string) =>
  post(tokens.bank, '/v1/billing/bank-response', { billingRequestId, declineReason: 'insufficient_funds' });
const openOnes = () => exceptions(tokens.bank, '&state=open');

/** The bank took back what the one exception that is open is about. */
async function answerReversed(bankTransactionId: string): Promise<void> {
  const [one] = await openOnes();
  const answer = { resolution: 'reversed', bankTransactionId };
  expect((await respond(one?.['exceptionId'], answer)).status).toBe(200);
}

test.each([
  ['no_money_moved', 0],
  ['written_off', 1],
] as const)('a charge that was contradicted, and %s, is matched %d times', async (resolution, matched) => {
  const { id } = await paid('L1');
  await contradict(id);
  const [one] = await openOnes();
  await resolveAsOperator(one?.['exceptionId'], resolution);
  const { summary } = await match(csv(debit('L1')), reaching());
  expect(summary).toEqual({ ...NOTHING, lines: 1, matched, unknownHere: 1 - matched });
  await theBooksAreRight();
});

test('a charge that was missing while its exception was about another thing is told of again', async () => {
  await paid('L0');
  const { id } = await paid('L1');
  await contradict(id);
  expect((await match(csv(debit('L0')), reaching())).summary).toMatchObject({ missingAtBank: 1 });
  const [one] = await openOnes();
  expect(one).toMatchObject({ kind: 'conflicting_answer' });
  expect((await respond(one?.['exceptionId'], { resolution: 'confirmed' })).status).toBe(200);
  expect((await match(csv(debit('L0')), reaching(await ahead(8)))).summary).toMatchObject({
    missingAtBank: 1,
  });
  const [missing, ...more] = await openOnes();
  expect(more).toEqual([]);
  expect(missing).toMatchObject({ kind: 'missing_at_bank', billingRequestId: id, bankTransactionId: 'L1' });
  expect((await match(csv(debit('L0'), debit('L1')), reaching(await ahead(9)))).summary).toMatchObject({
    matched: 2,
  });
  expect(await openOnes()).toEqual([]);
  await theBooksAreRight();
});

test('a debit that a file has is unknown here once its bank says that no money moved', async () => {
  const { id } = await paid('L1');
  expect((await match(csv(debit('L1')))).summary).toMatchObject({ matched: 1 });
  await contradict(id);
  const [one] = await openOnes();
  expect((await respond(one?.['exceptionId'], { resolution: 'no_money_moved' })).status).toBe(200);
  const [unknown, ...more] = await openOnes();
  expect(more).toEqual([]);
  expect(unknown).toMatchObject({
    kind: 'unknown_here',
    bankTransactionId: 'L1',
    amount: 100,
    billingRequestId: null,
  });
  expect((await match(csv(debit('L1')), reaching())).summary).toMatchObject({ unknownHere: 1 });
  expect(await openOnes()).toMatchObject([{ exceptionId: unknown?.['exceptionId'] }]);
  await theBooksAreRight();
});

test('what a file has that came together with another is missing in neither', async () => {
  await paid('L0');
  await paid('L1');
  const one = await upload(csv(debit('L0')), {}, {}, await reaching());
  const other = await upload(csv(debit('L1')));
  for (const { body } of [one, other])
    await workOnFile(api.deps.db, api.deps.ring, String(body.data?.['statementId']));
  expect(await exceptions()).toEqual([]);
});

test.each([
  ['the bank takes it back', { resolution: 'reversed', bankTransactionId: 'G2' }, 200],
  ['the bank finds that none moved', { resolution: 'no_money_moved' }, 200],
  ['the bank would confirm it', { resolution: 'confirmed' }, 409],
])('what is unknown here is the bank’s to end: %s', async (_, answer, expected) => {
  await match(csv(debit('G1', 40)));
  const [one] = await exceptions();
  const shown = await get(tokens.bank, `${EXCEPTIONS}/${String(one?.['exceptionId'])}`);
  expect(shown.body.data).toMatchObject({
    kind: 'unknown_here',
    events: [{ type: 'exception.opened', cause: 'bank' }],
  });
  expect(await exceptions(tokens.merchant)).toEqual([]);
  expect((await respond(one?.['exceptionId'], answer)).status).toBe(expected);
  if (expected === 409) return;
  const told = await announcedTo(database.db, api.deps.ring, standing.bankId);
  expect(told.map(({ type }) => type)).toContain('exception.resolved');
  // The next file tells it again, with what took it back, and opens nothing.
  const later = await match(csv(debit('G1', 40), credit('G2', 40)));
  const takenBack = answer.resolution === 'reversed';
  expect(later.summary).toMatchObject({ unknownHere: takenBack ? 1 : 2, matched: takenBack ? 1 : 0 });
  expect(await kinds(tokens.bank, '&state=open')).toEqual(takenBack ? [] : ['unknown_here open']);
  await theBooksAreRight();
});

describe('a line that came before its bank’s answer', () => {
  test('is no difference any more with the next file, nor is its charge missing', async () => {
    await match(csv(debit('J1'), debit('J2')));
    await paid('J1');
    await paid('J2', 90);
    const next = await match(csv(), reaching());
    expect(next.summary).toEqual({ ...NOTHING, lines: 0, missingAtBank: 1 });
    expect(await exceptions()).toMatchObject([
      { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'J1' },
      { kind: 'unknown_here', state: 'open', bankTransactionId: 'J2' },
      { kind: 'missing_at_bank', state: 'open', bankTransactionId: 'J2' },
    ]);
    await theBooksAreRight();
  });

  test('ends with another of the same id only where it has the amount', async () => {
    await match(csv(debit('J5'), debit('J5', '10.75')));
    await paid('J5');
    await match(csv());
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', amount: 10.75 }]);
  });

  test('stays unknown where the bank has said meanwhile that no money moved', async () => {
    await match(csv(debit('J6')));
    const { id } = await paid('J6');
    await contradict(id);
    const [conflict] = await exceptions(tokens.bank, '&kind=conflicting_answer');
    expect((await respond(conflict?.['exceptionId'], { resolution: 'no_money_moved' })).status).toBe(200);
    await match(csv(), reaching());
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', bankTransactionId: 'J6' }]);
    await theBooksAreRight();
  });

  test('belongs to the exception of a second debit, and does not stand for the first', async () => {
    const { id } = await paid('G4');
    await match(csv(debit('G5')));
    const second = { billingRequestId: id, bankTransactionId: 'G5' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', second)).status).toBe(409);
    const lacking = await match(csv(debit('G5'), debit('G5')), reaching());
    expect(await kinds(tokens.bank, '&kind=unknown_here')).toEqual(['unknown_here resolved']);
    expect(lacking.summary).toMatchObject({ matched: 1, duplicates: 1, missingAtBank: 1 });
  });

  test('and is what took a charge back is not missing, and unknown no more', async () => {
    const { id } = await paid('V12');
    await match(csv(debit('V12'), credit('V13', 100)));
    await contradict(id);
    const [conflict] = await exceptions(tokens.bank, '&kind=conflicting_answer');
    const answer = { resolution: 'reversed', bankTransactionId: 'V13' };
    expect((await respond(conflict?.['exceptionId'], answer)).status).toBe(200);
    expect((await match(csv(debit('V12')), reaching())).summary).toMatchObject({
      matched: 1,
      missingAtBank: 0,
    });
    expect(await openOnes()).toEqual([]);
    await theBooksAreRight();
  });
});

test('a line with a comma too many is an error of that line, and the corrected file has it', async () => {
  await paid('X1');
  await paid('X2');
  const lines = [`${debit('X1')}Shoes`, `${debit('X2')}Shoes, red`];
  const { summary, differences } = await match(
    [HEADER.replace('reference', 'description'), ...lines, ''].join('\n'),
  );
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, malformed: 1 });
  expect(differences).toEqual(['3,malformed,,,,,,,,,,,"it has more fields than the header"']);
  const corrected = await match(csv(debit('X1'), debit('X2')), reaching());
  expect(corrected.summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  expect(await kinds()).toEqual([]);
});

describe('what took a charge back', () => {
  test.each([
    ['completed', 60, []],
    ['completed', 60.01, ['amount_differs']],
    ['pending', 60, []],
    ['pending', 100, ['amount_differs']],
  ])('is what a refund that is %s has left: %d', async (state, amount, kindsOpen) => {
    const { id, reference } = await paid('V3');
    if (state === 'completed') await refunded(reference, 40, 'V4');
    else await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 40 });
    await contradict(id);
    await answerReversed('V5');
    const { summary } = await match(csv(debit('V3'), credit('V4', 40), credit('V5', amount)));
    expect(summary).toMatchObject({ amountDiffers: kindsOpen.length, missingAtBank: 0 });
    const told = (await openOnes()).filter(({ bankTransactionId }) => bankTransactionId === 'V5');
    expect(told.map(({ kind }) => kind)).toEqual(kindsOpen);
    await theBooksAreRight();
  });

  test('is all of it where the refund that had all of it is rejected since', async () => {
    const { id, reference } = await paid('V14');
    const { body } = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 100 });
    await contradict(id);
    await answerReversed('V15');
    const rejected = { refundId: body.data?.['refundId'], action: 'rejected', reason: 'account_closed' };
    expect((await post(tokens.bank, '/v1/bank/refund-response', rejected)).status).toBe(200);
    const { summary } = await match(csv(debit('V14'), credit('V15', 100)), reaching());
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    expect(await openOnes()).toEqual([]);
    await theBooksAreRight();
  });

  test('belongs to its exception where refunds have taken all of the charge', async () => {
    const { id, reference } = await paid('V6');
    await refunded(reference, 100, 'V7');
    await contradict(id);
    await answerReversed('V8');
    const { summary } = await match(csv(debit('V6'), credit('V7', 100), credit('V8', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 3 });
  });
});

describe('a line that names the reference of a charge or refund', () => {
  test('is no answer to it: it is unknown here, and the charge goes on', async () => {
    const { id, reference } = await charge();
    const { summary } = await match(csv(debit('H1', 100, reference)));
    expect(summary).toEqual({ ...NOTHING, lines: 1, unknownHere: 1 });
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', reference, billingRequestId: null }]);
    expect(await status(id)).toBe('pending');
    // Its own answer settles it, and explains the line.
    const body = { billingRequestId: id, bankTransactionId: 'H1' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', body)).status).toBe(200);
    await match(csv(), reaching());
    expect(await kinds()).toEqual(['unknown_here resolved']);
    await theBooksAreRight();
  });

  test('is none of it where another id has paid it, whatever its amount: a fee, say', async () => {
    const { reference } = await paid('H11');
    const { summary } = await match(csv(debit('H11'), debit('H12', '10.75', reference)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
    expect(await kinds(tokens.merchant)).toEqual([]);
    const refund = { reference, amount: 100 };
    expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
  });
});

test.each([
  ['as it was answered', 1, () => debit('H14')],
  ['with another amount', 0, () => debit('H14', 5_000)],
  ['as a credit', 0, () => credit('H14', 100)],
])('a late debit that is taken back, booked %s, matches %d times', async (_, matches, lineOf) => {
  const line = lineOf();
  const { id } = await charge();
  await wholeFeed(database.db);
  await get(tokens.bank, '/v1/events');
  await moveClock(database.db, standing.merchantId, '2 days');
  await database.db.transaction((trx) => closeExpiredRequests(trx, api.deps.ring, [id], 'by its bank'));
  const late = { billingRequestId: id, bankTransactionId: 'H14' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', late)).status).toBe(409);
  const [lateAnswer] = await exceptions(tokens.bank, '&kind=unanswered');
  const answer = { resolution: 'reversed', bankTransactionId: 'H15' };
  expect((await respond(lateAnswer?.['exceptionId'], answer)).status).toBe(200);

  const { summary } = await match(csv(line, credit('H15', 100)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1 + matches, amountDiffers: 1 - matches });
  await theBooksAreRight();
});

test('a payment between customers is a debit at one bank, and by its reference a credit at the other', async () => {
  const payer = await standingApproval(database.db, api.deps.ring);
  const token = await tokenOf(api, payer.credentials.bank);
  const { id, deliveryId } = await payAnother(database.db, api.deps.ring, payer, standing);
  const shown = await get(token, `/v1/billing/requests/${id}`);
  const reference = String(shown.body.data?.['reference']);
  const before = await match(csv(credit('OWN-0', 2.5, reference)));
  expect(before.summary).toMatchObject({ unknownHere: 1 });
  await settleCredit(database.db, api.deps.ring, deliveryId);

  const MATCHED = { ...NOTHING, lines: 1, matched: 1 };
  expect((await match(csv(debit(`tx-${id}`, 2.5)), '', {}, api, token)).summary).toEqual(MATCHED);
  expect((await match(csv(credit('OWN-1', 2.5, reference)))).summary).toEqual(MATCHED);
  expect(await openOnes()).toEqual([]);
});

describe('a payment between customers that the payee’s bank was told of, and has not credited', () => {
  let payer: Standing;
  let payersToken: string;
  let payment: { reference: string; id: string };

  beforeEach(async () => {
    payer = await standingApproval(database.db, api.deps.ring);
    payersToken = await tokenOf(api, payer.credentials.bank);
    const { id, deliveryId } = await payAnother(database.db, api.deps.ring, payer, standing);
    await settleCredit(database.db, api.deps.ring, deliveryId);
    const shown = await get(payersToken, `/v1/billing/requests/${id}`);
    payment = { id, reference: String(shown.body.data?.['reference']) };
    await paid(`C-${id}`);
  });
  const other = () => debit(`C-${payment.id}`);
  const credited = (amount = 2.5) => credit(`OWN-${payment.id}`, amount, payment.reference);

  test('is missing in its files, and both banks are told by the payment’s reference', async () => {
    const { summary, differences } = await match(csv(other()), reaching());
    expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1, missingAtBank: 1 });
    const [exception, ...more] = await exceptions();
    expect(more).toEqual([]);
    expect(exception).toMatchObject({
      kind: 'missing_at_bank',
      state: 'open',
      reference: payment.reference,
      billingRequestId: payment.id,
      refundId: null,
      bankId: payer.bankId,
      amount: 2.5,
      currency: 'NGN',
      bankTransactionId: null,
    });
    expect(await exceptions(payersToken)).toEqual([exception]);
    expect(differences).toEqual([
      `,missing_at_bank,,,credit,,,,${payment.reference},2.5,NGN,${String(exception?.['exceptionId'])},`,
    ]);
    const id = exception?.['exceptionId'];
    for (const bankId of [standing.bankId, payer.bankId]) {
      const announced = await announcedTo(database.db, api.deps.ring, bankId);
      expect(announced.filter(({ type }) => type === 'exception.opened')).toMatchObject([
        { item: { exceptionId: id, reference: payment.reference, bankTransactionId: null } },
      ]);
    }
    expect(await status(payment.id, api, payersToken)).toBe('successful');
    await theBooksAreRight();
  });

  test('is missing no more with the file that has it', async () => {
    await match(csv(other()), reaching());
    expect((await match(csv(credited()))).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
    expect(await exceptions()).toMatchObject([{ state: 'resolved', resolution: 'no_difference' }]);
    await theBooksAreRight();
  });

  test('is missing where it was credited with another amount', async () => {
    const { summary } = await match(csv(other(), credited(3)), reaching());
    expect(summary).toMatchObject({ matched: 1, unknownHere: 1, missingAtBank: 1 });
  });

  test('is not missing for the payer’s bank, which has the debit', async () => {
    const file = csv(debit(`tx-${payment.id}`, 2.5));
    expect((await match(file, '', {}, api, payersToken)).summary).toEqual({
      ...NOTHING,
      lines: 1,
      matched: 1,
    });
  });

  test('need not be credited where the payer’s bank has taken it back, and may have been', async () => {
    await match(csv(other()), reaching());
    const [exception] = await exceptions();
    const url = `${EXCEPTIONS}/${String(exception?.['exceptionId'])}/respond`;
    const answer = { resolution: 'reversed', bankTransactionId: `back-${payment.id}` };
    expect((await post(tokens.bank, url, answer)).status).toBe(404);
    expect((await post(payersToken, url, answer)).status).toBe(200);
    expect((await match(csv(credited()), reaching())).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
    const file = csv(debit(`tx-${payment.id}`, 2.5), credit(`back-${payment.id}`, 2.5));
    expect((await match(file, '', {}, api, payersToken)).summary).toEqual({
      ...NOTHING,
      lines: 2,
      matched: 2,
    });
    await theBooksAreRight();
  });
});

test('after a restored back-up what was open again is unknown here until its bank answers again, and what is gone stays so', async () => {
  const open = await charge();
  const restored = await copyOfDatabase(database);
  await api.close();
  api = await serveApi(database.db, { settings: SETTINGS });
  // What comes after the back-up: an answer, and a charge with its answer.
  const answer = { billingRequestId: open.id, bankTransactionId: 'R1' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', answer)).status).toBe(200);
  const gone = await paid('R2', 70);

  const after = await serveApi(restored.db, { settings: SETTINGS });
  try {
    const token = await tokenOf(after, standing.credentials.bank);
    const merchant = await tokenOf(after, standing.credentials.merchant);
    expect(await status(open.id, after, merchant)).toBe('pending');
    const file = csv(debit('R1', 100, open.reference), debit('R2', 70, gone.reference));
    const { summary } = await match(file, '', {}, after, token);
    expect(summary).toEqual({ ...NOTHING, lines: 2, unknownHere: 2 });
    expect((await post(token, '/v1/billing/bank-response', answer, after)).status).toBe(200);
    await match(csv(), '', {}, after, token);
    expect(await exceptions(token, '', after)).toMatchObject([
      { kind: 'unknown_here', state: 'resolved', bankTransactionId: 'R1' },
      { kind: 'unknown_here', state: 'open', amount: 70, reference: gone.reference, billingRequestId: null },
    ]);
    expect(await exceptions(merchant, '', after)).toEqual([]);
    const found = await exceptions(token, `&reference=${gone.reference}`, after);
    const said = { resolution: 'reversed', bankTransactionId: 'R3' };
    const where = `${EXCEPTIONS}/${String(found[0]?.['exceptionId'])}/respond`;
    expect((await post(token, where, said, after)).status).toBe(200);
    await theBooksAreRight(after);
  } finally {
    await after.close();
    await restored.drop();
  }
});

test('a camt.053 is a statement like any other', async () => {
  await paid('FT26061A01', 1500);
  const file = readFileSync(path.join(__dirname, '../../samples/statement.camt.053.xml'), 'utf8');
  const now = file.replaceAll(/2026-03-0\d/g, today);
  const { summary } = await match(now, '', { 'content-type': 'application/xml; charset=utf-8' });
  expect(summary).toMatchObject({ lines: 6, matched: 1, unknownHere: 3, malformed: 2 });
});

test.each([
  ['a wrong header', 'a,b\n1,2\n', {}, 400, /header must have the columns/],
  ['no body', '', {}, 400, /needs a body of text\/csv or application\/xml/],
  ['CSV as XML', csv(), { 'content-type': 'application/xml' }, 400, /is not well-formed/],
  ['JSON', '{}', { 'content-type': 'application/json' }, 415, /must be text\/csv or application\/xml/],
  ['another encoding', csv(), { 'content-type': 'text/csv; charset=latin1' }, 415, /in UTF-8/],
])('%s is refused, and nothing of it stays', async (_, file, headers, expected, why) => {
  const { status: got, body } = await upload(file, headers);
  expect([got, body.message]).toEqual([expected, expect.stringMatching(why)]);
  const { rows } = await database.db.query('SELECT FROM bank_statement_pages');
  expect(rows).toEqual([]);
});

test('a file that stops arriving is refused after ten seconds, and nothing of it stays', async () => {
  const answered = await fetch(api.url + STATEMENTS, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.bank}`, 'content-type': 'text/csv' },
    body: new ReadableStream({
      start: (body) => {
        const lines = Array.from({ length: 1_500 }, (_, n) => debit(`S-${n}`));
        body.enqueue(Buffer.from(csv(...lines)));
      },
    }),
    duplex: 'half',
  });
  expect(answered.status).toBe(408);
  const { rows } = await database.db.query('SELECT FROM bank_statement_pages');
  expect(rows).toEqual([]);
});

test('a file that says it is larger than 1 GiB is refused before it is sent', async () => {
  const answered = await fetch(api.url + STATEMENTS, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokens.bank}`,
      'content-type': 'text/csv',
      'content-length': String(2 ** 30 + 1),
    },
    body: new ReadableStream({ start: (body) => body.enqueue(Buffer.from(csv())) }),
    duplex: 'half',
  });
  expect(answered.status).toBe(413);
  expect(await answered.json()).toMatchObject({ message: 'The body may have at most 1048576 KiB' });
});

test('a file is not taken twice under one idempotency key while the first is under way', async () => {
  const first = await openTransaction(database.db);
  const request = { callerId: standing.bankId, path: STATEMENTS, key: 'running' };
  await claimKey(first.trx, api.deps.ring, { ...request, bodyIndexes: [Buffer.of()] });
  const second = await upload(csv(), { 'idempotency-key': 'running' });
  await first.rollback();
  expect(second.status).toBe(409);
});

test('only a bank sends statements, and no other bank sees them', async () => {
  expect((await upload(csv(), {}, { token: tokens.merchant, served: api })).status).toBe(403);
  const { id } = await match(csv());
  const other = await standingApproval(database.db, api.deps.ring);
  const token = await tokenOf(api, other.credentials.bank);
  for (const more of ['', '/differences.csv']) {
    expect((await get(token, `${STATEMENTS}/${id}${more}`)).status).toBe(404);
  }
});

test('a file of some thousands of lines is judged in pages, each once', async () => {
  await paid('K1');
  const many = Array.from({ length: 2_500 }, (_, n) => debit(`K-${n}`, n + 1));
  const { summary, differences } = await match(csv(debit('K1'), ...many, debit('K1'), debit('K-0', 1)));
  expect(summary).toEqual({ ...NOTHING, lines: 2_503, matched: 1, duplicates: 2, unknownHere: 2_500 });
  expect(differences).toHaveLength(2_502);
});
