import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createAnswerPatience } from '../activities/answer-patience';
import { createBankStatementActivities } from '../activities/bank-statement';
import { createBillingRequestActivities } from '../activities/billing-request';
import { createBooksActivities } from '../activities/books';
import { createCustomerMigrationActivities } from '../activities/customer-migration';
import { createIntentActivities } from '../activities/intent';
import { createReconcileActivities } from '../activities/reconcile';
import { createRecurringActivities } from '../activities/recurring';
import { createRefundActivities } from '../activities/refund';
import { createSandboxClockActivities } from '../activities/sandbox-clock';
import { createSweepActivities } from '../activities/sweep';
import { createWebhookActivities } from '../activities/webhook';
import { createWebhookConnector } from '../activities/webhook-connector';
import { readConfig, recurringRules, requireServers } from '../settings/config';
import { endedOf } from '../database/billing-request/read-billing-request';
import { readKeyring } from '../database/keyring/keyring';
import { openOutbox } from '../database/outbox';
import { WHOLE_MAX } from '../database/verify/nightly-result';
import { withDeadline } from '../process/deadline';
import { holidaysRunningOut } from '../domain/business-day';
import { OperatorError } from '../domain/failures';
import { createLogger } from '../process/log';
import { fitFor, openOwnDatabase } from '../process/open-database';
import { createMetrics, measureDependencies, measurePool, serveMetrics } from '../process/metrics';
import { connectionOptions } from '../temporal/connection';
import { temporalFault } from '../temporal/fault';
import { databaseProblems, ringProblems, workflowProblems } from '../temporal/readiness';
import { measureService, measureTaskQueues } from '../process/service-metrics';
import { createRelay } from '../temporal/relay';
import { taskQueues } from '../temporal/task-queues';
import { openTracing } from '../process/tracing';
import { hearUncaught } from '../process/uncaught';
import {
  BANK_STATEMENT_TASK_QUEUE,
  CUSTOMER_MIGRATION_TASK_QUEUE,
  RECURRING_TASK_QUEUE,
  TASK_QUEUE,
  WEBHOOK_TASK_QUEUE,
} from '../domain/workflow/messages';
import { beating } from './activity-heartbeat';
import { bundledWorkflows } from './bundle';
import { BANK_STATEMENTS, BILLING, CUSTOMER_MIGRATIONS, SCHEDULES, WEBHOOKS } from './capacity';
import { effectFailures } from './effect-failure';
import { startHeartbeat } from './heartbeat';
import { measureReconcile, measureWebhooks } from './metrics';
import { attendFirst, attendNamespace } from './namespace';
import { runTogether, stopAll } from './run';
import { installRuntime } from './runtime';
import { traceWorker } from './tracing';

/**
 * The worker process: it runs the workflows and their effects, and carries the outbox to Temporal.
 * Any number of workers may run; they share nothing but Postgres and Temporal.
 */

/** Longest wait for Temporal at the start. The supervisor then decides whether to try again. */
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Longest wait at a stop for the work in hand. An effect that takes longer is cut off and runs
 * again in the next worker, which is safe for all effects.
 */
const SHUTDOWN_GRACE = '5s';
const SHUTDOWN_FORCE = '7s';

async function main(): Promise<void> {
  const config = requireServers(readConfig(process.env));
  const log = createLogger(config, 'worker');
  log.info({ mode: config.ASSENT_MODE }, 'worker starts');
  const runningOut = holidaysRunningOut(new Date());
  if (runningOut.length > 0)
    log.warn({ countries: runningOut }, 'public holidays are known for less than a year ahead');
  const sdkMetrics = await installRuntime(log, config.METRICS_PORT > 0);
  const registry = createMetrics();
  // Filled once they are made: until then there is nothing to drain.
  const workers: Worker[] = [];
  hearUncaught({ log, registry, drain: () => (workers.length > 0 ? stopAll(workers) : process.exit(1)) });
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
  measureService(registry, db);
  measureTaskQueues(registry, () => taskQueues(client));
  measureDependencies(registry, [
    { names: ['postgres'], problems: () => databaseProblems(db) },
    { names: ['keys'], problems: () => ringProblems(db, keyring) },
    { names: ['temporal', 'worker'], problems: () => workflowProblems(db, client) },
  ]);
  const namespace = await attendFirst(db, client, connection, config.TEMPORAL_ADDRESS, log);
  const outbox = openOutbox(config.DATABASE_URL, db, requireFit, () => relay.kick());
  const relay = createRelay(outbox, client, log, traces?.start);
  const patienceOf = ({ maxConcurrentWorkflowTaskExecutions: slots }: typeof BILLING) =>
    createAnswerPatience(slots, (ids) => endedOf(db, ids), log);
  const patience = { calls: patienceOf(BILLING), schedules: patienceOf(SCHEDULES) };
  const measure = measureWebhooks(registry);
  const connector = createWebhookConnector({ allowPrivate: config.ALLOW_PRIVATE_WEBHOOKS });
  const webhooks = createWebhookActivities({
    db,
    config,
    connector,
    log,
    measure,
    trace: traces?.attempt,
  });
  const activities = {
    ...createBillingRequestActivities(db, patience.calls),
    ...createBankStatementActivities(db, config.BOOKING_DAYS, log),
    ...createCustomerMigrationActivities(db),
    ...createBooksActivities(db, WHOLE_MAX, log),
    ...createIntentActivities(db),
    ...createRecurringActivities(
      db,
      recurringRules(config),
      patience.schedules,
      webhooks.deliverFirstAttempts,
    ),
    ...createRefundActivities(db),
    ...createSandboxClockActivities(db, client, config.CLOCK_WAIT_S, log),
    ...createReconcileActivities(db, client, config.RECONCILE_AFTER_S, log, measureReconcile(registry)),
    ...createSweepActivities(db, config.WEBHOOK_KEPT_DAYS),
    ...webhooks,
    attemptDelivery: beating((deliveryId: string) => webhooks.attemptDelivery(deliveryId)),
  };

  log.info('worker prepares the workflows');
  const workflows = {
    workflowBundle: await bundledWorkflows(config.WORKFLOW_STACK_TRACES),
  };
  const made = await Promise.all(
    [
      { taskQueue: TASK_QUEUE, ...workflows, ...BILLING },
      { taskQueue: RECURRING_TASK_QUEUE, ...workflows, ...SCHEDULES },
      { taskQueue: WEBHOOK_TASK_QUEUE, ...workflows, ...WEBHOOKS },
      { taskQueue: CUSTOMER_MIGRATION_TASK_QUEUE, ...CUSTOMER_MIGRATIONS },
      { taskQueue: BANK_STATEMENT_TASK_QUEUE, ...BANK_STATEMENTS },
    ].map((own) =>
      Worker.create({
        connection,
        activities,
        ...own,
        namespace: config.TEMPORAL_NAMESPACE,
        interceptors: {
          activity: [...(traces ? [traces.activities] : []), () => ({ inbound: effectFailures })],
        },
        shutdownGraceTime: SHUTDOWN_GRACE,
        shutdownForceTime: SHUTDOWN_FORCE,
      }),
    ),
  );
  workers.push(...made);
  drain = () => {
    patience.calls.stop();
    patience.schedules.stop();
    stopAll(workers);
  };
  relay.start();
  const heartbeat = startHeartbeat(db, client, workers, log, namespace, (id) =>
    attendNamespace(db, client, connection, id, config.TEMPORAL_ADDRESS, log).catch((error: unknown) => {
      if (error instanceof OperatorError) endAtOnce(error, log);
      throw error;
    }),
  );
  log.info({ pid: process.pid }, 'worker is ready');
  try {
    await runTogether(workers);
  } finally {
    await Promise.all([relay.stop(), heartbeat.stop()]);
    await connector.close();
    await metrics.close();
    await connection.close();
    await Promise.all([db.destroy(), outbox.destroy()]);
    await tracing?.stop();
    log.info('worker has stopped');
  }
  // Not by itself: a collector that hangs would keep it for ten seconds.
  if (tracing) process.exit();
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
