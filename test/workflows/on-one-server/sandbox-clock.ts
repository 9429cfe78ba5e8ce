import { activityInfo } from '@temporalio/activity';
import type { SandboxClockActivities } from '../../../src/activities/sandbox-clock';
import type { sandboxClock } from '../../../src/workflows';
import { TASK_QUEUE } from '../../../src/domain/workflow/messages';
import { withWorker } from '../../support/workflow-worker';
import { newEnvironment } from './server';

const OWNER = 'mch_00000000000000000000000001';
const TARGET = '2036-01-01T00:00:00.000Z';

describe('the workflow of an advance', () => {
  let environment: ReturnType<typeof newEnvironment>;

  beforeEach(() => {
    environment = newEnvironment();
  });

  /** @param fails whether the n-th call, counted from 1, ends like one whose worker died */
  async function advance(moves: number, fails: (call: number) => boolean = () => false) {
    const runs = new Set<string>();
    let calls = 0;
    let moved = 0;
    const activities: SandboxClockActivities = {
      moveClock: (billerId) => {
        expect(billerId).toBe(OWNER);
        runs.add(String(activityInfo().workflowExecution?.runId));
        calls += 1;
        if (fails(calls)) return Promise.reject(new Error('the worker died'));
        moved += 1;
        const target = moved === moves ? null : TARGET;
        return Promise.resolve({ now: TARGET, target });
      },
    };
    await withWorker(environment, activities, async () => {
      const handle = await environment.client.workflow.start<typeof sandboxClock>('sandboxClock', {
        workflowId: `sandbox-clock/${OWNER}/${TARGET}`,
        taskQueue: TASK_QUEUE,
        args: [OWNER],
      });
      await handle.result();
    });
    return { moved, runs: runs.size };
  }

  it('goes on after a failure, however often', async () => {
    expect(await advance(3, (call) => call % 3 !== 0)).toEqual({ moved: 3, runs: 1 });
  });

  it('goes on in a new run every 300 calls', async () => {
    expect(await advance(301)).toEqual({ moved: 301, runs: 2 });
  }, 120_000);
});
