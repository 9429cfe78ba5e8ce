import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from './supervised-process';

/** A process of ours, run as this one is: from source or from the build. */
export function ownProgram(name: 'API' | 'worker', environment: NodeJS.ProcessEnv): Program {
  const extension = extname(__filename);
  const compiler = extension === '.ts' ? ['--import', pathToFileURL(require.resolve('tsx')).href] : [];
  return {
    name,
    command: process.execPath,
    args: [...compiler, join(__dirname, '..', name.toLowerCase(), `main${extension}`)],
    environment,
    stopSignal: 'SIGTERM',
  };
}
