import { join } from 'node:path';
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { connectionOptions, TlsFileError, type TemporalSettings } from '../temporal/connection';
import { ensureReconcileSchedule } from '../temporal/reconcile';
import { registerSearchAttributes } from '../temporal/search-attributes';
import type { EnginePorts } from './ports';
import { StartError } from './start-error';
import type { Program } from './supervised-process';

/** The embedded Temporal: the development server, with its data in one SQLite file. */
export function temporalServer(
  command: string,
  environment: NodeJS.ProcessEnv,
  folder: string,
  ports: EnginePorts,
  namespace: string,
): Program {
  return {
    name: 'Temporal',
    command,
    args: [
      'server',
      'start-dev',
      '--ip=127.0.0.1',
      `--port=${ports.temporal}`,
      `--ui-port=${ports.temporalUi}`,
      `--db-filename=${join(folder, 'temporal.db')}`,
      `--namespace=${namespace}`,
      '--log-level=error',
    ],
    environment,
    stopSignal: 'SIGTERM',
  };
}

/**
 * Makes the search attributes known to the namespace, and has it run `reconcile` every minute.
 *
 * @param withinMs longest that the server may take for it
 * @throws whatever the connection or the server failed with
 */
export async function prepareNamespace(settings: TemporalSettings, withinMs: number): Promise<void> {
  const { TEMPORAL_NAMESPACE: namespace } = settings;
  const deadline = Date.now() + withinMs;
  const connection = await Connection.connect({
    ...connectionOptions(settings),
    connectTimeout: withinMs,
  });
  try {
    await connection.withDeadline(deadline, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      await registerSearchAttributes(connection, namespace);
      await ensureReconcileSchedule(new Client({ connection, namespace }));
    });
  } finally {
    await connection.close();
  }
}

/** The same for a Temporal that a setting names. @throws StartError naming the setting to correct */
export async function prepareGivenNamespace(settings: TemporalSettings, withinMs: number): Promise<void> {
  try {
    await prepareNamespace(settings, withinMs);
  } catch (cause) {
    if (cause instanceof TlsFileError) throw new StartError(cause.message, { cause });
    const reason = isGrpcServiceError(cause) ? cause.details : cause instanceof Error ? cause.message : '';
    throw new StartError(
      `TEMPORAL_ADDRESS: Temporal at ${settings.TEMPORAL_ADDRESS}, namespace "${settings.TEMPORAL_NAMESPACE}", ` +
        `cannot be used (${reason}). Start it, or correct TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE; unset, ` +
        'the engine brings its own.',
      { cause },
    );
  }
}
