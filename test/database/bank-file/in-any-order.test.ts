import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import { takeBanksAnswer } from '../../../src/database/resolution/resolve-exception';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { sendFile, type SentLine } from '../../support/bank-file';
import { bookDifferences } from '../../support/books';
import { databaseOfFile } from '../../support/database';
import { balancesOf } from '../../support/ledger';
import { answerBill, bill, payWithin, refund, type Billed } from '../../support/settled';
import { moveClock, standingApproval, type Standing } from '../../support/standing';

/**
 * What a bank books, answers and says of one charge, in every order in which it can come: the end
 * is the same each time.
 */

const { db } = databaseOfFile();
const TODAY = calendarDay(new Date(), 'Africa/Lagos');
const AMOUNT = 100;

interface Case {
  bank: Standing;
  charge: Billed;
  refundId: string;
}

type Step = (of: Case) => Promise<unknown>;

interface Scenario {
  /** What was before. */
  given: () => Promise<Case>;
  /** What comes in any order. */
  steps: Record<string, Step>;
  /** A step that comes only after another. */
  after?: Record<string, string>;
  end: object;
}

const line = (id: string, direction: SentLine['direction'], more: Partial<SentLine> = {}): SentLine => ({
  id,
  direction,
  amount: AMOUNT,
  day: TODAY,
  ...more,
});
const file =
  (...lines: ((of: Case) => SentLine)[]): Step =>
  (of) =>
    sendFile(
      db,
      of.bank.bankId,
      lines.map((lineOf) => lineOf(of)),
    );
const debit = (id: string) => file(() => line(id, 'debit'));
const credit = (id: string) => file(() => line(id, 'credit'));
const referring = (id: string, direction: SentLine['direction']) =>
  file((of) => line(id, direction, { reference: of.charge.reference }));
/** A line with the refund's reference. */
const ofRefund =
  (id: string, direction: SentLine['direction']): Step =>
  async (of) => {
    const { reference } = await db.oneRow<{ reference: string }>`
      SELECT reference FROM refunds WHERE id = ${of.refundId}`;
    await file(() => line(id, direction, { reference }))(of);
  };

const approve =
  (id: string): Step =>
  (of) =>
    answerBill(db, of.bank, of.charge.id, id);
const decline: Step = (of) => answerBill(db, of.bank, of.charge.id, null);
const answered =
  (action: 'completed' | 'rejected', bankTransactionId: string | null = null): Step =>
  ({ bank, refundId }) =>
    db.transaction((trx) =>
      answerRefund(trx, bank.bankId, refundId, {
        action,
        bankTransactionId,
        reason: action === 'rejected' ? 'account_closed' : null,
      }),
    );

/**
 * The bank's word on what is open, which its files may refuse; where all has ended by itself, it
 * has nothing to say.
 */
const says =
  (resolution: 'reversed' | 'no_money_moved', bankTransactionId: string | null): Step =>
  async ({ bank, charge: { id } }) => {
    const open = await db.rows<{ id: string }>`
      SELECT id FROM reconciliation_exceptions WHERE billing_request_id = ${id} AND state <> 'resolved'`;
    const by = { bankId: bank.bankId, note: null };
    for (const one of open)
      await db.transaction((trx) => takeBanksAnswer(trx, by, one.id, { resolution, bankTransactionId }));
  };

const open = async (): Promise<Case> => {
  const bank = await standingApproval(db);
  return { bank, charge: await bill(db, bank), refundId: '' };
};
const settled = async (): Promise<Case> => {
  const of = await open();
  await approve('A')(of);
  return of;
};
const expired = async (): Promise<Case> => {
  const of = await open();
  await moveClock(db, of.bank.merchantId, '2 days');
  await db.transaction((trx) => closeExpiredRequests(trx, [of.charge.id], 'by its bank'));
  return of;
};
const booked = async (): Promise<Case> => {
  const of = await settled();
  await debit('A')(of);
  return of;
};
/** The bank's files have neither its debit nor what took that back. */
const reversedUnseen = async (): Promise<Case> => {
  const of = await settled();
  const missing = () => sendFile(db, of.bank.bankId, [], { from: TODAY, through: addDays(TODAY, 9) });
  await missing();
  await says('reversed', 'Z')(of);
  await missing();
  return of;
};
const paidWithin = async (): Promise<Case> => {
  const bank = await standingApproval(db);
  return { bank, charge: await payWithin(db, bank), refundId: '' };
};
const refunding = async (): Promise<Case> => {
  const of = await booked();
  return { ...of, refundId: await refund(db, of.bank, of.charge.reference, AMOUNT / 100) };
};
/** The bank has taken the rest of the charge back, beside a refund of 40. */
const reversedBesideRefund = async (end?: Step): Promise<Case> => {
  const { bank, charge } = await booked();
  const of = { bank, charge, refundId: await refund(db, bank, charge.reference, 0.4) };
  await end?.(of);
  await decline(of);
  await says('reversed', 'V')(of);
  return of;
};

/** All that money and people would notice. */
async function endOf({ bank, charge: { id } }: Case) {
  const own = await db.oneRow<object>`
    SELECT status, refunded_amount::int AS refunded, reversed_amount::int AS reversed,
      (SELECT array_agg(r.status) FROM refunds r WHERE r.billing_request_id = b.id) AS refunds,
      (SELECT count(*)::int FROM reconciliation_exceptions x WHERE x.billing_request_id = b.id AND state <> 'resolved') AS held,
      (SELECT count(*)::int FROM reconciliation_exceptions x WHERE x.bank_id = b.bank_id AND state <> 'resolved') AS open,
      coalesce((SELECT string_agg(e.bank_transaction_id, ' ' ORDER BY 1) FROM extra_bookings e WHERE e.bank_id = b.bank_id
        AND e.stands), '') AS stands,
      (SELECT count(*)::int FROM expected_bookings e WHERE e.bank_id = b.bank_id AND e.matched_by IS NULL) AS in_no_file
    FROM billing_requests b WHERE b.id = ${id}`;
  return { ...own, owes: (await balancesOf(db, bank.bankId))['customer_bank'] ?? 0n };
}

const DECLINED = { status: 'declined', held: 0, open: 0, stands: '', inNoFile: 0, owes: 0n };
/** The bank has given back less than all of the charge. */
const SHORT = {
  status: 'successful',
  refunded: 0,
  reversed: AMOUNT,
  held: 1,
  open: 1,
  inNoFile: 1,
  owes: 0n,
};
const SUCCESSFUL = { ...DECLINED, status: 'successful', owes: BigInt(-AMOUNT) };

const SCENARIOS: Record<string, Scenario> = {
  'a late debit that is taken back, as the bank says': {
    given: expired,
    steps: { answer: approve('X'), debit: debit('X'), counterpart: credit('Z'), word: says('reversed', 'Z') },
    end: DECLINED,
  },
  'a late debit that is taken back under its id': {
    given: expired,
    steps: { answer: approve('X'), debit: debit('X'), counterpart: credit('X') },
    end: DECLINED,
  },
  'a late debit that is not taken back': {
    given: expired,
    steps: { answer: approve('X'), debit: debit('X') },
    end: { ...DECLINED, held: 1, open: 1, stands: 'X' },
  },
  'a second debit of a successful charge, known by its reference, and its counterpart': {
    given: settled,
    steps: { debit: debit('A'), second: referring('Y', 'debit'), counterpart: referring('Z', 'credit') },
    end: SUCCESSFUL,
  },
  'a second debit that is answered, and taken back as the bank says': {
    given: booked,
    steps: {
      answer: approve('Y'),
      second: debit('Y'),
      word: says('reversed', 'Z'),
      counterpart: credit('Z'),
    },
    after: { word: 'answer' },
    end: SUCCESSFUL,
  },
  'a debit whose reversal its bank takes back': {
    given: reversedUnseen,
    steps: { word: says('no_money_moved', null), debit: debit('A') },
    end: { status: 'successful', reversed: AMOUNT, held: 1, open: 1, owes: 0n },
  },
  'a debit of a declined charge by an id that no answer has, and its counterpart': {
    given: open,
    steps: { decline, debit: referring('Y', 'debit'), counterpart: referring('Y', 'credit') },
    end: DECLINED,
  },
  'a debit of a declined charge that stands': {
    given: open,
    steps: { decline, debit: referring('Y', 'debit'), again: referring('Y', 'debit') },
    after: { again: 'debit' },
    end: { ...DECLINED, held: 1, open: 1, stands: 'Y' },
  },
  'a line that comes before its answer': {
    given: open,
    steps: { answer: approve('X'), debit: debit('X'), again: debit('X') },
    after: { again: 'debit' },
    end: SUCCESSFUL,
  },
  'a line by another id than the answer’s': {
    given: open,
    steps: { answer: approve('X'), debit: referring('Y', 'debit') },
    end: SUCCESSFUL,
  },
  'a line by another id that was taken back before the answer, and comes again': {
    given: open,
    steps: {
      back: credit('Y'),
      debit: referring('Y', 'debit'),
      answer: approve('A'),
      again: referring('Y', 'debit'),
    },
    after: { debit: 'back', answer: 'debit', again: 'answer' },
    end: { ...SUCCESSFUL, inNoFile: 1 },
  },
  'a line by another id, and one by the answer’s': {
    given: open,
    steps: { answer: approve('X'), other: referring('Y', 'debit'), own: debit('X') },
    end: { ...SUCCESSFUL, held: 1, open: 1, stands: 'Y' },
  },
  'a line by another id that is taken back under that, and one by the answer’s': {
    given: open,
    steps: {
      answer: approve('X'),
      other: referring('Y', 'debit'),
      own: debit('X'),
      counterpart: credit('Y'),
    },
    after: { counterpart: 'other' },
    end: SUCCESSFUL,
  },
  'a line by another id that leaves its place to the answer’s in one file with its counterpart': {
    given: settled,
    steps: {
      other: referring('Y', 'debit'),
      both: file(
        () => line('A', 'debit'),
        () => line('Y', 'credit'),
      ),
    },
    end: SUCCESSFUL,
  },
  'a line by another id that a second answer names, and its counterpart': {
    given: settled,
    steps: { other: referring('Y', 'debit'), answer: approve('Y'), counterpart: credit('Y') },
    after: { counterpart: 'other' },
    end: { ...SUCCESSFUL, inNoFile: 1 },
  },
  'a refund that is completed twice, of which the second is taken back': {
    given: refunding,
    steps: {
      first: answered('completed', 'R1'),
      second: answered('completed', 'R2'),
      other: credit('R2'),
      counterpart: debit('R2'),
    },
    after: { second: 'first' },
    end: { ...SUCCESSFUL, refunds: ['completed'], refunded: AMOUNT, inNoFile: 1, owes: 0n },
  },
  'a refund that is rejected, and paid': {
    given: refunding,
    steps: {
      reject: answered('rejected'),
      paid: ofRefund('R3', 'credit'),
    },
    end: { ...SUCCESSFUL, refunds: ['rejected'], held: 1, open: 1, stands: 'R3' },
  },
  'a rejected refund that is paid once, and taken back twice': {
    given: refunding,
    steps: {
      reject: answered('rejected'),
      paid: ofRefund('R3', 'credit'),
      back: ofRefund('R3', 'debit'),
      again: ofRefund('Z', 'debit'),
    },
    end: { ...SUCCESSFUL, refunds: ['rejected'], open: 1 },
  },
  'a reversal of what a refund has left, which is rejected': {
    given: reversedBesideRefund,
    steps: {
      reversal: file(() => line('V', 'credit', { amount: 60 })),
      reject: answered('rejected'),
    },
    end: { ...SHORT, refunds: ['rejected'] },
  },
  'a reversal of what a refund has left, which bounces': {
    given: () =>
      reversedBesideRefund(async (of) => {
        await answered('completed', 'R')(of);
        await file(() => line('R', 'credit', { amount: 40 }))(of);
      }),
    steps: {
      reversal: file(() => line('V', 'credit', { amount: 60 })),
      bounce: async (of) => {
        await answered('rejected')(of);
        await says('reversed', 'Z')(of);
      },
    },
    end: { ...SHORT, refunds: ['returned'] },
  },
  'both legs of a payment within one bank under one id': {
    given: paidWithin,
    steps: {
      debit: file((of) => line(`tx-${of.charge.id}`, 'debit', { amount: 250 })),
      credit: file((of) => line(`tx-${of.charge.id}`, 'credit', { amount: 250 })),
    },
    end: { ...SUCCESSFUL, owes: -250n },
  },
  'a payment within one bank whose debit is reversed under another id': {
    given: paidWithin,
    steps: {
      debit: file((of) => line(`tx-${of.charge.id}`, 'debit', { amount: 250 })),
      back: file((of) =>
        line('Z', 'credit', { amount: 250, reference: of.charge.reference, isReversal: true }),
      ),
      other: debit('F'),
    },
    end: { ...SUCCESSFUL, open: 2, inNoFile: 1, owes: -250n },
  },
  'a payment within one bank whose debit is reversed under its id': {
    given: paidWithin,
    steps: {
      debit: file((of) => line(`tx-${of.charge.id}`, 'debit', { amount: 250 })),
      back: file(({ charge: { id, reference } }) =>
        line(`tx-${id}`, 'credit', { amount: 250, reference, isReversal: true }),
      ),
      credit: file((of) => line('C', 'credit', { amount: 250, reference: of.charge.reference })),
    },
    end: { ...SUCCESSFUL, held: 1, open: 1, owes: -250n },
  },
  'an id that moves to another day': {
    given: settled,
    steps: {
      first: debit('A'),
      moved: file(
        () => line('A', 'debit', { day: addDays(TODAY, -1) }),
        () => line('M', 'debit', { day: TODAY, amount: 5 }),
      ),
    },
    end: { ...SUCCESSFUL, open: 1 },
  },
  'an id that is booked again with another amount': {
    given: settled,
    steps: { own: debit('A'), other: file(() => line('A', 'debit', { amount: 90 })) },
    end: { ...SUCCESSFUL, held: 1, open: 1, stands: 'A' },
  },
  'an id that is booked with two amounts, neither of them the charge’s': {
    given: settled,
    steps: {
      less: file(() => line('A', 'debit', { amount: 90 })),
      more: file(() => line('A', 'debit', { amount: 110, day: addDays(TODAY, 1) })),
    },
    end: { ...SUCCESSFUL, held: 1, open: 1, stands: 'A', inNoFile: 1 },
  },
  'an id that is booked with another amount, and taken back before it is booked rightly': {
    given: settled,
    steps: {
      other: file(() => line('A', 'debit', { amount: 90 })),
      back: file(() => line('A', 'credit', { amount: 90, isReversal: true })),
      own: debit('A'),
    },
    after: { back: 'other' },
    end: SUCCESSFUL,
  },
  'an id that is booked on two days': {
    given: settled,
    steps: { first: debit('A'), second: file(() => line('A', 'debit', { day: addDays(TODAY, -1) })) },
    end: { ...SUCCESSFUL, held: 1, open: 1, stands: 'A' },
  },
};

function ordersOf(names: string[], after: Record<string, string> = {}): string[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((first) => {
    const isEarly = names.some((other) => after[first] === other);
    const rest = names.filter((name) => name !== first);
    return isEarly ? [] : ordersOf(rest, after).map((order) => [first, ...order]);
  });
}

/** Orders at once: each has a bank of its own, and waits for the database most of the time. */
const AT_ONCE = 6;

test.each(Object.entries(SCENARIOS))('%s: in every order', async (_, { given, steps, after, end }) => {
  const orders = ordersOf(Object.keys(steps), after);
  const ends: object[] = [];
  async function playNext(): Promise<void> {
    for (let order = orders.pop(); order; order = orders.pop()) {
      const of = await given();
      for (const name of order) await steps[name]?.(of);
      ends.push({ order, end: await endOf(of) });
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, playNext));
  expect(ends).toEqual(ends.map((one) => ({ ...one, end: expect.objectContaining(end) as object })));
});

test('the books agree with all of it', async () => {
  expect(await bookDifferences(db)).toEqual([]);
});
