import type { Worker } from '@temporalio/worker';

type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/**
 * Runs the workers until all have ended. Where one fails the others stop as well. A process that
 * does half of its work would look alive, and keep its share of tasks from healthy processes.
 *
 * @throws what the first of them failed with
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

/** Those that run drain and end. */
export function stopAll(workers: Runnable[]): void {
  for (const worker of workers) {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  }
}
