import type { Script } from '../parties/bank';
import type { Item } from '../parties/received-item';
import type { ChargeAnswer, IntentAnswer, RefundAnswer } from './plan';

/** What banks say, in the words of a plan. */
export interface Words {
  /** @param turn how often the bank has been asked for this, with this time */
  charge: (item: Item, turn: number) => ChargeAnswer;
  refund: (item: Item) => RefundAnswer;
  /** The limits of a standing approval; undefined where the intent is to be answered otherwise. */
  standing: (item: Item) => Record<string, unknown> | undefined;
}

/** Each operation of the storm says in its own text what comes of it. */
export const BY_DESCRIPTION: Words = {
  charge: (item, turn) => {
    const answer = wordOf(item['description']) as ChargeAnswer;
    return answer === 'noFundsFirst' ? (turn === 1 ? 'noFunds' : 'pay') : answer;
  },
  refund: (item) => wordOf(item['reason']) as RefundAnswer,
  standing(item) {
    // Before the storm: the standing approval, with the limit that the merchant's page says.
    const limit = /^limit (\d+)$/.exec(String(item['description']))?.[1];
    if (limit === undefined) return undefined;
    const daily = Number(limit) / 100;
    return daily > 0 ? { daily } : {};
  },
};

const CHARGE_STEPS: Record<ChargeAnswer, readonly string[]> = {
  pay: ['book', 'report'],
  paySlowly: ['book', 'wait', 'report'],
  payTwice: ['book', 'report', 'report'],
  payAgain: ['book', 'report', 'book', 'report'],
  payThenDecline: ['book', 'report', 'insufficient_funds'],
  declineThenPay: ['account_closed', 'book', 'report'],
  payTooLate: ['book', 'untilClosed', 'report'],
  noFunds: ['insufficient_funds'],
  noFundsFirst: ['insufficient_funds'],
  unavailable: ['temporarily_unavailable'],
  closedAccount: ['account_closed'],
  silence: [],
};
const REFUND_STEPS: Record<RefundAnswer, readonly string[]> = {
  complete: ['book', 'report'],
  completeSlowly: ['book', 'wait', 'report'],
  completeTwice: ['book', 'report', 'report'],
  completeThenReject: ['book', 'report', 'no account'],
  reject: ['no account'],
  rejectThenComplete: ['no account', 'book', 'report'],
  silence: [],
};
const INTENT_STEPS: Record<IntentAnswer, readonly string[]> = {
  approveOnce: ['approve_once'],
  approveRecurring: ['approve_recurring'],
  approveSlowly: ['wait', 'approve_once'],
  approveTwice: ['approve_once', 'approve_once'],
  approveThenDeny: ['approve_once', 'deny'],
  deny: ['deny'],
  silence: [],
};

export function scriptOf({ charge, refund, standing }: Words): Script {
  return {
    charge: (item, turn) => ({ steps: CHARGE_STEPS[charge(item, turn)] }),
    refund: (item) => ({ steps: REFUND_STEPS[refund(item)] }),
    intent(item) {
      const limits = standing(item);
      return limits
        ? { steps: ['approve_recurring'], limits }
        : { steps: INTENT_STEPS[wordOf(item['description']) as IntentAnswer] };
    },
  };
}

function wordOf(text: unknown): string | undefined {
  return /^storm \d+ (\w+)$/.exec(String(text))?.[1];
}
