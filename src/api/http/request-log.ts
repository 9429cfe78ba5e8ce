import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { Caller } from './caller';
import { clientAddress } from './client-address';

/** Fit for a header, a log line, a URL and a support ticket. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Outcome of a request for a token, and its client. */
interface TokenRequestNote {
  clientId?: string;
  personId?: string;
  outcome?: string;
}

declare global {
  namespace Express {
    /** Fields that handlers put on a request for its line. */
    interface Request {
      /** Made by us: no caller chooses it, and no other request has it. */
      ownRequestId: string;
      /** Its lines have the request's id. */
      log: Logger;
      /** Absent until it is known. */
      caller?: Caller;
      tokenRequest?: TokenRequestNote;
      /** The session of a person who calls by the console. */
      consoleSession?: { via: 'console'; sessionId: string };
      /** The span of the request, where it is traced. */
      trace?: { trace_id?: string; span_id?: string };
    }
  }
}

/** The id that the request goes by, from `requestLog`. */
export function requestIdOf(res: Response): string {
  return res.get('X-Request-Id') ?? '';
}

export function noteTokenRequest(req: Request, more: TokenRequestNote): void {
  req.tokenRequest = { ...req.tokenRequest, ...more };
}

/**
 * One line for each request, with what may be logged and no more. Query strings and bodies hold
 * e-mail addresses, headers hold tokens, and a path without a route may hold anything.
 */
export function requestLog(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const startedAt = performance.now();
    // A person's act has an id that nobody chooses.
    const given = req.path.startsWith('/console/') ? undefined : req.get('x-request-id');
    const ownRequestId = randomUUID();
    const requestId = given !== undefined && SANE_REQUEST_ID.test(given) ? given : ownRequestId;
    res.set('X-Request-Id', requestId);
    const log = logger.child({ requestId });
    Object.assign(req, { ownRequestId, log });
    // A closed connection has no address.
    const address = clientAddress(req);
    res.once('close', () => {
      const { route, caller, tokenRequest, consoleSession, trace } = req;
      const status = res.headersSent ? res.statusCode : undefined;
      const line = {
        ownRequestId: ownRequestId === requestId ? undefined : ownRequestId,
        method: req.method,
        route: pathOf(route),
        callerId: caller?.entityId,
        personId: caller?.person?.personId,
        clientId: caller?.clientId,
        ...tokenRequest,
        ...consoleSession,
        address,
        status,
        responseTime: Math.round(performance.now() - startedAt),
        // The connection may close outside of the span.
        ...trace,
      };
      // A worker is up later than the API at each start.
      const isFault = (status ?? 0) >= 500 && !(status === 503 && line.route === '/readyz');
      log[isFault ? 'error' : 'info'](line, 'request');
    });
    next();
  };
}

/** The pattern of an Express route. */
export function pathOf(route: unknown): string | undefined {
  return (route as { path: string } | undefined)?.path;
}
