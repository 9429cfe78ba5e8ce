import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { DECODERS } from '../../../src/api/http/slots';
import { matchLines } from '../../../src/database/bank-file/match-lines';
import { claimKey } from '../../../src/database/call/idempotency';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';
import { isBusinessDay } from '../../../src/domain/business-day';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { serveApi, tokenOf, type Answered } from '../../support/api';
import { lookForMissing, matchingOf, workOnFile } from '../../support/bank-file';
import { bookDifferences } from '../../support/books';
import { copyOfDatabase } from '../../support/database';
import { balancesOf } from '../../support/ledger';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { payAnother, settleCredit } from '../../support/settled';
import {
  answerRefund,
  approve,
  bill,
  callerAt,
  decline,
  EXCEPTIONS,
  initiateRefund,
  refund,
  respond,
  shareApi,
  type Caller,
  type Charge,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { moveClock } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';

/** A bank sends what it booked: what agrees, what does not, and what follows of it. */

const LAGOS = 'Africa/Lagos';
const STATEMENTS = '/v1/bank/statements';
const HEADER = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
/** The day of the test: midnight may come before the next one. */
let today: string;

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  today = calendarDay(new Date(), LAGOS);
  parties = await served.parties();
});

/** A charge of 100 naira, approved by this id. */
async function paid(bankTransactionId: string, amount = 100): Promise<Charge> {
  const made = await bill(parties, { amount });
  expect((await approve(parties, made.id, bankTransactionId)).status).toBe(200);
  return made;
}

/** A refund, completed by this id. */
async function refunded(reference: string, amount: number, bankTransactionId: string): Promise<string> {
  const refundId = await refund(parties, reference, amount);
  expect((await answerRefund(parties, refundId, 'completed', bankTransactionId)).status).toBe(200);
  return refundId;
}

const debit = (id: string, amount: number | string = 100, reference = '') =>
  `${id},${today},${amount},NGN,debit,${reference}`;
const credit = (id: string, amount: number, reference = '') =>
  `${id},${today},${amount},NGN,credit,${reference}`;
const csv = (...lines: string[]) => [HEADER, ...lines, ''].join('\r\n');
const bookedOn = (day: string, line: string) => line.replace(today, day);

const upload = (file: string, query = '', headers = {}, by = parties.bank): Promise<Answered> =>
  by.post(`${STATEMENTS}${query}`, file, { 'content-type': 'text/csv', ...headers });

/** Sends a file, and does what its workflow does. */
async function match(
  file: string,
  query: string | Promise<string> = '',
  { headers = {}, by = parties.bank, db = served.db } = {},
): Promise<{ id: string; summary: Shown; differences: string[] }> {
  const { status, body } = await upload(file, await query, headers, by);
  expect({ status, body }).toMatchObject({ status: 202 });
  const id = String(body.data?.['statementId']);
  await workOnFile(db, id);
  const shown = await by.read(`${STATEMENTS}/${id}`);
  expect(shown).toMatchObject({ statementId: id, status: 'completed' });
  const [, ...differences] = (await by.file(String(shown['differencesUrl']))).trimEnd().split('\r\n');
  return { id, summary: shown['summary'] as Shown, differences };
}
const summaryOf = async (...given: Parameters<typeof match>) => (await match(...given)).summary;

/** The day that comes so many days after today, once it has come for the bank. */
async function ahead(days: number): Promise<string> {
  await served.db.rows`
    UPDATE entities SET clock_offset = greatest(clock_offset, make_interval(days => ${days}))
    WHERE id = ${parties.bankId}`;
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
  pending: 0,
  notKept: 0,
};

const exceptions = (caller: Caller = parties.bank, query = '') =>
  caller.list(`${EXCEPTIONS}?sortOrder=asc${query}`);
const openOnes = () => exceptions(parties.bank, '&state=open');
/** Sorted by their words: those of a charge are opened by its merchant's clock. */
const kinds = async (caller = parties.bank, query = '') =>
  (await exceptions(caller, query)).map(({ kind, state }) => `${String(kind)} ${String(state)}`).toSorted();

/** The bank ends the one exception that is open. */
async function end(finding: object, query = '&state=open'): Promise<void> {
  const [one, ...more] = await exceptions(parties.bank, query);
  expect(more).toEqual([]);
  expect((await respond(parties, one?.['exceptionId'], finding)).status).toBe(200);
}
const NO_MONEY = { resolution: 'no_money_moved' };
const reversedBy = (bankTransactionId: string) => ({ resolution: 'reversed', bankTransactionId });

async function resolveAsOperator(resolution: Resolution): Promise<void> {
  const [one] = await openOnes();
  const by = { cause: 'operator', note: 'Case 1' } as const;
  const finding = { resolution, bankTransactionId: null };
  await served.db.transaction((trx) => resolveException(trx, by, String(one?.['exceptionId']), finding));
}

const contradict = (id: string) => decline(parties, id);
const details = (reference: string) =>
  parties.merchant.read(`/v1/transaction-details?reference=${reference}`);

async function theBooksAreRight(db = served.db): Promise<void> {
  expect(await bookDifferences(db)).toEqual([]);
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
  const agreeing = await paid('B1');
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
    pending: 0,
    notKept: 0,
  });
  const opened = await exceptions();
  expect(opened).toMatchObject([
    {
      kind: 'amount_differs',
      amount: 100,
      reference: differing.reference,
      bankTransactionId: 'B2',
      direction: 'debit',
      bookedAmount: 90,
      bookedCurrency: 'NGN',
    },
    { kind: 'unknown_here', amount: 5, reference: null, billingRequestId: null, merchantId: null },
  ]);
  const [differs, unknown] = opened.map(({ exceptionId }) => String(exceptionId));
  expect(differences).toEqual([
    `3,amount_differs,B2,${today},debit,90,NGN,,${differing.reference},100,NGN,${differs},`,
    `4,duplicate,B2,${today},debit,90,NGN,,${differing.reference},100,NGN,,`,
    `5,duplicate,B1,${today},debit,100,NGN,,${agreeing.reference},100,NGN,,`,
    `6,unknown_here,B9,${today},debit,5,NGN,,,,,${unknown},`,
    '7,malformed,,,,,,,,,,,"bankTransactionId is missing; bookingDate is missing; currency is missing; direction is missing"',
    `8,duplicate,B9,${today},debit,5,NGN,,,,,,`,
  ]);

  const later = await match(csv(), reaching());
  // A line of another amount is told of as that, and is not missing besides.
  expect(later.summary).toEqual({ ...NOTHING, lines: 0, missingAtBank: 1 });
  const [lacking] = await exceptions(parties.bank, '&kind=missing_at_bank');
  expect(later.differences).toEqual([
    `,missing_at_bank,B3,,debit,,,,${missing.reference},100,NGN,${String(lacking?.['exceptionId'])},`,
  ]);
  expect(lacking).toMatchObject({ direction: 'debit', bookedAmount: null, bookedCurrency: null });
  // The merchant sees what is about its charges, without the bank's ids.
  expect(await kinds(parties.merchant)).toEqual(['amount_differs open', 'missing_at_bank open']);
  expect(JSON.stringify(await exceptions(parties.merchant))).not.toContain('bankTransactionId');
  expect(await served.announced(parties.bankId, 'exception.opened')).toMatchObject([
    { exceptionId: differs, sequence: 1 },
    { exceptionId: unknown, sequence: 1 },
    { exceptionId: lacking?.['exceptionId'], sequence: 1 },
  ]);
});

test('the same file again is the same statement, and nothing new', async () => {
  await paid('C1');
  const file = csv(debit('C9', 7));
  const key = { 'idempotency-key': 'c' };
  const { id, summary } = await match(file, '', { headers: key });
  const before = await exceptions();
  const again = await upload(file);
  expect(again).toMatchObject({ status: 202, body: { data: { statementId: id, status: 'completed' } } });
  await workOnFile(served.db, id);
  expect(await parties.bank.read(`${STATEMENTS}/${id}`)).toMatchObject({ summary });
  expect(await exceptions()).toEqual(before);

  const replayed = await upload(file, '', key);
  expect(replayed).toMatchObject({ status: 202, body: { data: { statementId: id, status: 'processing' } } });
  expect(replayed.headers.get('idempotent-replayed')).toBe('true');
  expect((await upload(csv(debit('C8')), '', key)).status).toBe(422);
  // Nothing waits of a file that was sent in vain.
  expect(await served.db.rows`SELECT FROM bank_file_pages`).toEqual([]);
});

test('files that overlap tell of a difference once, and one that brings what was missing ends it', async () => {
  await paid('D1');
  await paid('D2');
  await match(csv(debit('D1'), debit('D9')), reaching());
  expect(await kinds()).toEqual(['missing_at_bank open', 'unknown_here open']);
  const second = await summaryOf(csv(debit('D9'), debit('D1'), debit('D8')), reaching());
  expect(second).toEqual({ ...NOTHING, lines: 3, matched: 1, unknownHere: 2 });
  expect(await kinds()).toEqual(['missing_at_bank open', 'unknown_here open', 'unknown_here open']);

  // The debit that was unknown is answered for, and what was missing is booked days later.
  await paid('D9');
  const third = await summaryOf(csv(debit('D9'), debit('D2')), reaching());
  expect(third).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  expect(await exceptions()).toMatchObject([
    { kind: 'missing_at_bank', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'D2' },
    { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'D9' },
    { kind: 'unknown_here', state: 'open', bankTransactionId: 'D8' },
  ]);
  expect(await kinds(parties.merchant)).toEqual(['missing_at_bank resolved']);
  await theBooksAreRight();
});

test.each(['missing', 'has'] as const)(
  'of two files at once, what the one has is not missing in the end: the one that %s it is first',
  async (first) => {
    const { db } = served;
    await paid('W1');
    const { reference } = await paid('W2');
    const files = { missing: csv(debit('W1')), has: csv(debit('W1'), debit('W2')) };
    const ids = { missing: '', has: '' };
    for (const file of ['missing', 'has'] as const) {
      ids[file] = String((await upload(files[file], await reaching())).body.data?.['statementId']);
    }
    const matching = matchingOf(db, 'stm_w');
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
    await workOnFile(db, ids.has);

    expect(await openOnes()).toEqual([]);
    expect((await initiateRefund(parties, reference, 100)).status).toBe(201);
  },
);

/** A camt.053 without entries, of a period from today on. */
const camt = (currency: string, until: string) =>
  `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><FrToDt><FrDtTm>${today}T00:00:00</FrDtTm><ToDtTm>${until}T23:59:59</ToDtTm></FrToDt><Bal><Amt Ccy="${currency}">0.00</Amt></Bal></Stmt></BkToCstmrStmt></Document>`;
const XML = { headers: { 'content-type': 'application/xml; charset=utf-8' } };

describe('what no file has is missing', () => {
  test('once the files reach two business days past its settlement, and not a day before', async () => {
    await paid('M1');
    let due = today;
    for (let left = 2; left > 0;) {
      due = addDays(due, 1);
      if (isBusinessDay(due, 'NG')) left -= 1;
    }
    await ahead(9);
    for (const [day, missingAtBank] of [
      [addDays(due, -1), 0],
      [due, 1],
    ] as const) {
      expect(await summaryOf(csv(debit('M0')), reaching(day))).toMatchObject({ missingAtBank });
    }
  });

  test('also on a day that no file covers', async () => {
    await match(csv(bookedOn(addDays(today, -5), debit('M2'))));
    await paid('M3');
    const summary = await summaryOf(csv(bookedOn(await ahead(9), debit('M4'))));
    expect(summary).toMatchObject({ missingAtBank: 1 });
    expect(await exceptions(parties.bank, '&kind=missing_at_bank')).toMatchObject([
      { state: 'open', bankTransactionId: 'M3' },
    ]);
  });

  test('in the currency that its files reach so far, and in all where they say so', async () => {
    await paid('M5');
    await match(csv(debit('M6')));
    const dollars = bookedOn(await ahead(9), debit('M7')).replace('NGN', 'USD');
    expect(await summaryOf(csv(dollars))).toMatchObject({ missingAtBank: 0 });
    expect(await summaryOf(csv(dollars), reaching())).toMatchObject({ missingAtBank: 1 });
  });

  test('from the first day of the bank’s first file on, or from the day that this says', async () => {
    for (const [from, missingAtBank] of [
      ['', 0],
      [`?from=${today}`, 1],
    ] as const) {
      parties = await served.parties();
      await paid('M8');
      await match(csv(bookedOn(await ahead(1), debit('M9'))), from);
      expect(await summaryOf(csv(), reaching())).toMatchObject({ missingAtBank });
    }
  });

  test('to the bank’s own today: a later line counts as that, and is matched', async () => {
    await paid('M10');
    await paid('M11');
    const summary = await summaryOf(csv(bookedOn(addDays(today, 400), debit('M10'))));
    expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
    expect(await summaryOf(csv(), reaching())).toMatchObject({ missingAtBank: 1 });
  });

  test('once: later files do not tell it again, however its exception ended', async () => {
    await paid('M12');
    const { id } = await paid('M13');
    await match(csv(debit('M12')), reaching());
    expect(await exceptions()).toMatchObject([{ kind: 'missing_at_bank', billingRequestId: id }]);
    await resolveAsOperator('no_difference');
    const later = await summaryOf(csv(debit('M12')), reaching(await ahead(10)));
    expect(later).toMatchObject({ matched: 1, missingAtBank: 0 });
    expect(await openOnes()).toEqual([]);
  });

  test('and where a camt.053 says by its period that it reaches so far', async () => {
    await paid('M14');
    await match(csv(debit('M15')));
    const until = await ahead(9);
    expect(await summaryOf(camt('USD', until), '', XML)).toMatchObject({ missingAtBank: 0 });
    expect(await summaryOf(camt('NGN', until), '', XML)).toMatchObject({ missingAtBank: 1 });
  });

  test('so is a refund, and what took a charge back', async () => {
    const { reference } = await paid('M16');
    await refunded(reference, 30, 'M17');
    const { id } = await paid('M18');
    await contradict(id);
    await end(reversedBy('M19'));
    const summary = await summaryOf(csv(debit('M16'), debit('M18')), reaching());
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2, missingAtBank: 2 });
    const opened = await openOnes();
    expect(opened).toMatchObject([
      { bankTransactionId: 'M17', amount: 30 },
      { bankTransactionId: 'M19', amount: 100 },
    ]);
    // While a file has the debit, no word ends what takes it back.
    expect(await respond(parties, opened[1]?.['exceptionId'], NO_MONEY)).toMatchObject({
      status: 409,
      body: { code: 'booked_at_bank', data: { bankTransactionId: 'M18' } },
    });
    const later = await summaryOf(csv(debit('M18'), credit('M19', 100)));
    expect(later).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    expect(await openOnes()).toMatchObject([{ bankTransactionId: 'M17' }]);
    await theBooksAreRight();
  });
});

test('a bank lists its files, newest first, and how far they reach', async () => {
  await paid('L1');
  const list = (query = '') => parties.bank.read(`${STATEMENTS}${query}`);
  expect(await list()).toEqual({ statements: [], total: 0, page: 1, limit: 20, reached: {} });
  const first = await match(csv(bookedOn(addDays(today, -3), debit('L9', 5))), `?from=${addDays(today, -4)}`);
  // Nothing of it has settled in a currency that a file does not reach.
  expect(await list()).toMatchObject({ reached: { NGN: addDays(today, -3) } });
  const second = await match(csv(`U1,${addDays(today, -2)},5,USD,debit,`));
  expect(await list()).toMatchObject({ reached: { NGN: addDays(today, -3), USD: addDays(today, -2) } });
  const third = await match(csv(), `?through=${addDays(today, -1)}`);
  const { status, body } = await upload(csv(debit('L1')));
  const { statements, reached, total } = (await list()) as Shown & { statements: Shown[] };
  const yesterday = addDays(today, -1);
  expect({ status, total, reached }).toEqual({
    status: 202,
    total: 4,
    reached: { NGN: yesterday, USD: yesterday },
  });
  expect(statements).toMatchObject([
    { statementId: body.data?.['statementId'], status: 'processing', from: today, through: today },
    {
      statementId: third.id,
      status: 'completed',
      from: yesterday,
      through: yesterday,
      summary: third.summary,
    },
    { statementId: second.id, from: addDays(today, -2), through: addDays(today, -2) },
    { statementId: first.id, from: addDays(today, -4), through: addDays(today, -3), summary: first.summary },
  ]);
  expect((await list('?limit=1&page=2'))['statements']).toMatchObject([{ statementId: third.id }]);
  const other = await served.parties();
  expect(await other.bank.read(STATEMENTS)).toMatchObject({ total: 0, reached: {} });
  expect((await parties.merchant.get(STATEMENTS)).status).toBe(403);
  await workOnFile(served.db, String(body.data?.['statementId']));
});

test('a line that is booked twelve years ago is an error of that line', async () => {
  await paid('T1');
  // On a 29 February, too, that is a day.
  const old = `${Number(today.slice(0, 4)) - 12}${today.slice(4)}`;
  const { summary, differences } = await match(csv(bookedOn(old, debit('T1'))));
  expect(summary).toEqual({ ...NOTHING, lines: 1, malformed: 1 });
  expect(differences).toEqual([expect.stringMatching(/^2,malformed,.*bookingDate is before \d{4}-/)]);
});

test('a merchant whose test clock is as far as it goes can still charge, and its bank sends files', async () => {
  await served.db.rows`
    UPDATE entities SET clock_offset = '9998-12-30' - clock_timestamp() WHERE id = ${parties.merchantId}`;
  // The longest steps first, each until it leads too far.
  for (const by of ['P1D', 'PT12H', 'PT1H']) {
    let status;
    do ({ status } = await parties.merchant.post('/v1/sandbox/clock/advance', { by, jump: true }));
    while (status === 202);
    expect(status).toBe(400);
  }
  await paid('Z1');
  expect(await summaryOf(csv(debit('Z1')))).toMatchObject({ matched: 1 });
});

test('by a test clock that is ahead a bank books ahead as well', async () => {
  await moveClock(served.db, parties.merchantId, '400 days');
  await paid('T4');
  const summary = await summaryOf(csv(bookedOn(addDays(today, 400), debit('T4'))));
  expect(summary).toEqual({ ...NOTHING, lines: 1, matched: 1 });
});

test('what the bank has not booked cannot be refunded, is reversed where it never moved, and unknown here from then on', async () => {
  await paid('E0');
  const { reference, id } = await paid('E1');
  await match(csv(debit('E0')), reaching());
  expect((await initiateRefund(parties, reference, 1)).status).toBe(409);
  const [one] = await exceptions();
  expect((await respond(parties, one?.['exceptionId'], { resolution: 'confirmed' })).status).toBe(409);
  await end(NO_MONEY);
  expect(await details(reference)).toMatchObject({
    status: 'successful',
    reversedAmount: 100,
    billingRequestId: id,
  });
  const later = await summaryOf(csv(debit('E0'), debit('E1')), reaching());
  expect(later).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
  expect(await openOnes()).toMatchObject([
    { kind: 'unknown_here', bankTransactionId: 'E1', billingRequestId: id, merchantId: parties.merchantId },
  ]);
  // No file explains it: its bank does, or a counterpart.
  await match(csv(debit('E1'), debit('E2')), reaching());
  expect(await kinds(parties.bank, '&kind=unknown_here')).toEqual(['unknown_here open', 'unknown_here open']);
  await theBooksAreRight();
});

test.each([
  [NO_MONEY, 0],
  [reversedBy('RB3'), 2],
])(
  'a refund that the bank has not booked is returned by %j, and what is booked later is judged by that',
  async (finding, matched) => {
    const { reference } = await paid('RB1');
    const refundId = await refunded(reference, 40, 'RB2');
    const first = await summaryOf(csv(debit('RB1')), reaching());
    expect(first).toMatchObject({ matched: 1, missingAtBank: 1 });
    expect(await exceptions()).toMatchObject([{ kind: 'missing_at_bank', refundId }]);

    await end(finding);

    expect(await parties.merchant.read(`/v1/refunds/${refundId}`)).toMatchObject({ status: 'returned' });
    const again = await summaryOf(csv(debit('RB1'), debit('RB9')), reaching());
    expect(again).toMatchObject({ matched: 1, missingAtBank: 0 });
    const summary = await summaryOf(csv(credit('RB2', 40), debit('RB3', 40)));
    expect(summary).toMatchObject({ lines: 2, matched, unknownHere: 2 - matched });
    // A transfer that the bank has made after all is not refunded again while it stands.
    const left = finding === NO_MONEY ? 60 : 100;
    expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: left });
    await theBooksAreRight();
  },
);

test('a second debit and what took it back are both accounted for, and the first is booked as ever', async () => {
  const { id } = await paid('SD1');
  expect((await approve(parties, id, 'SD2')).status).toBe(409);
  await end(reversedBy('SD3'));

  const summary = await summaryOf(csv(debit('SD1'), debit('SD2'), credit('SD3', 100)), reaching());

  expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 3 });
  const next = await paid('SD4');
  expect((await approve(parties, next.id, 'SD5')).status).toBe(409);
  await end(NO_MONEY);
  // The second one never moved, and is none of the network's where it has after all.
  const never = await summaryOf(csv(debit('SD4'), debit('SD5')));
  expect(never).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
  await theBooksAreRight();
});

test('a charge is taken back in one booking, though the refund that the bank then rejects comes later', async () => {
  const { id, reference } = await paid('RP1');
  const refundId = await refund(parties, reference, 40);
  await contradict(id);
  await end(reversedBy('RP2'));
  expect((await answerRefund(parties, refundId, 'rejected')).status).toBe(200);

  const summary = await summaryOf(csv(debit('RP1'), credit('RP2', 100)), reaching());

  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
  await theBooksAreRight();
});

test('a second debit that is booked with another amount is unknown here, and its end leaves the charge', async () => {
  const { id, reference } = await paid('SD6');
  expect((await approve(parties, id, 'SD7')).status).toBe(409);
  const summary = await summaryOf(csv(debit('SD6'), debit('SD7', 7)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
  for (const { exceptionId } of await openOnes()) {
    const refused = await respond(parties, exceptionId, NO_MONEY);
    expect(refused).toMatchObject({ status: 409, body: { data: { bankTransactionId: 'SD7' } } });
    expect((await respond(parties, exceptionId, reversedBy('SD8'))).status).toBe(200);
  }
  expect(await details(reference)).toMatchObject({ status: 'successful', reversedAmount: 0 });
  await theBooksAreRight();
});

test('of an amount that differs only what was not booked is written off', async () => {
  const { reference } = await paid('F1');
  await match(csv(debit('F1', '60.50')));
  expect((await initiateRefund(parties, reference, 60.51)).status).toBe(409);
  await resolveAsOperator('written_off');
  expect(await balancesOf(served.db, parties.bankId)).toMatchObject({
    customer_bank: -6050n,
    disputed: -3950n,
  });
  expect((await initiateRefund(parties, reference, 60.51)).status).toBe(409);
  expect((await initiateRefund(parties, reference, 60.5)).status).toBe(201);
  await theBooksAreRight();
});

test('a refund that is booked too high is no match, and holds what was booked beyond it', async () => {
  const { reference } = await paid('F2');
  await refunded(reference, 30, 'F3');
  const summary = await summaryOf(csv(debit('F2'), credit('F3', 50)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, amountDiffers: 1 });
  expect((await initiateRefund(parties, reference, 70)).status).toBe(409);
  await theBooksAreRight();
});

test('a charge that was contradicted, and written off, is matched', async () => {
  const { id } = await paid('L1');
  await contradict(id);
  await resolveAsOperator('written_off');
  expect(await summaryOf(csv(debit('L1')), reaching())).toEqual({ ...NOTHING, lines: 1, matched: 1 });
  await theBooksAreRight();
});

test('a charge that was missing while its exception was about another thing is told of again', async () => {
  await paid('L0');
  const { id } = await paid('L1');
  await contradict(id);
  expect(await summaryOf(csv(debit('L0')), reaching())).toMatchObject({ missingAtBank: 1 });
  expect(await openOnes()).toMatchObject([{ kind: 'conflicting_answer' }]);
  await end({ resolution: 'confirmed' });
  expect(await summaryOf(csv(debit('L0')), reaching(await ahead(8)))).toMatchObject({ missingAtBank: 1 });
  const missing = await openOnes();
  expect(missing).toHaveLength(1);
  expect(missing).toMatchObject([{ kind: 'missing_at_bank', billingRequestId: id, bankTransactionId: 'L1' }]);
  const both = await summaryOf(csv(debit('L0'), debit('L1')), reaching(await ahead(9)));
  expect(both).toMatchObject({ matched: 2 });
  expect(await openOnes()).toEqual([]);
  await theBooksAreRight();
});

test('a debit that a file has moved, whatever its bank says then', async () => {
  const { id } = await paid('L1');
  expect(await summaryOf(csv(debit('L1')))).toMatchObject({ matched: 1 });
  await contradict(id);
  const [open] = await openOnes();
  expect(await respond(parties, open?.['exceptionId'], NO_MONEY)).toMatchObject({
    status: 409,
    body: { code: 'booked_at_bank', data: { bankTransactionId: 'L1' } },
  });
  expect(await summaryOf(csv(debit('L1')), reaching())).toMatchObject({ matched: 1 });
  expect(await openOnes()).toMatchObject([{ kind: 'conflicting_answer', state: 'open' }]);
  await theBooksAreRight();
});

test.each([
  ['takes it back', reversedBy('G2'), 200],
  ['finds that none moved', NO_MONEY, 200],
  ['would confirm it', { resolution: 'confirmed' }, 409],
])('what is unknown here is the bank’s alone to end: it %s', async (_, finding, expected) => {
  await match(csv(debit('G1', 40)));
  const [one] = await exceptions();
  expect(await parties.bank.read(`${EXCEPTIONS}/${String(one?.['exceptionId'])}`)).toMatchObject({
    kind: 'unknown_here',
    events: [{ type: 'exception.opened', cause: 'bank' }],
  });
  expect(await exceptions(parties.merchant)).toEqual([]);
  expect((await respond(parties, one?.['exceptionId'], finding)).status).toBe(expected);
  if (expected === 409) return;
  expect(await served.announced(parties.bankId, 'exception.resolved')).toHaveLength(1);
  // The next file tells it again, with what took it back, and opens nothing.
  const later = await summaryOf(csv(debit('G1', 40), credit('G2', 40)));
  const takenBack = finding.resolution === 'reversed';
  expect(later).toMatchObject({ unknownHere: takenBack ? 1 : 2, matched: takenBack ? 1 : 0 });
  expect(await kinds(parties.bank, '&state=open')).toEqual(takenBack ? [] : ['unknown_here open']);
  await theBooksAreRight();
});

describe('a line that came before its bank’s answer', () => {
  test('is no difference any more with the next file, nor is its charge missing', async () => {
    await match(csv(debit('J1'), debit('J2')));
    await paid('J1');
    await paid('J2', 90);
    const summary = await summaryOf(csv(), reaching());
    expect(summary).toEqual({ ...NOTHING, lines: 0, missingAtBank: 1 });
    expect(await exceptions()).toMatchObject([
      { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'J1' },
      { kind: 'unknown_here', state: 'resolved', resolution: 'no_difference', bankTransactionId: 'J2' },
      { kind: 'amount_differs', state: 'open', bankTransactionId: 'J2', amount: 90, bookedAmount: 100 },
    ]);
    await theBooksAreRight();
  });

  test('ends with another of the same id only where it has the amount', async () => {
    await match(csv(debit('J5'), debit('J5', '10.75')));
    await paid('J5');
    await match(csv());
    expect(await openOnes()).toMatchObject([{ kind: 'unknown_here', amount: 10.75 }]);
  });

  test('moved its money, whatever the bank says after its answer', async () => {
    await match(csv(debit('J6')));
    const { id } = await paid('J6');
    await contradict(id);
    const [open] = await exceptions(parties.bank, '&state=open&kind=conflicting_answer');
    expect((await respond(parties, open?.['exceptionId'], NO_MONEY)).status).toBe(409);
    await match(csv(), reaching());
    expect(await openOnes()).toMatchObject([{ kind: 'conflicting_answer' }]);
    await theBooksAreRight();
  });

  test('belongs to the exception of a second debit, and does not stand for the first', async () => {
    const { id } = await paid('G4');
    await match(csv(debit('G5')));
    expect((await approve(parties, id, 'G5')).status).toBe(409);
    const lacking = await summaryOf(csv(debit('G5'), debit('G5')), reaching());
    expect(await kinds(parties.bank, '&kind=unknown_here')).toEqual(['unknown_here resolved']);
    expect(lacking).toMatchObject({ matched: 1, duplicates: 1, missingAtBank: 1 });
  });

  test('and is what took a charge back is not missing, and unknown no more', async () => {
    const { id } = await paid('V12');
    await match(csv(debit('V12'), credit('V13', 100)));
    await contradict(id);
    await end(reversedBy('V13'), '&kind=conflicting_answer');
    const summary = await summaryOf(csv(debit('V12')), reaching());
    expect(summary).toMatchObject({ matched: 1, missingAtBank: 0 });
    expect(await openOnes()).toEqual([]);
    await theBooksAreRight();
  });
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
    else await initiateRefund(parties, reference, 40);
    await contradict(id);
    await end(reversedBy('V5'));
    const summary = await summaryOf(csv(debit('V3'), credit('V4', 40), credit('V5', amount)));
    expect(summary).toMatchObject({ amountDiffers: kindsOpen.length, missingAtBank: 0 });
    const told = (await openOnes()).filter(({ bankTransactionId }) => bankTransactionId === 'V5');
    expect(told.map(({ kind }) => kind)).toEqual(kindsOpen);
    await theBooksAreRight();
  });

  test('is all of it where the refund that had all of it is rejected since', async () => {
    const { id, reference } = await paid('V14');
    const refundId = await refund(parties, reference, 100);
    await contradict(id);
    await end(reversedBy('V15'));
    expect((await answerRefund(parties, refundId, 'rejected')).status).toBe(200);
    const summary = await summaryOf(csv(debit('V14'), credit('V15', 100)), reaching());
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    expect(await openOnes()).toEqual([]);
    await theBooksAreRight();
  });

  test('belongs to its exception where refunds have taken all of the charge', async () => {
    const { id, reference } = await paid('V6');
    await refunded(reference, 100, 'V7');
    await contradict(id);
    await end(reversedBy('V8'));
    const summary = await summaryOf(csv(debit('V6'), credit('V7', 100), credit('V8', 100)));
    expect(summary).toEqual({ ...NOTHING, lines: 3, matched: 3 });
  });
});

describe('a line that names the reference of a charge or refund', () => {
  test('is no answer to it: it is pending, and the charge goes on', async () => {
    const { id, reference } = await bill(parties);
    const summary = await summaryOf(csv(debit('H1', 100, reference)));
    expect(summary).toEqual({ ...NOTHING, lines: 1, pending: 1 });
    expect(await openOnes()).toEqual([]);
    expect(await details(reference)).toMatchObject({ status: 'pending' });
    // Its own answer settles it, and explains the line.
    expect((await approve(parties, id, 'H1')).status).toBe(200);
    expect(await summaryOf(csv(), reaching())).toMatchObject({ missingAtBank: 0 });
    expect(await kinds()).toEqual([]);
    await theBooksAreRight();
  });

  test('settles nothing where another id has paid it, whatever its amount: a fee, say', async () => {
    const { id, reference } = await paid('H11');
    const summary = await summaryOf(csv(debit('H11'), debit('H12', '10.75', reference)));
    expect(summary).toEqual({ ...NOTHING, lines: 2, matched: 1, unknownHere: 1 });
    expect(await exceptions(parties.merchant)).toMatchObject([
      { kind: 'unknown_here', state: 'open', billingRequestId: id, amount: 10.75 },
    ]);
    expect((await initiateRefund(parties, reference, 100)).status).toBe(409);
  });
});

test.each([
  ['as it was answered', { matched: 2 }, () => debit('H14')],
  ['with another amount', { matched: 1, amountDiffers: 1 }, () => debit('H14', 5_000)],
  ['as a credit', { matched: 1, unknownHere: 1 }, () => credit('H14', 100)],
])('a late debit that is taken back, booked %s, is %j', async (_, counts, lineOf) => {
  const line = lineOf();
  const { id } = await bill(parties);
  await wholeFeed(served.db);
  await parties.bank.get('/v1/events');
  await moveClock(served.db, parties.merchantId, '2 days');
  await served.db.transaction((trx) => closeExpiredRequests(trx, [id], 'by its bank'));
  expect((await approve(parties, id, 'H14')).status).toBe(409);
  await end(reversedBy('H15'), '&kind=unanswered');

  const summary = await summaryOf(csv(line, credit('H15', 100)));
  expect(summary).toEqual({ ...NOTHING, lines: 2, ...counts });
  await theBooksAreRight();
});

describe('a payment between customers, of which the payee’s bank was told', () => {
  let payer: Parties;
  let payment: Charge;

  beforeEach(async () => {
    payer = await served.parties();
    const { id, deliveryId } = await payAnother(served.db, payer, parties);
    await settleCredit(served.db, deliveryId);
    const { reference } = await payer.bank.read(`/v1/billing/requests/${id}`);
    payment = { id, reference: String(reference) };
    await paid('C1');
  });
  const credited = (amount = 2.5) => credit(`OWN-${payment.id}`, amount, payment.reference);
  const MATCHED = { ...NOTHING, lines: 1, matched: 1 };

  test('is a debit at one bank, and by its reference a credit at the other', async () => {
    expect(await summaryOf(csv(debit(`tx-${payment.id}`, 2.5)), '', { by: payer.bank })).toEqual(MATCHED);
    expect(await summaryOf(csv(credited()))).toEqual(MATCHED);
    expect(await openOnes()).toEqual([]);
  });

  test('and which that has not credited is missing in its files until one has it, and both banks are told', async () => {
    const { summary, differences } = await match(csv(debit('C1')), reaching());
    expect(summary).toEqual({ ...MATCHED, missingAtBank: 1 });
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
    expect(await exceptions(payer.bank)).toEqual([exception]);
    const exceptionId = String(exception?.['exceptionId']);
    expect(differences).toEqual([
      `,missing_at_bank,,,credit,,,,${payment.reference},2.5,NGN,${exceptionId},`,
    ]);
    for (const bankId of [parties.bankId, payer.bankId]) {
      expect(await served.announced(bankId, 'exception.opened')).toMatchObject([
        { exceptionId, reference: payment.reference, bankTransactionId: null },
      ]);
    }

    expect(await summaryOf(csv(credited()))).toEqual(MATCHED);
    expect(await exceptions()).toMatchObject([{ state: 'resolved', resolution: 'no_difference' }]);
    await theBooksAreRight();
  });

  test('is missing where it was credited with another amount', async () => {
    const summary = await summaryOf(csv(debit('C1'), credited(3)), reaching());
    expect(summary).toMatchObject({ matched: 1, unknownHere: 1, missingAtBank: 1 });
  });

  test('need not be credited where the payer’s bank has taken it back, and may have been', async () => {
    await match(csv(debit('C1')), reaching());
    const [exception] = await exceptions();
    const back = reversedBy(`back-${payment.id}`);
    expect((await respond(parties, exception?.['exceptionId'], back)).status).toBe(404);
    expect((await respond(payer, exception?.['exceptionId'], back)).status).toBe(200);
    expect(await summaryOf(csv(credited()), reaching())).toEqual(MATCHED);
    const file = csv(debit(`tx-${payment.id}`, 2.5), credit(`back-${payment.id}`, 2.5));
    expect(await summaryOf(file, '', { by: payer.bank })).toEqual({ ...NOTHING, lines: 2, matched: 2 });
    await theBooksAreRight();
  });
});

test('after a restored back-up what was open again is unknown here until its bank answers again, and what is gone stays so', async () => {
  const open = await bill(parties);
  const restored = await copyOfDatabase(served.database);
  await served.api.close();
  served.db = served.database.db;
  served.api = await serveApi(served.db);
  parties.bank = callerAt(served.api, parties.credentials.bank);
  parties.merchant = callerAt(served.api, parties.credentials.merchant);
  // An answer, and a charge with its answer, come after the back-up.
  expect((await approve(parties, open.id, 'R1')).status).toBe(200);
  const gone = await paid('R2', 70);

  const after = await serveApi(restored.db);
  try {
    parties.bank = callerAt(after, parties.credentials.bank);
    parties.merchant = callerAt(after, parties.credentials.merchant);
    expect(await details(open.reference)).toMatchObject({ status: 'pending' });
    const file = csv(debit('R1', 100, open.reference), debit('R2', 70, gone.reference));
    const summary = await summaryOf(file, '', { db: restored.db });
    expect(summary).toEqual({ ...NOTHING, lines: 2, pending: 1, unknownHere: 1 });
    expect((await approve(parties, open.id, 'R1')).status).toBe(200);
    await match(csv(), '', { db: restored.db });
    expect(await exceptions()).toMatchObject([
      { kind: 'unknown_here', state: 'open', amount: 70, reference: gone.reference, billingRequestId: null },
    ]);
    expect(await exceptions(parties.merchant)).toEqual([]);
    await end(reversedBy('R3'), `&reference=${gone.reference}`);
    await theBooksAreRight(restored.db);
  } finally {
    await after.close();
    await restored.drop();
  }
});

test('a camt.053 is a statement like any other', async () => {
  await paid('FT26061A01', 1500);
  const file = readFileSync(path.join(__dirname, '../../samples/statement.camt.053.xml'), 'utf8');
  const summary = await summaryOf(file.replaceAll(/2026-03-0\d/g, today), '', XML);
  expect(summary).toMatchObject({ lines: 6, matched: 1, unknownHere: 3, malformed: 2 });
});

test('a file that comes as bytes is read as what it is, CSV or camt.053, also behind a byte order mark', async () => {
  await paid('FT26061A01', 1500);
  const camtFile = readFileSync(path.join(__dirname, '../../samples/statement.camt.053.xml'), 'utf8');
  const bytes = { headers: { 'content-type': 'application/octet-stream' } };
  for (const mark of ['', '\uFEFF']) {
    const told = await summaryOf(mark + camtFile.replaceAll(/2026-03-0\d/g, today), '', bytes);
    expect(told).toMatchObject({ lines: 6 });
    const table = await summaryOf(`${mark}${csv(debit('FT26061A01', 1500))}${mark && '\r\n'}`, '', bytes);
    expect(table).toMatchObject({ lines: 1, malformed: 0 });
  }
});

describe('a file is refused, and nothing of it stays,', () => {
  afterEach(async () => {
    expect(await served.db.rows`SELECT FROM bank_file_pages`).toEqual([]);
  });

  test.each([
    ['a wrong header', 'a,b\n1,2\n', {}, 400, /header must have the columns/],
    ['no body', '', {}, 400, /needs a body of text\/csv or application\/xml/],
    ['CSV as XML', csv(), { 'content-type': 'application/xml' }, 400, /is not well-formed/],
    ['bytes of neither', '{}', { 'content-type': 'application/octet-stream' }, 400, /header must have/],
    ['JSON', '{}', { 'content-type': 'application/json' }, 415, /must be text\/csv or application\/xml/],
    ['another encoding', csv(), { 'content-type': 'text/csv; charset=latin1' }, 415, /in UTF-8/],
  ])('for %s', async (_, file, headers, expected, why) => {
    const { status, body } = await upload(file, '', headers);
    expect([status, body.message]).toEqual([expected, expect.stringMatching(why)]);
  });

  test('for its head, and the bank’s next compressed file finds a decoder', async () => {
    const token = await tokenOf(served.api, parties.bank);
    const body = gzipSync('a,b\n1,2\n');
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      'content-encoding': 'gzip',
    };
    for (let n = 0; n <= DECODERS.ofCaller; n++) {
      const { status } = await fetch(served.api.url + STATEMENTS, { method: 'POST', headers, body });
      expect({ n, status }).toEqual({ n, status: 400 });
    }
  });

  test.each([
    ['that stops arriving, after ten seconds', {}, 408],
    ['that says it is larger than 1 GiB, before it is sent', { 'content-length': String(2 ** 30 + 1) }, 413],
  ])('for one %s', async (_, headers, status) => {
    const token = await tokenOf(served.api, parties.bank);
    const lines = Array.from({ length: 1_500 }, (__, n) => debit(`S-${n}`));
    const answered = await fetch(served.api.url + STATEMENTS, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv', ...headers },
      body: new ReadableStream({ start: (body) => body.enqueue(Buffer.from(csv(...lines))) }),
      duplex: 'half',
    });
    expect(answered.status).toBe(status);
  });

  test('under the idempotency key of one that is under way', async () => {
    const first = await openTransaction(served.db);
    const request = { callerId: parties.bankId, path: STATEMENTS, key: 'running' };
    await claimKey(first.trx, { ...request, bodyIndexes: [Buffer.of()] });
    const second = await upload(csv(), '', { 'idempotency-key': 'running' });
    await first.rollback();
    expect(second.status).toBe(409);
  });
});
