import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { metricsPort, type Config } from '../settings/config';
import type { PooledDatabase } from '../database/pool/connection';
import type { Problem } from '../domain/failures';
import { withDeadline } from './deadline';
import { listening } from './listen';

/*
 * Metrics of a process, for Prometheus.
 *
 * Any client of the port can read all metrics, and each value of a label is a series for ever. So a
 * label has few values: words of the code, currencies, ids of banks; never a name or an address.
 *
 * Each reading asks other servers for their values, one question at a time, within a short limit.
 * The other metrics are served while a server is away.
 */
/** Longest wait for Postgres or Temporal; Prometheus gives a reading ten seconds. */
const ANSWER_WITHIN_MS = 2_000;
/** Two Prometheus servers, an operator with curl, and as many again. */
const CONNECTIONS_MAX = 20;
const REQUEST_TIMEOUT_MS = 5_000;

/**
 * The event loop is woken this often to measure its lag; this much of it is no lag. Every 10 ms, as
 * by default, took four fifths of what an idle process uses.
 */
const LAG_RESOLUTION_MS = 100;

/** Starts with Node's own metrics: memory, processor time, event loop, garbage collection. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
  return registry;
}

/** A value for each reading of the metrics, or for each value of a label, or of several labels. */
type Read = { name: string; help: string } & (
  | {
      /** Undefined if the value is unknown. */
      read: () => number | undefined | Promise<number | undefined>;
    }
  | { label: string; readEach: () => Record<string, number> | Promise<Record<string, number>> }
  | { labels: string[]; readSeries: () => Promise<[values: string[], value: number][]> }
);

export function gauge(registry: Registry, read: Read): void {
  const { name, help } = read;
  const one = new Gauge({
    name,
    help,
    labelNames: 'labels' in read ? read.labels : 'label' in read ? [read.label] : [],
    registers: [],
    async collect() {
      if ('read' in read) {
        const value = await read.read();
        if (value === undefined) one.remove();
        else one.set(value);
        return;
      }
      const series =
        'labels' in read
          ? await read.readSeries()
          : Object.entries(await read.readEach()).map(([word, value]) => [[word], value] as const);
      // Without the reset a version whose workers are gone would stay for ever.
      one.reset();
      for (const [values, value] of series) one.labels(...values).set(value);
    },
  });
  registry.registerMetric(one);
}

export function measurePool(registry: Registry, pool: Pick<PooledDatabase, 'use'>): void {
  gauge(registry, {
    name: 'assent_database_connections',
    help: 'Connections to Postgres that this process holds.',
    label: 'state',
    readEach() {
      const { held, idle } = pool.use();
      return { in_use: held - idle, idle };
    },
  });
  gauge(registry, {
    name: 'assent_database_connections_max',
    help: 'Connections to Postgres that this process may hold, DATABASE_POOL.',
    read: () => pool.use().max,
  });
  gauge(registry, {
    name: 'assent_database_waiting',
    help: 'Statements and transactions that wait for a connection to Postgres.',
    read: () => pool.use().waiting,
  });
}

/** Servers, each reached through the server before it. Problems have a server's name as `path`. */
interface Dependencies {
  names: readonly string[];
  problems: () => Promise<Problem[]>;
}

/** A server behind a server that is away counts as away. */
export function measureDependencies(registry: Registry, dependencies: Dependencies[]): void {
  const asked = dependencies.map(({ names, problems }) => ({ names, problems: inTime(problems) }));
  gauge(registry, {
    name: 'assent_dependency_up',
    help: 'Whether this process reaches what it depends on: 1, or 0.',
    label: 'dependency',
    async readEach() {
      const found = await Promise.all(
        asked.map(async ({ names, problems }) => {
          const missing = await problems();
          const away = missing ? names.findIndex((name) => missing.some(({ path }) => path === name)) : 0;
          return names.map((name, i) => [name, away === -1 || i < away ? 1 : 0] as const);
        }),
      );
      return Object.fromEntries(found.flat());
    },
  });
}

/**
 * Asks at most one question at a time; later callers share its answer, for `keptMs` after it too.
 *
 * @returns undefined if the question fails or takes too long
 */
export function inTime<Answer>(ask: () => Promise<Answer>, keptMs = 0): () => Promise<Answer | undefined> {
  let asking: Promise<Answer | undefined> | undefined;
  return () => {
    asking ??= ask()
      .catch(() => undefined)
      .finally(() => setTimeout(() => (asking = undefined), keptMs).unref());
    return withDeadline(asking, ANSWER_WITHIN_MS, () => undefined);
  };
}

export interface MetricsServer {
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics`, or nothing with `METRICS_PORT=0`. The server keeps no process alive.
 *
 * A worker has no other port, so its probes are here: `/healthz` for the event loop, `/readyz` for
 * its work. Neither asks another server: an outage elsewhere must not restart a process.
 *
 * @param render in Prometheus' text format
 * @param isReady without it there is no `/readyz`
 * @throws ConfigError if the port is taken
 */
export async function serveMetrics(
  config: Pick<Config, 'METRICS_HOST' | 'METRICS_PORT' | 'PORT_OFFSET'>,
  log: Pick<Logger, 'info' | 'warn'>,
  render: () => Promise<string>,
  isReady?: () => boolean,
): Promise<MetricsServer> {
  const port = metricsPort(config);
  if (port === undefined) return { close: () => Promise.resolve() };

  let rendering: Promise<string> | undefined;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const isProbe = req.url === '/healthz' || (req.url === '/readyz' && isReady !== undefined);
    if (req.url !== '/metrics' && !isProbe) {
      res.writeHead(404).end();
    } else if (req.method !== 'GET') {
      res.writeHead(405, { Allow: 'GET' }).end();
    } else if (isProbe) {
      const fine = req.url === '/healthz' || isReady?.() === true;
      res.writeHead(fine ? 200 : 503).end();
    } else {
      rendering ??= render().finally(() => (rendering = undefined));
      const text = await rendering;
      res.writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text);
    }
  };
  const server = createServer((req, res) => {
    answer(req, res).catch((error: unknown) => {
      log.warn({ err: error }, 'metrics could not be rendered');
      res.writeHead(500).end();
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.listen({ port, host: config.METRICS_HOST });
  await listening(server, port, 'METRICS_PORT');
  server.unref();
  log.info({ port }, 'metrics are served');
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
