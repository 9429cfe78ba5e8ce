export const SCHEDULE_ENDS = ['completed', 'cancelled', 'failed'] as const;
type Ended = (typeof SCHEDULE_ENDS)[number];

export const SCHEDULE_STATUSES = ['active', 'paused', 'suspended', 'past_due', ...SCHEDULE_ENDS] as const;
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
  return (SCHEDULE_ENDS as readonly ScheduleStatus[]).includes(status);
}

interface Consent {
  decision: string;
  blocked: boolean;
  currency: string;
  /** Now lies between `validFrom` and `validUntil`. */
  isValid: boolean;
}

/** Whether the customer agreed to recurring charges; the parties' own standing is not checked. */
export function agreed(
  { decision, blocked, currency: agreedIn, isValid }: Consent,
  currency: string,
): boolean {
  return decision === 'approve_recurring' && !blocked && agreedIn === currency && isValid;
}

/**
 * The action that an agreement permits to a schedule. A schedule needs the customer's standing
 * approval in its own currency, a merchant that the network trusts, and an active merchant and
 * bank. A denial is for good.
 */
export function permitted(
  agreement: Consent & { merchantTrusted: boolean; merchantActive: boolean; bankActive: boolean },
  currency: string,
): 'charge' | 'suspend' | 'cancel' {
  if (agreement.decision === 'deny' || agreement.blocked) return 'cancel';
  const partiesMay = agreement.merchantTrusted && agreement.merchantActive && agreement.bankActive;
  return partiesMay && agreed(agreement, currency) ? 'charge' : 'suspend';
}
