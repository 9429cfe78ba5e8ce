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
  // A page takes some ten milliseconds; one whose worker died is taken up by another after this
  // long.
  startToCloseTimeout: '15s',
  // What may fail is Postgres, which comes back, or a key that the ring lacks until somebody puts
  // it there.
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});
const { deliverFirstAttempts } = proxyLocalActivities<WebhookActivities>(
  local('First attempt of each new webhook'),
);

/**
 * A large batch of customers: onboards them page by page, and tells the bank when all are done.
 *
 * How far it has come is in the database, so a page is onboarded once however often it is tried.
 * Each is an activity of its own, for an operator to see on the timeline: 40 of them at most, in
 * one readable history.
 *
 * @param batchId the batch and its pages are there before this starts
 */
export async function customerMigration(batchId: string): Promise<void> {
  const { workflowId } = workflowInfo();
  let summary = 'Onboard the first customers';
  for (;;) {
    const { status, done, total, counts } = await onboardPage.executeWithOptions({ summary }, [batchId]);
    if (status !== 'processing') {
      await deliverFirstAttempts(workflowId);
      setCurrentDetails(`The batch is ${status}: ${counts}.`);
      upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
      return;
    }
    setCurrentDetails(`${done} of ${total} done: ${counts}.`);
    summary = `Onboard the next customers, after ${done} of ${total}`;
  }
}
