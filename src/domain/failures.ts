/** All refusals of the API, with texts for `docs/errors.md` and the OpenAPI document. */

interface Row {
  status: number;
  /** A sentence or two for the caller's developer: the meaning, and the remedy. Markdown. */
  meaning: string;
  /**
   * The idempotency key keeps the refusal as its response. Without this the key stays free: the
   * caller may correct the request, or the fault is ours and passes.
   */
  kept?: true;
}

const TABLE = {
  invalid_request: {
    status: 400,
    meaning: 'The request breaks the contract. `errors` names every place; correct them all.',
  },
  currency_mismatch: {
    status: 400,
    meaning: 'The agreement bills in another currency. Bill in that one, or send a new intent.',
  },
  unauthenticated: {
    status: 401,
    meaning: 'The access token is missing, invalid or expired. Get a new one.',
  },
  forbidden: { status: 403, meaning: 'Your role may not call this endpoint.' },
  insufficient_scope: {
    status: 403,
    meaning:
      'The access token lacks the scope of this endpoint, which `WWW-Authenticate` names. Ask as a client that has it.',
  },
  cross_site: {
    status: 403,
    meaning: 'The console’s own page alone may make this call. Load the page again.',
  },
  not_approved: {
    status: 403,
    meaning: 'The customer does not allow this charge: not yet, not any more, or never.',
    kept: true,
  },
  merchant_not_trusted: {
    status: 403,
    meaning: 'The network does not trust the merchant, so it can have no standing approval.',
    kept: true,
  },
  party_disabled: {
    status: 403,
    meaning: 'The merchant or the customer’s bank is disabled. The operator may enable it again.',
    kept: true,
  },
  limit_reached: {
    status: 403,
    meaning:
      'The charge is more than the customer’s spending limits leave; `limit` names the first that refuses.',
    kept: true,
  },
  consent_not_yet_valid: {
    status: 403,
    meaning: 'The customer’s permission begins at `validFrom`. Charge then.',
    kept: true,
  },
  consent_expired: {
    status: 403,
    meaning: 'The customer’s permission ended at `validUntil`. Send a new intent.',
    kept: true,
  },
  consent_paused: {
    status: 403,
    meaning: 'The customer has paused the permission. Charge once `decision.updated` says `active`.',
    kept: true,
  },
  not_found: {
    status: 404,
    meaning: 'The path, or what the request names, is unknown or belongs to someone else.',
    kept: true,
  },
  method_not_allowed: { status: 405, meaning: 'The path takes other methods; `Allow` lists them.' },
  request_too_slow: {
    status: 408,
    meaning: 'The request arrived too slowly, and its connection is closed. Send it again.',
  },
  too_late_to_skip: {
    status: 409,
    meaning: 'The bank was asked for this billing, or it has ended (`status`): it stays as it is.',
  },
  already_answered: {
    status: 409,
    meaning:
      'Your other answer came first and stands; `data` says which. Reverse what you debited for this one.',
    kept: true,
  },
  late_answer: {
    status: 409,
    meaning: 'The question ended before your answer; `data` says how. Reverse what you debited.',
    kept: true,
  },
  duplicate_transaction_id: {
    status: 409,
    meaning: 'The `bankTransactionId` belongs to another transaction of yours. Answer with the right one.',
    kept: true,
  },
  not_a_charge: {
    status: 409,
    meaning: 'Only a charge can be refunded, and the reference is that of something else. Name the charge.',
    kept: true,
  },
  not_refundable: {
    status: 409,
    meaning: 'Only a successful charge can be refunded; `data.status` says how this one stands.',
    kept: true,
  },
  not_cancellable: {
    status: 409,
    meaning:
      'Only a charge that waits for its customer can be cancelled; `data.status` says how this one stands.',
    kept: true,
  },
  exceeds_remaining: {
    status: 409,
    meaning: 'The refund is more than what is left of the charge. Refund less.',
    kept: true,
  },
  held_by_exception: {
    status: 409,
    meaning: 'An open reconciliation exception holds what the refund needs. Wait for `exception.resolved`.',
    kept: true,
  },
  already_resolved: {
    status: 409,
    meaning: 'The exception was resolved otherwise before; `data.resolution` says how.',
    kept: true,
  },
  resolution_not_allowed: {
    status: 409,
    meaning: 'The exception cannot be resolved so; its kind allows other resolutions.',
    kept: true,
  },
  booked_at_bank: {
    status: 409,
    meaning:
      'A bank’s file has booked it, and nothing takes it back; `data` names the line. Reverse it, and answer `reversed`.',
    kept: true,
  },
  intent_open: {
    status: 409,
    meaning: 'The merchant’s intent is open. Answer it by `/v1/billing/intent-response`.',
    kept: true,
  },
  consent_not_active: {
    status: 409,
    meaning: 'Only a permission that holds can be paused or resumed; `data.state` says how this one stands.',
    kept: true,
  },
  schedule_ended: {
    status: 409,
    meaning: 'The schedule has ended and does not change any more; `data.status` says how.',
    kept: true,
  },
  schedule_suspended: {
    status: 409,
    meaning: 'The schedule goes on once the customer approves and the network trusts the merchant.',
    kept: true,
  },
  already_linked: {
    status: 409,
    meaning: 'The device is linked to another customer. Its bank must unlink it first.',
    kept: true,
  },
  client_ref_taken: {
    status: 409,
    meaning: 'An earlier merchant of yours has this `clientRef`.',
    kept: true,
  },
  delivery_withdrawn: {
    status: 409,
    meaning: 'The charge or intent of this webhook ended before it was sent. Your events say how.',
    kept: true,
  },
  person_exists: {
    status: 409,
    meaning: 'The entity has a person with this e-mail address. Invite the person again, or enable them.',
  },
  too_many_persons: { status: 409, meaning: 'The entity has as many persons as it may have.' },
  too_many_passkeys: {
    status: 409,
    meaning: 'You have as many passkeys as a person may have. A new invitation ends the old ones.',
  },
  last_admin: {
    status: 409,
    meaning: 'It would leave the entity without an admin who is not disabled. Make another one first.',
  },
  already_decided: {
    status: 409,
    meaning:
      'The act waits for a second person no more; `data.state` says whether it was approved or refused, or has lapsed.',
  },
  no_webhook_url: { status: 409, meaning: 'You have no webhook URL. Set one first.', kept: true },
  clock_advancing: {
    status: 409,
    meaning: 'The test clock is advancing. Wait until its `status` is `ready`.',
    kept: true,
  },
  sandbox_refused: {
    status: 409,
    meaning: 'The shop or the bank of the page `/sandbox` cannot do this; the message says why.',
  },
  idempotency_key_in_use: {
    status: 409,
    meaning: 'The first request with this `Idempotency-Key` still runs. Send it again after `Retry-After`.',
  },
  body_too_large: { status: 413, meaning: 'The body is larger than the endpoint takes.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The endpoint takes no body of this `Content-Type` or `Content-Encoding`.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The `Idempotency-Key` was used with another body. Use a new key for a new request.',
  },
  rate_limited: {
    status: 429,
    meaning: 'You send more than your limits allow. Wait for `Retry-After`.',
  },
  asked_too_often: {
    status: 429,
    meaning: 'The customer has been asked often enough today. Try again tomorrow.',
  },
  headers_too_large: { status: 431, meaning: 'The request line and headers are too long or too many.' },
  internal: {
    status: 500,
    meaning: 'Something went wrong on our side. Report the request id if it lasts.',
  },
  unavailable: {
    status: 503,
    meaning: 'The service cannot do this now, and accepted nothing. Send it again after `Retry-After`.',
  },
  outcome_unknown: {
    status: 503,
    meaning:
      'The request may have been accepted. Repeat it with the same `Idempotency-Key` to learn its outcome.',
  },
} as const satisfies Record<string, Row>;

export type FailureCode = keyof typeof TABLE;
export const FAILURES: Record<FailureCode, Row> = TABLE;
export const FAILURE_CODES = Object.keys(TABLE) as [FailureCode, ...FailureCode[]];

export interface Problem {
  /** The place in the input, e.g. `merchants[3].email`; `query.page` for the query string. */
  path: string;
  message: string;
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly problems: Problem[] | undefined;
  /** The envelope's `data`, e.g. the true status behind a 409. */
  readonly data: unknown;
  /** Seconds after which a retry makes sense; sent as `Retry-After`. */
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

export function invalidRequest(problems: Problem[]): Failure {
  const [first] = problems;
  // One sentence for people who see only the message.
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more, see errors)` : '';
  return new Failure('invalid_request', `The request is not valid: ${first?.path} ${first?.message}${more}`, {
    problems,
  });
}

/** Something that an operator can mend. The message says how, and the API says none of it. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}
