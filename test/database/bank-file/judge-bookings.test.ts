import { setExpectationsBegin } from '../../../src/database/bank-file/begin-expectations';
import { withdrawBankFile } from '../../../src/database/bank-file/withdraw-bank-file';
import { readBankFile } from '../../../src/database/bank-file/receive-bank-file';
import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { judgeBookings } from '../../../src/database/bank-file/judge-bookings';
import { matchLines } from '../../../src/database/bank-file/match-lines';
import { acceptFile, lookForMissing, matchingOf, sendFile, type SentLine } from '../../support/bank-file';
import { bookDifferences } from '../../support/books';
import { asSchemaLogin, databaseOfFile } from '../../support/database';
import { openTransaction } from '../../support/open-transaction';
import { OPERATOR } from '../../support/operator';
import {
  answerBill,
  bill,
  exceptionOf,
  payWithin,
  resolveAsOperator,
  type Billed,
} from '../../support/settled';
import { standingApproval, type Standing } from '../../support/standing';

/** What a bank has booked beside its answers, until a counterpart takes it back. */

const file = databaseOfFile();
const { db } = file;
const TODAY = calendarDay(new Date(), 'Africa/Lagos');
/** What was booked today is late in a file that reaches it. */
const LATER = addDays(TODAY, 9);

let bank: Standing;
beforeEach(async () => {
  bank = await standingApproval(db);
});
afterEach(async () => {
  expect(await bookDifferences(db)).toEqual([]);
});

async function paid(id: string): Promise<Billed> {
  const billed = await bill(db, bank);
  await answerBill(db, bank, billed.id, id);
  return billed;
}
const debit = (id: string, more: Partial<SentLine> = {}): SentLine => ({
  id,
  direction: 'debit',
  amount: 100,
  day: TODAY,
  ...more,
});
const credit = (id: string, more: Partial<SentLine> = {}) => debit(id, { direction: 'credit', ...more });
const send = (lines: SentLine[], through?: string) =>
  sendFile(db, bank.bankId, lines, through === undefined ? {} : { through });
const summaryOf = async (statementId: string) => (await readBankFile(db, statementId)).summary;

const exceptions = async (state = 'open') =>
  (
    await db.rows<{ said: string }>`
      SELECT concat_ws(' ', kind, resolution, bank_transaction_id, reversal_bank_transaction_id) AS said
      FROM reconciliation_exceptions WHERE bank_id = ${bank.bankId} AND (state = 'resolved') = (${state} = 'resolved')
      ORDER BY opened_at, id`
  ).map(({ said }) => said);

/** The bookings that a file without lines makes missing. */
const missing = async (from?: string) => {
  const id = await sendFile(db, bank.bankId, [], { through: LATER, ...(from !== undefined && { from }) });
  return (await summaryOf(id)).missingAtBank;
};

const withdraw = (statementId: string) => withdrawBankFile(db, OPERATOR, statementId);

test('of a charge’s extra lines some are kept, and a file that repeats them still has them', async () => {
  const { reference } = await paid('A');
  const lines = Array.from({ length: 120 }, (_, n) => debit(`S${n}`, { reference }));
  await send([debit('A'), ...lines]);
  const latest = await send(lines);
  const kept = await db.rows<{
    matchedBy: string;
  }>`SELECT matched_by FROM extra_bookings WHERE bank_id = ${bank.bankId}`;
  expect(kept.map(({ matchedBy }) => matchedBy)).toEqual(Array(100).fill(latest));
  expect(await exceptions()).toEqual(['unknown_here S0']);
});

test('a second debit in one file with its counterpart opens nothing', async () => {
  const { reference } = await paid('A');
  const id = await send([debit('A'), debit('B', { reference }), credit('C', { reference })], LATER);
  expect(await summaryOf(id)).toMatchObject({ lines: 3, matched: 2, unknownHere: 1 });
  expect(await exceptions()).toEqual([]);
  // Nor do files that overlap.
  const again = await send([credit('C', { reference }), debit('B', { reference }), debit('A')], LATER);
  expect(await summaryOf(again)).toMatchObject({ matched: 3 });
  expect([await exceptions(), await exceptions('resolved')]).toEqual([[], []]);
});

test('a counterpart that the bank has promised is late once its files reach two business days past the promise', async () => {
  const { id } = await paid('A');
  await answerBill(db, bank, id, 'B');
  await send([debit('A'), debit('B')]);
  await resolveAsOperator(db, id, 'reversed', 'C');
  await send([debit('B')], TODAY);
  expect(await exceptions()).toEqual([]);
  await send([debit('B')], LATER);
  expect(await exceptions()).toEqual(['unknown_here B']);
  await send([credit('C')]);
  expect(await exceptions()).toEqual([]);
  expect(await exceptions('resolved')).toContain('unknown_here reversed B C');
});

test('a line in two files at once, while its charge is approved, is its booking alone', async () => {
  const { id, reference } = await bill(db, bank);
  const approval = await openTransaction(db);
  await answerBillingRequest(approval.trx, bank.bankId, id, {
    outcome: 'approved',
    bankTransactionId: 'A',
    action: null,
  });
  const early = matchingOf(db, await acceptFile(db, bank.bankId, [debit('A', { reference })]));
  const [, statementId = ''] = early.workflowId.split('/');
  await matchLines(early, statementId);
  await approval.commit();
  await send([debit('A', { reference })]);
  await lookForMissing(early, statementId);
  await send([], LATER);
  expect([await exceptions(), await exceptions('resolved')]).toEqual([[], []]);
});

test('two debits and one counterpart leave one that stands', async () => {
  const { id, reference } = await paid('A');
  await send([debit('A'), debit('B', { reference }), debit('C', { reference }), credit('D', { reference })]);
  expect(await exceptions()).toEqual([expect.stringMatching(/^unknown_here [BC]$/)]);
  await send([credit('E', { reference })]);
  expect([await exceptions(), await exceptions('resolved')]).toEqual([
    [],
    [expect.stringMatching(/^unknown_here reversed [BC] [DE]$/)],
  ]);
  expect(await db.row`SELECT status, reversed_amount::int FROM billing_requests WHERE id = ${id}`).toEqual({
    status: 'successful',
    reversedAmount: 0,
  });
});

test('a credit that takes nothing back is told, pages before or after its debit', async () => {
  const { reference } = await paid('A');
  await send([debit('A'), credit('C', { reference })]);
  expect(await exceptions()).toEqual(['unknown_here C']);
  await send([debit('B', { reference })]);
  expect(await exceptions()).toEqual([]);
  const filler = Array.from({ length: 1_000 }, (_, n) => debit(`F${n}`, { amount: 1 }));
  const far = await paid('G');
  await send([credit('H', far), ...filler.slice(0, 999), debit('H', far), debit('G')]);
  expect((await exceptions()).filter((one) => !one.includes(' F'))).toEqual([]);
});

test('a reversed line of a charge that stands differs from it, until the bank says that it is taken back', async () => {
  const { id } = await paid('A');
  await send([debit('A'), credit('A', { isReversal: true })]);
  expect(await exceptions()).toEqual(['amount_differs A']);
  expect(await exceptionOf(db, id)).toMatch(/^exc_/);
});

describe('where expectations begin', () => {
  test('is the end of a first file without lines', async () => {
    await paid('A');
    expect(await missing()).toBe(0);
    expect(await missing(TODAY)).toBe(1);
  });

  test('is where the operator says', async () => {
    await paid('A');
    expect(await missing()).toBe(0);
    await db.transaction((trx) => setExpectationsBegin(trx, OPERATOR, bank.bankId, TODAY));
    expect(await missing()).toBe(1);
  });
});

describe('a file that is withdrawn', () => {
  test('has told nothing, and the right one tells anew', async () => {
    const { reference } = await paid('A');
    await paid('B');
    await paid('C');
    await send([debit('A')]);
    const lines = [debit('A'), debit('B', { amount: 90 }), debit('X'), debit('Y', { reference })];
    const wrong = await send(lines, LATER);
    const told = (await exceptions()).toSorted();
    expect(told).toEqual(['amount_differs B', 'missing_at_bank C', 'unknown_here X', 'unknown_here Y']);
    await withdraw(wrong);
    expect(await exceptions()).toEqual([]);
    expect(await readBankFile(db, wrong)).toMatchObject({ status: 'withdrawn', summary: { matched: 1 } });
    // The booking that an earlier file has, too, is still there; what it alone had is not.
    expect(await summaryOf(await send([], LATER))).toMatchObject({ missingAtBank: 2 });
    await send(lines, LATER);
    expect((await exceptions()).toSorted()).toEqual([...told.slice(1), 'missing_at_bank B'].toSorted());
    await withdraw(wrong);
  });

  test('leaves what another file tells, and lets go what only its counterpart explained', async () => {
    const { reference } = await paid('A');
    await send([debit('A'), debit('B', { reference }), debit('X')]);
    const wrong = await send([credit('B'), debit('X')]);
    expect(await exceptions()).toEqual(['unknown_here X']);
    await withdraw(wrong);
    expect(await exceptions()).toEqual(['unknown_here X']);
    await send([], LATER);
    expect((await exceptions()).toSorted()).toEqual(['unknown_here B', 'unknown_here X']);
  });

  test('leaves the reversal unknown that took its line back, and that is no credit of the payee', async () => {
    const { id, reference } = await payWithin(db, bank);
    const of = { reference, amount: 250 };
    await send([debit(`tx-${id}`, of)]);
    await send([credit('Z', { ...of, isReversal: true })]);
    const wrong = await send([debit('B', of)]);
    expect(await exceptions()).toEqual([]);
    await withdraw(wrong);
    await send([debit('A')]);
    expect(await exceptions()).toEqual(['unknown_here Z', 'unknown_here A']);
  });

  test('ends its work, which may have stood still, and holds no other file back', async () => {
    await paid('A');
    await missing(TODAY);
    await paid('B');
    const stuck = await acceptFile(db, bank.bankId, [debit('B')]);
    expect(await summaryOf(await send([debit('X')], LATER))).toMatchObject({ missingAtBank: 0 });
    await withdraw(stuck);
    const matching = matchingOf(db, stuck);
    await matchLines(matching, stuck);
    await lookForMissing(matching, stuck);
    expect(await readBankFile(db, stuck)).toMatchObject({ status: 'withdrawn', done: 0 });
    expect(await summaryOf(await send([debit('Y')], LATER))).toMatchObject({ missingAtBank: 1 });
  });

  test('makes a booking missing again that it alone had, after another had made it missing', async () => {
    await paid('A');
    expect(await missing(TODAY)).toBe(1);
    const wrong = await send([debit('A')]);
    expect(await exceptions()).toEqual([]);
    await withdraw(wrong);
    expect(await summaryOf(await send([debit('X')], LATER))).toMatchObject({ missingAtBank: 1 });
    expect(await exceptions()).toContain('missing_at_bank A');
  });

  test('leaves its booking to the line that another file has by the reference', async () => {
    const { reference } = await paid('A');
    const wrong = await send([debit('A')]);
    await send([debit('Y', { reference })]);
    expect(await exceptions()).toEqual(['unknown_here Y']);
    await withdraw(wrong);
    expect(await exceptions()).toEqual([]);
    expect(await summaryOf(await send([], LATER))).toMatchObject({ missingAtBank: 0 });
  });
});

test('lines that take nothing back open no more exceptions than the file has room for', async () => {
  const { id, reference } = await bill(db, bank);
  await answerBill(db, bank, id, null);
  const credits = Array.from({ length: 9 }, (_, n) => credit(`C${n}`, { reference }));
  const statementId = await acceptFile(db, bank.bankId, [debit('D', { reference }), ...credits]);
  await db.rows`UPDATE bank_files SET exceptions = 995 WHERE id = ${statementId}`;
  const matching = matchingOf(db, statementId);
  await matchLines(matching, statementId);
  await lookForMissing(matching, statementId);
  expect(await exceptions()).toHaveLength(5);
  expect(await readBankFile(db, statementId)).toMatchObject({ status: 'completed', exceptions: 1_000 });
});

test('many lines of one reference find their counterparts at once, each its own', async () => {
  const { id, reference } = await bill(db, bank);
  await answerBill(db, bank, id, null);
  const names = ['1', '2', '3', '4', '5'];
  const statementId = await acceptFile(db, bank.bankId, [
    ...names.map((n) => debit(`D${n}`, { reference })),
    ...names.map((n) => credit(`C${n}`, { reference })),
  ]);
  await matchLines(matchingOf(db, statementId), statementId);
  let rounds = 0;
  await db.transaction((trx) =>
    judgeBookings(
      {
        ...trx,
        query: (text, ...more) => {
          if (text.includes('candidate AS')) rounds += 1;
          return trx.query(text, ...more);
        },
      },
      [id],
    ),
  );
  expect(rounds).toBe(2);
  expect(
    await db.rows`
      SELECT concat_ws(' ', bank_transaction_id, counterpart_id) AS pair FROM extra_bookings
      WHERE billing_request_id = ${id} AND is_extra ORDER BY 1`,
  ).toEqual(names.map((n) => ({ pair: `D${n} C${n}` })));
});

test('a file that writes one id on every line is matched as quickly as any', async () => {
  const { id } = await bill(db, bank);
  await answerBill(db, bank, id, null);
  await db.rows`
    INSERT INTO extra_bookings (bank_id, bank_transaction_id, direction, booked_on, amount, currency, billing_request_id,
      is_extra, first_matched_by, matched_by)
    SELECT ${bank.bankId}, 'NONREF', 'debit', ${TODAY}::date, n, 'NGN', CASE n WHEN 1 THEN ${id} ELSE 'brq_' || n END, true,
      'stm_0', 'stm_0' FROM generate_series(1, 20000) AS n`;
  // Bookings that earlier files had under the same id, by the references of their lines.
  await asSchemaLogin(
    file.url,
    `INSERT INTO expected_bookings (bank_id, identified_by, identifier, direction, amount, currency, settlement_day,
         billing_request_id, booked_id, booked_on, first_matched_by, matched_by)
       SELECT '${bank.bankId}', 'bankTransactionId', n, 'debit', 100, 'NGN', '${TODAY}', 'brq_' || n, 'NONREF', '${TODAY}',
         'stm_0', 'stm_0' FROM generate_series(1, 50000) AS n;
     ANALYZE expected_bookings`,
  );
  const lines = Array.from({ length: 1_000 }, (_, n) =>
    debit('NONREF', { amount: 100_000 + n, direction: n % 2 === 0 ? 'debit' : 'credit' }),
  );
  const statementId = await acceptFile(db, bank.bankId, lines);
  // Postgres ends a statement of ten seconds.
  await matchLines(matchingOf(db, statementId), statementId);
  expect(await summaryOf(statementId)).toMatchObject({ lines: 1_000, unknownHere: 500, amountDiffers: 500 });
  await asSchemaLogin(file.url, `DELETE FROM expected_bookings WHERE matched_by = 'stm_0'`);
});

test('of lines that all have one id each is of its reference, also where the id has booked another', async () => {
  const [first, second] = [await paid('A'), await paid('B')];
  const third = await bill(db, bank);
  await answerBill(db, bank, third.id, null);
  await send([debit('X', { reference: first.reference })]);
  const lines = [second, third, first].map(({ reference }) => debit('X', { reference }));
  expect(await summaryOf(await send(lines, LATER))).toMatchObject({
    matched: 2,
    unknownHere: 1,
    duplicates: 0,
    missingAtBank: 0,
  });
  expect(await exceptions()).toEqual(['unknown_here X']);
  expect(await exceptionOf(db, third.id)).toMatch(/^exc_/);
  await send([credit('X', { reference: second.reference, isReversal: true })]);
  expect(await exceptionOf(db, second.id)).toMatch(/^exc_/);
});
