import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { freePorts } from './free-port';
import { openDatabase } from '../../src/database/pool/connection';
import { migrateUp } from '../../src/database/migrate';
import { preparePostgres } from '../../src/start/postgres';
import { makeFolder } from '../launch/folder';
import { ReadyProcess, type Launched } from '../launch/process';
import { findTemporal } from '../../src/start/temporal-binary';
import type { TestDatabase } from './database';
import { engineFacts } from './keyring';

/** A Postgres and a Temporal of one test file's own, which keep their data when they are killed. */
export interface OwnServers {
  database: TestDatabase;
  /** The login that the schema belongs to. */
  ownerUrl: string;
  superuserUrl: string;
  temporalAddress: string;
  postgres: ReadyProcess;
  temporal: ReadyProcess;
  /** As if the disk that Temporal's data is on had been lost; it must not be running. */
  loseTemporalData(): Promise<void>;
  stop(): Promise<void>;
}

const silent = () => undefined;

export async function startOwnServers(): Promise<OwnServers> {
  const { folder, remove } = makeFolder('servers');
  const [postgresPort = 0, port = 0] = await freePorts(2);
  const embedded = await preparePostgres(folder, postgresPort, silent);
  const postgres = serverProcess(embedded.program, () => embedded.setUp());
  await postgres.start();
  await migrateUp(embedded.ownerUrl, 'sandbox', 'Africa/Lagos');
  const db = openDatabase(embedded.databaseUrl, 8, engineFacts);

  const address = `127.0.0.1:${port}`;
  const command = await findTemporal({ cliPath: process.env['TEMPORAL_CLI_PATH'], say: silent });
  const args = [...devServer(port), `--db-filename=${path.join(folder, 'temporal.db')}`];
  const temporal = serverProcess({ command, args, environment: {}, cwd: folder }, () =>
    describeNamespace(address),
  );
  await temporal.start();
  return {
    database: { url: embedded.databaseUrl, db, drop: () => db.destroy() },
    ownerUrl: embedded.ownerUrl,
    superuserUrl: embedded.superuserUrl,
    temporalAddress: address,
    postgres,
    temporal,
    async loseTemporalData() {
      const files = (await readdir(folder)).filter((file) => file.startsWith('temporal.db'));
      await Promise.all(files.map((file) => rm(path.join(folder, file))));
    },
    async stop() {
      await Promise.all([postgres.kill(), temporal.kill()]);
      remove();
    },
  };
}

/** What starts Temporal's development server, without its UI. */
export const devServer = (port: number): string[] => [
  'server',
  'start-dev',
  '--headless',
  '--ip=127.0.0.1',
  `--port=${port}`,
  '--log-level=error',
];

/**
 * A Postgres that comes back finds the last of its former processes still ending, and gives up.
 *
 * @param answers fails as long as it does not answer
 */
const serverProcess = (launched: Launched, answers: () => Promise<unknown>): ReadyProcess =>
  new ReadyProcess({ ...launched, startsAnew: true, logFile: '/dev/null' }, answers);

/** @throws Error as long as Temporal is not ready */
export async function describeNamespace(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000 });
  await connection.workflowService
    .describeNamespace({ namespace: 'default' })
    .finally(() => connection.close());
}
