import { sleep } from '@temporalio/workflow';

/** A charge's workflow as a version might have it that ours has nothing in common with. */
export async function billingRequest(): Promise<void> {
  await sleep('30 days');
}
