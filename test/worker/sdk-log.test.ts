import { pino } from 'pino';
import { describeError } from '../../src/process/log';
import { sdkLogger } from '../../src/worker/sdk-log';

describe('a failed attempt at an effect', () => {
  it('is logged with its workflow, the effect and the reason, and nothing that only the SDK needs', () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino(
      { base: null, timestamp: false, serializers: { err: describeError } },
      { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    );
    sdkLogger(log).warn('Activity failed', {
      error: new Error('connection refused'),
      workflowId: 'recurring/sch_1',
      workflowRunId: 'run-1',
      activityType: 'advance',
      attempt: 7,
      taskToken: 'c2VjcmV0',
    });
    expect(lines).toEqual([
      {
        level: 40,
        msg: 'Activity failed',
        workflowId: 'recurring/sch_1',
        runId: 'run-1',
        activityType: 'advance',
        attempt: 7,
        err: expect.objectContaining({ type: 'Error', message: 'connection refused' }) as object,
      },
    ]);
  });
});

describe('the SDK’s word that a worker runs effects alone', () => {
  it('is not logged, for it is meant to, and every start would show a warning', () => {
    const lines: string[] = [];
    const log = pino({ write: (line: string) => void lines.push(line) });
    sdkLogger(log).warn('No workflows registered, not polling for workflow tasks');
    expect(lines).toEqual([]);
  });
});
