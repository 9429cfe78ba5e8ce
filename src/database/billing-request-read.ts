import { formatInstant } from '../domain/calendar';
import { Failure } from '../domain/failures';
import type { Moment } from '../domain/moment';
import { row, rows, type Executor } from './connection';
import { CREDIT_WAITS } from './customer-payment-credit';

/** Charges, as they are read: by the workflow that waits for them, and by the two parties. */

export interface OpenRequests {
  open: number;
  /** Of those open, how many are past their window. */
  due: number;
  /** Of those that have ended, for how many the payee's bank is still to be told of the money. */
  credits: number;
  /** Of these, how many are overdue, and that is not noted yet. */
  creditsDue: number;
  status: string;
  nextClose: Moment | null;
}

/** @param ids the charges of one call */
export async function openRequests(db: Executor, ids: string[]): Promise<OpenRequests> {
  const found = await row<Omit<OpenRequests, 'nextClose'> & { inMs: number | null; at: Date | null }>(
    db,
    `SELECT count(*) FILTER (WHERE b.status = 'pending')::int AS open,
       count(*) FILTER (WHERE b.status = 'pending' AND left_ms <= 0)::int AS due,
       count(*) FILTER (WHERE credit_waits)::int AS credits,
       count(*) FILTER (WHERE credit_waits AND left_ms <= 0)::int AS "creditsDue",
       CASE WHEN count(*) FILTER (WHERE b.status = 'pending') > 0 THEN 'pending'
            WHEN count(*) = 1 THEN min(b.status) ELSE 'closed' END AS status,
       greatest(min(left_ms) FILTER (WHERE b.status = 'pending' OR credit_waits), 0)::float AS "inMs",
       min(ends_at) FILTER (WHERE b.status = 'pending' OR credit_waits) AS at
     FROM billing_requests b,
       LATERAL (SELECT ${CREDIT_WAITS} AS credit_waits, coalesce(b.credit_due_at, b.expires_at) AS ends_at) AS c,
       LATERAL (SELECT ceil(extract(epoch FROM ends_at - business_now(b.owner_id)) * 1000) AS left_ms) AS t
     WHERE b.id = ANY(:ids)`,
    { ids },
  );
  const {
    open = 0,
    due = 0,
    credits = 0,
    creditsDue = 0,
    status = 'closed',
    inMs = null,
    at = null,
  } = found ?? {};
  return {
    open,
    due,
    credits,
    creditsDue,
    status,
    nextClose: inMs === null || at === null ? null : { inMs, at: formatInstant(at) },
  };
}

/** Ids of the charges that this workflow waits for, or for whose credit. */
export async function openOfWorkflow(db: Executor, workflowId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    db,
    `SELECT id FROM billing_requests b
     WHERE workflow_id = :workflowId AND (status = 'pending' OR ${CREDIT_WAITS}) ORDER BY id`,
    { workflowId },
  );
  return found.map(({ id }) => id);
}

export interface BillingRequestRecord {
  billingRequestId: string;
  batchId: string;
  transactionId: string;
  reference: string;
  status: string;
  declineReason: string | null;
  amount: bigint;
  currency: string;
  description: string;
  approvalRequired: boolean;
  customerId: string;
  merchantId: string | null;
  /** Who billed: the merchant, or the payee's bank. */
  ownerId: string;
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

/**
 * A charge, for who made it and for the bank that is asked.
 *
 * @throws Failure not_found
 */
export async function readBillingRequest(
  db: Executor,
  entityId: string,
  billingRequestId: string,
): Promise<BillingRequestRecord> {
  const found = await row<BillingRequestRecord>(
    db,
    `SELECT b.id AS "billingRequestId", b.batch_id AS "batchId", b.transaction_id AS "transactionId", b.reference,
       b.status, b.decline_reason AS "declineReason", b.amount, b.currency, b.description,
       b.approval_required AS "approvalRequired", b.customer_id AS "customerId", b.merchant_id AS "merchantId",
       b.owner_id AS "ownerId", b.payee_bank_id AS "payeeBankId", b.payee_lookup_id AS "payeeLookupId",
       b.bank_id AS "bankId", b.lookup_id AS "lookupId", b.agreement_id AS "agreementId",
       a.payment_id_key AS "paymentIdKey", b.schedule_id AS "scheduleId",
       b.bank_transaction_id AS "bankTransactionId", b.workflow_id AS "workflowId", b.expires_at AS "expiresAt",
       b.created_at AS "createdAt", b.closed_at AS "closedAt"
     FROM billing_requests b LEFT JOIN agreements a ON a.id = b.agreement_id
     WHERE b.id = :billingRequestId AND :entityId IN (b.owner_id, b.bank_id)`,
    { billingRequestId, entityId },
  );
  if (!found) throw new Failure('not_found', 'There is no such billing request.');
  return found;
}
