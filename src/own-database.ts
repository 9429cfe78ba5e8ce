import type { ClientBase } from 'pg';
import type { Logger } from 'pino';
import { ConfigError, type ServerConfig } from './config';
import { refusedLogin } from './database/availability';
import { openDatabase, type PooledDatabase } from './database/connection';
import { DeploymentError, requireDeployment } from './database/deployment';

/**
 * The database of an API or a worker. Each of its connections is first asked whether the database is of this process's
 * mode and the login fit for it. Where one is not, the process ends at once, for no request of it may be served; that
 * can be long after the start, when Postgres was away then.
 *
 * @param answerWithinMs as of `openDatabase`
 */
export async function openOwnDatabase(
  config: ServerConfig,
  log: Logger,
  answerWithinMs?: number,
): Promise<PooledDatabase> {
  const { ASSENT_MODE, DATABASE_POOL, DATABASE_URL } = config;
  const requireFit = async (connection: ClientBase) => {
    try {
      await requireDeployment(connection, ASSENT_MODE);
    } catch (error) {
      if (!(error instanceof DeploymentError)) throw error;
      log.fatal(error.message);
      process.stderr.write(`${error.message}\n`);
      process.exit(1);
    }
  };
  const db = openDatabase(DATABASE_URL, DATABASE_POOL, requireFit, answerWithinMs);
  // A Postgres that is away, or not migrated yet, is waited for: requests are answered with 503 meanwhile.
  await db.query('SELECT 1').catch((error: unknown) => {
    const refused = refusedLogin(error);
    if (refused !== undefined) throw new ConfigError(`DATABASE_URL: ${refused}`);
  });
  return db;
}
