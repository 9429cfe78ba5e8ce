import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { OperatorError } from '../domain/failures';
import { poll } from '../process/poll';
import { connectionOptions, type TemporalSettings } from './connection';
import { temporalFault } from './fault';
import { registerSearchAttributes } from './register-search-attributes';
import { ensureSchedules } from './schedules';

/** For a look at ended workflows; the record of the money is in Postgres. */
const RETENTION_MS = 7 * 86_400_000;
/** gRPC status. */
const ALREADY_EXISTS = 6;

/** @param withinMs limit of the connection and of all work on it */
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
 * Creates the Temporal Schedules and registers the search attributes.
 *
 * @param withinMs limit for all calls to the server
 * @param installation whose namespace it is. Without it only the namespace's existence is checked,
 *   for callers that have no database yet.
 * @throws OperatorError where it is another database's; any error of the connection or the server
 */
export async function prepareNamespace(
  settings: TemporalSettings,
  withinMs: number,
  installation?: string,
): Promise<void> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
  await onTemporal(settings, withinMs, async (connection) => {
    await connection.workflowService.describeNamespace({ namespace });
    // The Schedules come first, as they refuse another installation's namespace and leave it
    // unchanged.
    if (installation === undefined) return;
    await ensureSchedules(new Client({ connection, namespace }), installation, address);
    await registerSearchAttributes(connection, namespace);
  });
}

/** Keeps an existing namespace as it is. */
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
 * `prepareNamespace` for a Temporal of the settings.
 *
 * @param create creates the namespace first if it is missing
 * @throws OperatorError naming the setting to correct
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
      // Each part of the server takes some seconds to learn of a new namespace.
      await poll('The namespace', withinMs, AbortSignal.timeout(2 * withinMs), prepare);
    } else await prepare();
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
    const { inWords } = temporalFault(cause, namespace);
    throw new OperatorError(
      `TEMPORAL_ADDRESS: Temporal at ${address}, namespace "${namespace}", ${inWords}; unset, the engine brings its own.`,
      { cause },
    );
  }
}
