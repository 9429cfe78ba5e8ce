const ENDS = ['completed', 'cancelled', 'failed'] as const;
type Ended = (typeof ENDS)[number];

export const LIVE_STATUSES = ['active', 'paused', 'suspended', 'past_due'] as const;
export const SCHEDULE_STATUSES = [...LIVE_STATUSES, ...ENDS] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/** The status that follows from a schedule's facts; earlier checks win. */
export function statusOf(facts: {
  ended: Ended | null;
  suspended: boolean;
  paused: boolean;
  /** A billing was declined at least once and has not ended yet. */
  overdue: boolean;
}): ScheduleStatus {
  if (facts.ended !== null) return facts.ended;
  if (facts.suspended) return 'suspended';
  if (facts.paused) return 'paused';
  return facts.overdue ? 'past_due' : 'active';
}

export function hasEnded(status: ScheduleStatus): status is Ended {
  return (ENDS as readonly ScheduleStatus[]).includes(status);
}

/** Why a schedule is suspended: the first that holds. */
export const SUSPENDED_REASONS = [
  'not_approved',
  'consent_not_yet_valid',
  'consent_expired',
  'consent_paused',
  'merchant_not_trusted',
  'party_disabled',
] as const;
export type SuspendedReason = (typeof SUSPENDED_REASONS)[number];

interface Consent {
  decision: string;
  blocked: boolean;
  currency: string;
}

/** Whether the customer agreed to recurring charges, if not at this moment. */
export function agreed({ decision, blocked, currency: agreedIn }: Consent, currency: string): boolean {
  return decision === 'approve_recurring' && !blocked && agreedIn === currency;
}

interface Standing extends Consent {
  /** The span of the agreement that now lies in. */
  span: 'consent_not_yet_valid' | 'consent_expired' | 'consent_paused' | null;
  merchantTrusted: boolean;
  merchantActive: boolean;
  bankActive: boolean;
}

/**
 * The action that an agreement permits to a schedule, or the reason to suspend it. A schedule needs
 * standing approval in its currency, now in force; a trusted, active merchant; and an active bank.
 * A denial is for good.
 */
export function permitted(agreement: Standing, currency: string): 'charge' | 'cancel' | SuspendedReason {
  if (agreement.decision === 'deny' || agreement.blocked) return 'cancel';
  if (!agreed(agreement, currency)) return 'not_approved';
  if (agreement.span !== null) return agreement.span;
  if (!agreement.merchantTrusted) return 'merchant_not_trusted';
  return agreement.merchantActive && agreement.bankActive ? 'charge' : 'party_disabled';
}
