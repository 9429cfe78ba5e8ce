/** The states of a recurring schedule, and what puts it there. */

export type ScheduleStatus =
  'active' | 'paused' | 'suspended' | 'past_due' | 'completed' | 'cancelled' | 'failed';

export type Ended = Extract<ScheduleStatus, 'completed' | 'cancelled' | 'failed'>;

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
  return status === 'completed' || status === 'cancelled' || status === 'failed';
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
