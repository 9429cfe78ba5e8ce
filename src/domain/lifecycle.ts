import type { ScheduleStatus } from './recurring';

/**
 * Every state that a thing can be in, and the moves between them: each state with those that may
 * follow it. A state that nothing follows is final.
 *
 * The database repeats the states in its CHECK constraints; a move is made by one UPDATE that
 * names, through `statesBefore`, the states it may start from.
 */
export type Lifecycle<State extends string> = Readonly<Record<State, readonly State[]>>;

export type IntentStatus = 'pending' | 'approved' | 'declined' | 'superseded';

export const INTENT: Lifecycle<IntentStatus> = {
  pending: ['approved', 'declined', 'superseded'],
  approved: [],
  declined: [],
  superseded: [],
};

/** What the customer allows a merchant; on the wire `customerDecision`. */
export type Decision = 'pending' | 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

export const AGREEMENT: Lifecycle<Decision> = {
  pending: ['approve_once', 'approve_recurring', 'deny', 'suspended'],
  approve_once: ['approve_recurring', 'deny', 'suspended'],
  approve_recurring: ['approve_once', 'deny', 'suspended'],
  deny: ['approve_once', 'approve_recurring', 'suspended'],
  suspended: ['approve_once', 'approve_recurring', 'deny'],
};

export type BillingRequestStatus = 'pending' | 'successful' | 'declined';

export const BILLING_REQUEST: Lifecycle<BillingRequestStatus> = {
  pending: ['successful', 'declined'],
  successful: [],
  declined: [],
};

const SCHEDULE_END = ['completed', 'cancelled', 'failed'] as const;

export const SCHEDULE: Lifecycle<ScheduleStatus> = {
  active: ['past_due', 'paused', 'suspended', ...SCHEDULE_END],
  past_due: ['active', 'paused', 'suspended', ...SCHEDULE_END],
  // A rest does not settle a declined billing: the schedule comes back to where that billing puts
  // it.
  paused: ['active', 'past_due', 'suspended', ...SCHEDULE_END],
  suspended: ['active', 'past_due', 'paused', ...SCHEDULE_END],
  completed: [],
  cancelled: [],
  failed: [],
};

/** One due date of a schedule, with all attempts at charging it. */
export type BillingStatus = 'scheduled' | 'pending' | 'retrying' | 'successful' | 'failed' | 'skipped';

export const BILLING: Lifecycle<BillingStatus> = {
  scheduled: ['pending', 'skipped'],
  pending: ['successful', 'retrying', 'failed'],
  retrying: ['pending', 'failed'],
  successful: [],
  failed: [],
  skipped: [],
};

export type RefundStatus = 'pending' | 'completed' | 'rejected';

/**
 * Only its bank ends a refund; being overdue is no state of its own, for it may still go either
 * way.
 */
export const REFUND: Lifecycle<RefundStatus> = {
  pending: ['completed', 'rejected'],
  completed: [],
  rejected: [],
};

export type ExceptionState = 'open' | 'investigating' | 'resolved';

/** What one side has resolved stays so: what contradicts it later is another exception. */
export const EXCEPTION: Lifecycle<ExceptionState> = {
  open: ['investigating', 'resolved'],
  investigating: ['resolved'],
  resolved: [],
};

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** Nothing but its receiver's wish to have it once more moves a delivery out of its end. */
export const WEBHOOK_DELIVERY: Lifecycle<DeliveryStatus> = {
  pending: ['delivered', 'failed'],
  delivered: ['pending'],
  failed: ['pending'],
};

export function mayMove<State extends string>(lifecycle: Lifecycle<State>, from: State, to: State): boolean {
  return lifecycle[from].includes(to);
}

/** The states from which `to` can be reached in one move. */
export function statesBefore<State extends string>(lifecycle: Lifecycle<State>, to: State): State[] {
  return (Object.keys(lifecycle) as State[]).filter((from) => mayMove(lifecycle, from, to));
}

export function isFinal<State extends string>(lifecycle: Lifecycle<State>, state: State): boolean {
  return lifecycle[state].length === 0;
}
