import * as fc from 'fast-check';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';
import { openBookingCase } from '../../support/bank-file';
import { bookDifferences } from '../../support/books';
import { databaseOfFile } from '../../support/database';
import { balancesOf } from '../../support/ledger';
import { answerBill, charge, refund, type Billed, resolveAsOperator } from '../../support/settled';
import { standingApproval, type Standing } from '../../support/standing';

/** Write-offs of one charge, and what else becomes of it: what its bank owes in the end. */

/** The amount of each charge here, in minor units. */
const AMOUNT = 100;

const { db } = databaseOfFile();
let standing: Standing;
let charged: Billed;

const newCharge = async () => (charged = await charge(db, standing));
beforeEach(async () => {
  standing = await standingApproval(db);
  await newCharge();
});

const resolveAll = (resolution: Resolution) => resolveAsOperator(db, charged.id, resolution);

/** A file of the bank has the charge by another amount, or not at all; the operator lets it off. */
async function writeOffBooked(bookedAmount: number | null) {
  await db.transaction((trx) =>
    openBookingCase(trx, {
      kind: bookedAmount === null ? 'missing_at_bank' : 'amount_differs',
      billingRequestId: charged.id,
      refundId: null,
      bankId: standing.bankId,
      bankTransactionId: `tx-${charged.id}`,
      direction: 'debit',
      amount: BigInt(AMOUNT),
      currency: 'NGN',
      bookedAmount: bookedAmount === null ? null : BigInt(bookedAmount),
      bookedCurrency: bookedAmount === null ? null : 'NGN',
      reference: null,
    }),
  );
  await resolveAll('written_off');
}

/** The bank takes its word back, and the operator lets it off. */
async function writeOffDenied() {
  await answerBill(db, standing, charged.id, null);
  await resolveAll('written_off');
}

/** The bank has debited anew instead, and finds that no money moved. */
async function reverse() {
  await answerBill(db, standing, charged.id, null, 'account_closed');
  await resolveAll('no_money_moved');
}

const begin = (amount: number) => refund(db, standing, charged.reference, amount / 100);

const end = (refundId: string, action: 'completed' | 'rejected') =>
  db.transaction((trx) =>
    answerRefund(trx, standing.bankId, refundId, {
      action,
      bankTransactionId: action === 'completed' ? `tx-${refundId}` : null,
      reason: action === 'rejected' ? 'account_closed' : null,
    }),
  );

const balances = async () => {
  const { customer_bank = 0n, disputed = 0n } = await balancesOf(db, standing.bankId);
  return { customer_bank, disputed };
};

it('a refund since the first write-off that takes all that is left leaves nothing more to let off', async () => {
  await writeOffBooked(90);
  await expect(begin(91)).rejects.toMatchObject({ code: 'exceeds_remaining' });
  await end(await begin(90), 'completed');
  await writeOffDenied();
  // The bank paid out what it had booked.
  expect(await balances()).toEqual({ customer_bank: 0n, disputed: -10n });
  expect(await bookDifferences(db)).toEqual([]);
});

it('a bank is let off the largest of what was written off, and no more than is left, in whatever order it all comes', async () => {
  const scenario = fc
    .record({
      refunds: fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.constantFrom('completed', 'rejected')), {
        maxLength: 3,
      }),
      booked: fc.uniqueArray(fc.integer({ min: 1, max: AMOUNT - 1 }), { maxLength: 3 }),
      others: fc.uniqueArray(fc.constantFrom('missing', 'denied', 'reversed'), { maxLength: 3 }),
    })
    .filter(({ refunds }) => refunds.reduce((sum, [amount]) => sum + amount, 0) <= AMOUNT)
    .chain(({ refunds, booked, others }) => {
      const steps = [...refunds.map((_, n) => `answer ${n}`), ...booked.map((n) => `booked ${n}`), ...others];
      return fc.tuple(
        fc.constant({ refunds, booked, others }),
        fc.shuffledSubarray(steps, { minLength: steps.length }),
      );
    });
  await fc.assert(
    fc.asyncProperty(scenario, async ([{ refunds, booked, others }, steps]) => {
      const before = await balances();
      await newCharge();
      const refundIds: string[] = [];
      for (const [amount] of refunds) refundIds.push(await begin(amount));
      for (const step of steps) {
        const [what, n] = step.split(' ');
        if (what === 'answer') await end(refundIds[Number(n)] ?? '', refunds[Number(n)]?.[1] ?? 'rejected');
        else if (what === 'booked') await writeOffBooked(Number(n));
        else if (what === 'missing') await writeOffBooked(null);
        else if (what === 'denied') await writeOffDenied();
        else await reverse();
      }
      const refunded = refunds.reduce(
        (sum, [amount, action]) => sum + (action === 'completed' ? amount : 0),
        0,
      );
      const left = others.includes('reversed') ? 0 : AMOUNT - refunded;
      const isAll = others.includes('missing') || others.includes('denied');
      const writtenOff = isAll ? AMOUNT : Math.max(0, ...booked.map((one) => AMOUNT - one));
      const borne = BigInt(Math.min(writtenOff, left));
      expect(await balances()).toEqual({
        customer_bank: before.customer_bank + borne - BigInt(left),
        disputed: before.disputed - borne,
      });
    }),
    { numRuns: 40 },
  );
  expect(await bookDifferences(db)).toEqual([]);
});
