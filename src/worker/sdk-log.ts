import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from 'pino';

/**
 * What the Temporal SDK has to say, as lines of our log: above all each failed attempt at an effect, which is
 * retried for as long as it fails and shows nowhere else. Of what the SDK adds, only what tells which one it was,
 * and the error as `describeError` lets it through.
 */
export function sdkLogger(log: Pick<Logger, 'warn' | 'error'>): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    const { error, workflowId, runId, workflowRunId, activityType, attempt } = meta ?? {};
    const line = { err: error as unknown, workflowId, runId: runId ?? workflowRunId, activityType, attempt };
    log[level === 'ERROR' ? 'error' : 'warn'](line, message);
  });
}
