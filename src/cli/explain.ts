import { isNativeError } from 'node:util/types';
import { CommitLost, isUnavailable, refusedAppLogin } from '../database/pool/availability';
import { Failure, OperatorError } from '../domain/failures';

/**
 * Faults of a Postgres that answers but cannot do the work now, by SQLSTATE, with their remedies.
 * Another URL would not help.
 */
const FAULTS: [codes: RegExp, words: string][] = [
  [
    /^53300$/,
    'has no connection left: end some (see pg_stat_activity), or raise max_connections or the limit of the role',
  ],
  [/^53100$/, 'has no room left on its disk: make some, and run this again'],
  [/^53/, 'lacks memory, or is at a limit of its configuration: see its log'],
  [
    /^57014$/,
    'ended a statement at its limit of time: something holds a lock that it needs, or the machine is busy. Run this again',
  ],
  [
    /^57P/,
    'is starting or being stopped: run this again once it is up, and see its log where that takes long',
  ],
  [/^55P03$|^40/, 'had others at work on the same rows: run this again'],
  [
    /^25006$/,
    'only reads, as one does that is a replica, or that a failover has left behind: correct DATABASE_URL, or DATABASE_OWNER_URL',
  ],
];

/** Postgres's code for a missing table. */
const UNDEFINED_TABLE = '42P01';

/** @returns undefined where the database does not answer, and for errors that are not its fault */
export function databaseFault(error: unknown): string | undefined {
  if (error instanceof CommitLost)
    return 'the connection to the database was lost as it committed: what was asked for may have been done. Look before you repeat it.';
  const code = codeOf(error);
  const fault = FAULTS.find(([codes]) => codes.test(code));
  return fault ? `the database ${fault[1]} (${code}: ${(error as Error).message}).` : undefined;
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
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
