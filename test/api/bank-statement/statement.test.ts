import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { closeExpiredRequests } from '../../../src/database/billing-request/outcome';
import { readConfig, recurringRules } from '../../../src/config';
import { onboardBatch } from '../../../src/database/customer/migration';
import { matchNextPage } from '../../../src/database/bank-statement/match';
import { findMissing } from '../../../src/database/bank-statement/missing';
import { endKnownByNow } from '../../../src/database/bank-statement/known-by-now';
import { rows as select } from '../../../src/database/connection';
import { claimKey } from '../../../src/database/idempotency';
import { dismissWithStatement } from '../../../src/database/reconciliation-exception/dismiss';
import { resolveException } from '../../../src/database/reconciliation-exception/resolve';
import { calendarDay } from '../../../src/domain/calendar';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';
import { send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { bookDifferences } from '../../support/books';
import { copyOfDatabase, createTestDatabase, type TestDatabase } from '../../support/database';
import { balancesOf } from '../../support/ledger';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { runSchedule } from '../../support/schedule';
import { payAnother, settleCredit } from '../../support/settled';
import {
  announcedTo,
  lookupIdOf,
  makeSchedule,
  moveClock,
  standingApproval,
  type Standing,
} from '../../support/standing';
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
async function charge(amount = 100): Promise<{ reference: string; id: string }> {
  const { body } = await post(tokens.merchant, '/v1/customer/bill', {
    paymentIDs: [standing.paymentId],
    amount,
    currency: 'NGN',
    description: 'Shoes',
  });
  const [item] = body as unknown as { reference: string; billingRequestId: string }[];
  return { reference: String(item?.reference), id: String(item?.billingRequestId) };
}

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
  { token, served }: { token: string; served: ServedApi } = { token: tokens.bank, served: api },
): Promise<Answered> {
  return send(served.url, 'POST', STATEMENTS, file, {
    'content-type': 'text/csv',
    authorization: `Bearer ${token}`,
    ...headers,
  });
}

/** Sends a file, and does what its workflow does. */
async function match(
  file: string,
  headers: Record<string, string> = {},
  served = api,
  token = tokens.bank,
): Promise<{ id: string; summary: Shown; differences: string[] }> {
  const { status, body } = await upload(file, headers, { token, served });
  expect({ status, body }).toMatchObject({ status: 202 });
  const id = String(body.data?.['statementId']);
  await work(id, served);
  const shown = await get(token, `${STATEMENTS}/${id}`, served);
  expect(shown.body.data).toMatchObject({ statementId: id, status: 'completed' });
  const { body: text } = await get(token, String(shown.body.data?.['differencesUrl']), served);
  const [, ...differences] = (text as unknown as string).trimEnd().split('\r\n');
  return { id, summary: shown.body.data?.['summary'] as Shown, differences };
}

async function work(id: string, { deps }: ServedApi): Promise<void> {
  const matching = { db: deps.db, keyring: deps.ring, timeZone: LAGOS, workflowId: `bank-statement/${id}` };
  while ((await matchNextPage(matching, id)) !== undefined);
  await endKnownByNow(matching, id);
  while ((await findMissing(matching, id)) !== undefined);
}

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
const kinds = async (token = tokens.bank, query = '') =>
  (await exceptions(token, query)).map(({ kind, state }) => `${String(kind)} ${String(state)}`);

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

const OPERATOR = { actor: 'operator:ada', cause: 'operator', requestId: null, reason: 'wrong file' } as const;

/** As an operator does with a file that was wrong. */
const dismiss = (statementId: string) =>
  dismissWithStatement(database.db, api.deps.ring, LAGOS, OPERATOR, statementId, () => undefined);

/** As the bank's next file does before it looks for what is missing. @returns how many it ended */
async function endKnown(): Promise<number> {
  const { db, ring: keyring } = api.deps;
  const [file] = await select<{ id: string }>(
    db,
    `SELECT id FROM bank_statements WHERE bank_id = :bankId LIMIT 1`,
    { bankId: standing.bankId },
  );
  const matching = { db, keyring, timeZone: LAGOS, workflowId: 'bank-statement/next' };
  return (await endKnownByNow(matching, file?.id ?? '')).length;
}

test('a file that agrees is matched, line by line, and opens nothing', async () => {
  const { reference } = await paid('A1');
  await refunded(reference, 30, 'A2');
  const { summary, differences } = await match(csv(debit('A1'), credit('A2', 30)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  expect(differences).toEqual([]);
  expect(await kinds()).toEqual([]);
});

test('each difference becomes an exception, and its file says line by line what it is', async () => {
  await paid('B1');
  const differing = await paid('B2');
  const missing = await paid('B3');
  const { summary, differences } = await match(
    csv(debit('B1'), debit('B2', 90), debit('B2', 90), debit('B1'), debit('B9', 5), ',,,,,', debit('B9', 5)),
  );
  expect(summary).toEqual({
    lines: 7,
    matched: 1,
    duplicates: 3,
    unknownHere: 1,
    missingAtBank: 1,
    amountDiffers: 1,
    malformed: 1,
  });
  const opened = await exceptions();
  expect(opened).toMatchObject([
    { kind: 'amount_differs', amount: 100, reference: differing.reference, bankTransactionId: 'B2' },
    { kind: 'unknown_here', amount: 5, reference: null, billingRequestId: null, merchantId: null },
    { kind: 'missing_at_bank', amount: 100, reference: missing.reference, bankTransactionId: 'B3' },
  ]);
  const [differs, unknown, lacking] = opened.map(({ exceptionId }) => String(exceptionId));
  expect(differences).toEqual([
    `3,amount_differs,B2,${today},debit,90,NGN,,${differing.reference},100,NGN,${differs},`,
    `4,duplicate,B2,${today},debit,90,NGN,,${differing.reference},100,NGN,${differs},`,
    `5,duplicate,B1,${today},debit,100,NGN,,${await referenceOf('B1')},100,NGN,,`,
    `6,unknown_here,B9,${today},debit,5,NGN,,,,,${unknown},`,
    '7,malformed,,,,,,,,,,,"bankTransactionId is missing; bookingDate is missing; currency is missing; direction is missing"',
    `8,duplicate,B9,${today},debit,5,NGN,,,,,${unknown},`,
    `,missing_at_bank,B3,,debit,,,,${missing.reference},100,NGN,${lacking},`,
  ]);
  // The merchant sees what is about its charges, without the bank's ids.
  expect(await kinds(tokens.merchant)).toEqual(['amount_differs open', 'missing_at_bank open']);
  expect(JSON.stringify(await exceptions(tokens.merchant))).not.toContain('bankTransactionId');
  const told = await announcedTo(database.db, api.deps.ring, standing.bankId);
  expect(told.filter(({ type }) => type === 'exception.opened')).toMatchObject([
    { item: { exceptionId: differs, sequence: 1 } },
    { item: { exceptionId: lacking, sequence: 1 } },
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
  const { id, summary } = await match(file, { 'idempotency-key': 'c' });
  const before = await exceptions();
  const again = await upload(file);
  expect(again).toMatchObject({ status: 202, body: { data: { statementId: id, status: 'completed' } } });
  await work(id, api);
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
  await match(csv(debit('D1'), debit('D9')));
  expect(await kinds()).toEqual(['unknown_here open', 'missing_at_bank open']);
  const second = await match(csv(debit('D9'), debit('D1'), debit('D8')));
  expect(second.summary).toEqual({ ...NOTHING, lines: 3, matched: 1, unknownHere: 2, missingAtBank: 1 });
  expect(await kinds()).toEqual(['unknown_here open', 'missing_at_bank open', 'unknown_here open']);

  // The debit that was unknown is answered for, and what was missing is booked a day later.
  await paid('D9');
  const third = await match(csv(debit('D9'), debit('D2')));
  expect(third.summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  expect(await exceptions()).toMatchObject([
    { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'D9' },
    { kind: 'missing_at_bank', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'D2' },
    { kind: 'unknown_here', state: 'open', bankTransactionId: 'D8' },
  ]);
  expect(await kinds(tokens.merchant)).toEqual(['missing_at_bank resolved']);
  await theBooksAreRight();
});

test.each([
  ['while the other looks for what is missing', 'missing'],
  ['before the other looks for what is missing', 'has'],
] as const)('of two files at once, what the one has is not missing for the other: %s', async (_, first) => {
  const { db, ring } = api.deps;
  await paid('W1');
  const { reference } = await paid('W2');
  const files = { missing: csv(debit('W1')), has: csv(debit('W1'), debit('W2')) };
  const ids = { missing: '', has: '' };
  for (const file of ['missing', 'has'] as const) {
    ids[file] = String((await upload(files[file])).body.data?.['statementId']);
  }
  const matching = { db, keyring: ring, timeZone: LAGOS, workflowId: 'bank-statement/w' };
  await matchNextPage(matching, ids.missing);
  const steps = { missing: findMissing, has: matchNextPage };
  const second = first === 'missing' ? 'has' : 'missing';

  const open = await openTransaction(db);
  const uncommitted = { ...matching, db: { ...db, transaction: (run) => run(open.trx) } as typeof db };
  await steps[first](uncommitted, ids[first]);
  const other = steps[second](matching, ids[second]);
  await Promise.race([other, waitsForALock(db)]);
  await open.commit();
  await other;

  expect(await exceptions(tokens.bank, '&state=open')).toEqual([]);
  const refund = { reference, amount: 100 };
  expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
});

test.each([
  [
    'in a year to come',
    (day: string) => day.replace(/^20/, '21'),
    /^3,malformed,.*bookingDate is in the future/,
  ],
  [
    // On a 29 February, too, that is a day.
    'twelve years ago',
    (day: string) => `${Number(day.slice(0, 4)) - 12}${day.slice(4)}`,
    /^3,malformed,.*bookingDate is before \d{4}-/,
  ],
])(
  'a line that is booked %s is an error of that line: nothing in between is missing',
  async (_, typo, problem) => {
    await paid('T1');
    await paid('T2');
    // Settled on another day than any line of the file is booked on.
    await moveClock(database.db, standing.merchantId, '3 days');
    await paid('T3');
    await moveClock(database.db, standing.merchantId, '-3 days');

    const { summary, differences } = await match(csv(debit('T1'), debit('T2').replace(today, typo(today))));

    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, malformed: 1, missingAtBank: 1 });
    expect(differences).toEqual([
      expect.stringMatching(problem),
      expect.stringMatching(/^[^,]*,missing_at_bank,T2,/),
    ]);
    // The corrected file ends it.
    expect((await match(csv(debit('T1'), debit('T2')))).summary).toMatchObject({
      matched: 2,
      missingAtBank: 0,
    });
    expect(await kinds()).toEqual(['missing_at_bank resolved']);
  },
);

test('a merchant whose test clock is as far as it goes can still charge, and no bank books in the future by it', async () => {
  const clockTo = (moment: string) =>
    select(database.db, `UPDATE entities SET clock_offset = :moment - clock_timestamp() WHERE id = :id`, {
      moment,
      id: standing.merchantId,
    });
  await clockTo('9997-12-31');
  // The longest steps first, each until it leads too far.
  for (const by of ['P1Y', 'P1D', 'PT12H', 'PT1H']) {
    const answers = [];
    do answers.push((await post(tokens.merchant, ADVANCE, { by, jump: true })).status);
    while (answers.at(-1) === 202);
    expect(answers.at(-1)).toBe(400);
  }
  await paid('Z1');
  // Where clocks were before they were bounded; they never go back.
  for (const moment of [null, '9999-12-31']) {
    if (moment !== null) await clockTo(moment);
    const other = await standingApproval(database.db, api.deps.ring);
    const token = await tokenOf(api, other.credentials.bank);
    expect((await match(csv(debit('Z2')), {}, api, token)).summary).toMatchObject({ unknownHere: 1 });
  }
  await select(database.db, `UPDATE entities SET clock_offset = '0' WHERE id = :id`, {
    id: standing.merchantId,
  });
});

/** The line, booked so many days from today. */
const bookedIn = (days: number, line: string) =>
  line.replace(today, new Date(Date.parse(today) + days * 86_400_000).toISOString().slice(0, 10));

test('a line of ours that is booked a year too early is an error of that line: what settled between is not missing, and stays refundable', async () => {
  await moveClock(database.db, standing.merchantId, '100 days');
  const between = await paid('Y0');
  await moveClock(database.db, standing.merchantId, '100 days');
  await paid('Y1');
  await paid('Y2');
  const open = await charge();
  const early = (line: string) => bookedIn(200 - 365, line);

  const { summary, differences } = await match(
    csv(
      bookedIn(200, debit('Y1')),
      early(debit('Y2')),
      early(debit('Y3', 100, open.reference)),
      early(debit('Y4', 7)),
    ),
  );

  // A line that is unknown here has no charge to go by, and is told of as it stands.
  expect(summary).toEqual({
    ...NOTHING,
    lines: 4,
    matched: 1,
    malformed: 2,
    unknownHere: 1,
    missingAtBank: 1,
  });
  const wrong = /^\d,malformed,.*bookingDate is more than 35 days from the day of its charge or refund/;
  expect(differences).toEqual([
    expect.stringMatching(wrong),
    expect.stringMatching(wrong),
    expect.stringMatching(/^5,unknown_here,Y4,/),
    expect.stringMatching(/^[^,]*,missing_at_bank,Y2,/),
  ]);
  expect(await status(open.id)).toBe('pending');
  expect(await kinds(tokens.merchant)).toEqual(['missing_at_bank open']);
  const refund = { reference: between.reference, amount: 100 };
  expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
});

test('a file whose lines are all unknown here, or booked some days apart, is about all of its days', async () => {
  await moveClock(database.db, standing.merchantId, '20 days');
  await paid('Z1');
  await moveClock(database.db, standing.merchantId, '20 days');
  const unknown = await match(csv(bookedIn(40, debit('Z8', 7)), bookedIn(10, debit('Z9', 7))));
  expect(unknown.summary).toEqual({ ...NOTHING, lines: 2, unknownHere: 2, missingAtBank: 1 });
  await paid('Z2');
  const near = await match(csv(bookedIn(40, debit('Z2')), bookedIn(10, debit('Z9', 7))));
  expect(near.summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1, missingAtBank: 1 });
});

test('by a test clock that is ahead a bank books ahead as well', async () => {
  await moveClock(database.db, standing.merchantId, '400 days');
  await paid('T4');
  const ahead = calendarDay(new Date(Date.now() + 400 * 86_400_000), LAGOS);
  const { summary } = await match(csv(debit('T4').replace(today, ahead)));
  expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
});

test('what the bank has not booked cannot be refunded, and is reversed where it never moved', async () => {
  await paid('E0');
  const { reference, id } = await paid('E1');
  await match(csv(debit('E0')));
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
  // From then on nobody looks for it.
  const later = await match(csv(debit('E0'), debit('E7')));
  expect(later.summary).toMatchObject({ missingAtBank: 0 });
  await theBooksAreRight();
});

test.each([
  ['no_money_moved', {}, 1],
  ['reversed', { bankTransactionId: 'RB3' }, 2],
])(
  'a refund that the bank has not booked is returned once it is %s; its own booking stays known, and its return by its id',
  async (resolution, by, matched) => {
    const { reference } = await paid('RB1');
    const refundId = await refunded(reference, 40, 'RB2');
    expect((await match(csv(debit('RB1')))).summary).toMatchObject({ matched: 1, missingAtBank: 1 });
    const [one] = await exceptions();
    expect(one).toMatchObject({ kind: 'missing_at_bank', refundId });

    expect((await respond(one?.['exceptionId'], { resolution, ...by })).status).toBe(200);

    const { body } = await get(tokens.merchant, `/v1/refunds/${String(refundId)}`);
    expect(body.data).toMatchObject({ status: 'returned' });
    const again = await match(csv(debit('RB1'), debit('RB9')));
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

  const { summary } = await match(csv(debit('SD1'), debit('SD2'), credit('SD3', 100)));

  expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 3 });
  const next = await paid('SD4');
  const again = { billingRequestId: next.id, bankTransactionId: 'SD5' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', again)).status).toBe(409);
  const [never] = await exceptions(tokens.bank, '&state=open');
  expect((await respond(never?.['exceptionId'], { resolution: 'no_money_moved' })).status).toBe(200);
  expect((await match(csv(debit('SD4')))).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
  await theBooksAreRight();
});

test('of an amount that differs only what was not booked is held, and written off', async () => {
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

test('what a refund was booked too high by is held, and a second transfer for it besides', async () => {
  const { reference } = await paid('F2');
  const refundId = await refunded(reference, 30, 'F3');
  await match(csv(debit('F2'), credit('F3', 50)));
  const second = { refundId, action: 'completed', bankTransactionId: 'F4' };
  expect((await post(tokens.bank, '/v1/bank/refund-response', second)).status).toBe(409);
  const refund = (amount: number) => post(tokens.merchant, '/v1/refunds/initiate', { reference, amount });
  expect((await refund(20.01)).status).toBe(409);
  expect((await refund(20)).status).toBe(201);
  await theBooksAreRight();
});

test.each([
  [['rejected', 39.99], 60.01, 100],
  [[39.99, 'rejected'], 60.01, 100],
  [['rejected', 45], 60, 100],
  [[45, 'rejected'], 60, 100],
  // No file has F7, which the bank then says it never transferred: the refund is returned.
  [['completed by F7', 45], 20, 100],
  [[45, 'completed by F7'], 20, 60],
  [[45, 'completed by F6'], 55, 100],
  // The transfer that the file has, told of twice.
  [['rejected', 45, 'completed by F6'], 55, 100],
  [['rejected', 'completed by F6', 45], 55, 100],
  // Of two transfers while it is pending one may yet be the refund.
  [[45, 'booked 45 by F7'], 15, 60],
  [[39.99, 'booked 45 by F7'], 15.01, 60],
  // An id of something else, which stands for a transfer.
  [['completed by F5', 'rejected', 39.99], 60, 100],
])(
  'of a refund of 40, told of as %j, what its bank may have transferred is held: %d is left, and in the end %d',
  async (said, left, inTheEnd) => {
    const { reference } = await paid('F5');
    const refund = (amount: number) =>
      post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: Number(amount.toFixed(2)) });
    const made = (await refund(40)).body.data as { refundId: string; reference: string };
    for (const one of said) {
      const [action, bankTransactionId] =
        typeof one === 'number' ? [`booked ${one}`, 'F6'] : one.split(' by ');
      if (action?.startsWith('booked ')) {
        const amount = Number(action.slice('booked '.length));
        const booked = credit(String(bankTransactionId), amount, made.reference);
        const { summary } = await match(csv(debit('F5'), booked));
        expect(summary).toMatchObject({ lines: 2, matched: 1, amountDiffers: 1 });
        continue;
      }
      const answer = { refundId: made.refundId, action, ...(bankTransactionId && { bankTransactionId }) };
      await post(tokens.bank, '/v1/bank/refund-response', answer);
    }

    expect((await refund(left + 0.01)).status).toBe(409);
    await theBooksAreRight();
    for (const { exceptionId } of await exceptions(tokens.bank, '&state=open')) {
      expect((await respond(exceptionId, { resolution: 'no_money_moved' })).status).toBe(200);
    }
    expect((await refund(inTheEnd + 0.01)).status).toBe(409);
    expect((await refund(inTheEnd)).status).toBe(201);
    await theBooksAreRight();
  },
);

/** Ends the one exception that is open. */
const endOpen = async (resolution: Resolution) => {
  const [one] = await exceptions(tokens.bank, '&state=open');
  await resolveAsOperator(one?.['exceptionId'], resolution);
};
const contradict = (billingRequestId: string) =>
  post(tokens.bank, '/v1/billing/bank-response', { billingRequestId, declineReason: 'insufficient_funds' });
const lackInFile = async () => {
  await paid('L0');
  await match(csv(debit('L0')));
};

describe('a charge that its bank was let off, and has booked after all, is unknown here', () => {
  test.each([
    ['where it was missing, and no money had moved', lackInFile, 'no_money_moved'],
    ['where it was missing, and was written off', lackInFile, 'written_off'],
    ['where it was contradicted, and no money had moved', contradict, 'no_money_moved'],
    ['where it was contradicted, and was written off', contradict, 'written_off'],
  ] as const)('%s', async (_, doubt, resolution) => {
    const { id, reference } = await paid('L1');
    await doubt(id);
    await endOpen(resolution);

    const booked = await match(csv(debit('L1')));
    expect(booked.summary).toEqual({ ...NOTHING, lines: 1, unknownHere: 1 });
    const [unknown] = await exceptions(tokens.bank, '&kind=unknown_here');
    expect(booked.differences).toEqual([
      `2,unknown_here,L1,${today},debit,100,NGN,,${reference},100,NGN,${String(unknown?.['exceptionId'])},`,
    ]);
    expect(await exceptions(tokens.merchant, '&kind=unknown_here')).toEqual([]);
    // Nobody ends it but the bank or the operator.
    await endKnown();
    expect((await match(csv(debit('L1'), debit('L9')))).summary).toMatchObject({ unknownHere: 2 });
    expect(await exceptions(tokens.bank, '&kind=unknown_here&state=open')).toMatchObject([unknown, {}]);
    await theBooksAreRight();
  });

  test.each(['no_money_moved', 'written_off'] as const)(
    'also where a file had it before: contradicted since, and %s',
    async (resolution) => {
      const { id, reference } = await paid('L7');
      await match(csv(debit('L7')));
      expect(await openOnes()).toEqual([]);
      await contradict(id);
      await endOpen(resolution);
      expect(await openOnes()).toMatchObject([
        { kind: 'unknown_here', bankTransactionId: 'L7', amount: 100, reference },
      ]);
      const told = await announcedTo(database.db, api.deps.ring, standing.bankId);
      expect(told.at(-1)).toMatchObject({ type: 'exception.opened', item: { kind: 'unknown_here' } });
      await theBooksAreRight();
    },
  );

  test.each([
    ['rejected', ['L8'], { disputed: -10_000n }],
    ['completed', [], {}],
  ] as const)('also where a refund had taken all of it until it was %s', async (action, unknown, borne) => {
    const { reference } = await paid('L8');
    const { body } = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 100 });
    await lackInFile();
    await endOpen('written_off');
    expect((await match(csv(debit('L8')))).summary).toMatchObject({ unknownHere: 0 });
    expect(await endKnown()).toBe(0);
    const end = action === 'completed' ? { bankTransactionId: 'L81' } : { reason: 'account_closed' };
    const answer = { refundId: body.data?.['refundId'], action, ...end };
    expect((await post(tokens.bank, '/v1/bank/refund-response', answer)).status).toBe(200);

    const open = await openOnes();
    expect(open.map(({ bankTransactionId }) => bankTransactionId)).toEqual(unknown);
    // With the other charge, which the bank has booked.
    const balances = await balancesOf(database.db, standing.bankId);
    expect(balances).toEqual({ customer_bank: -10_000n, ...borne });
    await theBooksAreRight();
  });

  test.each([
    ['as a credit', (line: string) => line.replace('debit', 'credit')],
    ['in another currency', (line: string) => line.replace('NGN', 'USD')],
  ])('also where it was booked %s, and all of it written off', async (_, wrong) => {
    await paid('L9');
    await match(csv(wrong(debit('L9'))));
    await endOpen('written_off');
    expect(await endKnown()).toBe(0);
    expect((await match(csv(debit('L9')))).summary).toEqual({ ...NOTHING, lines: 1, unknownHere: 1 });
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', bankTransactionId: 'L9' }]);
    await theBooksAreRight();
  });

  test('but where the bank says by what it took it back both are accounted for', async () => {
    const { id } = await paid('L2');
    await contradict(id);
    await endOpen('no_money_moved');
    await match(csv(debit('L2')));
    const second = { billingRequestId: id, bankTransactionId: 'L3' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', second)).status).toBe(409);
    const [conflict] = await exceptions(tokens.bank, '&kind=conflicting_answer&state=open');
    const answer = { resolution: 'reversed', bankTransactionId: 'L4' };
    expect((await respond(conflict?.['exceptionId'], answer)).status).toBe(200);

    const { summary } = await match(csv(debit('L2'), credit('L4', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    expect(await exceptions(tokens.bank, '&state=open')).toEqual([]);
    await theBooksAreRight();
  });

  test('but one of which the difference alone was written off, and one whose second debit never was, are not', async () => {
    await paid('L5');
    await match(csv(debit('L5', 90)));
    await endOpen('written_off');
    const other = await paid('L6');
    const used = { billingRequestId: other.id, bankTransactionId: 'L5' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', used)).status).toBe(409);
    await endOpen('no_money_moved');

    const { summary } = await match(csv(debit('L5'), debit('L6')));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  });
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

test('what was in a file before its answer came is no difference any more once that settles it', async () => {
  await match(csv(debit('J1'), debit('J2')));
  await paid('J1');
  await paid('J2', 90);
  expect(await endKnown()).toBe(1);
  expect(await endKnown()).toBe(0);
  expect(await exceptions()).toMatchObject([
    { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'J1' },
    { kind: 'unknown_here', state: 'open', bankTransactionId: 'J2' },
  ]);
  // No other file has to bring it once more.
  expect((await match(csv(debit('J2', 90)))).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
  await theBooksAreRight();
});

test.each(['another file', 'the same file'])(
  'of two bookings by one id, in a file before its answer, only that of its amount is ended by %s',
  async (by) => {
    await match(csv(debit('J5'), debit('J5', '10.75')));
    await paid('J5');
    if (by === 'another file') expect(await endKnown()).toBe(1);
    else expect((await match(csv(debit('J5')))).summary).toMatchObject({ matched: 1 });
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', amount: 10.75 }]);
    expect(await endKnown()).toBe(0);
  },
);

test('what a file had before its answer stays unknown where its bank is let off meanwhile', async () => {
  const { db, ring } = api.deps;
  await match(csv(debit('J6')));
  const { id } = await paid('J6');
  await contradict(id);
  const [conflict] = await exceptions(tokens.bank, '&kind=conflicting_answer');
  const open = await openTransaction(db);
  const by = { cause: 'operator', note: null } as const;
  const finding = { resolution: 'no_money_moved', bankTransactionId: null } as const;
  await resolveException(open.trx, ring, LAGOS, by, String(conflict?.['exceptionId']), finding);

  const ending = endKnown();
  await Promise.race([ending, waitsForALock(db)]);
  await open.commit();
  await ending;

  expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', bankTransactionId: 'J6' }]);
  await theBooksAreRight();
});

test('a second debit that a file had before it was answered for is unknown until it is accounted for', async () => {
  const { id } = await paid('G4');
  await match(csv(debit('G5')));
  const second = { billingRequestId: id, bankTransactionId: 'G5' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', second)).status).toBe(409);
  expect(await endKnown()).toBe(0);
  const [doubted] = await exceptions(tokens.bank, '&kind=conflicting_answer');
  expect((await respond(doubted?.['exceptionId'], { resolution: 'confirmed' })).status).toBe(200);
  expect(await endKnown()).toBe(1);
  expect(await kinds(tokens.bank, '&kind=unknown_here')).toEqual(['unknown_here resolved']);
  // It does not stand for the first debit.
  const lacking = await match(csv(debit('G5'), debit('G5')));
  expect(lacking.summary).toMatchObject({ matched: 1, duplicates: 1, missingAtBank: 1 });
});

test('what a file had before it was answered for is not missing in the next, and unknown no more', async () => {
  await match(csv(debit('J3')));
  await paid('J3');
  await paid('J4');
  expect((await match(csv(debit('J4')))).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
  expect(await kinds(tokens.bank, '&state=open')).toEqual([]);
});

test.each([
  ['is told of once', false, 0],
  ['is missing once that file is dismissed', true, 1],
])('what a file had by another amount before it was answered for %s', async (_, dismissed, missing) => {
  const { id, reference } = await charge();
  const early = await match(csv(debit('J7', 90, reference)));
  expect(early.summary).toMatchObject({ amountDiffers: 1 });
  const body = { billingRequestId: id, bankTransactionId: 'J7' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', body)).status).toBe(200);
  if (dismissed) await dismiss(early.id);
  await paid('J8');
  expect((await match(csv(debit('J8')))).summary).toMatchObject({ matched: 1, missingAtBank: missing });
  expect((await openOnes()).map(({ kind }) => kind)).toEqual([
    dismissed ? 'missing_at_bank' : 'amount_differs',
  ]);
  // The ten that the bank has not booked, or all.
  const refund = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 90 });
  expect(refund.status).toBe(dismissed ? 409 : 201);
  await theBooksAreRight();
});

test('what a dismissed file had by another amount is missing, though that was resolved before', async () => {
  await paid('W1');
  await paid('W2');
  const wrong = await match(csv(debit('W1', 90), debit('W2')));
  await endOpen('no_difference');
  expect(await dismiss(wrong.id)).toEqual({ dismissed: 0, toldByOthers: 0 });
  expect((await match(csv(debit('W2')))).summary).toMatchObject({ matched: 1, missingAtBank: 1 });
  expect(await openOnes()).toMatchObject([{ kind: 'missing_at_bank', bankTransactionId: 'W1' }]);
  await theBooksAreRight();
});

test.each([
  ['is missing in the right one', false, 1],
  ['is not missing where a right one had it before', true, 0],
])('what a dismissed file had %s', async (_, before, missing) => {
  for (const id of ['W3', 'W4', 'W5']) await paid(id);
  if (before) await match(csv(debit('W3'), debit('W4'), debit('W5')));
  const wrong = await match(csv(debit('W5'), debit('W4'), debit('W3'), debit('W6', 7)));
  await dismiss(wrong.id);
  const right = await match(csv(debit('W4'), debit('W3')));
  expect(right.summary).toEqual({ ...NOTHING, lines: 2, matched: 2, missingAtBank: missing });
  const lacking = (await openOnes()).map(({ bankTransactionId }) => bankTransactionId);
  expect(lacking).toEqual(missing === 1 ? ['W5'] : []);
  await theBooksAreRight();
});

test('two wrong files that tell of one difference end it with the second that is dismissed', async () => {
  const first = await match(csv(debit('W7', 7)));
  const second = await match(csv(debit('W7', 7), debit('W8', 8)));
  expect(await dismiss(first.id)).toEqual({ dismissed: 0, toldByOthers: 1 });
  expect(await dismiss(second.id)).toEqual({ dismissed: 2, toldByOthers: 0 });
  expect(await openOnes()).toEqual([]);
});

test('a charge whose bank is let off it was not booked by a file that is dismissed', async () => {
  const { id } = await paid('W9');
  const wrong = await match(csv(debit('W9')));
  await contradict(id);
  await dismiss(wrong.id);
  await endOpen('no_money_moved');
  expect(await endKnown()).toBe(0);
  expect(await openOnes()).toEqual([]);
});

test('what the file has in a line with a comma too many is not missing, and stays refundable', async () => {
  await paid('X1');
  const { reference } = await paid('X2');
  const lines = [`${debit('X1')}Shoes`, `${debit('X2')}Shoes, red`];
  const { summary, differences } = await match(
    [HEADER.replace('reference', 'description'), ...lines, ''].join('\n'),
  );
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, malformed: 1 });
  expect(differences).toEqual(['3,malformed,X2,,,,,,,,,,"it has more fields than the header"']);
  expect(await kinds()).toEqual([]);
  const refund = { reference, amount: 100 };
  expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
  // The corrected file has it.
  expect((await match(csv(debit('X1'), debit('X2')))).summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
});

test('a second debit that went back is no sign of the first, which the bank may not have booked', async () => {
  const { id } = await paid('G7');
  const second = { billingRequestId: id, bankTransactionId: 'G8' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', second)).status).toBe(409);
  const [doubted] = await exceptions();
  expect((await respond(doubted?.['exceptionId'], { resolution: 'confirmed' })).status).toBe(200);
  const lacking = await match(csv(debit('G8')));
  expect(lacking.summary).toEqual({ ...NOTHING, lines: 1, matched: 1, missingAtBank: 1 });
  const both = await match(csv(debit('G7'), debit('G8'), debit('G8')));
  expect(both.summary).toEqual({ ...NOTHING, lines: 3, matched: 2, duplicates: 1 });
  expect(await kinds()).toEqual(['conflicting_answer resolved', 'missing_at_bank resolved']);
});

const openOnes = () => exceptions(tokens.bank, '&state=open');

/** The bank took back what the one exception that is open is about. */
async function answerReversed(bankTransactionId: string): Promise<void> {
  const [one] = await openOnes();
  const answer = { resolution: 'reversed', bankTransactionId };
  expect((await respond(one?.['exceptionId'], answer)).status).toBe(200);
}

describe('what took a charge back', () => {
  test('is all that the bank had booked', async () => {
    await paid('V1');
    await match(csv(debit('V1', 120)));
    await answerReversed('V2');
    const { summary } = await match(csv(debit('V1', 120), credit('V2', 120)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, amountDiffers: 1 });
    expect(await openOnes()).toEqual([]);
  });

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
    const { summary } = await match(csv(debit('V14'), credit('V15', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    expect(await openOnes()).toEqual([]);
    await theBooksAreRight();
  });

  test('by one id is not there for another to take back: that one is unknown here', async () => {
    const { id } = await paid('V9');
    await lackInFile();
    await contradict(id);
    for (const [n, { exceptionId }] of (await openOnes()).entries()) {
      const answer = { resolution: 'reversed', bankTransactionId: `V1${n}` };
      expect((await respond(exceptionId, answer)).status).toBe(200);
    }
    const { summary } = await match(csv(debit('V9'), credit('V10', 100), credit('V11', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 2, unknownHere: 1 });
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', bankTransactionId: 'V11', amount: 100 }]);
    await theBooksAreRight();
  });

  test('and was in a file before the bank’s answer is not missing, and unknown no more', async () => {
    const { id } = await paid('V12');
    await match(csv(debit('V12'), credit('V13', 100)));
    await contradict(id);
    const [conflict] = await exceptions(tokens.bank, '&kind=conflicting_answer');
    const answer = { resolution: 'reversed', bankTransactionId: 'V13' };
    expect((await respond(conflict?.['exceptionId'], answer)).status).toBe(200);

    const files = [csv(debit('V12')), csv(debit('V12'), debit('V12'))];
    for (const file of files) {
      expect((await match(file)).summary).toMatchObject({ matched: 1, missingAtBank: 0 });
      expect(await openOnes()).toEqual([]);
    }
    expect(await kinds(tokens.merchant)).toEqual(['conflicting_answer resolved']);
    await theBooksAreRight();
  });

  test('is nothing where refunds have taken all of it', async () => {
    const { id, reference } = await paid('V6');
    await refunded(reference, 100, 'V7');
    await contradict(id);
    await answerReversed('V8');
    const { summary } = await match(csv(debit('V6'), credit('V7', 100), credit('V8', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 2, unknownHere: 1 });
  });
});

describe('a line that names the reference of what is open', () => {
  test('settles it, as the answer would have that never came', async () => {
    const { id, reference } = await charge();
    const { summary, differences } = await match(csv(debit('H1', 100, reference)));
    expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
    expect(differences).toEqual([`2,settled,H1,${today},debit,100,NGN,${reference},${reference},,,,`]);
    expect(await status(id)).toBe('successful');
    const told = await announcedTo(database.db, api.deps.ring, standing.merchantId);
    expect(told.at(-1)).toMatchObject({ type: 'billing.response', item: { status: 'successful' } });
    // Its own answer is agreed to, should it still come.
    const body = { billingRequestId: id, bankTransactionId: 'H1' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', body)).status).toBe(200);
    expect(await kinds()).toEqual([]);
    await theBooksAreRight();
  });

  test('settles it on each page, also where two are at one file', async () => {
    const { db, ring } = api.deps;
    const [one, two] = [await charge(), await charge()];
    const between = Array<string>(999).fill(',,,,,');
    const file = csv(debit('H17', 100, one.reference), ...between, debit('H18', 100, two.reference));
    const id = String((await upload(file)).body.data?.['statementId']);
    const matching = { db, keyring: ring, timeZone: LAGOS, workflowId: `bank-statement/${id}` };
    const open = await openTransaction(db);
    const uncommitted = { ...matching, db: { ...db, transaction: (run) => run(open.trx) } as typeof db };
    const beat = jest.fn();
    await matchNextPage({ ...uncommitted, beat }, id);
    const second = matchNextPage(matching, id);
    await Promise.race([second, waitsForALock(db)]);
    await open.commit();
    await second;
    await work(id, api);

    for (const made of [one, two]) expect(await status(made.id)).toBe('successful');
    const { body } = await get(tokens.bank, `${STATEMENTS}/${id}`);
    expect(body.data).toMatchObject({ summary: { matched: 2, unknownHere: 0 } });
    expect(await openOnes()).toEqual([]);
    // A page may take longer than a worker may be silent.
    expect(beat).toHaveBeenCalledTimes(1);
  });

  test('settles no other amount', async () => {
    const { id, reference } = await charge();
    const { summary } = await match(csv(debit('H2', 99, reference)));
    expect(summary).toMatchObject({ amountDiffers: 1 });
    expect(await status(id)).toBe('pending');
  });

  test('keeps from being refunded what the bank has not booked, once it has answered', async () => {
    const { id, reference } = await charge();
    await match(csv(debit('H9', 60, reference)));
    const body = { billingRequestId: id, bankTransactionId: 'H9' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', body)).status).toBe(200);

    const all = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 60.01 });
    expect(all.status).toBe(409);
    await refunded(reference, 60, 'H10');
    await theBooksAreRight();
  });

  test.each([
    ['is not charged again while nobody has looked', undefined, 1],
    ['is not charged again where that is written off', 'written_off', 1],
    ['is charged again once the bank has found that no money moved', 'no_money_moved', 2],
  ] as const)(
    'with another amount may have debited it: a declined billing %s',
    async (_, resolution, charged) => {
      const { db, ring } = api.deps;
      const rules = { ...recurringRules(readConfig({})), dueRate: 1_000 };
      const id = await makeSchedule(db, ring, standing, { amount: 10_000n });
      const run = () => runSchedule(db, ring, rules, id);
      const charges = () =>
        select<{ id: string; reference: string }>(
          db,
          `SELECT id, reference FROM billing_requests WHERE schedule_id = :id ORDER BY attempt`,
          { id },
        );
      await run();
      const [attempt] = await charges();
      const declined = { billingRequestId: attempt?.id, declineReason: 'insufficient_funds' };
      expect((await post(tokens.bank, '/v1/billing/bank-response', declined)).status).toBe(200);
      await run();
      const { summary } = await match(csv(debit('R8', 99, attempt?.reference)));
      expect(summary).toEqual({ ...NOTHING, lines: 1, amountDiffers: 1 });
      if (resolution) await resolveAsOperator((await exceptions())[0]?.['exceptionId'], resolution);
      await moveClock(db, standing.merchantId, '1 day 1 minute');
      await run();
      expect(await charges()).toHaveLength(charged);
    },
  );

  test('is the late half of what nobody answered, and one exception with it', async () => {
    const { id, reference } = await charge();
    await wholeFeed(database.db);
    await get(tokens.bank, '/v1/events');
    await moveClock(database.db, standing.merchantId, '2 days');
    await database.db.transaction((trx) => closeExpiredRequests(trx, api.deps.ring, [id], 'by its bank'));
    const { summary } = await match(csv(debit('H3', 100, reference)));
    expect(summary).toMatchObject({ unknownHere: 1 });
    expect(await exceptions()).toMatchObject([{ kind: 'late_answer', bankTransactionId: 'H3', reference }]);
    expect(await status(id)).toBe('declined');
  });

  test.each([
    ['as it was answered', 1, () => debit('H14')],
    ['with another amount', 0, () => debit('H14', 5_000)],
    ['as a credit', 0, () => credit('H14', 100)],
  ])('that was answered late and taken back, booked %s, matches %d times', async (_, matches, lineOf) => {
    const line = lineOf();
    const { id } = await charge();
    await wholeFeed(database.db);
    await get(tokens.bank, '/v1/events');
    await moveClock(database.db, standing.merchantId, '2 days');
    await database.db.transaction((trx) => closeExpiredRequests(trx, api.deps.ring, [id], 'by its bank'));
    const late = { billingRequestId: id, bankTransactionId: 'H14' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', late)).status).toBe(409);
    // Whether the bank has said by then what became of it, or not.
    if (matches === 0) {
      const early = await match(csv(line, debit('H16', 7)));
      expect(early.summary).toMatchObject({ matched: 0, amountDiffers: 1 });
    }
    const [lateAnswer] = await exceptions(tokens.bank, '&kind=late_answer');
    const answer = { resolution: 'reversed', bankTransactionId: 'H15' };
    expect((await respond(lateAnswer?.['exceptionId'], answer)).status).toBe(200);

    const { summary } = await match(csv(line, credit('H15', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1 + matches, amountDiffers: 1 - matches });
    const open = await exceptions(tokens.bank, '&kind=amount_differs&state=open');
    expect(open.map(({ bankTransactionId }) => bankTransactionId)).toEqual(matches === 1 ? [] : ['H14']);
    await theBooksAreRight();
  });

  test('of a second debit for one charge holds it, as another answer does', async () => {
    const { reference } = await paid('H4');
    const { summary } = await match(csv(debit('H4'), debit('H5', 100, reference)));
    expect(summary).toMatchObject({ matched: 1, unknownHere: 1 });
    expect(await exceptions()).toMatchObject([{ kind: 'conflicting_answer', bankTransactionId: 'H5' }]);
  });

  test.each([
    ['the bank finds that no money of it moved', { resolution: 'no_money_moved' }],
    ['the bank takes it back', { resolution: 'reversed', bankTransactionId: 'H13' }],
    ['the operator writes it off', undefined],
  ])('of another amount than what is paid by another id is none of it: %s', async (_, answer) => {
    const { reference } = await paid('H11');
    const { summary } = await match(csv(debit('H11'), debit('H12', '10.75', reference)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
    expect(await kinds(tokens.merchant)).toEqual([]);

    const [fee] = await exceptions();
    expect(fee).toMatchObject({ kind: 'unknown_here', amount: 10.75, reference });
    if (answer) expect((await respond(fee?.['exceptionId'], answer)).status).toBe(200);
    else await resolveAsOperator(fee?.['exceptionId'], 'written_off');

    const { body } = await get(tokens.merchant, `/v1/transaction-details?reference=${reference}`);
    expect(body.data).toMatchObject({ status: 'successful', reversedAmount: 0 });
    expect(await balancesOf(database.db, standing.bankId)).toMatchObject({ customer_bank: -10_000n });
    const refund = { reference, amount: 100 };
    expect((await post(tokens.merchant, '/v1/refunds/initiate', refund)).status).toBe(201);
    await theBooksAreRight();
  });

  test('completes a refund', async () => {
    const { reference } = await paid('H6');
    const { body } = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 10 });
    const refund = body.data as { refundId: string; reference: string };
    const { summary } = await match(csv(debit('H6'), credit('H7', 10, refund.reference)));
    expect(summary).toMatchObject({ matched: 2 });
    const { body: shown } = await get(tokens.merchant, `/v1/refunds/${refund.refundId}`);
    expect(shown.data).toMatchObject({ status: 'completed' });
    await theBooksAreRight();
  });

  test('of another bank is unknown, and touches nothing', async () => {
    const { id, reference } = await charge();
    const other = await standingApproval(database.db, api.deps.ring);
    const token = await tokenOf(api, other.credentials.bank);
    const { summary } = await match(csv(debit('H8', 100, reference)), {}, api, token);
    expect(summary).toMatchObject({ unknownHere: 1 });
    expect(await status(id)).toBe('pending');
    expect(await kinds()).toEqual([]);
  });
});

test('a payment between customers is a debit at one bank, and by its reference a credit at the other', async () => {
  const payer = await standingApproval(database.db, api.deps.ring);
  const token = await tokenOf(api, payer.credentials.bank);
  const lookupOf = (customerId: string) => lookupIdOf(database.db, customerId);
  const { body } = await post(tokens.bank, '/v1/customer/bill', {
    lookupIDs: [await lookupOf(payer.customerId)],
    payee: { lookupID: await lookupOf(standing.customerId) },
    amount: 100,
    currency: 'NGN',
    description: 'Rent',
  });
  const [item] = body as unknown as { reference: string; billingRequestId: string }[];
  const pending = await match(csv(credit('OWN-0', 100, item?.reference)));
  expect(pending.summary).toMatchObject({ unknownHere: 1 });
  const answer = { billingRequestId: item?.billingRequestId, bankTransactionId: 'P1' };
  expect((await post(token, '/v1/billing/bank-response', answer)).status).toBe(200);

  const MATCHED = { ...NOTHING, lines: 1, matched: 1 };
  expect((await match(csv(debit('P1')), {}, api, token)).summary).toEqual(MATCHED);
  expect((await match(csv(credit('OWN-1', 100, item?.reference)))).summary).toEqual(MATCHED);
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
  const credited = () => credit(`OWN-${payment.id}`, 2.5, payment.reference);

  test('is missing in its file, and both banks are told by the payment’s reference', async () => {
    const { summary, differences } = await match(csv(other()));
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
    // The next file without it tells of the same difference.
    expect((await match(`${csv(other())},,`)).summary).toMatchObject({ missingAtBank: 1 });
    expect(await exceptions()).toHaveLength(1);
    expect(await status(payment.id, api, payersToken)).toBe('successful');
    await theBooksAreRight();
  });

  test('is missing no more with the file that has it', async () => {
    await match(csv(other()));
    expect((await match(csv(credited()))).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
    expect(await exceptions()).toMatchObject([{ state: 'resolved', resolution: 'no_difference' }]);
    expect((await match(csv(other(), credit('X-1', 9)))).summary).toMatchObject({ missingAtBank: 0 });
    await theBooksAreRight();
  });

  test('is missing where its file has been dismissed', async () => {
    const { id } = await match(csv(credited()));
    await dismiss(id);
    expect((await match(csv(other()))).summary).toMatchObject({ missingAtBank: 1 });
    await match(csv(credited(), other()));
    const query = `&reference=${payment.reference}`;
    expect(await kinds(tokens.bank, query)).toEqual(['missing_at_bank resolved']);
  });

  test('is not missing for the payer’s bank, which has the debit', async () => {
    const file = csv(debit(`tx-${payment.id}`, 2.5));
    expect((await match(file, {}, api, payersToken)).summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
  });

  test('lets the payer’s bank off nothing where it is written off', async () => {
    await match(csv(other()));
    const [exception] = await exceptions();
    await resolveAsOperator(exception?.['exceptionId'], 'written_off');
    expect(await balancesOf(database.db, payer.bankId)).toEqual({ customer_bank: -250n });
    const file = csv(debit(`tx-${payment.id}`, 2.5));
    expect((await match(file, {}, api, payersToken)).summary).toMatchObject({ matched: 1 });
    expect(await endKnown()).toBe(0);
    await theBooksAreRight();
  });

  test('is reversed where the payer’s bank has taken it back, and is missing no more', async () => {
    await match(csv(other()));
    const [exception] = await exceptions();
    const url = `${EXCEPTIONS}/${String(exception?.['exceptionId'])}/respond`;
    const answer = { resolution: 'reversed', bankTransactionId: `back-${payment.id}` };
    expect((await post(tokens.bank, url, answer)).status).toBe(404);
    expect((await post(payersToken, url, answer)).status).toBe(200);
    expect((await match(csv(other(), credit('X-2', 9)))).summary).toMatchObject({ missingAtBank: 0 });
    const file = csv(debit(`tx-${payment.id}`, 2.5), credit(`back-${payment.id}`, 2.5));
    expect((await match(file, {}, api, payersToken)).summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    await theBooksAreRight();
  });
});

test('a payment between two customers of one bank, in a file before the answer, is unknown on neither side after it', async () => {
  const payee = {
    clientRef: 'c2',
    firstname: 'Eze',
    lastname: 'Chidi',
    accountName: 'EZE CHIDI',
    email: 'eze@example.test',
    country: 'NG',
    accountNumber: '0123456780',
  };
  const { db, ring } = api.deps;
  const { customers } = await db.transaction((trx) =>
    onboardBatch(trx, ring, standing.bankId, [{ person: payee }]),
  );
  const pay = async (bankTransactionId: string) => {
    const { body } = await post(tokens.bank, '/v1/customer/bill', {
      lookupIDs: [await lookupIdOf(db, standing.customerId)],
      payee: { lookupID: await lookupIdOf(db, String(customers[0]?.customerId)) },
      amount: 100,
      currency: 'NGN',
      description: 'Rent',
    });
    const [item] = body as unknown as { billingRequestId: string }[];
    const answer = { billingRequestId: item?.billingRequestId, bankTransactionId };
    expect((await post(tokens.bank, '/v1/billing/bank-response', answer)).status).toBe(200);
  };
  await match(csv(debit('P2'), credit('P2', 100), credit('P3', 100)));
  await pay('P2');
  await pay('P3');
  expect(await endKnown()).toBe(3);
  expect(await openOnes()).toEqual([]);
  // What was credited alone has not been debited.
  const { summary } = await match(csv(debit('P2'), credit('P2', 100)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2, missingAtBank: 1 });
  expect(await openOnes()).toMatchObject([{ kind: 'missing_at_bank', bankTransactionId: 'P3' }]);
  await theBooksAreRight();
});

test('after a restored back-up a statement settles what was open, and tells of what is gone', async () => {
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
    const { summary } = await match(file, {}, after, token);
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
    expect(await status(open.id, after, merchant)).toBe('successful');
    expect(await exceptions(token, '', after)).toMatchObject([
      { kind: 'unknown_here', amount: 70, reference: gone.reference, billingRequestId: null },
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

test('after a restored back-up a statement completes a refund, and what a bank had resolved is asked of it again', async () => {
  const { reference } = await paid('RR1');
  const begun = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 30 });
  const refund = begun.body.data as { refundId: string; reference: string };
  const denied = await paid('RR2', 70);
  const late = { billingRequestId: denied.id, declineReason: 'insufficient_funds' };
  expect((await post(tokens.bank, '/v1/billing/bank-response', late)).status).toBe(409);
  const [opened] = await exceptions();
  expect(opened).toMatchObject({ kind: 'conflicting_answer', state: 'open' });
  const restored = await copyOfDatabase(database);
  await api.close();
  api = await serveApi(database.db, { settings: SETTINGS });
  // What comes after the back-up: the refund is completed, and the denied debit was taken back.
  const completed = { refundId: refund.refundId, action: 'completed', bankTransactionId: 'RR3' };
  expect((await post(tokens.bank, '/v1/bank/refund-response', completed)).status).toBe(200);
  const reversed = { resolution: 'reversed', bankTransactionId: 'RR4' };
  expect((await respond(opened?.['exceptionId'], reversed)).status).toBe(200);

  const after = await serveApi(restored.db, { settings: SETTINGS });
  try {
    const token = await tokenOf(after, standing.credentials.bank);
    const merchant = await tokenOf(after, standing.credentials.merchant);
    const file = (tail = '') =>
      csv(debit('RR1'), credit('RR3', 30, refund.reference), debit('RR2', 70), credit('RR4', 70)) + tail;
    const { summary } = await match(file(), {}, after, token);
    expect(summary).toEqual({ ...NOTHING, lines: 4, matched: 3, unknownHere: 1 });
    const shown = await get(merchant, `/v1/refunds/${refund.refundId}`, after);
    expect(shown.body.data).toMatchObject({ status: 'completed' });
    expect(await exceptions(token, '', after)).toMatchObject([
      { kind: 'conflicting_answer', state: 'open', amount: 70 },
      { kind: 'unknown_here', state: 'open', amount: 70, bankTransactionId: 'RR4' },
    ]);
    // The bank says it again, and its next file ends what was unknown.
    const where = `${EXCEPTIONS}/${String(opened?.['exceptionId'])}/respond`;
    expect((await post(token, where, reversed, after)).status).toBe(200);
    expect((await match(file('\r\n'), {}, after, token)).summary).toMatchObject({ matched: 4 });
    expect(await exceptions(token, '', after)).toMatchObject([
      { state: 'resolved', resolution: 'reversed' },
      { state: 'resolved', resolution: 'no_difference' },
    ]);
    const details = await get(merchant, `/v1/transaction-details?reference=${denied.reference}`, after);
    expect(details.body.data).toMatchObject({ status: 'successful', reversedAmount: 70 });
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
  const { summary } = await match(now, { 'content-type': 'application/xml; charset=utf-8' });
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

test('a small file of very many lines that cannot be read is refused before it fills the database', async () => {
  const bytes = gzipSync(`${HEADER}\n${'a\n'.repeat(150_000)}`);
  const answered = await fetch(api.url + STATEMENTS, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokens.bank}`,
      'content-type': 'text/csv',
      'content-encoding': 'gzip',
    },
    body: bytes,
  });
  expect(answered.status).toBe(400);
  expect(await answered.json()).toMatchObject({
    errors: [{ path: 'body', message: 'has more than 100000 lines that cannot be read' }],
  });
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
