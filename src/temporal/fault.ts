import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** What keeps us from Temporal. One that refuses us is not to be started. */
export interface TemporalFault {
  what: string;
  /** The same with the error's own words, and what to do about it: for an operator. */
  inWords: string;
}

/** gRPC's status for what is out of time. */
export const DEADLINE_EXCEEDED = 4;
/** Begins what is said of a call whose time was up in an attempt that was not its first. */
export const CUT_OFF = 'no answer in time, and before that ';
/** gRPC's status for what is not there. */
const NOT_FOUND = 5;
/**
 * A server that answers, and lets us do nothing: gRPC's status, and its words in the errors of a
 * worker's connection, which have no status.
 */
const REFUSALS = [
  { code: 7, name: 'PERMISSION_DENIED', words: 'does not have permission' },
  { code: 16, name: 'UNAUTHENTICATED', words: 'valid authentication credentials' },
];
/**
 * A handshake that fails, by OpenSSL under a client and by rustls under a worker: an authority that
 * is not known, another name, a certificate that is missing or has expired, or no TLS at all.
 */
const HANDSHAKE = /certificate|SSL routines|ERR_TLS_|InvalidMessage|AlertReceived/i;

/** Longest that is quoted of an error: a worker's connection tells all that it knows. */
const QUOTED_MAX = 300;

/** @param namespace that was asked for */
export function temporalFault(error: unknown, namespace: string): TemporalFault {
  const cause = error instanceof ServiceError ? error.cause : error;
  const code = isGrpcServiceError(cause) ? (cause.code as number) : undefined;
  const said = ownWords(cause);
  // How often it was tried, and what it waited for then, helps nobody.
  const saysNothing = said === '' || (code === DEADLINE_EXCEEDED && !said.startsWith(CUT_OFF));
  const quote = saysNothing ? '' : ` (${said})`;
  const fault = (what: string, todo: string) => ({ what, inWords: `${what}${quote}: ${todo}` });
  if (code === NOT_FOUND) {
    return fault(
      `has no namespace "${namespace}"`,
      'make it, or correct TEMPORAL_ADDRESS or TEMPORAL_NAMESPACE',
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

/** Whether TLS was what failed, as it would again. @param said an error's own words */
export function isHandshake(said: string): boolean {
  return HANDSHAKE.test(said);
}

/** As part of one line. */
function ownWords(cause: unknown): string {
  const words = isGrpcServiceError(cause)
    ? cause.details
    : cause instanceof Error
      ? cause.message
      : String(cause);
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, QUOTED_MAX);
}
