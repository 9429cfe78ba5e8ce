import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Methods with a series. Others share `other`, so callers create no series. */
export const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** A read takes some milliseconds, a request without its database a few seconds. */
const BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type IdentifierKind = 'lookup_id' | 'payment_id' | 'email' | 'device';

export type MeasureUnknown = (kind: IdentifierKind, count: number) => void;

/** Counts identifiers that named nothing: guessing shows here. */
export function measureUnknownIdentifiers(registry: Registry): MeasureUnknown {
  const unknown = new Counter({
    name: 'assent_unknown_identifiers_total',
    help: 'Identifiers that callers named and that named nothing, by kind: lookup_id, payment_id, email, device.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return (kind, count) => unknown.inc({ kind }, count);
}

/**
 * Counts and times the server's requests, by the pattern of their route and never by their path.
 */
export function measureRequests(registry: Registry, server: Server): void {
  const registers = [registry];
  const requests = new Counter({
    name: 'assent_http_requests_total',
    help: 'Requests answered, by the pattern of their route ("none" where none matched) and the status of the answer ("aborted" where the caller left before its end).',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'assent_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS_S,
    registers,
  });
  const routes = new Set<string>();
  server.prependListener('request', (req: IncomingMessage, res: ServerResponse) => {
    const startedAt = performance.now();
    res.once('close', () => {
      const { route: matched } = req as IncomingMessage & { route?: { path: string } };
      const method = METHODS.has(req.method ?? '') ? (req.method ?? '') : 'other';
      const route = matched?.path ?? 'none';
      // Prometheus sees the first fault as a rise.
      if (!routes.has(`${method} ${route}`)) {
        routes.add(`${method} ${route}`);
        for (const status of [500, 503]) requests.inc({ method, route, status }, 0);
      }
      requests.inc({ method, route, status: res.writableFinished ? res.statusCode : 'aborted' });
      durations.observe({ method, route }, (performance.now() - startedAt) / 1000);
    });
  });
}
