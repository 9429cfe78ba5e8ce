import type {
  ReconciliationException,
  ReconciliationExceptionWithEvents,
  FoundSchedule,
  Schedule,
  Subscription,
  Transaction,
  TransactionWithEvents,
} from '../../../client/src/api.generated';
import { money } from '../parts/money';

/* Words for the API's codes. A code that is new to this page is shown as it is. */

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

/** The parts of a charge that go back, also while a refund waits: `Refund in part: NGN 0.40`. */
export const partsBack = ({ amount, refundedAmount, reversedAmount, currency }: Transaction) =>
  Object.entries({ Refund: refundedAmount, Reversal: reversedAmount })
    .filter(([, part]) => part > 0)
    .map(([what, part]) => `${what} in ${part === amount ? 'whole' : 'part'}: ${money(part, currency)}`);

/** `past_due` as `Past due`. */
export const stateInWords = (state: string) =>
  state.charAt(0).toUpperCase() + state.slice(1).replaceAll('_', ' ');

export const ANSWERS: Record<ReconciliationExceptionWithEvents['answers'][number]['says'], string> = {
  approved: 'It approved the charge',
  declined: 'It declined the charge',
  completed: 'It completed the refund',
  rejected: 'It rejected the refund',
};

export type Resolution = NonNullable<ReconciliationException['resolution']>;

const RESOLUTIONS: Record<Resolution, string> = {
  no_money_moved: 'No money moved',
  reversed: 'The money was reversed',
  confirmed: 'The first answer stands',
  written_off: 'Written off by the network',
  no_difference: 'There was no difference',
};

export const resolutionInWords = (resolution: Resolution) => RESOLUTIONS[resolution] ?? resolution;

/** `NGN 90.00, a debit`, or `no debit`; undefined where no file of the bank is in question. */
export function bookedInWords({
  bookedAmount,
  bookedCurrency,
  direction,
}: ReconciliationException): string | undefined {
  if (direction === null) return undefined;
  return bookedAmount === null || bookedCurrency === null
    ? `no ${direction}`
    : `${money(bookedAmount, bookedCurrency)}, a ${direction}`;
}

/** As the end of a sentence. */
export function endedBy(bank: string, cause: string): string {
  if (cause === 'bank') return `by the word of ${bank}`;
  return cause === 'operator' ? 'by the network’s operator' : 'by itself: what came later explains it';
}

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
  not_yet_valid: 'wait',
  expired: 'bad',
  revoked: 'bad',
  failed: 'bad',
  rejected: 'bad',
  returned: 'bad',
  past_due: 'bad',
};

export const toneOf = (state: string) => TONES[state] ?? '';

/** For a merchant a customer has no name. */
export const customerOf = ({
  customerName,
  customerId,
}: {
  customerName?: string | null;
  customerId: string;
}) => customerName ?? `Customer …${customerId.slice(-6)}`;

type Listed = FoundSchedule | Schedule | Subscription;

export const merchantOf = (one: Listed) => ('merchant' in one ? one.merchant.name : one.merchantName);

/** `monthly, every 2`. */
export const rhythmOf = ({ interval, frequency }: Listed) =>
  interval === 1 ? frequency : `${frequency}, every ${interval}`;
