import type { Database } from '../database/pool/connection';
import { onboardNextPage, type Batch } from '../database/customer/migrate-customers';
import { workflowIds } from '../domain/workflow/workflow-id';

interface MigrationProgress {
  status: Batch['status'];
  /** Entries behind it, onboarded or not. */
  done: number;
  total: number;
  /** Results of the page's entries, in words. */
  counts: string;
}

export type CustomerMigrationActivities = ReturnType<typeof createCustomerMigrationActivities>;

export function createCustomerMigrationActivities(db: Database) {
  return {
    /** Onboards the next page of the batch, if one is left, and says how far the batch has come. */
    async onboardPage(batchId: string): Promise<MigrationProgress> {
      const { status, summary } = await onboardNextPage(db, batchId, workflowIds.customerMigration(batchId));
      const { total, successful, failed, duplicates } = summary;
      return {
        status,
        done: successful + failed + duplicates,
        total,
        counts: `${successful} customers onboarded, ${failed} invalid, ${duplicates} duplicates`,
      };
    },
  };
}
