import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { BooksActivities } from '../activities/books';

const { chainBooks } = proxyActivities<BooksActivities>({
  summary: 'Chain what was written since, and sign how far that has come',
  // The first run chains the whole history. A dead worker is noticed by its heartbeat.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});

const { verifyBooks } = proxyActivities<BooksActivities>({
  summary: 'Compare the books with all that was written down beside them',
  // A million entries take a minute; of larger books a night compares hours at most.
  startToCloseTimeout: '12h',
  // The sums of one day are added up between two heartbeats.
  heartbeatTimeout: '5m',
  retry: { initialInterval: '1s', maximumInterval: '10m' },
});

/**
 * Every five minutes, by a Temporal Schedule: what was written into the books since is chained, so
 * that a later change of it is found.
 */
export async function chain(): Promise<string> {
  return shown(await chainBooks());
}

/** Each night, by a Temporal Schedule: `books verify`, whose result the operator is told of. */
export async function verify(): Promise<string> {
  return shown(await verifyBooks());
}

function shown(said: string): string {
  setCurrentDetails(said);
  return said;
}
