import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { readTraceparent } from '../../domain/workflow/trace-context';
import { traceFields, withinSpan } from '../../tracing/at-hand';
import type { Tracing } from '../../tracing/tracing';
import { requestIdOf, type LoggedRequest } from './request-log';
import { METHODS } from './request-metrics';

/** What is below it are calls; pages, probes and streams of events tell nothing of a payment. */
const CALLS = '/v1/';

/**
 * Makes a span of each call, from its headers to the end of its answer, in the caller's trace where
 * it names one. A call goes by the pattern of its route, as in its log line: a path may hold
 * anything.
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
      byCaller: true,
      attributes: { 'http.request.method': method, 'url.scheme': req.protocol },
    });
    Object.assign(req, { trace: traceFields(span.context) });
    res.once('close', () => {
      const { route, caller } = req as IncomingMessage & LoggedRequest;
      const answered = res.writableFinished;
      if (route) span.rename(`${method} ${route.path}`);
      span.describe({
        'http.route': route?.path,
        'http.response.status_code': answered ? res.statusCode : undefined,
        'assent.request_id': requestIdOf(res),
        'assent.caller_id': caller?.entityId,
      });
      if (!answered) span.end('aborted');
      else span.end(res.statusCode >= 500 ? String(res.statusCode) : undefined);
    });
    withinSpan(span.context, next);
  };
}
