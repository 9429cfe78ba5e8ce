import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * A process of the benchmark's own. It ends with its owner: the channel between them breaks then.
 */
export interface Child<Ready> {
  /** What it said first. */
  ready: Ready;
  stop(): Promise<void>;
}

/** Compiling the workflows takes some seconds of a free core. */
const READY_WITHIN_MS = 120_000;

/**
 * Starts a script of this folder, and waits for the first message that it sends.
 *
 * @param listen gets every message after that
 * @throws Error where it ends, or says nothing in time
 */
export async function startChild<Ready>(
  script: string,
  environment: Record<string, string>,
  listen: (message: unknown) => void = () => undefined,
): Promise<Child<Ready>> {
  const child = fork(path.join(__dirname, script), {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    execArgv: ['--import', pathToFileURL(require.resolve('tsx')).href],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exit = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exit;
  };
  const first = once(child, 'message', { signal: AbortSignal.timeout(READY_WITHIN_MS) });
  const ended = exit.then(([code]) => Promise.reject(new Error(`${script} ended with ${String(code)}`)));
  ended.catch(() => undefined);
  try {
    const [ready] = (await Promise.race([first, ended])) as [Ready];
    child.on('message', listen);
    return { ready, stop };
  } catch (error) {
    await stop();
    throw new Error(`${script} did not start`, { cause: error });
  }
}
