import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { ChainActivities, Chained } from '../activities/chain';
import { counted } from '../domain/words/counted';

const { chainBooks } = proxyActivities<ChainActivities>({
  summary: 'Chain what was written since, and sign how far that has come',
  // At first it is all that there ever was. A dead worker is noticed by its heartbeat.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

/**
 * Every five minutes, by a Temporal Schedule: what was written into the books since is chained, so
 * that whoever changes it later is found out.
 *
 * @returns what was chained, in words, for who looks at it in the UI
 */
export async function chain(): Promise<string> {
  const said = inWords(await chainBooks());
  setCurrentDetails(said);
  return said;
}

function inWords({ chained: { ledger, events, acts }, head }: Chained): string {
  const rows = `${ledger} of the ledger, ${counted(events, 'events')}, ${counted(acts, 'acts')}`;
  return head === null
    ? 'Nothing was written since the last head.'
    : `Chained ${rows}; signed as head ${head.number} of ${head.day}.`;
}
