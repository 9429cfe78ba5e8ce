import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import { refundState, remindBank } from '../database/refund-outcome';
import type { Moment } from '../domain/moment';
import { telling, type Tell, type Told } from './telling';

interface SettledRefund {
  status: string;
  /** When the bank is next reminded; null once the refund has ended. */
  next: Moment | null;
}

export interface RefundActivities {
  /** Reminds the bank if it is time to, tells what is to be told, and says what is left to wait for. */
  settleRefund(refundId: string, carrier: string): Promise<SettledRefund & Told>;
}

export function createRefundActivities(
  db: Database,
  keyring: Keyring,
  timeZone: string,
  tell: Tell,
): RefundActivities {
  return {
    settleRefund: (refundId, carrier) =>
      telling(tell, carrier, async () => {
        const before = await refundState(db, refundId);
        if (before.next === null || before.next.inMs > 0) return before;
        await db.transaction((trx) => remindBank(trx, keyring, timeZone, refundId));
        return refundState(db, refundId);
      }),
  };
}
