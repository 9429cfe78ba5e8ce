import { join } from 'node:path';
import type { EnginePorts } from './ports';
import type { Program } from './supervisor';

/** The development server, with its data in one SQLite file. */
export function temporalServer(
  { command, environment }: Pick<Program, 'command' | 'environment'>,
  folder: string,
  ports: Pick<EnginePorts, 'temporal' | 'temporalUi'>,
  namespace: string,
): Program {
  const file = join(folder, 'temporal.db');
  return {
    name: 'Temporal',
    command,
    args: [
      'server',
      'start-dev',
      '--ip=127.0.0.1',
      `--port=${ports.temporal}`,
      `--ui-port=${ports.temporalUi}`,
      `--db-filename=${file}`,
      `--namespace=${namespace}`,
      '--log-level=error',
      // Waiting tasks are served by party in turn. A server that does not know fairness goes by
      // priority alone.
      '--dynamic-config-value=matching.useNewMatcher=true',
      '--dynamic-config-value=matching.enableFairness=true',
    ],
    environment,
    stopSignal: 'SIGTERM',
    endsWithinMs: 8_500,
    advice:
      `Where ${file} is damaged, remove it, with ${file}-wal and ${file}-shm: what waits there is started again from ` +
      'Postgres, and only the history that its UI shows is lost.',
  };
}
