/**
 * The `sequence` of a webhook's item: each receiver's webhooks about one resource count from 1
 * without gaps. A receiver so tells which is newer, and notices one that is missing.
 *
 * Numbers of charges, intents and refunds follow from the row. Agreements, schedules and exceptions
 * count in a column `announced`. A webhook that is always first has its 1 where it is announced.
 */

/** The biller is the merchant, or the payee's bank; `bankId` is the payer's bank. */
interface Charge {
  billerId: string;
  bankId: string;
}

/** A bank with both payer and payee as customers gets the webhooks of both sides. */
const isBothSides = ({ billerId, bankId }: Charge) => billerId === bankId;

/** `billing.response` or `billing.credit` to the biller: after the question, if it got that too. */
export function chargeEndSequence(charge: Charge, wasAsked: boolean): number {
  return (isBothSides(charge) && wasAsked ? 1 : 0) + 1;
}

/**
 * `billing.closed` to the payer's bank: after the question, and the end if it is the biller too.
 */
export function chargeClosedSequence(charge: Charge, wasAsked: boolean): number {
  return (wasAsked ? 1 : 0) + (isBothSides(charge) ? 1 : 0) + 1;
}

/**
 * `billing.reversed` to the biller: after the question, if it was asked that too; the end, unless
 * its credit was withdrawn; and each earlier reversal.
 */
export function reversalSequence(
  charge: Charge & { creditWithdrawn: boolean; earlierReversals: number },
): number {
  const { creditWithdrawn, earlierReversals } = charge;
  return (isBothSides(charge) ? 1 : 0) + (creditWithdrawn ? 0 : 1) + earlierReversals + 1;
}

/** `billing.intent.closed` to the bank: after the question, if it was asked. */
export function intentClosedSequence(wasAsked: boolean): number {
  return (wasAsked ? 1 : 0) + 1;
}

/** `refund.request` to the bank: each reminder repeats it, and counts on. */
export function refundRequestSequence({ reminders }: { reminders: number }): number {
  return reminders + 1;
}

interface Refund {
  overdue: boolean;
  wasRejected: boolean;
  status: string;
}

/**
 * `refund.response` to the merchant: the end counts after the notice of a delay, and after a
 * mistaken rejection.
 */
export function refundResponseSequence({ overdue, wasRejected, status }: Refund): number {
  return (overdue && status !== 'pending' ? 1 : 0) + (wasRejected ? 1 : 0) + 1;
}

/** `refund.returned` to the merchant: after the refund's end. */
export function refundReturnedToMerchantSequence(refund: Refund): number {
  return refundResponseSequence(refund) + 1;
}

/** `refund.returned` to the bank: after the last request. */
export function refundReturnedToBankSequence(refund: { reminders: number }): number {
  return refundRequestSequence(refund) + 1;
}
