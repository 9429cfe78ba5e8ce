import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';
import { clientAddress } from './client-address';

/** Fit for a header, a log line, a URL and a support ticket. */
const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The id that the request goes by, from `requestLog`. */
export function requestIdOf(res: Response): string {
  return res.get('X-Request-Id') ?? '';
}

/** Our own id of the request: no caller has chosen it, and no other request has it. */
export function ownRequestIdOf(req: Request & LoggedRequest): string {
  return req.ownRequestId ?? '';
}

/** What the handlers put on a request for its line. */
export interface LoggedRequest {
  ownRequestId?: string;
  route?: { path: string };
  caller?: { entityId: string };
  tokenRequest?: TokenRequestNote;
  consoleSession?: { via: 'console'; sessionId: string };
  /** The span of the request, where it is traced. */
  trace?: { trace_id?: string; span_id?: string };
}

/** Of a request for a token: what became of it, and whose token it was to be. */
interface TokenRequestNote {
  clientId?: string;
  outcome?: string;
}

export function noteTokenRequest(req: Request & LoggedRequest, more: TokenRequestNote): void {
  req.tokenRequest = { ...req.tokenRequest, ...more };
}

/** Of a call that a person makes by the console, and not a program. */
export function noteConsoleSession(req: Request & LoggedRequest, sessionId: string): void {
  req.consoleSession = { via: 'console', sessionId };
}

/**
 * One line per request, with its id, which every other line about it carries too. It names what is
 * allowed and no more: method, the route's pattern, caller, the client's address, status and time;
 * of a request for a token also the client and the outcome, of one by the console the session's
 * id. Query strings and bodies hold e-mail addresses, headers hold tokens, and what matches no
 * route may hold anything.
 */
export function requestLog(logger: Logger): RequestHandler {
  return pinoHttp({
    logger,
    quietReqLogger: true,
    customAttributeKeys: { reqId: 'requestId' },
    genReqId(req: IncomingMessage, res: ServerResponse) {
      const given = req.headers['x-request-id'];
      const ownRequestId = randomUUID();
      const id = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : ownRequestId;
      res.setHeader('X-Request-Id', id);
      // Taken now: of a connection that is gone nobody knows the address.
      Object.assign(req, { ownRequestId, address: clientAddress(req as Request) });
      return id;
    },
    serializers: { req: () => undefined, res: () => undefined },
    customProps(req: IncomingMessage, res: ServerResponse) {
      if (!res.headersSent && !res.destroyed) return {};
      const { route, caller, tokenRequest, consoleSession, ownRequestId, address } = req as IncomingMessage &
        LoggedRequest & { address?: string };
      return {
        // Only if the caller chose another id.
        ownRequestId: ownRequestId === req.id ? undefined : ownRequestId,
        method: req.method,
        route: route?.path,
        callerId: caller?.entityId,
        ...tokenRequest,
        ...consoleSession,
        address,
        // None of a request whose caller left before its answer.
        status: res.headersSent ? res.statusCode : undefined,
      };
    },
    customLogLevel(req, res, error) {
      const isFault = error !== undefined || res.statusCode >= 500;
      return isFault && !isNotReady(req, res) ? 'error' : 'info';
    },
    customSuccessMessage: () => 'request',
    customErrorMessage: () => 'request',
    // pino-http makes an error of each 5xx; the one that matters was logged where it was caught.
    customErrorObject: (req, _res, _error, { err: _made, ...line }: Record<string, unknown>) =>
      inTrace(req, line),
    customSuccessObject: (req, _res, line: Record<string, unknown>) => inTrace(req, line),
  });
}

/**
 * With the request's span. The logger puts in the one at hand, but the line is written when the
 * connection is done with the answer, which may be outside of it. What the line itself has wins.
 */
function inTrace(req: IncomingMessage & LoggedRequest, line: Record<string, unknown>) {
  return { ...line, ...req.trace };
}

/**
 * The answer to a question, and no fault of this process; every start has some, before the worker
 * is up.
 */
function isNotReady(req: IncomingMessage, res: ServerResponse): boolean {
  return res.statusCode === 503 && (req as LoggedRequest).route?.path === '/readyz';
}
