import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from './supervisor';

/**
 * The most that the API's JavaScript may hold, in MB. It needs about 60, and V8 lets garbage pile
 * up in proportion to the limit, which by default follows from the memory of the machine. Other
 * ways to start it have the same limit.
 */
const HEAP_LIMIT = { API: ['--max-old-space-size=384'], worker: [] };

/** A process of ours, run as this one is: from source or from the build. */
export function ownProgram(name: 'API' | 'worker', environment: NodeJS.ProcessEnv): Program {
  const extension = extname(__filename);
  const compiler = extension === '.ts' ? ['--import', pathToFileURL(require.resolve('tsx')).href] : [];
  return {
    name,
    command: process.execPath,
    args: [...HEAP_LIMIT[name], ...compiler, join(__dirname, '..', name.toLowerCase(), `main${extension}`)],
    environment,
    stopSignal: 'SIGTERM',
    // The worker's own limit for an effect that hangs is 7 s. Neither loses anything by a kill.
    endsWithinMs: name === 'API' ? 2_000 : 7_500,
  };
}
