import type { RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { FailedAuthentication } from '../access/failed-authentication';
import { requestAtHand } from './request-at-hand';
import { boundHeaders } from './request-headers';
import { requestLog } from './request-log';
import { traceRequests } from './request-trace';
import type { Tracing } from '../../tracing/tracing';

/** What every request goes through before anybody looks at what it asks for. */
export function beforeRoutes(
  log: Logger,
  failures: FailedAuthentication,
  tracing: Tracing | undefined,
): RequestHandler[] {
  // Until a caller has proved who it is, and pays from a bucket of its own, it is told what its
  // address has left.
  const limited: RequestHandler = (req, res, next) => {
    failures.show(req, res);
    next();
  };
  const traced = tracing ? [traceRequests(tracing)] : [];
  return [...traced, requestAtHand, requestLog(log), helmet(), notStored, limited, boundHeaders];
}

/** Every answer is about one caller, at one moment. */
const notStored: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
