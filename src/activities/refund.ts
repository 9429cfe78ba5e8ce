import type { Database } from '../database/pool/connection';
import { markRefundWaiting, refundState, type RefundState } from '../database/refund/settle-refund';
import { reasonForAudit } from '../domain/charge';
import { inMoney } from '../domain/money';
import { spanInWords } from '../domain/words/span';
import type { Moment } from '../domain/workflow/moment';
import { remindBank } from '../database/refund/remind-bank';

/** The state of a refund, for its workflow and for readers of its history. */
interface Refunded {
  /** In words. */
  did: string;
  status: string;
  /** Reminders sent to its bank so far. */
  reminders: number;
  /** When the bank is next reminded; null once the refund has ended. */
  next: Moment | null;
}

export type RefundActivities = ReturnType<typeof createRefundActivities>;

export function createRefundActivities(db: Database) {
  return {
    /** An open refund signals its bank's answer from now on. */
    async readRefund(refundId: string): Promise<Refunded> {
      return refunded(await markRefundWaiting(db, refundId));
    },
    /**
     * Records that the bank is asked again, where a reminder is due. The caller sends the
     * announcements.
     */
    async remindBank(refundId: string): Promise<Refunded> {
      await db.transaction((trx) => remindBank(trx, refundId));
      return refunded(await refundState(db, refundId));
    },
  };
}

function refunded(state: RefundState): Refunded {
  return { did: inWords(state), status: state.status, reminders: state.reminders, next: state.next };
}

function inWords({
  reference,
  bankName,
  amount,
  currency,
  status,
  reminders,
  rejectReason,
  next,
  afterS,
}: RefundState): string {
  if (next !== null) {
    const reminded = reminders === 1 ? '; it was reminded once' : `; it was reminded ${reminders} times`;
    return `${bankName} has not answered yet${reminders === 0 ? '' : reminded}.`;
  }
  const why = rejectReason === null ? '' : ` (${reasonForAudit(rejectReason)})`;
  const sum = inMoney({ amount, currency });
  return `${bankName} has ${status} the refund${why} after ${spanInWords(afterS * 1000)}: ${sum}, reference ${reference}.`;
}
