import { Failure } from './failures';

/** What an agreement allows, as far as a charge is concerned; amounts in minor units. */
export interface Terms {
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
 * Why a charge under these terms was refused. The guarded UPDATE of the agreement's sums has
 * already said that it is; what none of the terms explains is therefore a spending limit, and the
 * merchant learns no more.
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

/** Whether the customer must say yes to this very charge, and so which window it waits for. */
export function approvalRequired(decision: Terms['decision'], merchantTrusted: boolean): boolean {
  return decision !== 'approve_recurring' || !merchantTrusted;
}

/** A bank's answer to a charge, whichever of its two forms it came in. */
export type BankAnswer =
  | { outcome: 'approved'; bankTransactionId: string; action: 'approve_once' | 'approve_recurring' | null }
  | { outcome: 'declined'; declineReason: string; action: 'deny' | 'suspended' | null };

/** Reason kept for a bank that declines by `action` and gives none itself. */
export const REASON_OF_ACTION = { deny: 'denied', suspended: 'suspended' } as const;

/** Reasons that are words of this network, whoever gives them. */
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

/** A reason of this network, and one for all that banks write in words of their own. */
export const KINDS_OF_REASON = [...KNOWN_REASONS, 'other'] as const;
export type KindOfReason = (typeof KINDS_OF_REASON)[number];

/**
 * A reason as the audit trail keeps it for good. What a bank writes in its own words may speak of a
 * person: it stays with the charge, where it can be erased.
 */
export function reasonForAudit(reason: string): KindOfReason {
  return KNOWN_REASONS.find((known) => known === reason) ?? 'other';
}
