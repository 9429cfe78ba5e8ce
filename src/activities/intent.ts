import type { Database } from '../database/pool/connection';
import { markIntentWaiting, type IntentState } from '../database/intent/read-intent';
import { spanInWords } from '../domain/words/span';
import type { Moment } from '../domain/workflow/moment';
import { closeExpiredIntent } from '../database/intent/end-intents';

/** The state of an intent, for its workflow and for readers of its history. */
interface Decided {
  /** The decision in words. */
  did: string;
  status: string;
  /** When its window closes; null once the intent has ended. */
  closes: Moment | null;
}

export type IntentActivities = ReturnType<typeof createIntentActivities>;

export function createIntentActivities(db: Database) {
  return {
    /** Declines the intent if its window has passed. An open intent signals its end from now on. */
    async readDecision(intentId: string): Promise<Decided> {
      const before = await markIntentWaiting(db, intentId);
      if (before.closes === null || before.closes.inMs > 0) return decided(before);
      await db.transaction((trx) => closeExpiredIntent(trx, intentId));
      return decided(await markIntentWaiting(db, intentId));
    },
  };
}

function decided(state: IntentState): Decided {
  const { status, reason, closes } = state;
  // An operator tells a missing decision apart from a customer’s no.
  return { did: inWords(state), status: reason === 'expired' ? reason : status, closes };
}

function inWords({ reference, status, reason, customerDecision, closes, afterS }: IntentState): string {
  if (closes !== null) return 'The customer has not decided yet.';
  const why = customerDecision ?? reason;
  return `The intent was ${status}${why === null ? '' : ` (${why})`} after ${spanInWords(afterS * 1000)}, reference ${reference}.`;
}
