/** The states of resources. The database repeats them in its CHECK constraints. */

export const INTENT_STATUSES = ['pending', 'approved', 'declined', 'superseded'] as const;
export type IntentStatus = (typeof INTENT_STATUSES)[number];

/** A customer's decisions about a merchant; on the wire `customerDecision`. */
export const CUSTOMER_DECISIONS = ['approve_once', 'approve_recurring', 'deny', 'suspended'] as const;
export type CustomerDecision = (typeof CUSTOMER_DECISIONS)[number];
/** The decisions of an agreement, which is `pending` until the customer has answered. */
export const AGREEMENT_DECISIONS = ['pending', ...CUSTOMER_DECISIONS] as const;
export type Decision = (typeof AGREEMENT_DECISIONS)[number];

/** States of an agreement: the first that holds. Time passes, so SQL tells it of a moment. */
export const AGREEMENT_STATES = [
  'revoked',
  'suspended',
  'pending',
  'expired',
  'paused',
  'not_yet_valid',
  'active',
] as const;
export type AgreementState = (typeof AGREEMENT_STATES)[number];

export const BILLING_REQUEST_STATUSES = ['pending', 'successful', 'declined'] as const;
export type BillingRequestStatus = (typeof BILLING_REQUEST_STATUSES)[number];

/**
 * Only its bank ends a refund. An overdue refund has no state of its own, for the bank may still
 * complete or reject it. A completed refund is `returned` once an exception has found that its
 * money came back.
 */
export const REFUND_STATUSES = ['pending', 'completed', 'rejected', 'returned'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

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
 * States of a billing: one due date of a schedule with all its attempts. The database stores a
 * billing from its first attempt on, so never as `scheduled`.
 */
export const BILLING_STATUSES = [
  'scheduled',
  'pending',
  'retrying',
  'successful',
  'failed',
  'skipped',
] as const;

/** A resolved exception stays resolved: a later contradiction is another exception. */
export const EXCEPTION_STATES = ['open', 'investigating', 'resolved'] as const;
export type ExceptionState = (typeof EXCEPTION_STATES)[number];

/** An ended delivery is pending again only if its receiver asks for it once more. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
