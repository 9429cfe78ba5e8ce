import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DigestActivities, Digested } from '../activities/digest';
import { counted } from '../domain/words/counted';

const { keepDigests } = proxyActivities<DigestActivities>({
  summary: 'Work out the SHA-256 of long statements of days that are final',
  // One file takes as long as it has lines. A dead worker is noticed by its heartbeat.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '30s',
  // The run then fails, and says why. Its Schedule begins another within five minutes.
  retry: { initialInterval: '1s', maximumInterval: '1m', maximumAttempts: 3 },
});

/**
 * Every five minutes, by a Temporal Schedule: works out and keeps the SHA-256 of statements that
 * are too long for a call to do so, of each day that has become final. It is no part of `chain`,
 * which must not wait for a file of millions of lines.
 *
 * @returns what was kept, in words, for who looks at it in the UI
 */
export async function digest(): Promise<string> {
  const said = inWords(await keepDigests());
  setCurrentDetails(said);
  return said;
}

function inWords({ days, kept, lines, isMore }: Digested): string {
  if (days === 0 && kept === 0 && !isMore) return 'No other day has become final.';
  const what =
    kept === 0
      ? 'no long statement was without its SHA-256'
      : `kept the SHA-256 of ${counted(kept, 'statements')}, of ${counted(lines, 'lines')}`;
  return `Looked through ${counted(days, 'days')}: ${what}.${isMore ? ' The next run goes on.' : ''}`;
}
