import type { Worker } from '@temporalio/worker';

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
