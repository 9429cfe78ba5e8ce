import { Failure } from './failures';

interface Terms {
  decision: 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';
  blocked: boolean;
  currency: string;
}

const WHY_NOT = {
  pending: 'The customer has not yet approved billing by this merchant.',
  deny: 'The customer has denied billing by this merchant.',
  suspended: 'The customer has suspended billing by this merchant.',
} as const;

/**
 * The reason why a charge under these terms was refused. The guarded UPDATE of the agreement's sums
 * has refused it already. So a refusal that the terms do not explain is a spending limit
 * (`spending-limit.ts`), and the merchant learns no more.
 */
export function chargeRefusal(terms: Terms, currency: string): Failure {
  if (terms.currency !== currency) {
    return new Failure(
      'currency_mismatch',
      `This agreement bills in ${terms.currency}, not in ${currency}. Send a new intent to change its currency.`,
    );
  }
  if (terms.decision !== 'approve_once' && terms.decision !== 'approve_recurring') {
    return new Failure('not_approved', WHY_NOT[terms.decision]);
  }
  return new Failure('limit_reached', 'A spending limit of the customer has been reached.');
}

/** Whether the customer must approve this very charge; decides which window applies. */
export function approvalRequired(decision: Terms['decision'], merchantTrusted: boolean): boolean {
  return decision !== 'approve_recurring' || !merchantTrusted;
}

/** A bank's answer to a charge, in either of its two forms. */
export type BankAnswer =
  | { outcome: 'approved'; bankTransactionId: string; action: 'approve_once' | 'approve_recurring' | null }
  | { outcome: 'declined'; declineReason: string; action: 'deny' | 'suspended' | null };

/** Reasons that the network defines, whichever party gives them. */
const KNOWN_REASONS = [
  'expired',
  'not_delivered',
  'cancelled',
  'denied',
  'suspended',
  'limit_reached',
  'insufficient_funds',
  'temporarily_unavailable',
] as const;

/** The network's reasons, and one for all that banks write in their own words. */
export const KINDS_OF_REASON = [...KNOWN_REASONS, 'other'] as const;
export type KindOfReason = (typeof KINDS_OF_REASON)[number];

/**
 * The reason that an event keeps for good. A bank's own words may speak of a person, so they stay
 * with the charge, where they can be erased.
 */
export function reasonForAudit(reason: string): KindOfReason {
  return KNOWN_REASONS.find((known) => known === reason) ?? 'other';
}
