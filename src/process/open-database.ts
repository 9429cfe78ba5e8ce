import type { ClientBase } from 'pg';
import type { Logger } from 'pino';
import { ConfigError, type ServerConfig } from '../settings/config';
import { refusedAppLogin } from '../database/pool/availability';
import { statementsOf, openDatabase, type PooledDatabase } from '../database/pool/connection';
import { DeploymentError, requireDeployment } from '../database/engine/deployment';
import { KeyringError, type Keyring } from '../database/keyring/keyring';
import { claimRing, requireSigningKey } from '../database/key-rotation/claim-keyring';
import { traceparentAtHand } from './at-hand';

/** Runs on each new connection before any other statement. */
type RequireFit = (connection: ClientBase) => Promise<void>;

/**
 * The check of an API's or a worker's connections. Each checks the database's mode and zone, and
 * the first also the keyring. A mismatch ends the process at once. If Postgres was away at the
 * start, that may be long after.
 *
 * The keyring is checked once, as a rotation elsewhere must not end this process; `/readyz` reports
 * a missing key.
 */
export function fitFor(config: ServerConfig, ring: Keyring, log: Logger): RequireFit {
  const deployment = { mode: config.ASSENT_MODE, timeZone: config.NETWORK_TIMEZONE };
  let ringFits = false;
  return async (connection) => {
    try {
      const first = statementsOf(connection);
      await requireDeployment(first, deployment);
      if (ringFits) return;
      await claimRing(first, ring);
      await requireSigningKey(first, ring);
      ringFits = true;
    } catch (error) {
      if (!(error instanceof DeploymentError || error instanceof KeyringError)) throw error;
      log.fatal(error.message);
      process.stderr.write(`${error.message}\n`);
      process.exit(1);
    }
  };
}

/**
 * The database of an API or a worker.
 *
 * @param answerWithinMs see `openDatabase`
 */
export async function openOwnDatabase(
  config: ServerConfig,
  keyring: Keyring,
  requireFit: RequireFit,
  answerWithinMs?: number,
): Promise<PooledDatabase> {
  const { DATABASE_POOL, DATABASE_URL } = config;
  const traceparent = config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? undefined : traceparentAtHand;
  const db = openDatabase(
    DATABASE_URL,
    DATABASE_POOL,
    { keyring, timeZone: config.NETWORK_TIMEZONE },
    { onConnect: requireFit, answerWithinMs, traceparent },
  );
  // Requests get 503 while Postgres is away or not migrated.
  await db.query('SELECT 1').catch((error: unknown) => {
    const refused = refusedAppLogin(error);
    if (refused !== undefined) throw new ConfigError(refused);
  });
  return db;
}
