import { Client } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { readConfig, requireServers } from '../settings/config';
import { readKeyring } from '../database/keyring/keyring';
import { openOutbox } from '../database/outbox';
import { withDeadline } from '../process/deadline';
import { holidaysRunningOut } from '../domain/business-day';
import { OperatorError } from '../domain/failures';
import { createLogger } from '../process/log';
import { fitFor, openOwnDatabase } from '../process/open-database';
import { createMetrics, measureDependencies, measurePool, serveMetrics } from '../process/metrics';
import { connectionOptions } from '../temporal/connection';
import { temporalFault } from '../temporal/fault';
import { dependenciesOf } from '../temporal/readiness';
import { measureService, measureTaskQueues } from '../process/service-metrics';
import { createRelay } from '../temporal/relay';
import { taskQueues } from '../temporal/task-queues';
import { openTracing } from '../process/tracing';
import { handleUncaught } from '../process/uncaught';
import { bundledWorkflows } from './bundle';
import { createEffects } from './effects';
import { startHeartbeat } from './heartbeat';
import { attendFirst, attendNamespace } from './namespace';
import { createWorkers, runTogether, stopAll } from './run';
import { installRuntime } from './runtime';
import { traceWorker } from './tracing';

/**
 * The worker process: it runs the workflows and their effects, and carries the outbox to Temporal.
 * Any number of workers may run; they share nothing but Postgres and Temporal.
 */

/** Longest wait for Temporal at the start. The supervisor then decides whether to try again. */
const CONNECT_TIMEOUT_MS = 5_000;

async function main(): Promise<void> {
  const config = requireServers(readConfig(process.env));
  const log = createLogger(config, 'worker');
  log.info({ mode: config.ASSENT_MODE }, 'worker starts');
  warnOfHolidays(log);
  const sdkMetrics = await installRuntime(log, config.METRICS_PORT > 0);
  const registry = createMetrics();
  // Filled once they are made: until then there is nothing to drain.
  const workers: Worker[] = [];
  handleUncaught({ log, registry, drain: () => (workers.length > 0 ? stopAll(workers) : process.exit(1)) });
  let drain = (): void => {
    log.info('worker has stopped');
    process.exit();
  };
  stopOnSignals(log, () => drain());
  const metrics = await serveMetrics(
    config,
    log,
    async () => `${await registry.metrics()}\n${await sdkMetrics()}`,
    // Once it polls, and until it is told to stop.
    () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
  );

  const keyring = readKeyring(config.ASSENT_KEYS);
  const requireFit = fitFor(config, keyring, log);
  const db = await openOwnDatabase(config, keyring, requireFit);
  const connection = await connect(config);
  const tracing = openTracing(config, 'assent-worker', log);
  const traces = tracing && traceWorker(tracing);
  const client = new Client({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    ...(traces && { interceptors: { workflow: [traces.client] } }),
  });
  measurePool(registry, db);
  measureService(registry, db, config.BOOKINGS_LATE_DAYS);
  measureTaskQueues(registry, () => taskQueues(client));
  measureDependencies(registry, dependenciesOf(db, client));
  const attending = { db, client, connection, address: config.TEMPORAL_ADDRESS, log };
  const attended = await attendFirst(attending);
  const outbox = openOutbox(config.DATABASE_URL, db, requireFit, () => relay.kick());
  const relay = createRelay({ db: outbox, client, log, trace: traces?.start });
  const effects = createEffects({ config, log, registry, db, client, traces });

  log.info('worker prepares the workflows');
  const workflowBundle = await bundledWorkflows(config.WORKFLOW_STACK_TRACES);
  const { activities } = effects;
  const { namespace } = client.options;
  workers.push(...(await createWorkers({ connection, namespace, workflowBundle, activities, traces })));
  drain = () => {
    effects.stopWaiting();
    stopAll(workers);
  };
  relay.start();
  const attend = (id: string) =>
    attendNamespace(attending, id).catch((error: unknown) => {
      if (error instanceof OperatorError) endAtOnce(error, log);
      throw error;
    });
  const heartbeat = startHeartbeat({ db, client, workers, log, attended, attend });
  log.info({ pid: process.pid }, 'worker is ready');
  try {
    await runTogether(workers);
  } finally {
    await Promise.all([relay.stop(), heartbeat.stop()]);
    await effects.close();
    await metrics.close();
    await connection.close();
    await Promise.all([db.destroy(), outbox.destroy()]);
    await tracing?.stop();
    log.info('worker has stopped');
  }
  // Not by itself: a collector that hangs would keep it for ten seconds.
  if (tracing) process.exit();
}

function warnOfHolidays(log: Logger): void {
  const countries = holidaysRunningOut(new Date());
  if (countries.length > 0) log.warn({ countries }, 'public holidays are known for less than a year ahead');
}

/**
 * Another installation's namespace may appear behind the address at any time. The work in hand
 * there belongs to another database.
 */
function endAtOnce({ message }: OperatorError, log: Logger): never {
  log.fatal(message);
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

async function connect(config: Parameters<typeof connectionOptions>[0]): Promise<NativeConnection> {
  const options = connectionOptions(config);
  try {
    return await withDeadline(NativeConnection.connect(options), CONNECT_TIMEOUT_MS, () => {
      throw new Error(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`);
    });
  } catch (cause) {
    const { inWords } = temporalFault(cause, config.TEMPORAL_NAMESPACE);
    throw new Error(`Temporal at ${config.TEMPORAL_ADDRESS} ${inWords}.`, { cause });
  }
}

/**
 * The first signal drains; the runtime's own handlers stay out of it, so that all stops in one
 * order.
 */
function stopOnSignals(log: Logger, drain: () => void): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      log.info({ signal }, 'worker drains and stops');
      drain();
    });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  // Not left to Node: unused connections would keep the process for half a minute.
  process.exit(1);
});
