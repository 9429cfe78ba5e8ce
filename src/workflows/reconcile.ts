import { patched, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { MendedBooks, Reconciled, ReconcileActivities } from '../activities/reconcile';
import { counted } from '../domain/words/counted';

type WorkKind = keyof Reconciled['found'];

const options = {
  // All that is open is started again after a loss, which may be a million rows. A dead worker is
  // noticed by its heartbeat.
  startToCloseTimeout: '1h',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1m' },
} as const;
const { restartOverdue } = proxyActivities<ReconcileActivities>({
  ...options,
  summary: 'Start again what is past its moment and still open',
});
const { restartMissing } = proxyActivities<ReconcileActivities>({
  ...options,
  summary: 'Start again what is open and has no workflow',
});

const { mendBooks } = proxyActivities<ReconcileActivities>({
  ...options,
  summary: 'Write what is in one of two books alone',
});

/**
 * Once a minute, by a Temporal Schedule: finds work that nobody waits for any more, because its
 * workflow was terminated or Temporal has lost it, and has it started again.
 *
 * @returns what it found, in words, for who looks at it in the UI
 */
export async function reconcile(): Promise<string> {
  const overdue = await restartOverdue();
  const missing = await restartMissing();
  const said =
    `${inWords(overdue, 'overdue')}; ` +
    `${inWords(missing, 'without a workflow')} of ${missing.checked} that were looked at.` +
    // A run that began with an older version ends without it.
    (patched('books') ? ` ${ofBooks(await mendBooks())}` : '');
  setCurrentDetails(said);
  return said;
}

function inWords({ found, restarted }: Reconciled, what: string): string {
  const kinds = Object.entries(found).map(([kind, count]) => counted(count, kind as WorkKind));
  return kinds.length === 0 ? `nothing ${what}` : `${kinds.join(', ')} ${what}, ${restarted} started again`;
}

function ofBooks({ checked, found, mended }: MendedBooks): string {
  const wrong = Object.values(found).reduce((sum, one) => sum + one, 0);
  return wrong === 0
    ? `Nothing wrong in ${counted(checked, 'rows')} of the books.`
    : `${counted(wrong, 'things')} wrong in ${counted(checked, 'rows')} of the books, ${mended} mended; the log has their ids.`;
}
