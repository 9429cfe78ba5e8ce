import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { CommitLost, isNotConnected, isUnavailable } from '../../database/pool/availability';
import { Failure, FAILURES } from '../../domain/failures';
import { requestIdOf } from './request-log';

/** A handler's answer: the parts of the envelope, or the bare array of items. */
export type Answer =
  | {
      /** Left out where it is the route's. */
      status?: number;
      message: string;
      data?: object;
      /** `data` as a repeat shows it an hour later, without its secrets. */
      dataWithoutSecrets?: object;
    }
  | { status?: number; items: readonly object[] };

export interface Reply {
  status: number;
  body: unknown;
  /** The body as a repeat shows it an hour later, where it has secrets. */
  bodyWithoutSecrets?: unknown;
  /** The answer repeats an earlier request's with the same idempotency key. */
  replayed?: boolean;
}

export function replyOf(answer: Answer, routeStatus: number): Reply {
  const status = answer.status ?? routeStatus;
  if ('items' in answer) return { status, body: answer.items };
  const envelope = (data: object | undefined) => ({
    statusCode: status,
    success: true,
    message: answer.message,
    ...(data && { data }),
  });
  return {
    status,
    body: envelope(answer.data),
    ...(answer.dataWithoutSecrets && { bodyWithoutSecrets: envelope(answer.dataWithoutSecrets) }),
  };
}

export function replyOfFailure(failure: Failure): Reply {
  const { status } = FAILURES[failure.code];
  return {
    status,
    body: {
      statusCode: status,
      success: false,
      code: failure.code,
      message: failure.message,
      ...(failure.data === undefined ? {} : { data: failure.data }),
      ...(failure.problems && { errors: failure.problems }),
    },
  };
}

/** By then Postgres may be back, and know the outcome of a lost commit. */
const UNAVAILABLE_RETRY_S = 2;

/**
 * The refusal after a lost commit, which may have accepted the request.
 *
 * @param advice left out where the request cannot be repeated safely
 */
export function unknownFate(
  lost: CommitLost,
  advice = 'it may have been accepted: look whether it took effect before sending it again',
): Failure {
  return new Failure('outcome_unknown', `The database was lost while the request was committed: ${advice}`, {
    retryAfterS: UNAVAILABLE_RETRY_S,
    cause: lost,
  });
}

/**
 * A thrown value as its caller sees it; undefined for a fault of ours, which callers do not see.
 */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error instanceof CommitLost) return unknownFate(error);
  if (isUnavailable(error) || isNotConnected(error)) {
    return new Failure('unavailable', 'The service cannot reach its database; nothing was accepted', {
      retryAfterS: UNAVAILABLE_RETRY_S,
      cause: error,
    });
  }
  // A path that is not valid percent-encoding names nothing.
  if (error instanceof URIError) return new Failure('not_found', NO_SUCH_ENDPOINT);
  return undefined;
}

/** The database's fault, and not the caller's. */
export const isOurs = ({ code }: Failure) => code === 'unavailable' || code === 'outcome_unknown';

export function sendFailureHeaders(res: Response, failure: Failure): void {
  if (failure.retryAfterS !== undefined) {
    res.set('Retry-After', String(Math.max(1, Math.ceil(failure.retryAfterS))));
  }
  // Nothing tells where the next request on the connection begins.
  if (failure.code === 'request_too_slow') res.set('Connection', 'close');
}

/** Tells the caller of a fault of ours the id to report, and nothing else. */
export function sendFault(res: Response): void {
  const message = `Something went wrong on our side. If it lasts, report the request id ${requestIdOf(res)}`;
  res.status(500).json({ statusCode: 500, success: false, code: 'internal', message });
}

export const errorHandler: ErrorRequestHandler = (error: unknown, req, res, next) => {
  const failure = failureOf(error);
  if (failure === undefined || isOurs(failure)) req.log.error({ err: error }, 'request failed');
  // A connection that ends says that the response on its way is not whole.
  if (res.headersSent) return next(error);
  if (failure === undefined) return sendFault(res);
  sendFailureHeaders(res, failure);
  if (failure.code === 'unauthenticated') {
    const isRefused = /^Bearer /i.test(req.headers.authorization ?? '');
    res.set('WWW-Authenticate', `Bearer realm="assent"${isRefused ? ', error="invalid_token"' : ''}`);
  }
  const reply = replyOfFailure(failure);
  res.status(reply.status).json(reply.body);
};

const NO_SUCH_ENDPOINT = 'There is no such endpoint: check the path';

export const unknownEndpoint: RequestHandler = (_req, _res, next) => {
  next(new Failure('not_found', NO_SUCH_ENDPOINT));
};
