import type { RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import type { FailedAuthentication } from './failed-authentication';
import { requestAtHand } from './request-at-hand';
import { boundHeaders } from './request-headers';
import { requestLog } from './request-log';

/** What every request goes through before it is looked at what it asks for. */
export function beforeRoutes(log: Logger, failures: FailedAuthentication): RequestHandler[] {
  // Until somebody has proved who asks, and pays, it is the address that has something left.
  const limited: RequestHandler = (req, res, next) => {
    failures.show(req, res);
    next();
  };
  return [requestAtHand, requestLog(log), helmet(), notStored, limited, boundHeaders];
}

/** Every answer is about one caller, at one moment. */
const notStored: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
