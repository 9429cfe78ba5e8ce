import type { State } from '@temporalio/worker';
import { runTogether } from '../../src/worker/run';

/** A worker that runs until it is shut down, or until it is made to fail. */
function fakeWorker() {
  let state: State = 'INITIALIZED';
  let end: ((error?: Error) => void) | undefined;
  return {
    getState: () => state,
    run: () =>
      new Promise<void>((resolve, reject) => {
        state = 'RUNNING';
        end = (error) => {
          state = error ? 'FAILED' : 'STOPPED';
          if (error) reject(error);
          else resolve();
        };
      }),
    shutdown: () => end?.(),
    fail: (error: Error) => end?.(error),
  };
}

describe('the workers of one process', () => {
  it('end together where one of them fails, with its error', async () => {
    const [billing, webhooks] = [fakeWorker(), fakeWorker()];
    const running = runTogether([billing, webhooks]);
    webhooks.fail(new Error('namespace is gone'));
    await expect(running).rejects.toThrow('namespace is gone');
    expect(billing.getState()).toBe('STOPPED');
  });
});
