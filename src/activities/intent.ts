import type { Database } from '../database/connection';
import { closeExpiredIntent } from '../database/intent-outcome';
import { intentState } from '../database/intent-read';
import type { Keyring } from '../database/keyring';

export interface SettledIntent {
  status: string;
  /** Until the window closes, by the merchant's clock; null once the intent has ended. */
  closesInMs: number | null;
}

export interface IntentActivities {
  /** Declines the intent if its window has passed, and says what is left to wait for. */
  settleIntent(intentId: string): Promise<SettledIntent>;
}

export function createIntentActivities(db: Database, keyring: Keyring): IntentActivities {
  return {
    async settleIntent(intentId) {
      const before = await intentState(db, intentId);
      if (before.closesInMs === null || before.closesInMs > 0) return before;
      await db.transaction((trx) => closeExpiredIntent(trx, keyring, intentId));
      return intentState(db, intentId);
    },
  };
}
