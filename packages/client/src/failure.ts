import type { ErrorCode } from './api.generated';

/** One thing that is wrong with a request. */
export interface Problem {
  /** `merchants[3].email`, `query.page`, `body`, or a header's name. */
  path: string;
  message: string;
}

export type FailureCode =
  /** Codes of the network's refusals; `docs/errors.md` has all. */
  | ErrorCode
  /** The client id or secret is wrong, or the network has shut this client out. */
  | 'invalid_client'
  /** The client lacks a scope that was asked for. */
  | 'invalid_scope'
  /** No connection, or one that broke. */
  | 'unreachable'
  /** No answer in time. */
  | 'timeout'
  /** The caller's own signal. */
  | 'aborted'
  /** A list has more than its pages reach: narrow it. */
  | 'list_too_long'
  /** Not an answer of the network: of a proxy in between, for one. */
  | 'unexpected_answer';

interface Circumstances {
  code: FailureCode;
  status?: number | undefined;
  requestId?: string | undefined;
  problems?: readonly Problem[] | undefined;
  data?: unknown;
  idempotencyKey?: string | undefined;
  cause?: unknown;
}

/**
 * A call that failed. It never holds a token, a secret, or what was sent: it may be logged as it
 * is, but for `data` and `problems`, which are the network's words about your request.
 */
export class AssentError extends Error {
  override readonly name = 'AssentError';
  readonly code: FailureCode;
  /** Of HTTP; none where no answer came. */
  readonly status: number | undefined;
  /** To quote when you ask for help. */
  readonly requestId: string | undefined;
  /** Of a 400: everything that is wrong with the request. */
  readonly problems: readonly Problem[];
  /** Of a 409 the state that the thing is in; where all items were refused, the items. */
  readonly data: unknown;
  /** With which the call may be repeated, also by another process, without doing it twice. */
  readonly idempotencyKey: string | undefined;

  constructor(message: string, { cause, problems = [], ...circumstances }: Circumstances) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = circumstances.code;
    this.status = circumstances.status;
    this.requestId = circumstances.requestId;
    this.problems = problems;
    this.data = circumstances.data;
    this.idempotencyKey = circumstances.idempotencyKey;
  }
}
