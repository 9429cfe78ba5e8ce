import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { SWEPT, TASK_QUEUE, type Swept } from '../../../src/domain/workflow/messages';
import { withWorker } from '../../support/workflow-worker';
import { newEnvironment } from './server';

/** The reason for the failure of a workflow. */
const because = (error: { cause?: unknown }) => error.cause;

describe('the workflow that sweeps', () => {
  let environment: ReturnType<typeof newEnvironment>;
  let swept: Swept[];

  beforeEach(() => {
    environment = newEnvironment();
    swept = [];
  });
  const run = (batchOf: (kind: Swept) => boolean) =>
    withWorker(
      environment,
      {
        sweepAway(kind: Swept) {
          swept.push(kind);
          return batchOf(kind);
        },
      },
      () =>
        environment.client.workflow.execute('sweep', {
          workflowId: `sweep-${randomUUID()}`,
          taskQueue: TASK_QUEUE,
        }),
    );

  it('says what is left for the next run', async () => {
    expect(await run(() => false)).toBe('Nothing expired is left.');
    expect(await run((kind) => kind === 'webhooks')).toBe('The next run goes on with webhooks.');
  });

  it('waits for a Postgres that is away, in the same run', async () => {
    let isAway = true;
    const ended = await run(() => {
      if (!isAway) return false;
      isAway = false;
      throw new Error('Postgres does not answer');
    });
    expect(ended).toBe('Nothing expired is left.');
    expect(swept).toEqual([SWEPT[0], ...SWEPT]);
  });

  it('that fails for one kind of what has expired sweeps away all of the others, and says which', async () => {
    const failed = run((kind) => {
      if (kind === 'webhooks') throw ApplicationFailure.nonRetryable('no key');
      return false;
    });
    expect(await failed.catch(because)).toMatchObject({ message: 'An error stopped the sweep of webhooks.' });
    expect(swept).toEqual(SWEPT);
  });
});
