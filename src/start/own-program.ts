import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from './supervisor';

/**
 * Limit of the API's JavaScript heap in MB, the same as in other ways to start the API. It needs
 * about 60. V8 keeps garbage in proportion to the limit, by default a part of the machine's memory.
 */
const HEAP_LIMIT = { API: ['--max-old-space-size=384'], worker: [] };

/** A process that runs from source or from the build, as this process does. */
export function ownProgram(name: 'API' | 'worker', environment: NodeJS.ProcessEnv): Program {
  const extension = extname(__filename);
  const compiler = extension === '.ts' ? ['--import', pathToFileURL(require.resolve('tsx')).href] : [];
  return {
    name,
    command: process.execPath,
    args: [...HEAP_LIMIT[name], ...compiler, join(__dirname, '..', name.toLowerCase(), `main${extension}`)],
    environment,
    stopSignal: 'SIGTERM',
    // The worker's own limit for a hanging effect is 7 s. Neither process loses work if killed.
    endsWithinMs: name === 'API' ? 2_000 : 7_500,
  };
}
