import { isNativeError } from 'node:util/types';
import { CommitLost } from '../database/availability';

/**
 * A Postgres that answers and cannot do now what was asked, by its SQLSTATE: what it says of
 * itself, and what to do. Nobody is to start it, or to look for another URL.
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

/**
 * What to do about an error of a database that is there.
 *
 * @returns undefined where it does not answer, and for what is not its fault
 */
export function databaseFault(error: unknown): string | undefined {
  if (error instanceof CommitLost)
    return 'the connection to the database was lost as it committed: what was asked for may have been done. Look before you repeat it.';
  if (!isNativeError(error)) return undefined;
  const { code, message } = error as Error & { code?: unknown };
  const fault = typeof code === 'string' && FAULTS.find(([codes]) => codes.test(code));
  return fault ? `the database ${fault[1]} (${code}: ${message}).` : undefined;
}
