import { closeExpiredRequests } from '../database/billing-request-outcome';
import { openOfWorkflow, openRequests } from '../database/billing-request-read';
import type { Database } from '../database/connection';
import { noteOverdueCredits } from '../database/customer-payment-credit';
import type { Keyring } from '../database/keyring';
import type { Moment } from '../domain/moment';
import { telling, type Tell, type Told } from './telling';

export interface SettledRequests {
  /** How many are still waiting for their bank. */
  open: number;
  /** For operators: the status of the one charge, or `closed` for several that have all ended. */
  status: string;
  /** When the next window closes, or a credit is overdue; null when there is nothing to wait for. */
  nextClose: Moment | null;
}

export interface BillingRequestActivities {
  /**
   * Declines those of the requests whose window has passed, notes which payees' banks have not heard of their money for too
   * long, tells of it, and says what is left to wait for.
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
    async settleRequests(billingRequestIds, carrier) {
      const ids = billingRequestIds.length > 0 ? billingRequestIds : await openOfWorkflow(db, carrier);
      const look = await telling(tell, carrier, async () => {
        const before = await openRequests(db, ids);
        if (before.due + before.creditsDue === 0) return before;
        await db.transaction(async (trx) => {
          if (before.due > 0) await closeExpiredRequests(trx, keyring, ids);
          if (before.creditsDue > 0) await noteOverdueCredits(trx, ids);
        });
        return openRequests(db, ids);
      });
      // Most payees' banks have been told just now, and nothing is left to wait for.
      return look.credits === 0 ? look : { ...(await openRequests(db, ids)), told: true };
    },
  };
}
