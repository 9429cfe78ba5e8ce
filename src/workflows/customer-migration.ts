import {
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { CustomerMigrationActivities } from '../activities/customer-migration';
import type { WebhookActivities } from '../activities/webhook';
import { local } from './local';
import { CUSTOMER_MIGRATION_TASK_QUEUE } from '../domain/workflow/messages';
import { SEARCH_ATTRIBUTE } from '../temporal/search-attribute-keys';

const { onboardPage } = proxyActivities<CustomerMigrationActivities>({
  taskQueue: CUSTOMER_MIGRATION_TASK_QUEUE,
  // A page takes some ten milliseconds; after this long another worker takes up the page of one
  // that died.
  startToCloseTimeout: '15s',
  // The possible failures are Postgres, which comes back, and a key missing in the ring until
  // somebody adds it.
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});
const { deliverFirstAttempts } = proxyLocalActivities<WebhookActivities>(
  local('First attempt of each new webhook'),
);

/**
 * A large batch of customers: onboards them page by page, and tells the bank when all are done.
 *
 * The database keeps the batch's progress, so a page is onboarded once despite retries. Each page
 * is an activity of its own, which operators see in the history: at most 40, in a readable history.
 *
 * @param batchId the batch and its pages exist before this starts
 */
export async function customerMigration(batchId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  let summary = 'Onboard the first customers';
  for (;;) {
    const { status, done, total, counts } = await onboardPage.executeWithOptions({ summary }, [batchId]);
    if (status !== 'processing') {
      await deliverFirstAttempts(workflowId, ['migration.completed']);
      setCurrentDetails(`The batch is ${status}: ${counts}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`${done} of ${total} done: ${counts}.`);
    summary = `Onboard the next customers, after ${done} of ${total}`;
  }
}
