import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { Failure } from '../../domain/failures';
import type { Tracing } from '../../process/span';
import type { FailedAuthentication } from './failed-authentication';
import { sendFault } from './answer';
import { hasBody } from './body';
import { requestLog, pathOf, requestIdOf } from './request-log';
import { readTraceparent } from '../../domain/workflow/trace-context';
import { traceFields, withinSpan } from '../../process/at-hand';
import { METHODS } from './request-metrics';

/** Pages, probes and streams of events say nothing of a payment. */
const CALLS = '/v1/';

/**
 * Makes a span of each call, in the caller's trace where it names one. Its name has the pattern of
 * the route: a path may hold anything.
 */
function traceRequests(tracing: Pick<Tracing, 'open'>): RequestHandler {
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

const securePage = helmet();

/** A call returns data, which is no page: three headers in place of a page's twelve. */
const secure: RequestHandler = (req, res, next) => {
  if (!req.path.startsWith(CALLS)) {
    securePage(req, res, next);
    return;
  }
  res.set({
    'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
    'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
    'X-Content-Type-Options': 'nosniff',
  });
  next();
};

/** Browsers send some twenty, balancers add ten. The server bounds their bytes. */
const HEADERS_MAX = 100;

/** Handlers of every request, before its route. */
export function beforeRoutes(
  log: Logger,
  failures: FailedAuthentication,
  tracing: Tracing | undefined,
): RequestHandler[] {
  const prepare: RequestHandler = (req, res, next) => {
    // Each response is about one caller, at one moment.
    res.set('Cache-Control', 'no-store');
    // An authenticated caller is told of its own bucket instead.
    failures.show(req, res);
    next();
  };
  const traced = tracing ? [traceRequests(tracing)] : [];
  return [...traced, requestAtHand, requestLog(log), secure, prepare, checkHeaders];
}

/** @throws Failure headers_too_large or invalid_request */
const checkHeaders: RequestHandler = (req, _res, next) => {
  // Names and values, one after the other.
  if (req.rawHeaders.length > 2 * HEADERS_MAX) {
    throw new Failure('headers_too_large', `The request may have at most ${HEADERS_MAX} headers`);
  }
  const { host } = req.headers;
  if (req.httpVersion === '1.1' && (host === undefined || host.includes(','))) {
    throw new Failure('invalid_request', 'The request must have one Host header');
  }
  // Express would answer `*` with a 304. No response has an ETag to compare with.
  delete req.headers['if-none-match'];
  next();
};

/** The request that the code at hand works for: an uncaught error fails that request alone. */
const atHand = new AsyncLocalStorage<Response>();

const requestAtHand: RequestHandler = (req, res, next) => {
  atHand.run(res, () => {
    // The pieces of a body come from the connection, which serves many requests.
    if (hasBody(req)) req.emit = AsyncResource.bind(req.emit.bind(req), 'request');
    next();
  });
};

/**
 * Answers the request at hand with a 500, or cuts its response off, and closes its connection,
 * which may be read in part.
 *
 * @returns false where the code at hand works for no request
 */
export function failRequestAtHand(): boolean {
  const res = atHand.getStore();
  if (res === undefined) return false;
  if (res.headersSent) {
    res.socket?.destroy();
  } else {
    res.set('Connection', 'close');
    sendFault(res);
  }
  return true;
}
