import type { Metadata } from '../../domain/metadata';
import { formatAmount } from '../../domain/money';
import { row, type Executor } from '../connection';
import { moneyFacts, recordEvents, type AuditEvent } from '../event';
import { withdrawCredit } from '../customer/payment-credit';
import { newId, newReference } from '../ids';
import type { Keyring } from '../keys/keyring';
import { borneByNetwork, postReversal, postWriteOff } from '../ledger/settlement';
import { announce } from '../webhook/webhook';

/**
 * Reversals: of a successful charge whose money did not stay, what neither a refund nor a reversal
 * has taken yet. The charge keeps its status. Write-offs: of a charge that its bank is let off,
 * what the network bears. The callers hold the charge locked.
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
  bankTransactionId: string | null;
}

/** The exception that has found it, and the refund whose end has left this part, if one has. */
interface OfCharge {
  exceptionId: string;
  billingRequestId: string;
  refundId: string | null;
}

/**
 * Reverses what is left of a charge, if anything is.
 *
 * @param timeZone of the network, for the ledger's day
 */
export async function reverseRest(
  trx: Executor,
  keyring: Keyring,
  timeZone: string,
  cause: AuditEvent['cause'],
  of: OfCharge,
): Promise<void> {
  const { billingRequestId, exceptionId } = of;
  const transactionId = newId('transaction');
  const reversalReference = newReference();
  const reversed = await takeRest(trx, { ...of, transactionId, reversalReference });
  if (!reversed) return;
  const { amount, currency, sequence, at, bankTransactionId } = reversed;
  const reversal = { resourceId: transactionId, billingRequestId, bankTransactionId, amount, at };
  await postReversal(trx, timeZone, reversal);
  const facts = moneyFacts({ amount, currency, status: 'completed', bankTransactionId, closedAt: at });
  await recordEvents(trx, [
    {
      resourceId: billingRequestId,
      sequence,
      type: 'billing_request.reversed',
      cause,
      details: { amount, currency, reversalReference, exceptionId },
      at,
    },
    {
      resourceId: transactionId,
      sequence: 1,
      type: 'reversal.completed',
      cause,
      details: { ...facts, reversalReference },
      at,
    },
  ]);
  // The payee's bank would credit its customer for nothing.
  const creditWithdrawn =
    reversed.merchantId === null && (await withdrawCredit(trx, keyring, billingRequestId));
  await announceReversal(trx, keyring, { ...reversed, billingRequestId, reversalReference, creditWithdrawn });
}

/** Takes what is left of the charge into a reversal; nothing where nothing is left. */
async function takeRest(
  trx: Executor,
  reversal: OfCharge & { transactionId: string; reversalReference: string },
): Promise<Reversed | undefined> {
  return row<Reversed>(
    trx,
    `WITH charge AS (
       UPDATE billing_requests b SET reversed_amount = b.amount - b.refunded_amount, sequence = b.sequence + 1
       FROM (SELECT id, amount - refunded_amount - reversed_amount AS rest
             FROM billing_requests WHERE id = :billingRequestId) AS c
       WHERE b.id = c.id AND c.rest > 0 RETURNING b.*, c.rest, settling_now(b.owner_id) AS at),
     reversal AS (
       INSERT INTO reversals (transaction_id, reference, exception_id, refund_id, billing_request_id, merchant_id,
         provider_id, customer_id, bank_id, payee_customer_id, payee_bank_id, amount, currency, bank_transaction_id,
         created_at, metadata)
       SELECT :transactionId, :reversalReference, x.id, :refundId, b.id, b.merchant_id, b.provider_id, b.customer_id,
         b.bank_id, b.payee_customer_id, b.payee_bank_id, b.rest, b.currency, x.reversal_bank_transaction_id, b.at, b.metadata
       FROM charge b JOIN reconciliation_exceptions x ON x.id = :exceptionId
       RETURNING amount, created_at, bank_transaction_id)
     SELECT v.amount, b.currency, b.reference, b.owner_id, b.merchant_id, b.metadata,
       b.bank_id, b.sequence, v.created_at AS at, v.bank_transaction_id,
       (SELECT count(*)::int FROM reversals WHERE billing_request_id = b.id) AS earlier
     FROM charge b, reversal v`,
    { ...reversal },
  );
}

/**
 * Tells the owner of the charge, who was sent before: the question, if it is also the payer's bank;
 * the end, unless its credit was withdrawn; and one webhook for each earlier reversal.
 */
async function announceReversal(
  trx: Executor,
  keyring: Keyring,
  reversed: Reversed & { billingRequestId: string; reversalReference: string; creditWithdrawn: boolean },
): Promise<void> {
  const { billingRequestId, reference, reversalReference, amount, currency, merchantId, metadata } = reversed;
  const asked = reversed.ownerId === reversed.bankId ? 1 : 0;
  const sequence = asked + (reversed.creditWithdrawn ? 0 : 1) + reversed.earlier + 1;
  await announce(trx, keyring, [
    {
      entityId: reversed.ownerId,
      webhookType: 'billing.reversed',
      items: [
        {
          billingRequestId,
          sequence,
          reference,
          reversalReference,
          amount: formatAmount(amount, currency),
          currency,
          ...(merchantId !== null && { metadata }),
        },
      ],
    },
  ]);
}

/**
 * What becomes of the part of a charge that a refund leaves which is rejected or returned: the
 * money of the charge may not have stayed, or its bank may be let off it.
 */
export async function settleFreedPart(
  trx: Executor,
  keyring: Keyring,
  timeZone: string,
  cause: AuditEvent['cause'],
  { billingRequestId, refundId, at }: { billingRequestId: string; refundId: string; at: Date },
): Promise<void> {
  const found = await row<{ exceptionId: string }>(
    trx,
    `SELECT x.id AS exception_id FROM reconciliation_exceptions x
     WHERE x.billing_request_id = :billingRequestId AND x.refund_id IS NULL AND x.undoes ORDER BY x.resolved_at, x.id LIMIT 1`,
    { billingRequestId },
  );
  if (found) await reverseRest(trx, keyring, timeZone, cause, { ...found, billingRequestId, refundId });
  await writeOffRest(trx, timeZone, { resourceId: refundId, billingRequestId, at });
}

/**
 * The network bears of a successful charge what its bank is let off, but no more than is left of
 * it. Exceptions one after the other tell of the same money, so the largest of them counts, and
 * what the network bears already is not written off again.
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
       SELECT least(max(x.let_off), b.amount - b.refunded_amount - b.reversed_amount)::bigint AS amount
       FROM billing_requests b JOIN reconciliation_exceptions x ON x.billing_request_id = b.id
       WHERE b.id = :billingRequestId AND b.status = 'successful' GROUP BY b.id) AS let_off
     WHERE amount > :borne::bigint`,
    { billingRequestId, borne: borne.toString() },
  );
  if (left) await postWriteOff(trx, timeZone, { resourceId, billingRequestId, ...left, at });
}
