import type { Metadata } from '../../domain/metadata';
import { formatAmount } from '../../domain/money';
import { oneRow, row, type Executor } from '../connection';
import { moneyFacts, recordEvents, type AuditEvent } from '../event';
import { withdrawCredit } from '../customer/payment-credit';
import { newId, newReference } from '../ids';
import type { Keyring } from '../keys/keyring';
import { borneByNetwork, postReversal, postWriteOff } from '../ledger/settlement';
import { announce, type Announcement } from '../webhook/webhook';
import { IS_OTHERWISE_MISSING } from './credit';
import { IS_OF_SECOND_DEBIT } from './second-debit';

/**
 * Reversals: of a successful charge whose money did not stay, what neither a refund nor a reversal
 * has taken yet. The charge keeps its status. What another exception holds of it is reversed with
 * it: it is in doubt, and now known to be gone.
 */

interface Reversed {
  amount: bigint;
  currency: string;
  reference: string;
  ownerId: string;
  merchantId: string | null;
  metadata: Metadata;
  bankId: string;
  sequence: number;
  at: Date;
  /** How many reversals of this charge there were before. */
  earlier: number;
}

/**
 * Whether an exception `x` has found that the money of a charge `b`, which was successful by then,
 * did not stay. An id that was refused moved no money, so `no_money_moved` says nothing of it.
 */
const HAS_REVERSED = `(x.billing_request_id = b.id AND x.refund_id IS NULL AND b.status = 'successful'
  AND (x.resolution = 'reversed' OR (x.resolution = 'no_money_moved' AND x.kind <> 'duplicate_transaction_id'))
  AND x.resolved_at >= b.closed_at AND NOT ${IS_OF_SECOND_DEBIT('x')})`;

/**
 * Reverses what is left of a charge, if anything is, and if a resolved exception has found that its
 * money did not stay. The caller holds the charge locked.
 *
 * @param timeZone of the network, for the ledger's day
 * @param of the exception that it follows from, and the refund whose rejection has left this part,
 *   if one has
 */
export async function reverseRest(
  trx: Executor,
  keyring: Keyring,
  timeZone: string,
  cause: AuditEvent['cause'],
  of: { exceptionId: string; billingRequestId: string; refundId: string | null },
): Promise<void> {
  const { billingRequestId } = of;
  const reversed = await row<Reversed>(
    trx,
    `WITH charge AS (
       SELECT b.id, b.amount - b.refunded_amount - b.reversed_amount AS rest FROM billing_requests b
       WHERE b.id = :billingRequestId
         AND EXISTS (SELECT FROM reconciliation_exceptions x WHERE x.id = :exceptionId AND ${HAS_REVERSED}) FOR UPDATE)
     UPDATE billing_requests b SET reversed_amount = b.reversed_amount + c.rest, sequence = b.sequence + 1
     FROM charge c WHERE b.id = c.id AND c.rest > 0
     RETURNING c.rest AS amount, b.currency, b.reference, b.owner_id AS "ownerId", b.merchant_id AS "merchantId", b.metadata, b.bank_id AS "bankId", b.sequence,
       settling_now(b.owner_id) AS at,
       (SELECT count(*)::int FROM reversals v WHERE v.billing_request_id = b.id) AS earlier`,
    { billingRequestId, exceptionId: of.exceptionId },
  );
  if (!reversed) return;
  const { amount, currency, sequence, at } = reversed;
  const transactionId = newId('transaction');
  const reversalReference = newReference();
  const { bankTransactionId } = await oneRow<{ bankTransactionId: string | null }>(
    trx,
    `INSERT INTO reversals (transaction_id, reference, exception_id, refund_id, billing_request_id, merchant_id,
       provider_id, customer_id, bank_id, payee_customer_id, payee_bank_id, amount, currency, bank_transaction_id,
       created_at, metadata)
     SELECT :transactionId, :reversalReference, x.id, :refundId, b.id, b.merchant_id, b.provider_id, b.customer_id,
       b.bank_id, b.payee_customer_id, b.payee_bank_id, :amount, b.currency, x.reversal_bank_transaction_id, :at, b.metadata
     FROM reconciliation_exceptions x JOIN billing_requests b ON b.id = x.billing_request_id WHERE x.id = :exceptionId
     RETURNING bank_transaction_id AS "bankTransactionId"`,
    { ...of, transactionId, reversalReference, amount, at },
  );
  await postReversal(trx, timeZone, {
    resourceId: transactionId,
    billingRequestId,
    bankTransactionId,
    amount,
    at,
  });
  const details = { amount, currency, reversalReference };
  await recordEvents(trx, [
    {
      resourceId: billingRequestId,
      sequence,
      type: 'billing_request.reversed',
      cause,
      details: { ...details, exceptionId: of.exceptionId },
      at,
    },
    {
      resourceId: transactionId,
      sequence: 1,
      type: 'reversal.completed',
      cause,
      details: {
        ...moneyFacts({ amount, currency, status: 'completed', bankTransactionId, closedAt: at }),
        reversalReference,
      },
      at,
    },
  ]);
  // The payee's bank would credit its customer for nothing.
  const creditWithdrawn =
    reversed.merchantId === null && (await withdrawCredit(trx, keyring, billingRequestId));
  await announce(trx, keyring, [
    reversalAnnouncement({ ...reversed, billingRequestId, reversalReference, creditWithdrawn }),
  ]);
}

interface AnnouncedReversal extends Pick<
  Reversed,
  'amount' | 'currency' | 'reference' | 'ownerId' | 'merchantId' | 'metadata' | 'bankId' | 'earlier'
> {
  billingRequestId: string;
  reversalReference: string;
  /** Its owner is the payee's bank and was never told of the money. */
  creditWithdrawn: boolean;
}

/** What its owner hears of it. */
function reversalAnnouncement(reversed: AnnouncedReversal): Announcement {
  const { billingRequestId, reference, reversalReference, amount, currency, merchantId, metadata } = reversed;
  return {
    entityId: reversed.ownerId,
    webhookType: 'billing.reversed',
    items: [
      {
        billingRequestId,
        sequence: numberOf(reversed),
        reference,
        reversalReference,
        amount: formatAmount(amount, currency),
        currency,
        ...(merchantId !== null && { metadata }),
      },
    ],
  };
}

/**
 * The webhook's number. Before it, the owner was sent: the question, if the owner is also the
 * payer's bank; the end, unless its credit was withdrawn; and one webhook per earlier reversal.
 */
function numberOf({ ownerId, bankId, earlier, creditWithdrawn }: AnnouncedReversal): number {
  return (ownerId === bankId ? 1 : 0) + (creditWithdrawn ? 0 : 1) + earlier + 1;
}

/**
 * A refund that is rejected, or returned, after its charge was found reversed has left a part that
 * did not stay either. It is the only one there is where refunds had taken all of the charge until
 * then. The caller holds the charge locked.
 */
export async function reverseRejectedRefund(
  trx: Executor,
  keyring: Keyring,
  timeZone: string,
  cause: AuditEvent['cause'],
  { billingRequestId, refundId }: { billingRequestId: string; refundId: string | null },
): Promise<void> {
  const first = await row<{ exceptionId: string }>(
    trx,
    `SELECT x.id AS "exceptionId" FROM billing_requests b JOIN reconciliation_exceptions x ON ${HAS_REVERSED}
     WHERE b.id = :billingRequestId ORDER BY x.resolved_at, x.id LIMIT 1`,
    { billingRequestId },
  );
  if (first) await reverseRest(trx, keyring, timeZone, cause, { ...first, billingRequestId, refundId });
}

/**
 * Of a charge `b`, how much its bank is let off with an exception `x`: all that its bank denies, or
 * what it has not booked of an amount that differs, which `x` held. With a
 * credit that the payee's bank lacks the payer's bank is let off nothing: it has its debit.
 */
export const LET_OFF = `(CASE
  WHEN x.resolution IS DISTINCT FROM 'written_off' OR x.refund_id IS NOT NULL THEN 0
  WHEN ${IS_OTHERWISE_MISSING('x')} OR (x.kind = 'conflicting_answer' AND x.outcome = 'declined') THEN b.amount
  WHEN x.kind = 'amount_differs' THEN coalesce(x.released, 0)
  ELSE 0 END)`;

/**
 * The network bears of a successful charge what its bank is let off, but no more than is left of
 * it. Several exceptions tell of the same money, so the largest of them counts, and what the
 * network bears already is not written off again. The caller holds the charge locked.
 *
 * @param resourceId of the exception, or of a refund that was rejected or returned: what it had
 *   taken is left again
 */
export async function writeOffRest(
  trx: Executor,
  timeZone: string,
  { resourceId, billingRequestId, at }: { resourceId: string; billingRequestId: string; at: Date },
): Promise<void> {
  const borne = await borneByNetwork(trx, billingRequestId);
  const left = await row<{ amount: bigint }>(
    trx,
    `SELECT amount - :borne::bigint AS amount FROM (
       SELECT least(max(${LET_OFF}), b.amount - b.refunded_amount - b.reversed_amount)::bigint AS amount
       FROM billing_requests b JOIN reconciliation_exceptions x ON x.billing_request_id = b.id
       WHERE b.id = :billingRequestId AND b.status = 'successful' GROUP BY b.id) AS let_off
     WHERE amount > :borne::bigint`,
    { billingRequestId, borne: borne.toString() },
  );
  if (left) await postWriteOff(trx, timeZone, { resourceId, billingRequestId, ...left, at });
}
