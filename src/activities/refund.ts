import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import { refundState, remindBank } from '../database/refund-outcome';
import type { Moment } from '../domain/moment';

interface SettledRefund {
  status: string;
  /** When the bank is next reminded; null once the refund has ended. */
  next: Moment | null;
}

export interface RefundActivities {
  /** Reminds the bank if it is time to, and says what is left to wait for. */
  settleRefund(refundId: string): Promise<SettledRefund>;
}

export function createRefundActivities(db: Database, keyring: Keyring, timeZone: string): RefundActivities {
  return {
    async settleRefund(refundId) {
      const before = await refundState(db, refundId);
      if (before.next === null || before.next.inMs > 0) return before;
      await db.transaction((trx) => remindBank(trx, keyring, timeZone, refundId));
      return refundState(db, refundId);
    },
  };
}
