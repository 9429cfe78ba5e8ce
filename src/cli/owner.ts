import type { Config } from '../config';
import { openDatabase, type Database } from '../database/connection';
import { requireMigratable } from '../database/operation/deployment';
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
 * Works as the owner of the tables, without the time limit that requests have: whole tables are
 * read.
 */
export async function asOwner<Result>(
  config: Config,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = openDatabase(
    ownerUrl(config),
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
}
