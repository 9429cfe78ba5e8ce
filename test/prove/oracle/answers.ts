import type { ChargeAnswer, RefundAnswer } from '../../storm/plan';
import type { Resolution } from '../plan';

export type ExceptionOfCharge = 'unanswered' | 'conflicting_answer';

interface OutcomeOf {
  status: 'successful' | 'declined';
  declineReason: string | null;
  /** Money may be in two places. */
  exception: ExceptionOfCharge | undefined;
}

const paid = { status: 'successful', declineReason: null, exception: undefined } as const;
const declined = (declineReason: string) =>
  ({ status: 'declined', declineReason, exception: undefined }) as const;
const inDoubt = (outcome: OutcomeOf, exception: ExceptionOfCharge) => ({ ...outcome, exception });

export const OUTCOMES: Record<ChargeAnswer, OutcomeOf> = {
  pay: paid,
  paySlowly: paid,
  payTwice: paid,
  payAgain: inDoubt(paid, 'conflicting_answer'),
  payThenDecline: inDoubt(paid, 'conflicting_answer'),
  declineThenPay: inDoubt(declined('account_closed'), 'conflicting_answer'),
  noFunds: declined('insufficient_funds'),
  noFundsFirst: declined('insufficient_funds'),
  unavailable: declined('temporarily_unavailable'),
  closedAccount: declined('account_closed'),
  // The late answer belongs to the exception of the silence.
  payTooLate: inDoubt(declined('expired'), 'unanswered'),
  silence: inDoubt(declined('expired'), 'unanswered'),
};

/** Each answer of the bank to a charge or a refund that is in doubt, in order. */
export const SAID: Partial<Record<ChargeAnswer | RefundAnswer, readonly string[]>> = {
  payAgain: ['approved', 'approved'],
  payThenDecline: ['approved', 'declined'],
  declineThenPay: ['declined', 'approved'],
  payTooLate: ['approved'],
  completeThenReject: ['completed', 'rejected'],
  rejectThenComplete: ['rejected', 'completed'],
};

/** All that its bank says is that it was paid: what it says of the money is of the second debit. */
export const isOfSecondDebit = (answer: ChargeAnswer): boolean => answer === 'payAgain';

/** Silence has no first answer that could stand. */
export const canBe = (resolution: Resolution, kind: string): boolean =>
  resolution !== 'confirmed' || kind === 'conflicting_answer';
