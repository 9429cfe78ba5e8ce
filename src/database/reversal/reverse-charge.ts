import type { Metadata } from '../../domain/metadata';
import { reversalSequence } from '../../domain/webhook/webhook-sequence';
import { type Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import type { Cause } from '../../domain/words/timeline';
import { withdrawCredit } from '../credit/follow-credit';
import { newId, newReference } from '../identifier/new-id';
import { endExpectedCredit, freeLines } from '../ledger/end-expected-booking';
import type { TypedAnnouncement } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { BORNE_OF_CHARGE, countWrittenOff, writeOffRest } from './write-off-charge';

/**
 * Reversals and write-offs. A reversal takes the rest of a successful charge whose money did not
 * stay, beside its refunds and earlier reversals; the charge keeps its status. A write-off is the
 * part that the network bears, because the bank no longer owes it. The callers hold the charge
 * locked.
 */

interface Reversed {
  amount: bigint;
  borne: bigint;
  currency: string;
  reference: string;
  billerId: string;
  merchantId: string | null;
  metadata: Metadata;
  bankId: string;
  sequence: number;
  at: Date;
  earlierReversals: number;
  bankTransactionId: string | null;
}

/** The exception that found the reversal, and the refund whose end freed this part, if any did. */
interface OfCharge {
  exceptionId: string;
  billingRequestId: string;
  refundId: string | null;
}

export async function reverseRest(trx: Executor, cause: Cause, of: OfCharge): Promise<void> {
  const { billingRequestId, exceptionId } = of;
  const transactionId = newId('transaction');
  const reversalReference = newReference();
  const reversed = await takeRest(trx, { ...of, transactionId, reversalReference });
  if (!reversed) return;
  const { amount, borne, currency, sequence, at, merchantId, bankTransactionId } = reversed;
  // The payee's bank would credit its customer for nothing.
  const creditWithdrawn = merchantId === null && (await withdrawCredit(trx, billingRequestId));
  const told = { ...reversed, billingRequestId, reversalReference, creditWithdrawn };
  await writeTransitions(trx, [
    {
      event: 'billing_request.reversed',
      cause,
      row: { id: billingRequestId, sequence, at },
      details: { amount, currency, reversalReference, exceptionId },
      announces: { 'billing.reversed': toBiller(told) },
    },
    {
      event: 'reversal.completed',
      cause,
      row: { ...reversed, id: transactionId, sequence: 1, status: 'completed', closedAt: at },
      details: { reversalReference },
      entry: {
        kind: 'reversal',
        paid: reversed,
        booked: { identifier: bankTransactionId, billingRequestId },
        // What the network bore goes back to it: the bank's debt would be written off twice.
        writtenOff: borne < amount ? borne : amount,
      },
    },
  ]);
  await countWrittenOff(trx, billingRequestId);
  if (merchantId === null) await endExpectedCredit(trx, billingRequestId);
}

async function takeRest(
  trx: Executor,
  reversal: OfCharge & { transactionId: string; reversalReference: string },
): Promise<Reversed | undefined> {
  return trx.row<Reversed>`
    WITH charge AS (
      UPDATE billing_requests b SET reversed_amount = b.amount - b.refunded_amount, sequence = b.sequence + 1
      FROM (SELECT id, amount - refunded_amount - reversed_amount AS rest
            FROM billing_requests WHERE id = ${reversal.billingRequestId}) AS c
      WHERE b.id = c.id AND b.status = 'successful' AND c.rest > 0 RETURNING b.*, c.rest, settling_now(b.biller_id) AS at),
    reversal AS (
      INSERT INTO reversals (transaction_id, reference, exception_id, refund_id, billing_request_id, merchant_id,
        provider_id, customer_id, bank_id, payee_customer_id, payee_bank_id, amount, currency,
        bank_transaction_id, created_at, metadata)
      SELECT ${reversal.transactionId}, ${reversal.reversalReference}, x.id, ${reversal.refundId}, b.id, b.merchant_id,
        b.provider_id, b.customer_id, b.bank_id, b.payee_customer_id, b.payee_bank_id, b.rest, b.currency,
        x.reversal_bank_transaction_id, b.at, b.metadata
      FROM charge b JOIN reconciliation_exceptions x ON x.id = ${reversal.exceptionId}
      RETURNING amount, created_at, bank_transaction_id)
    SELECT v.amount, b.currency, b.reference, b.biller_id, b.merchant_id, b.metadata,
      b.bank_id, b.sequence, v.created_at AS at, v.bank_transaction_id, ${raw(BORNE_OF_CHARGE)} AS borne,
      (SELECT count(*)::int FROM reversals WHERE billing_request_id = b.id) AS earlier_reversals
    FROM charge b, reversal v`;
}

function toBiller(
  reversed: Reversed & { billingRequestId: string; reversalReference: string; creditWithdrawn: boolean },
): TypedAnnouncement<'billing.reversed'> {
  const { billingRequestId, reference, reversalReference, amount, currency } = reversed;
  const sequence = reversalSequence(reversed);
  const of = { billingRequestId, sequence, reference, reversalReference, amount, currency };
  const metadata = reversed.merchantId === null ? undefined : reversed.metadata;
  return { entityId: reversed.billerId, item: { ...of, metadata } };
}

/**
 * The line of a reversal that grows has too little, and is judged again. A reversal that no file
 * has is told again, unless an exception tells of it still.
 */
async function freeReversal(trx: Executor, exceptionId: string): Promise<void> {
  const which = sql`
    SELECT e.*, b.reference FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id
      JOIN expected_bookings e ON e.bank_id = x.bank_id AND e.identified_by = 'bankTransactionId'
        AND e.identifier = x.reversal_bank_transaction_id AND e.direction = 'credit' AND e.billing_request_id = b.id
    WHERE x.id = ${exceptionId} AND (e.matched_by IS NOT NULL OR NOT EXISTS (
      SELECT FROM reconciliation_exceptions o
      WHERE o.billing_request_id = b.id AND o.refund_id IS NULL AND o.state <> 'resolved'))
    -- A file that matches it at the same time waits.
    FOR UPDATE OF e`;
  await freeLines(trx, which, 'raised');
}

/**
 * Settles the part of a charge that a rejected or returned refund frees. The part is reversed if
 * the charge's money did not stay, or written off if the bank no longer owes it.
 */
export async function settleFreedPart(
  trx: Executor,
  cause: Cause,
  { billingRequestId, refundId, at }: { billingRequestId: string; refundId: string; at: Date },
): Promise<void> {
  const found = await trx.row<{ exceptionId: string }>`
    SELECT x.id AS exception_id FROM reconciliation_exceptions x
    WHERE x.billing_request_id = ${billingRequestId} AND x.refund_id IS NULL AND x.undoes
    ORDER BY x.resolved_at, x.id LIMIT 1`;
  if (found) {
    await freeReversal(trx, found.exceptionId);
    await reverseRest(trx, cause, { ...found, billingRequestId, refundId });
  }
  await writeOffRest(trx, { resourceId: refundId, billingRequestId, at });
}
