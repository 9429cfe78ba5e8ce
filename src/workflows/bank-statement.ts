import {
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BankStatementActivities, StatementProgress } from '../activities/bank-statement';
import type { WebhookActivities } from '../activities/webhook';
import { local } from './local';
import { BANK_STATEMENT_TASK_QUEUE } from './messages';
import { SEARCH_ATTRIBUTE } from './search-attributes';

const { matchLines, findMissingAtBank } = proxyActivities<BankStatementActivities>({
  taskQueue: BANK_STATEMENT_TASK_QUEUE,
  // One step takes some seconds, and on a busy machine some minutes. A dead worker is noticed by
  // its heartbeat, which comes with each page.
  startToCloseTimeout: '30m',
  heartbeatTimeout: '30s',
  // What may fail is Postgres, which comes back, or a key that the ring lacks until somebody puts
  // it there.
  retry: { initialInterval: '1s', maximumInterval: '1m' },
});
const { deliverFirstAttempts } = proxyLocalActivities<WebhookActivities>(
  local('First attempt of each new webhook'),
);

/**
 * A bank's file: matches its lines with what the bank is to book, and then looks for what none of
 * the bank's files has. What differs becomes exceptions, of which both sides are told.
 *
 * @param statementId the statement and its pages are there before this starts
 */
export async function bankStatement(statementId: string): Promise<void> {
  await repeated('Match the lines', matchLines, statementId);
  const { status, counts } = await repeated(
    'Look for what the bank lacks, and open what differs',
    findMissingAtBank,
    statementId,
  );
  setCurrentDetails(`The statement is ${status}: ${counts}.`);
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.status, value: status }]);
}

/** One step, until it has come to its end. */
async function repeated(
  summary: string,
  step: typeof matchLines,
  statementId: string,
): Promise<StatementProgress> {
  for (let more = ''; ;) {
    const progress = await step.executeWithOptions({ summary: summary + more }, [statementId]);
    await deliverFirstAttempts(workflowInfo().workflowId);
    if (progress.finished) return progress;
    const at = `${progress.done} of ${progress.lines}`;
    setCurrentDetails(`${at} lines done: ${progress.counts}.`);
    more = `, after ${at}`;
  }
}
