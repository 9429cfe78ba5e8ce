import type { Config } from '../config';
import { isUnavailable, refusedLogin } from '../database/availability';
import { openDatabase, type Database } from '../database/connection';
import { requireMigratable } from '../database/engine/deployment';
import { CommandError } from './command';
import { databaseFault } from './database-fault';
import { deploymentOf, ownerUrl } from './engine';

/** For what only the owner of the schema may do. */

/**
 * Connections for a row each: enough that they share the disk's writes, few enough that nobody else
 * waits.
 */
const CONNECTIONS = 4;
/**
 * A page of a table with tens of millions of rows takes minutes where almost all of it is done
 * already.
 */
const STATEMENT_WITHIN_MS = 60 * 60_000;

/**
 * Does something with the owner's URL; where that is what fails, says so of the setting that it is
 * of.
 *
 * @throws CommandError; what the work throws
 */
export async function withOwnerUrl<Result>(
  config: Config,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL, DATABASE_OWNER_URL } = config;
  try {
    return await work(ownerUrl(config));
  } catch (cause) {
    // That of `npm start` is no setting.
    if ((DATABASE_OWNER_URL ?? DATABASE_URL) === undefined) throw cause;
    const setting = DATABASE_OWNER_URL === undefined ? 'DATABASE_URL' : 'DATABASE_OWNER_URL';
    const refused = refusedLogin(cause);
    if (refused !== undefined) throw new CommandError(`${setting}: ${refused}`, { cause });
    if (!isUnavailable(cause)) throw cause;
    const silent = `${setting}: the database does not answer. Start it, or correct ${setting}.`;
    throw new CommandError(databaseFault(cause) ?? silent, { cause });
  }
}

/**
 * Works as the owner of the tables, without the time limit that requests have: whole tables are
 * read.
 */
export async function asOwner<Result>(
  config: Config,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  return withOwnerUrl(config, async (url) => {
    const db = openDatabase(
      url,
      CONNECTIONS,
      async (connection) => {
        await requireMigratable(connection, deploymentOf(config));
        await connection.query('SET statement_timeout = 0');
      },
      STATEMENT_WITHIN_MS,
      // Of `npm start`, the owner may not take the role of API and worker.
      'none',
    );
    try {
      return await work(db);
    } finally {
      await db.destroy();
    }
  });
}
