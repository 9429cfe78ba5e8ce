import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import { refundState, remindBank, type RefundState } from '../database/refund/outcome';
import { reasonForAudit } from '../domain/charge';
import { formatAmount } from '../domain/money';
import type { Moment } from '../domain/moment';

/** How it stands with a refund, for its workflow and for who reads its history. */
interface Refunded {
  /** In words. */
  did: string;
  status: string;
  /** When the bank is next reminded; null once the refund has ended. */
  next: Moment | null;
}

export interface RefundActivities {
  readRefund(refundId: string): Promise<Refunded>;
  /** Writes down that the bank is asked once more, where it is time to. What it announces is still to be sent. */
  remindBank(refundId: string): Promise<Refunded>;
}

export function createRefundActivities(db: Database, keyring: Keyring, timeZone: string): RefundActivities {
  async function readRefund(refundId: string): Promise<Refunded> {
    const state = await refundState(db, refundId);
    return { did: inWords(state), status: state.status, next: state.next };
  }
  return {
    readRefund,
    async remindBank(refundId) {
      await db.transaction((trx) => remindBank(trx, keyring, timeZone, refundId));
      return readRefund(refundId);
    },
  };
}

function inWords({
  reference,
  amount,
  currency,
  status,
  reminders,
  rejectReason,
  next,
  afterS,
}: RefundState): string {
  if (next !== null) return `The bank has not answered yet; it was reminded ${reminders} times.`;
  const why = rejectReason === null ? '' : ` (${reasonForAudit(rejectReason)})`;
  const sum = `${formatAmount(amount, currency)} ${currency}`;
  return `The bank has ${status} the refund${why} after ${afterS} s: ${sum}, reference ${reference}.`;
}
