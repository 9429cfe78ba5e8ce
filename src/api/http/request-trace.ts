import type { RequestHandler } from 'express';
import { readTraceparent } from '../../domain/workflow/trace-context';
import { traceFields, withinSpan } from '../../process/at-hand';
import type { Tracing } from '../../process/span';
import { pathOf, requestIdOf } from './request-log';
import { METHODS } from './request-metrics';

/** Pages, probes and streams of events say nothing of a payment. */
const CALLS = '/v1/';

/**
 * Makes a span of each call, in the caller's trace where it names one. Its name has the pattern of
 * the route: a path may hold anything.
 */
export function traceRequests(tracing: Pick<Tracing, 'open'>): RequestHandler {
  return (req, res, next) => {
    if (!req.path.startsWith(CALLS)) {
      next();
      return;
    }
    const method = METHODS.has(req.method) ? req.method : '_OTHER';
    const span = tracing.open({
      name: method,
      kind: 'server',
      parent: readTraceparent(req.headers['traceparent']),
      attributes: { 'http.request.method': method, 'url.scheme': req.protocol },
    });
    req.trace = traceFields(span.context);
    res.once('close', () => {
      const path = pathOf(req.route);
      const isAnswered = res.writableFinished;
      if (path !== undefined) span.rename(`${method} ${path}`);
      span.describe({
        'http.route': path,
        'http.response.status_code': isAnswered ? res.statusCode : undefined,
        'assent.request_id': requestIdOf(res),
        'assent.caller_id': req.caller?.entityId,
      });
      if (!isAnswered) span.end('aborted');
      else span.end(res.statusCode >= 500 ? String(res.statusCode) : undefined);
    });
    withinSpan(span.context, next);
  };
}
