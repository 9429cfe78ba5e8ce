import { formatAmount } from '../../domain/money';
import { row, rows, type Executor, type Transaction } from '../connection';
import { moneyFacts, recordEvents, type AuditEvent } from '../event';
import { newId, newReference } from '../ids';
import type { Keyring } from '../keys/keyring';
import { postRefundReturn } from '../ledger/settlement';
import { reverseRejectedRefund, writeOffRest } from '../reconciliation-exception/reversal';
import { announce } from '../webhook/webhook';
import { REFUND_COLUMNS, type RefundRecord } from './refund';

/**
 * A completed refund whose money came back to the bank. The refund becomes `returned`, a contra
 * entry of today undoes its first one, and its amount can be refunded again.
 *
 * One UPDATE decides, `WHERE status = 'completed'`, so a refund is returned once, however many
 * exceptions say so.
 */

/**
 * Whether an exception `x` has found that the money of a refund `r` did not stay. An exception that
 * names another transfer than the one that counts speaks of that other one.
 */
const HAS_RETURNED = `x.refund_id = r.id AND x.resolution IN ('no_money_moved', 'reversed')
  AND (x.bank_transaction_id IS NULL OR x.bank_transaction_id = r.bank_transaction_id)`;

/**
 * Returns the refund that a resolved exception is about, if the exception has found that its money
 * came back. The caller holds the charge locked.
 *
 * @param timeZone of the network, for the ledger's day
 */
export async function returnRefund(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  cause: AuditEvent['cause'],
  exceptionId: string,
): Promise<void> {
  const transactionId = newId('transaction');
  const returnReference = newReference();
  const returned = await row<RefundRecord & { at: Date }>(
    trx,
    `UPDATE refunds r SET status = 'returned', returned_at = settling_now(r.merchant_id), returned_by = :exceptionId,
       return_transaction_id = :transactionId, return_reference = :returnReference, sequence = r.sequence + 1
     WHERE r.status = 'completed'
       AND EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.id = :exceptionId AND ${HAS_RETURNED})
     RETURNING ${REFUND_COLUMNS}, returned_at AS at`,
    { exceptionId, transactionId, returnReference },
  );
  if (!returned) return;
  const { refundId, sequence, at } = returned;
  await postRefundReturn(trx, timeZone, { ...returned, transactionId });
  await recordEvents(trx, [
    {
      resourceId: refundId,
      sequence,
      type: 'refund.returned',
      cause,
      details: { ...moneyFacts(returned), exceptionId, transactionId, returnReference },
      at,
    },
  ]);
  await freePart(trx, keyring, timeZone, cause, { ...returned, at });
  await announceReturn(trx, keyring, returned);
}

/**
 * The amount of a refund that did not reach the customer is left of the charge again, unless the
 * charge's own money did not stay either. The caller holds the charge locked.
 */
export async function freePart(
  trx: Transaction,
  keyring: Keyring,
  timeZone: string,
  cause: AuditEvent['cause'],
  { refundId, billingRequestId, amount, at }: RefundRecord & { at: Date },
): Promise<void> {
  await rows(
    trx,
    `UPDATE billing_requests SET refunded_amount = refunded_amount - :amount WHERE id = :billingRequestId`,
    { amount: amount.toString(), billingRequestId },
  );
  await reverseRejectedRefund(trx, keyring, timeZone, cause, { billingRequestId, refundId });
  await writeOffRest(trx, timeZone, { resourceId: refundId, billingRequestId, at });
}

/** Each receiver counts what it was told of the refund before. */
async function announceReturn(trx: Executor, keyring: Keyring, refund: RefundRecord): Promise<void> {
  const { refundId, reference, originalReference, amount, currency, status, reminders, overdue, metadata } =
    refund;
  const receivers = [
    { entityId: refund.merchantId, told: overdue ? 2 : 1, own: { metadata } },
    { entityId: refund.bankId, told: reminders + 1, own: {} },
  ];
  await announce(
    trx,
    keyring,
    receivers.map(({ entityId, told, own }) => ({
      entityId,
      webhookType: 'refund.returned',
      items: [
        {
          refundId,
          sequence: told + 1,
          reference,
          originalReference,
          amount: formatAmount(amount, currency),
          currency,
          status,
          ...own,
        },
      ],
    })),
  );
}
