import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** gRPC statuses. */
export const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
/** Begins the details of a call that ran out of time in a second or later attempt. */
export const CUT_OFF = 'no answer in time, and before that ';
/**
 * Servers that answer and refuse us. The words are for the errors of a worker's connection, which
 * carry no gRPC status.
 */
const REFUSALS = [
  { code: 7, name: 'PERMISSION_DENIED', words: 'does not have permission' },
  { code: 16, name: 'UNAUTHENTICATED', words: 'valid authentication credentials' },
];
/**
 * A failed handshake, in the words of OpenSSL (client) and rustls (worker): an unknown authority,
 * another name, no valid certificate, or no TLS.
 */
const HANDSHAKE = /certificate|SSL routines|ERR_TLS_|InvalidMessage|AlertReceived/i;

/** Characters. A worker's connection puts all that it knows into its message. */
const QUOTED_MAX = 300;

/**
 * The reason why Temporal cannot be used. A Temporal that refuses us need not be started.
 *
 * @returns `inWords`: `what`, the error's own words and a remedy, for operators
 */
export function temporalFault(error: unknown, namespace: string) {
  const cause = error instanceof ServiceError ? error.cause : error;
  const code = isGrpcServiceError(cause) ? (cause.code as number) : undefined;
  const said = ownWords(cause);
  // A bare timeout only counts attempts, which helps no operator.
  const saysNothing = said === '' || (code === DEADLINE_EXCEEDED && !said.startsWith(CUT_OFF));
  const quote = saysNothing ? '' : ` (${said})`;
  const fault = (what: string, todo: string) => ({ what, inWords: `${what}${quote}: ${todo}` });
  if (code === NOT_FOUND) {
    return fault(
      `has no namespace "${namespace}"`,
      'create it, or correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE',
    );
  }
  const refusal = REFUSALS.find((one) => (code === undefined ? said.includes(one.words) : one.code === code));
  if (refusal) {
    return fault(
      `refuses us, ${refusal.name}`,
      'correct TEMPORAL_API_KEY, or TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE, which may have expired, ' +
        'or TEMPORAL_NAMESPACE',
    );
  }
  if (isHandshake(said)) {
    return fault(
      'cannot be reached over TLS',
      'correct TEMPORAL_TLS, TEMPORAL_TLS_CA_FILE or TEMPORAL_TLS_CERT_FILE, or the certificate of the server',
    );
  }
  return fault('does not answer', 'start it, or correct TEMPORAL_ADDRESS or TEMPORAL_TLS');
}

/**
 * A failed TLS handshake fails at every retry, so the connection does not retry it.
 *
 * @param said an error's own words
 */
export function isHandshake(said: string): boolean {
  return HANDSHAKE.test(said);
}

/** Fits into a line of the log. */
function ownWords(cause: unknown): string {
  const words = isGrpcServiceError(cause)
    ? cause.details
    : cause instanceof Error
      ? cause.message
      : String(cause);
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, QUOTED_MAX);
}
