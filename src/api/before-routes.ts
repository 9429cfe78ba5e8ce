import type { RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { requestAtHand } from './request-at-hand';
import { boundHeaders } from './request-headers';
import { requestLog } from './request-log';

/** What every request goes through before it is looked at what it asks for. */
export function beforeRoutes(log: Logger): RequestHandler[] {
  return [requestAtHand, requestLog(log), helmet(), notStored, boundHeaders];
}

/** Every answer is about one caller, at one moment. */
const notStored: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};
