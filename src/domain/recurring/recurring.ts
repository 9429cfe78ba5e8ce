/** The states of a recurring schedule, and what puts it there. */

/** What a schedule ends as, for good. */
export const SCHEDULE_ENDS = ['completed', 'cancelled', 'failed'] as const;
export type Ended = (typeof SCHEDULE_ENDS)[number];

export const SCHEDULE_STATUSES = ['active', 'paused', 'suspended', 'past_due', ...SCHEDULE_ENDS] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/** A schedule's status follows from these facts; what is further up in the order shows. */
export function statusOf(facts: {
  ended: Ended | null;
  suspended: boolean;
  paused: boolean;
  /** A billing has been declined at least once and has not ended yet. */
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

/** What the customer has agreed to, whoever the parties are and however they stand. */
export function agreed(
  agreement: { decision: string; blocked: boolean; currency: string },
  currency: string,
): boolean {
  return agreement.decision === 'approve_recurring' && !agreement.blocked && agreement.currency === currency;
}

/**
 * What an agreement lets a schedule do. A schedule needs the standing approval of its customer, in
 * its own currency, a merchant that the network trusts, and neither that nor the bank disabled; a
 * denial is for good.
 */
export function permitted(
  agreement: {
    decision: string;
    blocked: boolean;
    currency: string;
    merchantTrusted: boolean;
    merchantActive: boolean;
    bankActive: boolean;
  },
  currency: string,
): 'charge' | 'suspend' | 'cancel' {
  if (agreement.decision === 'deny' || agreement.blocked) return 'cancel';
  const partiesMay = agreement.merchantTrusted && agreement.merchantActive && agreement.bankActive;
  return partiesMay && agreed(agreement, currency) ? 'charge' : 'suspend';
}
