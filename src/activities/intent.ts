import type { Database } from '../database/connection';
import { closeExpiredIntent } from '../database/intent/outcome';
import { intentState } from '../database/intent/read';
import type { Keyring } from '../database/keys/keyring';
import type { Moment } from '../domain/moment';

interface IntentState {
  status: string;
  /** When its window closes; null once the intent has ended. */
  closes: Moment | null;
}

export interface IntentActivities {
  /** Declines the intent if its window has passed, and says what is left to wait for. */
  readDecision(intentId: string): Promise<IntentState>;
}

export function createIntentActivities(db: Database, keyring: Keyring): IntentActivities {
  return {
    async readDecision(intentId) {
      const before = await intentState(db, intentId);
      if (before.closes === null || before.closes.inMs > 0) return before;
      await db.transaction((trx) => closeExpiredIntent(trx, keyring, intentId));
      return intentState(db, intentId);
    },
  };
}
