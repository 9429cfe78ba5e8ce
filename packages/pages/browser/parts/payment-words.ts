import type { ReconciliationException, TransactionWithEvents } from '../../../client/src/api.generated';

/* Words for what the API tells of a payment. A code that is new to a page is shown as it is. */

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

/** Reasons for which a schedule, or one of its billings, makes no charge. */
const UNCHARGED = new Map([
  ['consent_expired', 'The permission is over'],
  ['consent_not_yet_valid', 'The permission has not begun'],
  ['consent_paused', 'The customer has paused the merchant'],
  ['customer_skipped', 'Skipped by the customer'],
  ['merchant_not_trusted', 'The merchant is not trusted'],
  ['not_approved', 'Not approved by the customer'],
  ['party_disabled', 'The merchant or the bank is disabled'],
]);

export const reasonInWords = (reason: string) => REASONS.get(reason) ?? UNCHARGED.get(reason) ?? reason;

export const hasEnded = (schedule: string) => ['completed', 'cancelled', 'failed'].includes(schedule);

/** A held schedule skips what falls due. */
export const isHeld = (schedule: string) => schedule === 'paused' || schedule === 'suspended';

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
  'exception.opened': 'An exception was opened',
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
    // After the end its kind would read as its reason.
    ...(kind === undefined || type === 'exception.resolved' ? [] : [kindInWords(kind)]),
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
