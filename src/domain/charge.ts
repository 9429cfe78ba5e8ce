import { Failure } from './failures';
import type { Decision } from './lifecycle';
import type { Limit, SpendingLimits } from './spending-limit';

interface Terms {
  decision: Decision;
  currency: string;
}

/** Why an agreement does not count a charge; the first that holds. */
export type ChargeRefusal =
  | 'not_approved'
  | 'currency_mismatch'
  | 'consent_not_yet_valid'
  | 'consent_expired'
  | 'consent_paused'
  | Limit;

const WHY_NOT = {
  pending: 'The customer has not yet approved billing by this merchant.',
  deny: 'The customer has denied billing by this merchant.',
  suspended: 'The customer has suspended billing by this merchant.',
} as const;

/**
 * The refusal of a charge under these terms, in words.
 *
 * @param charged currency of the charge
 */
export function chargeRefusal(
  refusal: ChargeRefusal,
  { decision, currency }: Terms,
  charged: string,
): Failure {
  switch (refusal) {
    case 'not_approved':
      return new Failure(refusal, WHY_NOT[decision as keyof typeof WHY_NOT]);
    case 'currency_mismatch':
      return new Failure(
        refusal,
        `This agreement bills in ${currency}, not in ${charged}. Send a new intent to change its currency.`,
      );
    case 'consent_not_yet_valid':
      return new Failure(refusal, 'The customer’s permission begins later.');
    case 'consent_expired':
      return new Failure(refusal, 'The customer’s permission has ended. Send a new intent.');
    case 'consent_paused':
      return new Failure('consent_paused', 'The customer has paused the permission.');
    default:
      return limitReached(refusal);
  }
}

const limitReached = (limit: Limit): Failure =>
  new Failure('limit_reached', 'A spending limit of the customer has been reached.', { data: { limit } });

/** The limit that refuses a charge, if one does. */
export const limitOf = ({ code, data }: Failure): Limit | undefined =>
  code === 'limit_reached' ? (data as { limit: Limit }).limit : undefined;

/**
 * Refuses a schedule whose charges would all be refused.
 *
 * @throws Failure limit_reached; consent_expired
 */
export function requireChargeable(
  { perCharge, validUntil }: SpendingLimits,
  { amount, startAt }: { amount: bigint; startAt: Date },
): void {
  if (validUntil !== null && startAt >= validUntil) {
    throw new Failure(
      'consent_expired',
      'The schedule would begin once the customer’s permission has ended.',
    );
  }
  if (perCharge !== null && amount > perCharge) throw limitReached('perCharge');
}

/** Whether the customer must approve this very charge; decides which window applies. */
export function approvalRequired(decision: Decision, merchantTrusted: boolean): boolean {
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
