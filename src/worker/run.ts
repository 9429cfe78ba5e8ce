import { Worker, type WorkerOptions } from '@temporalio/worker';
import {
  BANK_FILE_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../domain/workflow/messages';
import { BANK_STATEMENTS, BILLING, CUSTOMER_MIGRATIONS, SCHEDULES, WEBHOOKS } from './capacity';
import { effectFailures } from './effect-failure';
import type { WorkerTraces } from './tracing';

/**
 * Longest wait at a stop for the work in hand. An effect that takes longer is cut off and runs
 * again in the next worker, which is safe for all effects.
 */
const SHUTDOWN_GRACE = '5s';
const SHUTDOWN_FORCE = '7s';

type Served = Required<Pick<WorkerOptions, 'connection' | 'namespace' | 'workflowBundle' | 'activities'>> & {
  /** Left out without tracing. */
  traces: WorkerTraces | undefined;
};

/** A worker for each task queue; the last two run effects alone. */
export function createWorkers({ workflowBundle, traces, ...served }: Served): Promise<Worker[]> {
  return Promise.all(
    [
      { taskQueue: TASK_QUEUE, workflowBundle, ...BILLING },
      { taskQueue: RECURRING_TASK_QUEUE, workflowBundle, ...SCHEDULES },
      { taskQueue: WEBHOOK_TASK_QUEUE, workflowBundle, ...WEBHOOKS },
      { taskQueue: CUSTOMER_MIGRATION_TASK_QUEUE, ...CUSTOMER_MIGRATIONS },
      { taskQueue: BANK_FILE_TASK_QUEUE, ...BANK_STATEMENTS },
    ].map((own) =>
      Worker.create({
        ...served,
        ...own,
        interceptors: {
          activity: [...(traces ? [traces.activities] : []), () => ({ inbound: effectFailures })],
        },
        shutdownGraceTime: SHUTDOWN_GRACE,
        shutdownForceTime: SHUTDOWN_FORCE,
      }),
    ),
  );
}

type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/**
 * Runs the workers until all have ended. A failure of any stops the others. A process that does
 * half of its work would look alive, and keep its share of tasks from healthy processes.
 *
 * @throws the first worker's failure
 */
export async function runTogether(workers: Runnable[]): Promise<void> {
  const ended = await Promise.allSettled(
    workers.map(async (worker) => {
      try {
        await worker.run();
      } finally {
        stopAll(workers);
      }
    }),
  );
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Stops the workers that still run; each drains and ends. */
export function stopAll(workers: Runnable[]): void {
  for (const worker of workers) {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  }
}
