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

  /**
   * @param fails whether the n-th call, counted from 1, ends like one whose worker died
   * @param startedAgain what had been ended by hand, and the n-th call that went well has found
   */
  async function advance(
    moves: number,
    {
      fails = () => false,
      startedAgain = () => [],
    }: { fails?: (call: number) => boolean; startedAgain?: (move: number) => string[] } = {},
  ) {
    const runs = new Set<string>();
    let calls = 0;
    let moved = 0;
    const activities: SandboxClockActivities = {
      moveClock: (ownerId) => {
        expect(ownerId).toBe(OWNER);
        runs.add(String(activityInfo().workflowExecution?.runId));
        calls += 1;
        if (fails(calls)) return Promise.reject(new Error('the worker died'));
        moved += 1;
        const target = moved === moves ? null : TARGET;
        return Promise.resolve({ now: TARGET, target, startedAgain: startedAgain(moved) });
      },
    };
    const details = await withWorker(environment, activities, async () => {
      const handle = await environment.client.workflow.start<typeof sandboxClock>('sandboxClock', {
        workflowId: `sandbox-clock/${OWNER}/${TARGET}`,
        taskQueue: TASK_QUEUE,
        args: [OWNER],
      });
      await handle.result();
      const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
      return metadata.currentDetails;
    });
    return { moved, runs: runs.size, details };
  }

  it('goes on after a failure, however often', async () => {
    expect(await advance(3, { fails: (call) => call % 3 !== 0 })).toMatchObject({ moved: 3, runs: 1 });
  });

  it('names to its end what had been ended by hand, also where it was found on the way; of many the first', async () => {
    const { details } = await advance(3, {
      startedAgain: (move) => (move === 1 ? Array.from({ length: 12 }, (_, n) => `recurring/sch_${n}`) : []),
    });
    expect(details).toBe(
      `The clock has arrived at ${TARGET}. Had been ended, and were started again: ` +
        `${Array.from({ length: 10 }, (_, n) => `recurring/sch_${n}`).join(', ')}, and 2 more.`,
    );
  });

  it('goes on in a new run every 300 calls', async () => {
    expect(await advance(301)).toMatchObject({ moved: 301, runs: 2 });
  }, 120_000);
});
