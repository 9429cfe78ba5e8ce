import { addBusinessDays } from '../../domain/business-day';
import { Failure, invalidRequest } from '../../domain/failures';
import type { RefundStatus, TransactionType } from '../../domain/lifecycle';
import type { Metadata } from '../../domain/metadata';
import { parseAmount } from '../../domain/money';
import { refundRefusal } from '../../domain/refundable-amount';
import { refundRequestSequence } from '../../domain/webhook/webhook-sequence';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { type Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { newId, newReference } from '../identifier/new-id';
import { allOf, listPage, literal, type Listed, type Page } from '../query/list-page';
import { merchantProfile, type MerchantProfile } from '../entity/read-parties';
import { ownedBy, type Party } from '../query/party';
import type { TypedAnnouncement } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';
import { readRefundable, takePart } from './refundable-amount';

/** Business days that a bank has for a refund before it is overdue. */
const EXPECTED_WITHIN = 3;

export interface RefundRecord {
  refundId: string;
  transactionId: string;
  reference: string;
  originalReference: string;
  billingRequestId: string;
  merchantId: string;
  customerId: string;
  bankId: string;
  amount: bigint;
  currency: string;
  reason: string | null;
  metadata: Metadata;
  status: RefundStatus;
  overdue: boolean;
  reminders: number;
  rejectReason: string | null;
  /** The bank first rejected the refund, and paid it later. */
  wasRejected: boolean;
  bankTransactionId: string | null;
  expectedBy: Date;
  sequence: number;
  createdAt: Date;
  closedAt: Date | null;
}

export const REFUND_COLUMNS = `id AS refund_id, transaction_id, reference,
  (SELECT b.reference FROM billing_requests b WHERE b.id = billing_request_id) AS original_reference,
  billing_request_id, merchant_id, customer_id, bank_id, amount, currency, reason, metadata, status, overdue,
  reminders, reject_reason, was_rejected, bank_transaction_id, expected_by, sequence, created_at, closed_at`;

interface Charge {
  id: string;
  currency: string;
  country: string;
  lookupId: string;
  /** A successful charge has one. */
  bankTransactionId: string | null;
}

/** `amount` in major units of the charge's currency; left out for all that is left. */
interface Wish {
  reference: string;
  amount?: number | undefined;
  reason?: string | undefined;
  metadata?: Metadata | undefined;
}

/**
 * The money that a refund would move. Its charge stays locked, so that it moves no other.
 *
 * @throws Failure as `initiateRefund`
 */
export async function moneyOfRefund(
  trx: Executor,
  merchantId: string,
  wish: Wish,
): Promise<{ amount: bigint; currency: string }> {
  const charge = await lockCharge(trx, merchantId, wish.reference);
  const wished = wishedPart(charge, wish);
  const refundable = await readRefundable(trx, charge.id);
  const refusal = refundRefusal(refundable, wished);
  if (refusal) throw refusal;
  return { amount: wished ?? refundable.untaken - refundable.held, currency: charge.currency };
}

/** @throws Failure invalid_request */
function wishedPart({ currency }: Charge, { amount }: Wish): bigint | undefined {
  if (amount === undefined) return undefined;
  const wished = parseAmount(amount, currency);
  if (!wished.ok) throw invalidRequest([{ path: 'amount', message: wished.reason }]);
  return wished.value;
}

/**
 * Refunds a part of a successful charge, or the rest of it.
 *
 * @throws Failure not_found; not_a_charge; invalid_request (no amount in that currency);
 *   not_refundable (the charge has not succeeded); exceeds_remaining or held_by_exception (less is
 *   left of it)
 */
export async function initiateRefund(trx: Executor, merchantId: string, wish: Wish): Promise<RefundRecord> {
  const charge = await lockCharge(trx, merchantId, wish.reference);
  const wished = wishedPart(charge, wish);
  const { part: amount, ...before } = await takePart(trx, charge.id, wished ?? null);
  const { lookupId, bankTransactionId } = charge;
  if (amount === null || bankTransactionId === null)
    throw refundRefusal(before, wished) ?? new Error(`${charge.id} took no refund`);
  const merchant = await merchantProfile(trx, merchantId);
  const refundId = newId('refund');
  const deliveryId = newId('delivery');
  const expectedBy = addBusinessDays(merchant.now, EXPECTED_WITHIN, charge.country, trx.timeZone);
  const refund = await trx.oneRow<RefundRecord>`
    INSERT INTO refunds (id, transaction_id, reference, billing_request_id, merchant_id, customer_id, bank_id,
      amount, currency, reason, metadata, expected_by, acts_at, created_at, bank_delivery_ids)
    SELECT ${refundId}, ${newId('transaction')}, ${newReference()}, id, merchant_id, customer_id, bank_id,
      ${amount.toString()}, currency, ${wish.reason ?? null},
      ${JSON.stringify(wish.metadata ?? {})}::jsonb, ${expectedBy}, ${expectedBy}, ${merchant.now},
      ARRAY[${deliveryId}]
    FROM billing_requests WHERE id = ${charge.id}
    RETURNING ${raw(REFUND_COLUMNS)}`;
  await writeTransitions(trx, {
    event: 'refund.requested',
    cause: 'merchant',
    row: { ...refund, id: refundId, at: merchant.now },
    details: { billingRequestId: charge.id },
    announces: { 'refund.request': question(refund, { lookupId, bankTransactionId }, merchant, deliveryId) },
  });
  return refund;
}

/** Locks the charge, so that the next statement sees the changes of earlier holders. */
async function lockCharge(trx: Executor, merchantId: string, reference: string): Promise<Charge> {
  const charge = await trx.row<Charge>`
    SELECT b.id, b.currency, c.country, b.lookup_id, b.bank_transaction_id
    FROM billing_requests b JOIN customers c ON c.id = b.customer_id
    WHERE b.reference = ${reference} AND b.merchant_id = ${merchantId} FOR UPDATE OF b`;
  if (charge) return charge;
  const other = await trx.row<{ type: TransactionType }>`
    SELECT type FROM transactions WHERE reference = ${reference} AND merchant_id = ${merchantId}`;
  if (!other) throw new Failure('not_found', 'There is no charge with this reference.');
  const name = other.type.replace('_', ' ');
  throw new Failure('not_a_charge', `This is the reference of a ${name}: name that of its charge.`);
}

/** Asks the bank to pay a refund back. */
export function question(
  refund: RefundRecord,
  debit: { lookupId: string; bankTransactionId: string },
  merchant: MerchantProfile,
  deliveryId: string,
): TypedAnnouncement<'refund.request'> {
  const { refundId, reference, originalReference, billingRequestId, amount, currency } = refund;
  const { bankId: entityId, reason, customerId, expectedBy, overdue } = refund;
  const { lookupId: lookupID, bankTransactionId } = debit;
  const of = {
    refundId,
    reference,
    originalReference,
    billingRequestId,
    bankTransactionId,
    amount,
    currency,
  };
  const by = { reason, customerId, lookupID, merchant: merchant.shown, expectedBy, overdue };
  const item = { ...of, ...by, sequence: refundRequestSequence(refund) };
  return { entityId, deliveryId, workflowId: workflowIds.refund(refundId), item };
}

/** @throws Failure not_found */
export async function readRefund(db: Executor, party: Party, refundId: string): Promise<RefundRecord> {
  const refund = await db.row<RefundRecord>`
    SELECT ${raw(REFUND_COLUMNS)} FROM refunds
    WHERE id = ${refundId} AND ${ownedBy(party)}`;
  if (!refund) throw new Failure('not_found', 'There is no such refund.');
  return refund;
}

export const REFUND_SORTS = {
  createdAt: { by: 'created_at', indexed: true },
  amount: { by: 'amount', indexed: false },
  expectedBy: { by: 'expected_by', indexed: false },
};

export async function listRefunds(
  db: Executor,
  party: Party,
  filter: { status?: RefundStatus | undefined },
  page: Page<keyof typeof REFUND_SORTS>,
): Promise<Listed<RefundRecord>> {
  const where = allOf(ownedBy(party), filter.status !== undefined && sql`status = ${literal(filter.status)}`);
  return listPage<RefundRecord>(
    db,
    {
      select: () => sql`SELECT ${raw(REFUND_COLUMNS)} FROM refunds WHERE ${where}`,
      counted: (limit) => sql`refunds WHERE ${where} ORDER BY created_at, id ${limit}`,
      id: 'id',
      sort: REFUND_SORTS[page.sortBy],
      instead: 'narrow it with status, or take GET /v1/transaction-history?type=refund&format=csv',
    },
    page,
  );
}
