import {
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BankFileActivities } from '../activities/bank-file';
import type { WebhookActivities } from '../activities/webhook';
import { local } from './local';
import { BANK_FILE_TASK_QUEUE } from '../domain/workflow/messages';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';

const steps = proxyActivities<BankFileActivities>({
  taskQueue: BANK_FILE_TASK_QUEUE,
  // The lines of a day take some minutes, and on a busy machine half an hour. A dead worker is
  // noticed by its heartbeat, which comes with each page.
  startToCloseTimeout: '2h',
  heartbeatTimeout: '30s',
  // The possible failures are Postgres, which comes back, and a key missing in the ring until
  // somebody adds it.
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});
const { deliverFirstAttempts } = proxyLocalActivities<WebhookActivities>(
  local('First attempt of each new webhook'),
);

/**
 * A bank's file. Its lines are matched with expected bookings, and the exceptions that they explain
 * end. Bookings that no file has, and differences, become exceptions, and both sides are told.
 *
 * @param statementId the file and its pages are there before this starts
 */
export async function bankFile(statementId: string): Promise<void> {
  await steps.matchLines.executeWithOptions({ summary: 'Match the lines' }, [statementId]);
  await steps.endExplained.executeWithOptions({ summary: 'End what the lines explain' }, [statementId]);
  await steps.findMissingAtBank.executeWithOptions({ summary: 'Find what the bank lacks' }, [statementId]);
  await steps.openExceptions.executeWithOptions({ summary: 'Open what differs' }, [statementId]);
  await deliverFirstAttempts(workflowInfo().workflowId, ['exception.opened']);
  const { status, counts } = await steps.completeBankFile.executeWithOptions(
    { summary: 'Complete the file' },
    [statementId],
  );
  setCurrentDetails(`The file is ${status}: ${counts}.`);
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
}
