import type { FailureCode } from '../../domain/failures';

/** The HTTP status of every failure. A new code does not compile until it has its row here. */
export const FAILURE_STATUS: Record<FailureCode, number> = {
  invalid_request: 400,
  unauthenticated: 401,
  role_not_allowed: 403,
  cross_site: 403,
  not_approved: 403,
  limit_reached: 403,
  not_found: 404,
  method_not_allowed: 405,
  body_too_slow: 408,
  conflict: 409,
  idempotency_key_in_use: 409,
  body_too_large: 413,
  media_type_unsupported: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_many: 431,
  unavailable: 503,
};

/**
 * Whether a refusal is the answer to its idempotency key from then on. What was wrong with the
 * request itself may be mended and sent again with the same key; what was wrong with us passes.
 */
export const IS_AN_ANSWER: Record<FailureCode, boolean> = {
  invalid_request: false,
  unauthenticated: false,
  role_not_allowed: false,
  cross_site: false,
  not_approved: true,
  limit_reached: true,
  not_found: true,
  method_not_allowed: false,
  conflict: true,
  idempotency_key_in_use: false,
  body_too_large: false,
  body_too_slow: false,
  media_type_unsupported: false,
  idempotency_key_reused: false,
  rate_limited: false,
  headers_too_many: false,
  unavailable: false,
};
