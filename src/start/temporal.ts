import { join } from 'node:path';
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { connectionOptions, TlsFileError, type TemporalSettings } from '../temporal/connection';
import { temporalFault } from '../temporal/fault';
import { ForeignNamespaceError } from '../temporal/foreign-namespace';
import { ensureSchedules } from '../temporal/schedules';
import { registerSearchAttributes } from '../temporal/search-attributes';
import { poll } from './poll';
import type { EnginePorts } from './ports';
import { StartError } from './start-error';
import type { Program } from './supervisor';

/** The embedded Temporal: the development server, with its data in one SQLite file. */
export function temporalServer(
  command: string,
  environment: NodeJS.ProcessEnv,
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
      // Tasks that wait are handed out by party in turn. Where a server does not know these,
      // priority alone counts.
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

/** For looking at what has ended; the record of the money is in Postgres. */
const RETENTION_MS = 7 * 86_400_000;
/** gRPC's status for what is there already. */
const ALREADY_EXISTS = 6;

/** Works on a connection of its own, all of it within a time. */
async function onTemporal(
  settings: TemporalSettings,
  withinMs: number,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const deadline = Date.now() + withinMs;
  const connection = await Connection.connect({ ...connectionOptions(settings), connectTimeout: withinMs });
  await connection.withDeadline(deadline, () => work(connection)).finally(() => connection.close());
}

/**
 * Has the namespace run `reconcile` every minute, and makes the search attributes known to it.
 *
 * @param withinMs longest that the server may take for it
 * @param installation whose the namespace is to be; without it, it is only looked whether it can be
 *   used, by whoever has no database yet
 * @throws ForeignNamespaceError; whatever the connection or the server failed with
 */
export async function prepareNamespace(
  settings: TemporalSettings,
  withinMs: number,
  installation?: string,
): Promise<void> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
  await onTemporal(settings, withinMs, async (connection) => {
    await connection.workflowService.describeNamespace({ namespace });
    // Whose it is, is known before anything is left in it: another's stays as it was.
    if (installation === undefined) return;
    await ensureSchedules(new Client({ connection, namespace }), installation, address);
    await registerSearchAttributes(connection, namespace);
  });
}

/** Makes the namespace, if it is not there. */
async function createNamespace(settings: TemporalSettings, withinMs: number): Promise<void> {
  await onTemporal(settings, withinMs, async ({ workflowService }) => {
    const request = {
      namespace: settings.TEMPORAL_NAMESPACE,
      workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
    };
    await workflowService.registerNamespace(request).catch((error: unknown) => {
      if (!isGrpcServiceError(error) || (error.code as number) !== ALREADY_EXISTS) throw error;
    });
  });
}

/**
 * The same for a Temporal that a setting names.
 *
 * @param create makes the namespace first, if it is not there
 * @throws StartError naming the setting to correct
 */
export async function prepareGivenNamespace(
  settings: TemporalSettings,
  withinMs: number,
  installation?: string,
  create = false,
): Promise<void> {
  const prepare = () => prepareNamespace(settings, withinMs, installation);
  try {
    if (create) {
      await createNamespace(settings, withinMs);
      // Each part of the server takes some seconds to know of a new one.
      await poll('The namespace', withinMs, AbortSignal.timeout(2 * withinMs), prepare);
    } else await prepare();
  } catch (cause) {
    if (cause instanceof TlsFileError || cause instanceof ForeignNamespaceError) {
      throw new StartError(cause.message, { cause });
    }
    const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
    const { inWords } = temporalFault(cause, namespace);
    throw new StartError(
      `TEMPORAL_ADDRESS: Temporal at ${address}, namespace "${namespace}", ${inWords}; unset, the engine brings its own.`,
      { cause },
    );
  }
}
