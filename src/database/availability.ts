import { isNativeError } from 'node:util/types';

/** Postgres did not answer in time; whether it ever will, nobody knows. */
export class DatabaseSilent extends Error {
  override readonly name = 'DatabaseSilent';
  constructor(cause?: unknown) {
    super('Postgres did not answer in time', { cause });
  }
}

/** Node's and the resolver's words for a server that cannot be reached. */
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
 * SQLSTATEs that say nothing about the request, and that go away: lost connections (08), shutdown
 * and recovery (57P), no resources left (53), a statement cut off by its time limit, lock
 * conflicts, and a server that only reads (25006), as one does that a failover has left behind.
 */
const PASSING = /^(08...|57P0[1-5]|53...|57014|55P03|40001|40P01|25006)$/;

/** SQLSTATE of a statement that has not got its lock within `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** What pg says without a code when the connection is gone or none was to be had in time. */
const WORDS =
  /connection terminated|timeout expired|timeout exceeded when trying to connect|connection ended|not queryable|Query read timeout/i;

/**
 * SQLSTATEs of a URL that is wrong: login or password, the database, or a role that was never made.
 */
const WRONG_URL = /^(28...|3D000|22023)$/;

/** Why Postgres does not let a login in, where no waiting makes that better. */
export function refusedLogin(error: unknown): string | undefined {
  if (!isNativeError(error)) return undefined;
  const { code, message } = error as Error & { code?: unknown };
  const mayNotTakeRole = code === '42501' && message.includes('set role');
  if (typeof code !== 'string' || !(WRONG_URL.test(code) || mayNotTakeRole)) return undefined;
  return `Postgres does not let us in (${message}).`;
}

/** The same of the login that API and worker use, as a setting to correct. */
export function refusedAppLogin(error: unknown): string | undefined {
  const refused = refusedLogin(error);
  return (
    refused && `DATABASE_URL: ${refused} The login of DATABASE_URL must be a member of the role assent_app.`
  );
}

/**
 * The connection was lost while Postgres committed: the work may have been done, or not. Whoever
 * hears of it must not be told that nothing was.
 */
export class CommitLost extends Error {
  override readonly name = 'CommitLost';

  constructor(cause: unknown) {
    super('the connection was lost during a commit, whose outcome is unknown', { cause });
  }
}

/** Whether the database's silence is behind an error: whoever asks now waits in vain as well. */
export function isSilence(error: unknown): boolean {
  if (error instanceof DatabaseSilent) return true;
  return error instanceof Error && error.cause !== undefined && isSilence(error.cause);
}

/**
 * Whether an error means that Postgres is out of reach for now, so that the same request may do
 * better in a moment; anything else is a fault of ours.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof CommitLost || error instanceof DatabaseSilent) return true;
  // Not `instanceof`: errors of Node's sockets come from outside of the context that tests run in.
  if (!isNativeError(error)) return false;
  const { code } = error as Error & { code?: unknown };
  if (typeof code === 'string') return NETWORK.has(code) || PASSING.test(code);
  return WORDS.test(error.message);
}

/** Of these, SQLSTATEs of one statement, beside which others go through. */
const OF_ONE_STATEMENT = /^(57014|55P03|40001|40P01)$/;

/** Whether Postgres is out of reach for every request, and not for this one alone. */
export function isAway(error: unknown): boolean {
  if (!isUnavailable(error)) return false;
  const { code } = error as Error & { code?: unknown };
  return !(typeof code === 'string' && OF_ONE_STATEMENT.test(code));
}
