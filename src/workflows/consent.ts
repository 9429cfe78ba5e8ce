import {
  continueAsNew,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ConsentActivities } from '../activities/consent';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';
import { local } from './local';
import { withSignals } from './signals';

const KEEP = 'See what has come; tell both sides: decision.updated, decision.expiring';
const REFUSAL = 'Cancellation refused: only the customer changes the permission.';

const { keepConsent } = proxyLocalActivities<ConsentActivities>(local(KEEP));

/** Activities in one run, of some five events each: a customer may pause and resume all day. */
const ACTIVITIES_PER_RUN = 200;
/** Longest single sleep: a span may end in thousands of years, and Temporal counts 292. */
const MAX_SLEEP_MS = 366 * 86_400_000;

/**
 * One agreement, as long as it changes by itself at a moment to come: the end of a pause, the begin
 * or the end of the span in which charges are accepted.
 *
 * @param agreementId the row is there before this starts
 * @returns what was done last, in words
 */
export async function consent(agreementId: string): Promise<string[]> {
  return withSignals(async (signals) => {
    for (let ran = 0; ran < ACTIVITIES_PER_RUN; ran++) {
      signals.forget();
      const { did, state, waitsFor, next } = await keepConsent(agreementId);
      setCurrentDetails(waitsFor);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: state }]);
      if (next === null && !signals.receivedAny()) return [...did, waitsFor];
      await signals.sleep(Math.min(next?.inMs ?? 0, MAX_SLEEP_MS), waitsFor, did);
    }
    return continueAsNew<typeof consent>(agreementId);
  }, REFUSAL);
}
