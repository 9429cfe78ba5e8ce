import type {
  ReconciliationException,
  ReconciliationExceptionWithEvents,
  Schedule,
  TransactionWithEvents,
} from '../../../packages/client/src/api.generated';

/* Words for the API's codes. A code that is new to this page is shown as it is. */

/** In a map, for a bank may write `constructor`, which each object has. */
export const REASONS = new Map([
  ['cancelled', 'Cancelled by the merchant'],
  ['denied', 'The customer said no'],
  ['expired', 'No answer in time'],
  ['insufficient_funds', 'Not enough money'],
  ['limit_reached', 'A limit of the customer'],
  ['not_delivered', 'The bank was never reached'],
  ['other', 'Other reasons of the bank'],
  ['suspended', 'Suspended by the customer'],
  ['temporarily_unavailable', 'The bank was unavailable'],
]);

export const reasonInWords = (reason: string) => REASONS.get(reason) ?? reason;

const WHY = new Map([
  ['cancelled', 'It was cancelled before the customer approved it. No money moved.'],
  ['denied', 'The customer was asked, and refused. No money moved.'],
  ['expired', 'No answer came in time. The bank may have debited all the same: the exception tells.'],
  ['insufficient_funds', 'The bank found too little money in the account.'],
  ['limit_reached', 'It goes beyond a spending limit that the customer has set.'],
  ['not_delivered', 'The bank was not reached at any attempt, so no money moved.'],
  ['suspended', 'The customer has suspended payments to this merchant.'],
  ['temporarily_unavailable', 'The bank could not work on it at that time. It may succeed later.'],
]);

/** A sentence more about a decline than its reason. */
export const whyDeclined = ({
  declineReason,
  bankName,
}: Pick<TransactionWithEvents, 'declineReason' | 'bankName'>): string =>
  WHY.get(declineReason ?? '') ?? `These are the words of ${bankName}.`;

export const TYPES: Record<TransactionWithEvents['type'], string> = {
  charge: 'Charge',
  refund: 'Refund',
  refund_return: 'Refund return',
  reversal: 'Reversal',
};

/** `past_due` as `Past due`. */
export const stateInWords = (state: string) =>
  state.charAt(0).toUpperCase() + state.slice(1).replaceAll('_', ' ');

const EVENTS: Record<string, string> = {
  'billing_request.accepted': 'The charge was accepted, and the bank asked for the money',
  'billing_request.successful': 'The bank debited the customer: the money moved',
  'billing_request.declined': 'The charge was declined',
  'billing_request.reversed': 'The charge was reversed: its money did not stay',
  'billing_request.credit_overdue': 'The payee’s bank was not told in time',
  'billing_request.answer_refused': 'The bank declined late, which changes nothing',
  'refund.requested': 'A refund was asked for, and the bank told to make it',
  'refund.overdue': 'The refund is overdue: the bank was reminded',
  'refund.completed': 'The bank sent the refund',
  'refund.rejected': 'The bank rejected the refund: the money can be refunded again',
  'refund.returned': 'The refund came back: its money can be refunded again',
  'refund.answer_refused': 'The bank answered again, which changes nothing',
  'reversal.completed': 'The reversal was booked',
  'exception.opened': 'An exception was opened: the bank’s word and the network’s may differ',
  'exception.updated': 'The bank has answered since',
  'exception.investigating': 'The operator looks into the exception',
  'exception.resolved': 'The exception was resolved',
  'exception.answer_refused': 'An answer to the exception was not taken',
};

export const eventInWords = ({
  type,
  declineReason,
  kind,
}: Pick<TransactionWithEvents['events'][number], 'type' | 'declineReason' | 'kind'>): string =>
  [
    EVENTS[type] ?? type,
    ...(declineReason === undefined ? [] : [reasonInWords(declineReason)]),
    ...(kind === undefined ? [] : [kindInWords(kind)]),
  ].join(': ');

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

/** For a merchant a customer has no name. */
export const customerOf = ({
  customerName,
  customerId,
}: {
  customerName?: string | null;
  customerId: string;
}) => customerName ?? `Customer …${customerId.slice(-6)}`;
