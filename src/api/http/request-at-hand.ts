import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { RequestHandler, Response } from 'express';
import { sendFault } from './answer';

/**
 * Which request the code at hand works for, however many callbacks lie between: what nobody caught
 * fails that request alone. Nothing else reads it; whatever a request needs it is given as an
 * argument.
 */
const atHand = new AsyncLocalStorage<Response>();

export const requestAtHand: RequestHandler = (req, res, next) => {
  atHand.run(res, () => {
    // The chunks of a body come from the connection, which serves many requests.
    req.emit = AsyncResource.bind(req.emit.bind(req), 'request');
    next();
  });
};

/**
 * Answers the request at hand with a 500, or cuts its answer off. The connection goes with it, for
 * nobody knows what of it has been read.
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
