import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Recovered, RecoverActivities } from '../activities/recover';
import { counted } from '../domain/words/counted';

type WorkKind = keyof Recovered['found'];

const options = {
  // All that is open is started again after a loss, which may be a million rows. A dead worker is
  // noticed by its heartbeat.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
} as const;
const { restartOverdue } = proxyActivities<RecoverActivities>({
  ...options,
  summary: 'Start again what is past its moment and still open',
});
const { restartMissing } = proxyActivities<RecoverActivities>({
  ...options,
  summary: 'Start again what is open and has no workflow',
});

/**
 * Runs once a minute, by a Temporal Schedule. It starts open work again that is overdue, or whose
 * workflow was terminated or lost by Temporal.
 *
 * @returns what it found, in words, for readers of the Temporal UI
 */
export async function recover(): Promise<string> {
  const overdue = await restartOverdue();
  const missing = await restartMissing();
  const said =
    `${inWords(overdue, 'overdue')}; ` +
    `${inWords(missing, 'without a workflow')} of ${missing.checked} that were looked at.`;
  setCurrentDetails(said);
  return said;
}

function inWords({ found, restarted }: Recovered, what: string): string {
  const kinds = Object.entries(found).map(([kind, count]) => counted(count, kind as WorkKind));
  return kinds.length === 0 ? `nothing ${what}` : `${kinds.join(', ')} ${what}, ${restarted} started again`;
}
