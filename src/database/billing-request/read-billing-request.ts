import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import type { BillingRequestStatus } from '../../domain/lifecycle';
import type { Metadata } from '../../domain/metadata';
import type { Limit } from '../../domain/spending-limit';
import type { Executor } from '../pool/connection';
import { raw, sql, type Fragment } from '../pool/statement';
import { afterS } from '../clock/moment';
import { CREDIT_WAITS } from '../credit/follow-credit';
import { shownName } from '../shown-name';
import type { ClosedBy } from './close-billing-requests';

export interface AwaitedCharge {
  id: string;
  reference: string;
  amount: bigint;
  currency: string;
  bankId: string;
  bankName: string;
  status: string;
  declineReason: string | null;
  closedBy: ClosedBy | null;
  /** The customer must approve this very charge. */
  approvalRequired: boolean;
  /** The charge has succeeded, and the payee's bank is still to be told. */
  creditWaits: boolean;
  /** Business milliseconds until the window closes or the credit is overdue; may be negative. */
  leftMs: number;
  /** The end of `leftMs`, RFC 3339. */
  endsAt: string;
  /** Seconds of business time from acceptance to the end; 0 for an open charge. */
  afterS: number;
}

export async function awaitedCharges(db: Executor, ids: string[]): Promise<AwaitedCharge[]> {
  return readAwaited(db, sql`b.id = ANY(${ids})`);
}

/** Charges for which this workflow waits, or for whose credit it waits. */
export async function awaitedOfWorkflow(db: Executor, workflowId: string): Promise<AwaitedCharge[]> {
  return readAwaited(
    db,
    sql`b.workflow_id = ${workflowId} AND (b.status = 'pending' OR ${raw(CREDIT_WAITS)})`,
  );
}

async function readAwaited(db: Executor, which: Fragment): Promise<AwaitedCharge[]> {
  const found = await db.rows<Omit<AwaitedCharge, 'endsAt'> & { endsAt: Date }>`
    SELECT b.id, b.reference, b.amount::bigint, b.currency, b.bank_id,
      ${raw(shownName('b.bank_id'))} AS bank_name, b.status, b.decline_reason, b.closed_by,
      b.approval_required, ${raw(CREDIT_WAITS)} AS credit_waits, ends_at,
      ceil(extract(epoch FROM ends_at - business_now(b.biller_id)) * 1000)::float8 AS left_ms,
      ${raw(afterS('b'))}
    FROM billing_requests b, LATERAL (SELECT coalesce(b.credit_due_at, b.expires_at) AS ends_at) AS t
    WHERE ${which} ORDER BY b.id`;
  return found.map(({ endsAt, ...charge }) => ({ ...charge, endsAt: formatInstant(endsAt) }));
}

export async function endedOf(db: Executor, ids: string[]): Promise<AwaitedCharge[]> {
  return readAwaited(db, sql`b.id = ANY(${ids}) AND b.status <> 'pending'`);
}

/**
 * Marks the charges' workflow as waiting: an answer to an open charge signals it. The workflow must
 * read again afterwards, to see an answer that came before this statement.
 */
export async function markChargesWaiting(db: Executor, ids: string[]): Promise<void> {
  await db.rows`
    UPDATE billing_requests SET waiting = true WHERE id = ANY(${ids}) AND status = 'pending' AND NOT waiting`;
}

interface BillingRequestRecord {
  billingRequestId: string;
  batchId: string;
  transactionId: string;
  reference: string;
  status: BillingRequestStatus;
  declineReason: string | null;
  declinedLimit: Limit | null;
  amount: bigint;
  currency: string;
  description: string;
  metadata: Metadata;
  approvalRequired: boolean;
  customerId: string;
  merchantId: string | null;
  /** The merchant, or the payee's bank. */
  billerId: string;
  payeeBankId: string | null;
  payeeLookupId: string | null;
  bankId: string;
  lookupId: string;
  agreementId: string | null;
  paymentIdKey: string | null;
  scheduleId: string | null;
  bankTransactionId: string | null;
  workflowId: string;
  expiresAt: Date;
  createdAt: Date;
  closedAt: Date | null;
}

/** @throws Failure not_found */
export async function readBillingRequest(
  db: Executor,
  entityId: string,
  billingRequestId: string,
): Promise<BillingRequestRecord> {
  const found = await db.row<BillingRequestRecord>`
    SELECT b.id AS billing_request_id, b.batch_id, b.transaction_id, b.reference, b.status, b.decline_reason,
      b.declined_limit, b.amount, b.currency, b.description, b.metadata, b.approval_required, b.customer_id, b.merchant_id,
      b.biller_id, b.payee_bank_id, b.payee_lookup_id, b.bank_id, b.lookup_id, b.agreement_id,
      a.payment_id_key, b.schedule_id, b.bank_transaction_id, b.workflow_id, b.expires_at, b.created_at,
      b.closed_at
    FROM billing_requests b LEFT JOIN agreements a ON a.id = b.agreement_id
    WHERE b.id = ${billingRequestId} AND ${entityId} IN (b.biller_id, b.bank_id)`;
  if (!found) throw new Failure('not_found', 'There is no such billing request.');
  return found;
}
