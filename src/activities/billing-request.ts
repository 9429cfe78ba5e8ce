import { closeExpired } from '../database/billing-request-outcome';
import { openRequests } from '../database/billing-request-read';
import type { Database } from '../database/connection';
import type { Keyring } from '../database/keyring';

export interface SettledRequests {
  /** How many are still waiting for their bank. */
  open: number;
  /** For operators: the status of the one charge, or `closed` for several that have all ended. */
  status: string;
  /** Until the next window closes, by the merchant's clock; 0 when nothing is open. */
  closesInMs: number;
}

export interface BillingRequestActivities {
  /** Declines the requests of this workflow whose window has passed, and says what is left to wait for. */
  settleRequests(workflowId: string): Promise<SettledRequests>;
}

export function createBillingRequestActivities(db: Database, keyring: Keyring): BillingRequestActivities {
  return {
    async settleRequests(workflowId) {
      const before = await openRequests(db, workflowId);
      if (before.due === 0) return before;
      await db.transaction((trx) => closeExpired(trx, keyring, workflowId));
      return openRequests(db, workflowId);
    },
  };
}
