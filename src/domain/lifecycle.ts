/** The states that things can be in. The database repeats them in its CHECK constraints. */

export const INTENT_STATUSES = ['pending', 'approved', 'declined', 'superseded'] as const;
export type IntentStatus = (typeof INTENT_STATUSES)[number];

/** What a customer can decide about a merchant; on the wire `customerDecision`. */
export const CUSTOMER_DECISIONS = ['approve_once', 'approve_recurring', 'deny', 'suspended'] as const;
/** The same of an agreement, which stands at `pending` until the customer has answered. */
export const AGREEMENT_DECISIONS = ['pending', ...CUSTOMER_DECISIONS] as const;
export type Decision = (typeof AGREEMENT_DECISIONS)[number];

export const BILLING_REQUEST_STATUSES = ['pending', 'successful', 'declined'] as const;
export type BillingRequestStatus = (typeof BILLING_REQUEST_STATUSES)[number];

/**
 * Only its bank ends a refund; being overdue is no state of its own, for it may still go either
 * way. A completed refund is `returned` once an exception has found that its money came back.
 */
export const REFUND_STATUSES = ['pending', 'completed', 'rejected', 'returned'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** Transactions of the history, by what they do. */
export const TRANSACTION_TYPES = ['charge', 'refund', 'refund_return', 'reversal'] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];
export const TRANSACTION_STATUSES = [
  'pending',
  'successful',
  'declined',
  'completed',
  'rejected',
  'returned',
] as const satisfies (BillingRequestStatus | RefundStatus)[];

/**
 * One due date of a schedule, with all attempts at charging it. The database has it from its first
 * attempt on, and so none that is `scheduled`.
 */
export const BILLING_STATUSES = [
  'scheduled',
  'pending',
  'retrying',
  'successful',
  'failed',
  'skipped',
] as const;
export type BillingStatus = (typeof BILLING_STATUSES)[number];

/** What one side has resolved stays so: what contradicts it later is another exception. */
export const EXCEPTION_STATES = ['open', 'investigating', 'resolved'] as const;
export type ExceptionState = (typeof EXCEPTION_STATES)[number];

/** Nothing but its receiver's wish to have it once more moves a delivery out of its end. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
