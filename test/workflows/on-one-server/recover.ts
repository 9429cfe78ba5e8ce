import { randomUUID } from 'node:crypto';
import type { Recovered, RecoverActivities } from '../../../src/activities/recover';
import { TASK_QUEUE } from '../../../src/domain/workflow/messages';
import { withWorker } from '../../support/workflow-worker';
import { newEnvironment } from './server';

describe('the workflow that reconciles', () => {
  let environment: ReturnType<typeof newEnvironment>;
  const nothing: Recovered = { checked: 0, found: {}, restarted: 0 };

  beforeEach(() => {
    environment = newEnvironment();
  });
  const run = (activities: RecoverActivities) =>
    withWorker(environment, activities, () =>
      environment.client.workflow.execute('reconcile', {
        workflowId: `reconcile-${randomUUID()}`,
        taskQueue: TASK_QUEUE,
      }),
    );

  it('says what was overdue and what had no workflow, for who reads it in the UI', async () => {
    const said = await run({
      restartOverdue: () => Promise.resolve({ checked: 3, found: { intents: 1, charges: 2 }, restarted: 2 }),
      restartMissing: () => Promise.resolve({ ...nothing, checked: 40 }),
    });
    expect(said).toBe(
      '1 intent, 2 charges overdue, 2 started again; nothing without a workflow of 40 that were looked at.',
    );
  });

  it('goes on when Postgres is back, should it be away for an hour', async () => {
    const backAtMs = (await environment.currentTimeMs()) + 3_600_000;
    const said = await run({
      async restartOverdue() {
        if ((await environment.currentTimeMs()) < backAtMs) throw new Error('Postgres does not answer');
        return nothing;
      },
      restartMissing: () => Promise.resolve(nothing),
    });
    expect(said).toMatch(/^nothing overdue/);
  });
});
