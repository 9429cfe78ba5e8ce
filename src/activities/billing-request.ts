import { closeExpiredRequests } from '../database/billing-request-outcome';
import { openOfWorkflow, openRequests } from '../database/billing-request-read';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';
import type { Moment } from '../domain/moment';
import { telling, type Tell, type Told } from './telling';

export interface SettledRequests {
  /** How many are still waiting for their bank. */
  open: number;
  /** For operators: the status of the one charge, or `closed` for several that have all ended. */
  status: string;
  /** When the next window closes; null when nothing is open. */
  nextClose: Moment | null;
}

export interface BillingRequestActivities {
  /**
   * Declines those of the requests whose window has passed, tells of it, and says what is left to wait for.
   *
   * @param billingRequestIds none for those of the carrier that are open
   */
  settleRequests(billingRequestIds: string[], carrier: string): Promise<SettledRequests & Told>;
}

export function createBillingRequestActivities(
  db: Database,
  keyring: Keyring,
  tell: Tell,
): BillingRequestActivities {
  return {
    settleRequests: (billingRequestIds, carrier) =>
      telling(tell, carrier, async () => {
        const ids = billingRequestIds.length > 0 ? billingRequestIds : await openOfWorkflow(db, carrier);
        const before = await openRequests(db, ids);
        if (before.due === 0) return before;
        await db.transaction((trx) => closeExpiredRequests(trx, keyring, ids));
        return openRequests(db, ids);
      }),
  };
}
