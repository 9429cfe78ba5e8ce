import { keepConsent, type Kept } from '../database/decision/keep-consent';
import type { Database } from '../database/pool/connection';
import { formatInstant } from '../domain/calendar';
import type { Moment } from '../domain/workflow/moment';

interface ConsentState {
  did: string[];
  state: string;
  /** In words. */
  waitsFor: string;
  /** Null where the agreement waits for nothing. */
  next: Moment | null;
}

export type ConsentActivities = ReturnType<typeof createConsentActivities>;

const DID: Record<Kept['did'][number], string> = {
  'agreement.resumed': 'The customer’s pause is over: decision.updated goes to both sides.',
  'agreement.expired': 'The permission has ended: decision.updated goes to both sides.',
  'agreement.expiring': 'The permission is about to end: decision.expiring goes to both sides.',
};

export function createConsentActivities(db: Database) {
  return {
    /** Acts on the moments of an agreement that have come. */
    async keepConsent(agreementId: string): Promise<ConsentState> {
      const { did, state, actsAt, inMs } = await db.transaction((trx) => keepConsent(trx, agreementId));
      const next = actsAt && { inMs, at: formatInstant(actsAt) };
      const until = next ? `something is due at ${next.at}` : 'nothing is to come';
      return {
        did: did.map((event) => DID[event]),
        state,
        waitsFor: `The permission is ${state}; ${until}.`,
        next,
      };
    },
  };
}
