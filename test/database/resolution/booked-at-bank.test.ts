import { readBankFile } from '../../../src/database/bank-file/receive-bank-file';
import { roomFor } from '../../../src/database/bank-file/open-differences';
import { withdrawBankFile } from '../../../src/database/bank-file/withdraw-bank-file';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';
import { followCredits } from '../../../src/database/credit/follow-credit';
import { remindBank } from '../../../src/database/refund/remind-bank';
import { answerRefund, refundState } from '../../../src/database/refund/settle-refund';
import { readException } from '../../../src/database/reconciliation-exception/list-exceptions';
import { resolveException, takeBanksAnswer } from '../../../src/database/resolution/resolve-exception';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';
import { addBusinessDays } from '../../../src/domain/business-day';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { Failure } from '../../../src/domain/failures';
import { sendFile, type SentLine } from '../../support/bank-file';
import { bookDifferences } from '../../support/books';
import { databaseOfFile } from '../../support/database';
import { balancesOf } from '../../support/ledger';
import { OPERATOR } from '../../support/operator';
import {
  answerBill,
  bill,
  charge,
  exceptionOf,
  payAnother,
  refund,
  resolveAsOperator,
  settleCredit,
  type Billed,
} from '../../support/settled';
import { announcedTo, moveClock, standingApproval, type Standing } from '../../support/standing';

/** Ends of exceptions beside what a bank's files have: the money in the files is stronger. */

const { db } = databaseOfFile();
const TODAY = calendarDay(new Date(), 'Africa/Lagos');
const LATER = addDays(TODAY, 9);

let bank: Standing;
let charged: Billed;
beforeEach(async () => {
  bank = await standingApproval(db);
  charged = await charge(db, bank);
});
afterEach(async () => {
  expect(await bookDifferences(db)).toEqual([]);
});

const line = (id: string, direction: SentLine['direction'], more: Partial<SentLine> = {}): SentLine => ({
  id,
  direction,
  amount: 100,
  day: TODAY,
  ...more,
});
const send = (...lines: SentLine[]) => sendFile(db, bank.bankId, lines);
const own = () => line(`tx-${charged.id}`, 'debit');

const says = async (resolution: Resolution, bankTransactionId: string | null = null, id = charged.id) =>
  db
    .transaction(async (trx) =>
      takeBanksAnswer(trx, { bankId: bank.bankId, note: null }, await exceptionOf(db, id), {
        resolution,
        bankTransactionId,
      }),
    )
    .then((said) => (said instanceof Failure ? { code: said.code, data: said.data } : said.resolution));

const charges = () =>
  db.oneRow<object>`
    SELECT status, refunded_amount::int AS refunded, reversed_amount::int AS reversed, written_off_amount::int AS written_off
    FROM billing_requests WHERE id = ${charged.id}`;
const PAID = { status: 'successful', refunded: 0, reversed: 0, writtenOff: 0 };
const exceptions = async () =>
  (
    await db.rows<{ said: string }>`
      SELECT concat_ws(' ', kind, state, resolution) AS said FROM reconciliation_exceptions
      WHERE bank_id = ${bank.bankId} ORDER BY opened_at, id`
  ).map(({ said }) => said);
const refused = (begun: Promise<unknown>) =>
  begun.then(
    () => 'taken',
    (failure: unknown) => (failure instanceof Failure ? failure.code : String(failure)),
  );
const entries = async (kind: string) =>
  (
    await db.rows<{ amount: bigint }>`
      SELECT p.amount FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.direction = 'debit'
      WHERE e.kind = ${kind} AND p.party_id = ${bank.bankId}`
  ).map(({ amount }) => amount);

/** No file has the charge. */
const missing = async () => {
  await sendFile(db, bank.bankId, [], { from: TODAY, through: LATER });
  expect(await exceptions()).toEqual(['missing_at_bank open']);
};

describe('a second debit that stands in a file', () => {
  const booked = { code: 'booked_at_bank', data: { bankTransactionId: 'B', bookingDate: TODAY } };
  beforeEach(async () => {
    await answerBill(db, bank, charged.id, 'B');
    await send(own(), line('B', 'debit'));
  });

  test('is not said away: neither that no money moved, nor that there is no difference, nor that the first stands', async () => {
    expect(await says('no_money_moved')).toMatchObject(booked);
    expect(await says('confirmed')).toMatchObject(booked);
    expect(await refused(resolveAsOperator(db, charged.id, 'no_difference'))).toBe('booked_at_bank');
    expect(await exceptions()).toEqual(['conflicting_answer open']);
  });

  test('is taken back as the bank says, and the charge stands; also under its own id', async () => {
    expect(await says('reversed', 'B')).toBe('reversed');
    expect(await charges()).toEqual(PAID);
    await send(line('B', 'credit'));
    await sendFile(db, bank.bankId, [own()], { through: LATER });
    expect(await exceptions()).toEqual(['conflicting_answer resolved reversed']);
  });

  test('is written off, which leaves the charge as it is, and opens nothing again', async () => {
    await resolveAsOperator(db, charged.id, 'written_off');
    await sendFile(db, bank.bankId, [line('B', 'debit')], { through: LATER });
    expect(await exceptions()).toEqual(['conflicting_answer resolved written_off']);
    expect(await charges()).toEqual(PAID);
    expect(await refused(refund(db, bank, charged.reference, 1))).toBe('taken');
  });

  test('keeps its exception open where the bank sends a right id for a wrong one', async () => {
    const other = await bill(db, bank);
    await answerBill(db, bank, other.id, 'B');
    const { reference } = other;
    await send(line('C', 'debit', { reference }), line('D', 'debit', { reference }));
    await answerBill(db, bank, other.id, 'C');
    expect(await exceptions()).toContain('duplicate_transaction_id open');
  });
});

test('that no money moved is refused for a charge whose own debit is in the files, and on a reversal that is missing there', async () => {
  await send(own());
  await answerBill(db, bank, charged.id, null);
  expect(await says('no_money_moved')).toMatchObject({ code: 'booked_at_bank' });
  expect(await charges()).toEqual(PAID);
  expect(await says('reversed', 'back')).toBe('reversed');
  await sendFile(db, bank.bankId, [], { through: LATER });
  expect(await exceptions()).toEqual(['conflicting_answer resolved reversed', 'missing_at_bank open']);
  expect(await says('no_money_moved')).toMatchObject({ code: 'booked_at_bank' });
});

test.each([60, 140])(
  'that no money moved is refused for a charge whose own debit is in a file with %i in place of 100',
  async (amount) => {
    const id = `tx-${charged.id}`;
    await send(line(id, 'debit', { amount }));
    const data = { bankTransactionId: id, bookingDate: TODAY };
    expect(await says('no_money_moved')).toMatchObject({ code: 'booked_at_bank', data });
    expect(await charges()).toEqual(PAID);
    expect(await says('reversed', 'back')).toBe('reversed');
    expect(await charges()).toEqual({ ...PAID, reversed: 100 });
  },
);

test('a debit that its bank has denied for want of the payee’s credit is told of once a file has it', async () => {
  const payee = await standingApproval(db);
  const { id, deliveryId } = await payAnother(db, bank, payee);
  await settleCredit(db, deliveryId);
  await sendFile(db, payee.bankId, [], { from: TODAY, through: LATER });
  expect(await says('no_money_moved', null, id)).toBe('no_money_moved');
  await send(line(`tx-${id}`, 'debit', { amount: 250 }));
  expect(await exceptions()).toEqual(['missing_at_bank resolved no_money_moved', 'unknown_here open']);
});

test('a late decline does not end what a file shows', async () => {
  const late = await bill(db, bank);
  await moveClock(db, bank.merchantId, '2 days');
  await db.transaction((trx) => closeExpiredRequests(trx, [late.id], 'by its bank'));
  await send(line('X', 'debit', { reference: late.reference }));
  await answerBill(db, bank, late.id, null);
  expect(await exceptions()).toEqual(['unanswered open']);
  await send(line('X', 'credit', { reference: late.reference }));
  expect(await exceptions()).toEqual(['unanswered resolved reversed']);
});

test('a charge that the bank took back under its own id is reversed by that id', async () => {
  await send(own(), line(`tx-${charged.id}`, 'credit', { isReversal: true }));
  expect(await exceptions()).toEqual(['amount_differs open']);
  expect(await says('reversed', `tx-${charged.id}`)).toBe('reversed');
  expect(await charges()).toEqual({ ...PAID, reversed: 100 });
  await sendFile(db, bank.bankId, [own()], { through: LATER });
  expect(await exceptions()).toEqual(['amount_differs resolved reversed']);
});

const told = async (refundId: string) =>
  (await announcedTo(db, bank.merchantId)).flatMap(({ type, item }) =>
    type === 'refund.response' && item['refundId'] === refundId ? [item] : [],
  );

describe('a refund that was rejected, and is in a file', () => {
  let refundId: string;
  let reference: string;
  beforeEach(async () => {
    refundId = await refund(db, bank, charged.reference, 0.4, 'rejected');
    reference = (await db.oneRow<{ reference: string }>`SELECT reference FROM refunds WHERE id = ${refundId}`)
      .reference;
    await send(own(), line('R', 'credit', { amount: 40, reference }));
  });
  test('cannot be refunded again while nobody has looked', async () => {
    expect(await refused(refund(db, bank, charged.reference, 0.61))).toBe('held_by_exception');
    expect(await refused(refund(db, bank, charged.reference, 0.6))).toBe('taken');
  });

  test('is completed by the line once it is confirmed, which the merchant is told', async () => {
    expect(await says('no_money_moved', null, refundId)).toMatchObject({
      code: 'booked_at_bank',
      data: { bankTransactionId: 'R' },
    });
    expect(await says('confirmed', null, refundId)).toBe('confirmed');
    expect(
      await db.row`SELECT status, bank_transaction_id AS id FROM refunds WHERE id = ${refundId}`,
    ).toEqual({ status: 'completed', id: 'R' });
    expect(await charges()).toEqual({ ...PAID, refunded: 40 });
    expect(await told(refundId)).toMatchObject([
      { status: 'rejected', sequence: 1 },
      { status: 'completed', sequence: 2 },
    ]);
    expect((await balancesOf(db, bank.bankId))['customer_bank']).toBe(-60n);
    const { id } = await db.oneRow<{ id: string }>`
      SELECT id FROM reconciliation_exceptions WHERE refund_id = ${refundId}`;
    const { answers } = await readException(db, id);
    expect(answers).toMatchObject([{ says: 'rejected', bankTransactionId: null }]);
    // The line is its booking: nothing stands, and nothing is missing.
    await sendFile(db, bank.bankId, [own()], { through: LATER });
    expect(await exceptions()).toEqual(['unknown_here resolved confirmed']);
  });

  test('is not completed beyond what is left of its charge, but reversed or written off', async () => {
    await refund(db, bank, charged.reference, 0.6, 'completed');
    await db.rows`UPDATE billing_requests SET refunded_amount = 70 WHERE id = ${charged.id}`;
    expect(await says('confirmed', null, refundId)).toMatchObject({
      code: 'exceeds_remaining',
      data: { left: 30n },
    });
    await db.rows`UPDATE billing_requests SET refunded_amount = 60 WHERE id = ${charged.id}`;
    await resolveAsOperator(db, refundId, 'written_off');
    expect(await charges()).toEqual({ ...PAID, refunded: 60, writtenOff: 40 });
  });

  test('cannot be refunded again once it is written off', async () => {
    await resolveAsOperator(db, refundId, 'written_off');
    expect(await charges()).toEqual({ ...PAID, writtenOff: 40 });
    expect(await refused(refund(db, bank, charged.reference, 0.61))).toBe('exceeds_remaining');
    expect(await refused(refund(db, bank, charged.reference, 0.6))).toBe('taken');
  });

  test('that was paid twice is completed by the transfer that is named; the other stands', async () => {
    await send(line('S', 'credit', { amount: 40, reference }));
    expect(await says('confirmed', null, refundId)).toMatchObject({ code: 'resolution_not_allowed' });
    expect(await says('confirmed', 'S', refundId)).toBe('confirmed');
    await sendFile(db, bank.bankId, [], { through: LATER });
    expect(await exceptions()).toEqual(['unknown_here resolved confirmed', 'unknown_here open']);
    expect(await says('confirmed', null, refundId)).toMatchObject({ code: 'booked_at_bank' });
    // A second transfer holds the amount once more.
    expect(await refused(refund(db, bank, charged.reference, 0.21))).toBe('held_by_exception');
  });
});

const other = () => line(`tx-${charged.id}`, 'debit', { amount: 90 });

describe('a debit with another amount', () => {
  test('is what the charge’s bank has booked, though another exception was open before', async () => {
    await answerBill(db, bank, charged.id, null);
    await send(other());
    expect(await exceptions()).toEqual(['conflicting_answer open']);
    expect(await says('no_money_moved')).toMatchObject({ code: 'booked_at_bank' });
  });

  test('cannot be called no difference once a file has the charge’s own debit too', async () => {
    await send(other());
    await send(own());
    expect(await says('no_difference')).toMatchObject({ code: 'booked_at_bank' });
    await send(line('Z', 'credit', { amount: 90 }));
    expect(await says('reversed', 'Z')).toBe('reversed');
    await sendFile(db, bank.bankId, [], { through: LATER });
    expect(await exceptions()).toEqual([
      'amount_differs resolved reversed',
      'unknown_here resolved no_difference',
    ]);
    expect(await charges()).toEqual(PAID);
  });

  test('that its bank took back leaves the charge’s own debit missing', async () => {
    await send(other());
    await send(line(`tx-${charged.id}`, 'credit', { amount: 90 }));
    await sendFile(db, bank.bankId, [], { through: LATER });
    expect(await exceptions()).toEqual(['amount_differs resolved no_difference', 'missing_at_bank open']);
  });
});

test('a transfer is missing that a file took back and never had, whatever its bank says', async () => {
  await send(own());
  const refundId = await refund(db, bank, charged.reference, 1, 'completed');
  await send(line(`tx-${refundId}`, 'debit'));
  expect(await says('reversed', 'Z', refundId)).toBe('reversed');
  await sendFile(db, bank.bankId, [], { through: LATER });
  expect(await exceptions()).toEqual(['amount_differs resolved reversed', 'missing_at_bank open']);
});

const through = (...lines: SentLine[]) =>
  sendFile(db, bank.bankId, [own(), ...lines], { from: TODAY, through: LATER });

test('a reversal that is missing, and then raised by a rejected refund, is missed once', async () => {
  const refundId = await refund(db, bank, charged.reference, 0.4);
  await answerBill(db, bank, charged.id, null);
  expect(await says('reversed', 'V')).toBe('reversed');
  await through();
  expect(await exceptions()).toEqual(['conflicting_answer resolved reversed', 'missing_at_bank open']);
  await db.transaction((trx) =>
    answerRefund(trx, bank.bankId, refundId, {
      action: 'rejected',
      bankTransactionId: null,
      reason: 'account_closed',
    }),
  );
  const { summary } = await readBankFile(db, await through());
  expect(summary).toMatchObject({ missingAtBank: 0 });
  await through(line('V', 'credit'));
  expect((await exceptions())[1]).toBe('missing_at_bank resolved no_difference');
});

describe('a booking that its bank confirms is told again as long as no file has it', () => {
  let refundId: string;
  beforeEach(async () => {
    refundId = await refund(db, bank, charged.reference, 0.4, 'completed');
  });

  test('where no file had it, until one has', async () => {
    await through();
    expect(await says('confirmed', null, refundId)).toBe('confirmed');
    await through();
    expect(await exceptions()).toEqual(['missing_at_bank resolved confirmed', 'missing_at_bank open']);
    await through(line(`tx-${refundId}`, 'credit', { amount: 40 }));
    expect((await exceptions())[1]).toBe('missing_at_bank resolved no_difference');
  });

  test('where a file had it with another amount', async () => {
    const less = line(`tx-${refundId}`, 'credit', { amount: 4 });
    const first = await through(less);
    await through(less);
    expect(await says('confirmed', null, refundId)).toBe('confirmed');
    await through(less);
    await withdrawBankFile(db, OPERATOR, first);
    expect(await exceptions()).toEqual(['amount_differs resolved confirmed', 'amount_differs open']);
    expect(await says('confirmed', null, refundId)).toBe('confirmed');
    await through();
    expect(await exceptions()).toEqual([
      'amount_differs resolved confirmed',
      'amount_differs resolved confirmed',
      'missing_at_bank open',
    ]);
  });

  test('at once where a file takes it back under its id', async () => {
    await through(
      line(`tx-${refundId}`, 'credit', { amount: 40 }),
      line(`tx-${refundId}`, 'debit', { amount: 40 }),
    );
    expect(await says('confirmed', null, refundId)).toBe('confirmed');
    expect(await exceptions()).toEqual(['amount_differs resolved confirmed', 'amount_differs open']);
  });

  test('where the bank had taken its answer back meanwhile', async () => {
    const denied = await charge(db, bank);
    await through(line(`tx-${refundId}`, 'credit', { amount: 40 }));
    await answerBill(db, bank, denied.id, null);
    expect(await says('confirmed', null, denied.id)).toBe('confirmed');
    await through();
    expect(await exceptions()).toEqual(['missing_at_bank resolved confirmed', 'missing_at_bank open']);
  });
});

describe('a write-off', () => {
  test('cannot be refunded, and is taken back by itself once a file has the booking', async () => {
    await missing();
    await resolveAsOperator(db, charged.id, 'written_off');
    expect(await charges()).toEqual({ ...PAID, writtenOff: 100 });
    expect(await refused(refund(db, bank, charged.reference, 0.01))).toBe('exceeds_remaining');
    await sendFile(db, bank.bankId, [], { through: LATER });

    await send(own());
    await send(own());
    expect(await charges()).toEqual(PAID);
    expect(await balancesOf(db, bank.bankId)).toEqual({ customer_bank: -100n, disputed: 0n });
    expect(await entries('write_off_return')).toEqual([100n]);
    expect(await exceptions()).toEqual(['missing_at_bank resolved written_off']);
    // A refund that fails later lets the bank off nothing anew.
    await refund(db, bank, charged.reference, 1, 'rejected');
    expect(await balancesOf(db, bank.bankId)).toEqual({ customer_bank: -100n, disputed: 0n });
  });

  test('of a credit that was not delivered leaves the debit to be expected of the payer’s bank', async () => {
    const payee = await standingApproval(db);
    const { id } = await payAnother(db, bank, payee);
    await moveClock(db, payee.bankId, '25 hours');
    await db.transaction((trx) => followCredits(trx, [id]));
    expect(await exceptions()).toEqual(['credit_undelivered open']);
    await resolveAsOperator(db, id, 'written_off');
    expect(await balancesOf(db, bank.bankId)).toMatchObject({ customer_bank: -350n });
    await sendFile(db, bank.bankId, [own()], { from: TODAY, through: LATER });
    expect(await exceptions()).toEqual(['credit_undelivered resolved written_off', 'missing_at_bank open']);
  });

  test('of a charge whose debit a file has lets its bank off nothing', async () => {
    await send(own());
    await answerBill(db, bank, charged.id, null);
    await resolveAsOperator(db, charged.id, 'written_off');
    expect(await balancesOf(db, bank.bankId)).toEqual({ customer_bank: -100n });
    expect(await charges()).toEqual(PAID);
  });

  test('of a charge that its bank took back in part lets the bank off that part', async () => {
    await send(own(), line(`tx-${charged.id}`, 'credit', { amount: 30 }));
    await resolveAsOperator(db, charged.id, 'written_off');
    expect(await balancesOf(db, bank.bankId)).toEqual({ customer_bank: -70n, disputed: -30n });
    expect(await charges()).toEqual({ ...PAID, writtenOff: 30 });
  });

  test('of a debit with another amount beside the charge’s own lets its bank off nothing', async () => {
    await send(other());
    await send(own());
    await resolveAsOperator(db, charged.id, 'written_off');
    expect(await balancesOf(db, bank.bankId)).toEqual({ customer_bank: -100n });
    expect(await charges()).toEqual(PAID);
  });

  test('that a reversal gave back is not taken back once more', async () => {
    await missing();
    await resolveAsOperator(db, charged.id, 'written_off');
    await answerBill(db, bank, charged.id, null);
    expect(await says('reversed', 'back')).toBe('reversed');
    expect(await charges()).toEqual({ ...PAID, reversed: 100 });
    await send(own(), line('back', 'credit'));
    expect(await entries('write_off_return')).toEqual([]);
    expect(await balancesOf(db, bank.bankId)).toEqual({ customer_bank: 0n, disputed: 0n });
  });
});

describe('a refund that its bank does not answer', () => {
  let refundId: string;
  beforeEach(async () => {
    refundId = await refund(db, bank, charged.reference, 0.4);
    const remindOn = async (days: number) => {
      const { expectedBy } = await db.oneRow<{ expectedBy: Date }>`
        SELECT expected_by FROM refunds WHERE id = ${refundId}`;
      const { now } = await db.oneRow<{ now: Date }>`SELECT business_now(${bank.merchantId}) AS now`;
      const { country } = await db.oneRow<{
        country: string;
      }>`SELECT country FROM customers WHERE id = ${bank.customerId}`;
      const due = addBusinessDays(expectedBy, days, country, db.timeZone);
      await moveClock(
        db,
        bank.merchantId,
        `${due.getTime() - now.getTime() + (days + 1) * 60_000} milliseconds`,
      );
      await db.transaction((trx) => remindBank(trx, refundId));
    };
    // A worker that was away for days does not put it off.
    for (const days of [0, 1, 9]) await remindOn(days);
    expect(await exceptions()).toEqual([]);
    await remindOn(10);
    expect(await exceptions()).toEqual(['unanswered open']);
  });
  const answered = (action: 'completed' | 'rejected', id = 'R') =>
    db.transaction((trx) =>
      answerRefund(trx, bank.bankId, refundId, {
        action,
        bankTransactionId: action === 'completed' ? id : null,
        reason: action === 'rejected' ? 'account_closed' : null,
      }),
    );

  test.each([
    ['completed', 'confirmed', 40],
    ['rejected', 'no_money_moved', 0],
  ] as const)('and then calls it %s, has its exception end by itself: %s', async (action, end, refunded) => {
    await answered(action);
    expect(await exceptions()).toEqual([`unanswered resolved ${end}`]);
    expect(await charges()).toEqual({ ...PAID, refunded });
  });

  test.each([
    ['completed', 'unanswered resolved confirmed'],
    ['rejected', 'unanswered open'],
  ] as const)('and then names a used id, and calls it %s, leaves the exception: %s', async (action, left) => {
    await answered('completed', `tx-${charged.id}`);
    await answered(action);
    expect(await exceptions()).toEqual([left]);
  });

  test.each([
    ['confirmed', 'R', 'completed', { refunded: 40, writtenOff: 0 }],
    ['no_money_moved', null, 'rejected', { refunded: 0, writtenOff: 0 }],
    ['written_off', null, 'rejected', { refunded: 0, writtenOff: 40 }],
  ] as const)('is ended by the word %s', async (resolution, id, status, amounts) => {
    if (resolution === 'confirmed')
      expect(await says('confirmed', null, refundId)).toMatchObject({ code: 'resolution_not_allowed' });
    await resolveAsOperator(db, refundId, resolution, id);
    expect(await refundState(db, refundId)).toMatchObject({ status, next: null });
    expect(await charges()).toMatchObject(amounts);
    expect(await exceptions()).toEqual([`unanswered resolved ${resolution}`]);
  });

  test('is not ended by a transfer that is taken back, for it is still to be answered', async () => {
    const { reference } = await db.oneRow<{ reference: string }>`
      SELECT reference FROM refunds WHERE id = ${refundId}`;
    const of = { amount: 40, reference };
    await send(line('R', 'credit', of));
    expect(await says('no_money_moved', null, refundId)).toMatchObject({ code: 'booked_at_bank' });
    await send(line('S', 'debit', of));
    expect(await exceptions()).toEqual(['unanswered open']);
    expect(await says('no_money_moved', null, refundId)).toBe('no_money_moved');
  });

  test('is not ended by a word that leaves it open', async () => {
    for (const resolution of ['reversed', 'no_difference'] as const)
      expect(
        await refused(resolveAsOperator(db, refundId, resolution, resolution === 'reversed' ? 'Z' : null)),
      ).toBe('resolution_not_allowed');
    expect(await exceptions()).toEqual(['unanswered open']);
  });
});

test('a refund that is completed by a word is so once, however often and by whom it is said', async () => {
  const refundId = await refund(db, bank, charged.reference, 0.4, 'rejected');
  await db.transaction((trx) =>
    answerRefund(trx, bank.bankId, refundId, { action: 'completed', bankTransactionId: 'R', reason: null }),
  );
  const id = await exceptionOf(db, refundId);
  const finding = { resolution: 'confirmed', bankTransactionId: null } as const;
  const said = await Promise.all(
    [
      { cause: 'bank', bankId: bank.bankId, note: null } as const,
      { cause: 'operator', note: null } as const,
    ].map((by) => db.transaction((trx) => resolveException(trx, by, id, finding))),
  );
  expect(said.map(({ resolution }) => resolution)).toEqual(['confirmed', 'confirmed']);
  expect(await charges()).toEqual({ ...PAID, refunded: 40 });
});

test('a bank is told of a line of the payee’s bank without its ids, and it is no exception of its own', async () => {
  const payee = await standingApproval(db);
  const { id, deliveryId } = await payAnother(db, bank, payee);
  await settleCredit(db, deliveryId);
  const { reference } = await db.oneRow<{ reference: string }>`
    SELECT reference FROM billing_requests WHERE id = ${id}`;
  const credit = { amount: 250, reference };
  await sendFile(db, payee.bankId, [line('P1', 'credit', credit), line('P2', 'credit', credit)]);
  const refusal = await says('no_money_moved', null, id);
  expect(refusal).toMatchObject({ code: 'booked_at_bank', data: { bookingDate: TODAY } });
  expect(JSON.stringify(refusal)).not.toMatch(/P[12]|stm_/);
  const roomOf = (bankId: string) => db.transaction((trx) => roomFor(trx, bankId, -10_000));
  expect([await roomOf(bank.bankId), await roomOf(payee.bankId)]).toEqual([10_000, 9_999]);
});

test('a credit that the payee’s bank takes back is shown to the payer’s without its id', async () => {
  const payee = await standingApproval(db);
  const { id, deliveryId } = await payAnother(db, bank, payee);
  await settleCredit(db, deliveryId);
  const { reference } = await db.oneRow<{ reference: string }>`
    SELECT reference FROM billing_requests WHERE id = ${id}`;
  const of = { amount: 250, reference };
  await sendFile(db, payee.bankId, [line('P1', 'credit', of)]);
  await sendFile(db, payee.bankId, [line('P1', 'debit', { ...of, isReversal: true })]);
  expect(
    await db.rows`SELECT kind, bank_transaction_id FROM reconciliation_exceptions WHERE billing_request_id = ${id}`,
  ).toEqual([{ kind: 'amount_differs', bankTransactionId: null }]);
});
