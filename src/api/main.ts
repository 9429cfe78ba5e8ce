import type { Server, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { readConfig, requireServers } from '../settings/config';
import { readKeyring } from '../database/keyring/keyring';
import { listening } from '../process/listen';
import { createLogger } from '../process/log';
import { fitFor, openOwnDatabase } from '../process/open-database';
import { createMetrics, inTime, measureDependencies, measurePool, serveMetrics } from '../process/metrics';
import { measureService, measureTaskQueues } from '../process/service-metrics';
import { lazyClient } from '../temporal/connection';
import { dependenciesOf, serviceProblems, POSTGRES_AWAY } from '../temporal/readiness';
import { taskQueues } from '../temporal/task-queues';
import { OperatorError } from '../domain/failures';
import { openTracing } from '../process/tracing';
import { handleUncaught } from '../process/uncaught';
import { createApp } from './create-app';
import { ANSWER_WITHIN_MS, READY_WITHIN_MS } from './http/deadline';
import { failRequestAtHand } from './http/before-routes';
import { createCallerLimiter } from './http/slots';
import { createTokenBuckets } from './http/rate-limit';
import { measureRequests, measureUnknownIdentifiers } from './http/request-metrics';
import { CONNECTIONS_MAX, createApiServer } from './http/server';
import { openParties } from './pages/sandbox';

/** An answer of `GET /readyz` is reused for this long: less than the interval of any probe. */
const READY_KEPT_MS = 1_000;

/**
 * The API process. It starts and accepts work while Temporal is away, and answers 503 while
 * Postgres is. API processes share nothing but Postgres.
 */

/**
 * A stop still takes requests that arrive within this time. Node resets a kept connection in whose
 * buffer a request waits, and its caller can't know whether it was carried out.
 */
const ARRIVAL_MS = 1_000;
/** Longest wait for requests in hand. With `ARRIVAL_MS`, within the 10 s that supervisors give. */
const DRAIN_MS = 8_000;

async function main(): Promise<void> {
  const config = requireServers(readConfig(process.env));
  const log = createLogger(config, 'api');
  log.info({ mode: config.ASSENT_MODE }, 'API starts');
  const keyring = readKeyring(config.ASSENT_KEYS);
  const registry = createMetrics();
  const tracing = openTracing(config, 'assent-api', log);
  const stopped = new Promise<void>((stop) => {
    handleUncaught({ log, registry, failRequest: failRequestAtHand, drain: stop });
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop());
  });
  const metrics = await serveMetrics(config, log, () => registry.metrics());
  const db = await openOwnDatabase(config, keyring, fitFor(config, keyring, log), ANSWER_WITHIN_MS);
  measurePool(registry, db);
  const temporal = lazyClient(config);
  measureDependencies(registry, dependenciesOf(db, temporal));
  measureService(registry, db, config.BOOKINGS_LATE_DAYS);
  measureTaskQueues(registry, () => taskQueues(temporal));
  const sandbox = openParties(config, log);
  // The probe needs no token: otherwise it could fill the queue for Postgres.
  const problems = inTime(
    () => serviceProblems(db.until(performance.now() + READY_WITHIN_MS), temporal),
    READY_KEPT_MS,
  );
  const app = createApp({
    config,
    ...(sandbox && { sandbox }),
    db,
    buckets: createTokenBuckets(db),
    measureUnknown: measureUnknownIdentifiers(registry),
    limiter: createCallerLimiter(config.DATABASE_POOL),
    log,
    tracing,
    readiness: async () => (await problems()) ?? [POSTGRES_AWAY],
  });

  const port = config.PORT + config.PORT_OFFSET;
  const server = createApiServer(app, log, config).listen(port, config.HOST, CONNECTIONS_MAX);
  measureRequests(registry, server);
  await listening(server, port, 'PORT');
  log.info({ port, host: config.HOST }, 'API is ready');
  sandbox?.begin();

  await stopped;
  log.info('API stops');
  sandbox?.close();
  await drained(server);
  await metrics.close();
  await temporal.connection.close();
  await db.destroy();
  await tracing?.stop();
  // A collector that hangs would keep the process for ten seconds.
  if (tracing) process.exit();
}

/** Ends when the last request in hand is answered or out of time. */
async function drained(server: Server): Promise<void> {
  server.prependListener('request', (_req, res: ServerResponse) => res.setHeader('Connection', 'close'));
  await wait(ARRIVAL_MS);
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(cutOff);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof OperatorError ? error.message : String(error)}\n`);
  // Idle connections to Postgres would keep the process for half a minute.
  process.exit(1);
});
