import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from 'pino';

/** Said of the queue whose worker runs effects alone, as it is meant to. */
const NO_WORKFLOWS = 'No workflows registered, not polling for workflow tasks';

/**
 * What the Temporal SDK has to say, as lines of our log: above all each failed attempt at an
 * effect, which is retried for as long as it fails and shows nowhere else. Of what the SDK adds,
 * only what tells which one it was, and the error as `describeError` lets it through.
 */
export function sdkLogger(log: Pick<Logger, 'warn' | 'error'>): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (message === NO_WORKFLOWS) return;
    const { error, workflowId, runId, workflowRunId, activityType, attempt } = meta ?? {};
    const line = { err: error as unknown, workflowId, runId: runId ?? workflowRunId, activityType, attempt };
    log[level === 'ERROR' ? 'error' : 'warn'](line, message);
  });
}
