import { reasonInWords } from '../parts/payment-words';
import type {
  Charge,
  Customer,
  Permission,
  SandboxState,
  Schedule,
  Step,
  Temperament,
} from '../../../sandbox/src/state';

/* The page's words for the codes of the API. */

export const TEMPERAMENTS: Record<Temperament, string> = {
  pays: 'has money',
  no_funds: 'has no money',
  refuses: 'says no to everything',
  silent: 'never answers charges',
  late: 'answers too late',
  contradicts: 'says yes, then no',
};

export const STEP_WORDS: Record<Step, string> = {
  P1D: '1 day',
  P1W: '1 week',
  P1M: '1 month',
  P3M: '3 months',
  P6M: '6 months',
  P1Y: '1 year',
};

const PERMISSIONS: Record<NonNullable<Customer['decision']>, string> = {
  pending: 'asked for permission, not answered yet',
  approve_once: 'wants to be asked each time',
  approve_recurring: 'has permitted charges, every time',
  deny: 'has refused',
  suspended: 'has stopped its permission for now',
};

export function permissionOf({ decision }: Customer): string {
  return decision === null ? 'was not asked for permission yet' : PERMISSIONS[decision];
}

const EXCEPTIONS = new Map([
  ['unanswered', 'the bank may have debited all the same: it has to say'],
  ['late_answer', 'the bank debited too late: it has to give the money back'],
  ['conflicting_answer', 'the bank has given two answers: it has to say which is true'],
]);

export function exceptionWords(kind: string): string {
  return EXCEPTIONS.get(kind) ?? kind.replaceAll('_', ' ');
}

/** Why a due date has no charge, as the end of a sentence. */
export function skipWords(reason: string | null): string {
  return reason === null ? '' : `: ${reason.replaceAll('_', ' ')}`;
}

/** A state in words, and whether it is good news. */
export interface Standing {
  words: string;
  tone: 'good' | 'bad' | 'wait' | '';
  mark: string;
}

export function standingOf(charge: Charge, { refunds }: Pick<SandboxState, 'refunds'>): Standing {
  const { status, declineReason, refundedAmount, amount, reference } = charge;
  if (status === 'pending') return { words: 'waits for the bank', tone: 'wait', mark: '…' };
  if (status === 'declined') {
    const words = `declined: ${reasonInWords(declineReason ?? 'other').toLowerCase()}`;
    return { words, tone: 'bad', mark: '✕' };
  }
  if (refundedAmount === 0) return { words: 'paid', tone: 'good', mark: '✓' };
  const isOpen = refunds.some((one) => one.originalReference === reference && one.status === 'pending');
  if (isOpen) return { words: 'paid, refund waits for the bank', tone: 'wait', mark: '↺' };
  return { words: refundedAmount === amount ? 'paid, refunded' : 'paid, part refunded', tone: '', mark: '↺' };
}

const SCHEDULES: Record<Schedule['status'], Standing> = {
  active: { words: 'active', tone: 'good', mark: '✓' },
  paused: { words: 'paused', tone: 'wait', mark: '‖' },
  suspended: { words: 'suspended', tone: 'wait', mark: '‖' },
  past_due: { words: 'past due: tried again', tone: 'bad', mark: '!' },
  completed: { words: 'completed', tone: '', mark: '✓' },
  cancelled: { words: 'cancelled', tone: '', mark: '✕' },
  failed: { words: 'failed', tone: 'bad', mark: '✕' },
};

export const PERMISSION_STATES: Record<Permission['state'], Standing> = {
  active: { words: 'active', tone: 'good', mark: '✓' },
  pending: { words: 'not answered yet', tone: 'wait', mark: '…' },
  paused: { words: 'paused', tone: 'wait', mark: '‖' },
  suspended: { words: 'stopped for now', tone: 'wait', mark: '‖' },
  not_yet_valid: { words: 'not begun', tone: 'wait', mark: '…' },
  expired: { words: 'over', tone: '', mark: '✕' },
  revoked: { words: 'refused', tone: 'bad', mark: '✕' },
};

/** @param charges newest first */
export function scheduleStanding(
  { scheduleId, status, suspendedReason }: Schedule,
  charges: readonly Charge[],
): Standing {
  const latest = charges.find((charge) => charge.scheduleId === scheduleId);
  if (status === 'active' && latest?.status === 'declined') {
    return { words: 'active, the latest charge was declined', tone: 'bad', mark: '!' };
  }
  const standing = SCHEDULES[status];
  if (suspendedReason === null) return standing;
  return { ...standing, words: `${standing.words}: ${reasonInWords(suspendedReason).toLowerCase()}` };
}
