import type {
  ReconciliationException,
  ReconciliationExceptionWithEvents,
  Schedule,
} from '../../../packages/client/src/api.generated';

/* Words for the API's codes. A code that is new to this page is shown as it is. */

const REASONS: Record<string, string> = {
  cancelled: 'Cancelled by the merchant',
  denied: 'The customer said no',
  expired: 'No answer in time',
  insufficient_funds: 'Not enough money',
  limit_reached: 'A limit of the customer',
  not_delivered: 'The bank was never reached',
  other: 'Other reasons of the bank',
  suspended: 'Suspended by the customer',
  temporarily_unavailable: 'The bank was unavailable',
};

export const reasonInWords = (reason: string) => REASONS[reason] ?? reason;

const KINDS: Record<ReconciliationException['kind'], string> = {
  unanswered: 'The bank did not answer in time',
  late_answer: 'The bank answered too late',
  conflicting_answer: 'The bank gave two different answers',
  duplicate_transaction_id: 'The bank’s transaction belongs to something else',
  refund_conflict: 'The bank gave two answers to a refund',
  credit_undelivered: 'The payee’s bank was not told of the money',
  unknown_here: 'On the bank’s statement, and not here',
  missing_at_bank: 'Settled here, and not on the bank’s statement',
  amount_differs: 'The bank’s statement has another amount',
};

export const kindInWords = (kind: ReconciliationException['kind']) => KINDS[kind] ?? kind;

const ANSWERS: Record<ReconciliationExceptionWithEvents['answers'][number]['says'], string> = {
  approved: 'It approved the charge',
  declined: 'It declined the charge',
  completed: 'It completed the refund',
  rejected: 'It rejected the refund',
};

export const answerInWords = (says: keyof typeof ANSWERS) => ANSWERS[says];

export type Resolution = NonNullable<ReconciliationException['resolution']>;

const RESOLUTIONS: Record<Resolution, string> = {
  no_money_moved: 'No money moved',
  reversed: 'The money was reversed',
  confirmed: 'The first answer stands',
  written_off: 'Written off by the network',
  no_difference: 'There was no difference',
};

export const resolutionInWords = (resolution: Resolution) => RESOLUTIONS[resolution] ?? resolution;

const EXCEPTION_EVENTS: Record<string, string> = {
  'exception.opened': 'It was opened',
  'exception.updated': 'The bank has answered since',
  'exception.investigating': 'The operator looks into it',
  'exception.resolved': 'It was resolved',
  'exception.answer_refused': 'An answer of the bank was not taken',
};

export const exceptionEventInWords = (type: string) => EXCEPTION_EVENTS[type] ?? type;

const TONES: Record<string, 'good' | 'wait' | 'bad'> = {
  successful: 'good',
  completed: 'good',
  delivered: 'good',
  resolved: 'good',
  active: 'good',
  pending: 'wait',
  investigating: 'wait',
  paused: 'wait',
  suspended: 'wait',
  open: 'bad',
  declined: 'bad',
  failed: 'bad',
  rejected: 'bad',
  returned: 'bad',
  past_due: 'bad',
};

export const toneOf = (state: string) => TONES[state] ?? '';

export const SCHEDULE_STATES: Record<Schedule['status'], string> = {
  past_due: 'Past due',
  suspended: 'Suspended',
  paused: 'Paused',
  failed: 'Failed',
  active: 'Active',
  completed: 'Completed',
  cancelled: 'Cancelled',
};
