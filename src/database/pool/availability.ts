import { isNativeError } from 'node:util/types';
import { OperatorError } from '../../domain/failures';

/** Postgres did not answer in time, and may or may not do so later. */
export class DatabaseSilent extends Error {
  override readonly name = 'DatabaseSilent';
  constructor(cause?: unknown) {
    super('Postgres did not answer in time', { cause });
  }
}

/** Codes of Node and the resolver for a server that cannot be reached. */
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);

/**
 * SQLSTATEs of passing faults that say nothing about the request. They are lost connections (08),
 * shutdown and recovery (57P), no resources left (53), a statement past its time limit, and lock
 * conflicts. 25006 is a read-only server, which a failover leaves behind.
 */
const PASSING = /^(08...|57P0[1-5]|53...|57014|55P03|40001|40P01|25006)$/;

/** SQLSTATE of a statement that did not get its lock within `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** SQLSTATE of a standby's refusal to read an unlogged table, among other features not there. */
const NOT_SUPPORTED = '0A000';
const ON_STANDBY = 'during recovery';

/** Messages of pg, without a code, for a connection that is gone or was not to be had in time. */
const WORDS =
  /connection terminated|timeout expired|timeout exceeded when trying to connect|connection ended|not queryable|Query read timeout/i;

/** A failed handshake in the words of Node, OpenSSL and pg: a wrong certificate, or no TLS. */
const HANDSHAKE = /certificate|altnames|SSL (routines|connection)/i;

/** SQLSTATEs of a wrong URL: login or password, the database, or a role that does not exist. */
const WRONG_URL = /^(28...|3D000|22023)$/;

/** The reason why Postgres refuses a login, if waiting cannot help; undefined for other errors. */
export function refusedLogin(error: unknown): string | undefined {
  if (!isNativeError(error)) return undefined;
  const { code, message } = error as Error & { code?: unknown };
  const mayNotTakeRole = code === '42501' && message.includes('set role');
  if (typeof code !== 'string' || !(WRONG_URL.test(code) || mayNotTakeRole)) return undefined;
  return `Postgres does not let us in (${message}).`;
}

/** `refusedLogin` of the login that API and worker use, as a setting to correct. */
export function refusedAppLogin(error: unknown): string | undefined {
  const refused = refusedLogin(error);
  return (
    refused && `DATABASE_URL: ${refused} The login of DATABASE_URL must be a member of the role assent_app.`
  );
}

/**
 * The connection was lost during a commit: the work may have been done, or not. A caller must not
 * be told that it was not.
 */
export class CommitLost extends Error {
  override readonly name = 'CommitLost';

  constructor(cause: unknown) {
    super('the connection was lost during a commit, whose outcome is unknown', { cause });
  }
}

/** Whether an error comes from a silent database: a call now would wait in vain as well. */
export function isSilence(error: unknown): boolean {
  if (error instanceof DatabaseSilent) return true;
  return error instanceof Error && error.cause !== undefined && isSilence(error.cause);
}

/**
 * Whether Postgres is out of reach for now, so that the same request may succeed in a moment. Any
 * other error is a fault of ours.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof CommitLost || error instanceof DatabaseSilent) return true;
  // Not `instanceof`: errors of Node's sockets come from outside of the context that tests run in.
  if (!isNativeError(error)) return false;
  const { code } = error as Error & { code?: unknown };
  if (code === NOT_SUPPORTED) return error.message.includes(ON_STANDBY);
  if (typeof code === 'string') return NETWORK.has(code) || PASSING.test(code);
  return WORDS.test(error.message);
}

const ofConnecting = new WeakSet<Error>();

/**
 * Marks an error of connecting: no statement was sent, so nothing was accepted. A process that does
 * not fit its database or keyring stays a fault.
 *
 * @throws the same error
 */
export function failConnecting(error: unknown): never {
  if (isNativeError(error) && !(error instanceof OperatorError)) ofConnecting.add(error);
  throw error;
}

/** Whether no connection was to be had, for whatever reason. */
export function isNotConnected(error: unknown): boolean {
  return isNativeError(error) && ofConnecting.has(error);
}

export function isTlsFailure(error: unknown): boolean {
  return isNativeError(error) && HANDSHAKE.test(error.message);
}

export const ONLY_READS = 'only reads';
export const NO_ANSWER = 'does not answer, or is not migrated';

/** The reason why Postgres cannot be used. Its own words may name a login: probes get the code. */
export function postgresFault(error: unknown): string {
  const code = isNativeError(error) && 'code' in error ? `, ${String(error.code)}` : '';
  if (refusedLogin(error) !== undefined) return `refuses us${code}`;
  if (isTlsFailure(error)) return `cannot be reached over TLS${code}`;
  return NO_ANSWER;
}
