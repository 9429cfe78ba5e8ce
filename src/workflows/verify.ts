import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { VerifiedNight, VerifyActivities } from '../activities/verify';
import { counted } from '../domain/words/counted';

const { verifyBooks } = proxyActivities<VerifyActivities>({
  summary: 'Compare the books with all that was written down beside them',
  // A million entries take a minute; of larger books a night compares hours at most.
  startToCloseTimeout: '12h',
  // The sums of one day are added up between two heartbeats.
  heartbeatTimeout: '5m',
  retry: { initialInterval: '1s', maximumInterval: '10m' },
});

/**
 * Each night, by a Temporal Schedule: `books verify`, whose result the operator is told of.
 *
 * @returns the result in words, for who looks at it in the UI
 */
export async function verify(): Promise<string> {
  const said = inWords(await verifyBooks());
  setCurrentDetails(said);
  return said;
}

function inWords({ checked, differences, isWhole }: VerifiedNight): string {
  const what = `${checked} things of ${isWhole ? 'all books' : 'the last days and one part'}`;
  return differences === 0
    ? `Compared ${what}: they are right.`
    : `Compared ${what}: ${counted(differences, 'differences')}, which "assent status" names.`;
}
