import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from './supervisor';

/**
 * Limits of each process's JavaScript heap in MB, the same in other ways to start it.
 *
 * The API needs about 60. V8 keeps garbage in proportion to the limit, by default a part of the
 * machine's memory. A worker's replays leave much that dies young: a larger young generation has it
 * collected less often, and less of it copied.
 */
export const HEAP = {
  API: ['--max-old-space-size=384'],
  worker: ['--max-semi-space-size=64', '--min-semi-space-size=16'],
};

/** A process that runs from source or from the build, as this process does. */
export function ownProgram(name: 'API' | 'worker', environment: NodeJS.ProcessEnv): Program {
  const extension = extname(__filename);
  const compiler = extension === '.ts' ? ['--import', pathToFileURL(require.resolve('tsx')).href] : [];
  return {
    name,
    command: process.execPath,
    args: [...HEAP[name], ...compiler, join(__dirname, '..', name.toLowerCase(), `main${extension}`)],
    environment,
    stopSignal: 'SIGTERM',
    // The worker's own limit for a hanging effect is 7 s. Neither process loses work if killed.
    endsWithinMs: name === 'API' ? 2_000 : 7_500,
  };
}
