import type { Database } from '../database/connection';
import type { Keyring } from '../database/keys/keyring';
import { refundState, remindBank } from '../database/refund/outcome';
import type { Moment } from '../domain/moment';

interface RefundState {
  status: string;
  /** When the bank is next reminded; null once the refund has ended. */
  next: Moment | null;
}

export interface RefundActivities {
  readRefund(refundId: string): Promise<RefundState>;
  /** Writes down that the bank is asked once more, where it is time to. What it announces is still to be sent. */
  remindBank(refundId: string): Promise<void>;
}

export function createRefundActivities(db: Database, keyring: Keyring, timeZone: string): RefundActivities {
  return {
    readRefund: (refundId) => refundState(db, refundId),
    remindBank: (refundId) => db.transaction((trx) => remindBank(trx, keyring, timeZone, refundId)),
  };
}
