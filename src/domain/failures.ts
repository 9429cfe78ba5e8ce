/**
 * Everything that can go wrong with a request, as one closed list of codes.
 *
 * A layer that refuses throws a `Failure`; `api/http/failure-status.ts` maps every code to its HTTP
 * status, in a table that does not compile until a new code has its row.
 */
export type FailureCode =
  | 'invalid_request' // what was sent breaks the contract; `problems` names every place
  | 'unauthenticated'
  | 'role_not_allowed'
  | 'cross_site' // of the console, asked for by another page than its own
  | 'method_not_allowed' // a path that there is, asked with a method that it has not
  | 'not_found' // unknown, or someone else's: the two cannot be told apart
  | 'conflict' // the thing is in another state than the request needs
  | 'not_approved' // the customer (or the network's trust) does not allow this
  | 'limit_reached' // a spending limit; the merchant learns only that
  | 'body_too_large'
  | 'body_too_slow' // nothing more of it arrives
  | 'headers_too_many'
  | 'media_type_unsupported'
  | 'idempotency_key_reused' // same key, another body
  | 'idempotency_key_in_use' // the first request with this key still runs
  | 'rate_limited'
  | 'unavailable'; // Postgres is out of reach, or a commit's fate is unknown

export interface Problem {
  /** Where in the input, e.g. `merchants[3].email`; `query.page` for the query string. */
  path: string;
  message: string;
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly problems: Problem[] | undefined;
  /** Put into the envelope's `data`, e.g. the true status behind a 409. */
  readonly data: unknown;
  /** Seconds after which trying again makes sense; sent as `Retry-After`. */
  readonly retryAfterS: number | undefined;

  constructor(
    readonly code: FailureCode,
    message: string,
    more: { problems?: Problem[]; data?: unknown; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.problems = more.problems;
    this.data = more.data;
    this.retryAfterS = more.retryAfterS;
  }
}
