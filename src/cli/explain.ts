import { isNativeError } from 'node:util/types';
import {
  CommitLost,
  isTlsFailure,
  isUnavailable,
  postgresFault,
  refusedAppLogin,
} from '../database/pool/availability';
import { Failure, OperatorError } from '../domain/failures';

/**
 * Codes of a Postgres that answers but cannot do the work now: its limits, its disk, a lock, a
 * start or stop, a replica. Another URL would not help.
 */
const CANNOT_NOW = /^(25006|40|53|55P03|57014|57P)/;

const UNDEFINED_TABLE = '42P01';

/** @returns undefined where the database does not answer, and for errors that are not its fault */
export function databaseFault(error: unknown): string | undefined {
  if (error instanceof CommitLost)
    return 'the connection to the database was lost as it committed: what was asked for may have been done. Look before you repeat it.';
  const code = codeOf(error);
  return CANNOT_NOW.test(code)
    ? `the database cannot do this now: ${(error as Error).message} (${code}). Mend that, or wait, and run it again.`
    : undefined;
}

function codeOf(error: unknown): string {
  return isNativeError(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** An error in words that help; a fault of ours with all that is known about it. */
export function explained(error: unknown): string {
  if (error instanceof OperatorError || error instanceof Failure) return error.message;
  if (isUnavailable(error)) {
    return databaseFault(error) ?? 'the database does not answer: start it, or correct DATABASE_URL';
  }
  const refused = refusedAppLogin(error);
  if (refused !== undefined) return refused;
  if (codeOf(error) === UNDEFINED_TABLE) return 'the database has no schema yet: run "assent migrate"';
  if (isTlsFailure(error)) {
    const { message } = error as Error;
    return `the database ${postgresFault(error)} (${message}): correct its certificate, or sslmode and sslrootcert in its URL`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
