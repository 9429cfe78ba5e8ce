import * as fc from 'fast-check';
import { newId, newReference } from '../../../src/database/identifier/new-id';
import type { Transaction } from '../../../src/database/pool/connection';
import { takePart } from '../../../src/database/refund/refundable-amount';
import { EXCEPTION_STATES, REFUND_STATUSES } from '../../../src/domain/lifecycle';
import { refundRefusal } from '../../../src/domain/refundable-amount';
import { databaseOfFile } from '../../support/database';
import { undone } from '../../support/open-transaction';
import { answerBill, bill, charge } from '../../support/settled';
import { standingApproval } from '../../support/standing';

/**
 * The statement that takes a part of a charge for a refund, held to the rule that it decides by.
 */

/** The amount of each charge here, in minor units. */
const AMOUNT = 100n;

const { db } = databaseOfFile();
const ids: Record<string, string> = {};
beforeAll(async () => {
  const standing = await standingApproval(db);
  ids['successful'] = (await charge(db, standing)).id;
  ids['pending'] = (await bill(db, standing)).id;
  ids['declined'] = (await bill(db, standing)).id;
  await answerBill(db, standing, ids['declined'], null);
});

const states = fc.constantFrom(...EXCEPTION_STATES);
const contradictions = fc.record({
  amount: fc.bigInt({ min: 1n, max: AMOUNT }),
  status: fc.constantFrom(...REFUND_STATUSES),
  state: states,
  kind: fc.constantFrom(
    'refund_conflict',
    'duplicate_transaction_id',
    'unanswered',
    'missing_at_bank',
    'amount_differs',
    'unknown_here',
  ),
  answer: fc.constantFrom(
    undefined,
    { says: 'completed', kind: 'refund_conflict' },
    { says: 'completed', kind: 'duplicate_transaction_id' },
    { says: 'rejected', kind: 'refund_conflict' },
  ),
});
type Contradiction = typeof contradictions extends fc.Arbitrary<infer One> ? One : never;

/**
 * The refund's money is counted already, unless it came back, or another transfer may have gone
 * out.
 */
const heldFor = ({ amount, status, state, kind, answer }: Contradiction) =>
  state !== 'resolved' &&
  (status === 'rejected' ||
    status === 'returned' ||
    kind === 'amount_differs' ||
    kind === 'unknown_here' ||
    (answer?.says === 'completed' && answer.kind === 'refund_conflict'))
    ? amount
    : 0n;

async function insertException(
  trx: Transaction,
  chargeId: string,
  refundId: string | null,
  { state, kind }: { state: string; kind: string },
) {
  const id = newId('exception');
  const isResolved = state === 'resolved';
  const isBooked = kind === 'amount_differs' || kind === 'unknown_here';
  await trx.rows`
    INSERT INTO reconciliation_exceptions (id, kind, state, billing_request_id, refund_id, amount, currency,
      direction, booked_amount, booked_currency, assignee, resolution, resolved_at, opened_at)
    VALUES (${id}, ${kind}, ${state}, ${chargeId}, ${refundId}, 1, 'NGN',
      ${isBooked || kind === 'missing_at_bank' ? 'credit' : null}, ${isBooked ? 2 : null},
      ${isBooked ? 'NGN' : null}, 'Ada', ${isResolved ? 'confirmed' : null}, ${isResolved ? new Date() : null},
      now())`;
  return id;
}

/** A refund of a charge, with the exception that is about it. */
async function insertContradiction(trx: Transaction, chargeId: string, one: Contradiction) {
  const refundId = newId('refund');
  const { status } = one;
  await trx.rows`
    INSERT INTO refunds (id, transaction_id, reference, billing_request_id, merchant_id, customer_id, bank_id,
      amount, currency, status, expected_by, closed_at, created_at)
    SELECT ${refundId}, ${newId('transaction')}, ${newReference()}, id, merchant_id, customer_id, bank_id,
      ${one.amount}, currency, ${status === 'returned' ? 'completed' : status}, now(),
      ${status === 'pending' ? null : new Date()}, now()
    FROM billing_requests WHERE id = ${chargeId}`;
  const exceptionId = await insertException(trx, chargeId, refundId, one);
  if (one.answer) {
    await trx.rows`
      INSERT INTO exception_answers (exception_id, says, bank_transaction_id, kind, answered_at)
      VALUES (${exceptionId}, ${one.answer.says}, 'tx', ${one.answer.kind}, now())`;
  }
  if (status !== 'returned') return;
  await trx.rows`
    UPDATE refunds SET status = 'returned', returned_at = now(), returned_by = ${exceptionId},
      return_transaction_id = ${newId('transaction')}, return_reference = ${newReference()}
    WHERE id = ${refundId}`;
}

const cases = fc.record({
  status: fc.oneof(
    { weight: 5, arbitrary: fc.constant('successful' as const) },
    fc.constantFrom('pending' as const, 'declined' as const),
  ),
  refunded: fc.bigInt({ min: 0n, max: AMOUNT }),
  reversed: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: AMOUNT })),
  writtenOff: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: AMOUNT })),
  inDoubt: fc.option(states, { freq: 3 }),
  contradictions: fc.array(contradictions, { maxLength: 3 }),
  /** Beside the amount that is left, or any amount. */
  wish: fc.oneof(
    fc.constant('all'),
    fc.constantFrom(-1n, 0n, 1n).map((beside) => ({ beside })),
    fc.bigInt({ min: 1n, max: AMOUNT + 1n }),
  ),
});

it('a refund is taken exactly where it fits what is left, to the minor unit, whatever exceptions hold', async () => {
  const seen = new Set<string | undefined>();
  const property = fc.asyncProperty(cases, async ({ status, inDoubt, wish, ...one }) => {
    const isCharged = status === 'successful';
    const refunded = isCharged ? one.refunded : 0n;
    const reversed = isCharged && refunded + one.reversed <= AMOUNT ? one.reversed : 0n;
    const writtenOff = isCharged && refunded + reversed + one.writtenOff <= AMOUNT ? one.writtenOff : 0n;
    const untaken = AMOUNT - refunded - reversed - writtenOff;
    const held = one.contradictions.reduce(
      (sum, about) => sum + heldFor(about),
      inDoubt === null || inDoubt === 'resolved' ? 0n : AMOUNT,
    );
    const beside = typeof wish === 'object' ? untaken - held + wish.beside : wish;
    const wished = typeof beside === 'bigint' && beside > 0n ? beside : undefined;

    const id = ids[status] ?? '';
    const [taken, after] = await undone(db, async (trx) => {
      await trx.rows`
        UPDATE billing_requests SET refunded_amount = ${refunded}, reversed_amount = ${reversed}, written_off_amount = ${writtenOff}
        WHERE id = ${id}`;
      if (inDoubt) await insertException(trx, id, null, { state: inDoubt, kind: 'conflicting_answer' });
      for (const about of one.contradictions) await insertContradiction(trx, id, about);
      return [
        await takePart(trx, id, wished ?? null),
        await trx.row`SELECT refunded_amount AS refunded FROM billing_requests WHERE id = ${id}`,
      ];
    });

    const refusal = refundRefusal({ status, untaken, held }, wished)?.code;
    const part = refusal === undefined ? (wished ?? untaken - held) : null;
    expect(taken).toEqual({ status, untaken, held, part });
    expect(after).toEqual({ refunded: refunded + (part ?? 0n) });
    seen.add(refusal);
  });
  await fc.assert(property, { numRuns: 200 });
  expect(seen).toEqual(new Set(['not_refundable', 'exceeds_remaining', 'held_by_exception', undefined]));
});
