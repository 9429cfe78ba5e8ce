import type { Client } from '@temporalio/client';
import { TASK_QUEUES, taskQueues } from '../../src/temporal/task-queues';

/** What a Temporal answers of each queue, as far as it is asked for. */
function temporal(statsOf: (queue: string, type: number) => object | undefined): Client {
  return {
    options: { namespace: 'default' },
    withDeadline: (_: number, ask: () => unknown) => ask(),
    workflowService: {
      describeTaskQueue: ({
        taskQueue,
        taskQueueType,
      }: {
        taskQueue: { name: string };
        taskQueueType: number;
      }) => Promise.resolve({ stats: statsOf(taskQueue.name, taskQueueType) }),
    },
  } as unknown as Client;
}

const stats = (waiting: number, seconds: number) => ({
  approximateBacklogCount: waiting,
  approximateBacklogAge: { seconds },
});

it('has of each queue what waits as workflow tasks and as activities', async () => {
  const queues = await taskQueues(temporal((_, type) => (type === 1 ? stats(2, 5) : stats(1, 90))));
  expect(queues).toEqual(TASK_QUEUES.map((queue) => ({ queue, waiting: 3, oldestAgeS: 90 })));
});

it.each([1, 2])(
  'leaves a queue out where Temporal does not say what tasks of type %i wait, for that is not none',
  async (silent) => {
    const [first, ...others] = TASK_QUEUES;
    const queues = await taskQueues(
      temporal((queue, type) => (queue === first && type === silent ? undefined : stats(0, 0))),
    );
    expect(queues.map(({ queue }) => queue)).toEqual(others);
  },
);
