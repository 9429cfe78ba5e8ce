import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from 'pino';

/** Logged for the queue whose worker runs effects alone, as intended. */
const NO_WORKFLOWS = 'No workflows registered, not polling for workflow tasks';

/**
 * Turns warnings of the Temporal SDK into lines of our log: above all each failed attempt at an
 * effect, whose retries show nowhere else. The SDK's metadata is cut to ids, activity type and
 * attempt, and the error to the output of `describeError`.
 */
export function sdkLogger(log: Pick<Logger, 'warn' | 'error'>): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (message === NO_WORKFLOWS) return;
    const { error, workflowId, runId, workflowRunId, activityType, attempt } = meta ?? {};
    const line = { err: error as unknown, workflowId, runId: runId ?? workflowRunId, activityType, attempt };
    log[level === 'ERROR' ? 'error' : 'warn'](line, message);
  });
}
