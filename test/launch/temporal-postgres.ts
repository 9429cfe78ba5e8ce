import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { Option } from 'commander';
import { onDatabase } from '../../src/database/pool/one-connection';
import { poll } from '../../src/process/poll';
import { preparePostgres } from '../../src/start/postgres';
import { Supervisor, type Program } from '../../src/start/supervisor';
import { buildWithGo, cacheFolder, firstOf, usable } from '../../src/start/temporal-binary';
import { say, type Stops } from '../../scripts/command';
import { makeFolder } from './folder';
import { freePorts } from './ports';

/**
 * The Temporal server as production has it, for `--temporal postgres`: one node that runs all four
 * services, with its data in a Postgres of its own (fsync on).
 */

const VERSION = 'v1.31.2';
/**
 * Set for good when the databases are made. One node of two cores is one writer per shard; more
 * would only idle.
 */
const HISTORY_SHARDS = 4;
/**
 * Each of the four services has a pool of its own: together they stay below the 100 that Postgres
 * admits.
 */
const CONNECTIONS = { history: 20, visibility: 2 };

const POSTGRES_READY_MS = 60_000;
const SCHEMA_WITHIN_MS = 120_000;
/** The services find each other first, which takes some seconds. */
const SERVER_READY_MS = 120_000;
const CALL_WITHIN_MS = 5_000;

export const temporalOption = (byDefault: 'dev' | 'postgres') =>
  new Option('--temporal <server>', 'the dev server, or the server of production with a Postgres of its own')
    .choices(['dev', 'postgres'])
    .default(byDefault);

export interface TemporalOnPostgres {
  /** Not started yet. */
  program: Program;
  address: string;
  /** Its name in a report. */
  description: string;
  postgres: { url: string; databases: string[] };
  /** Runs its Postgres, and the program for whoever does not do so itself. */
  processes: Supervisor;
}

/** The name of the folder, by which its Postgres is told from the engine's. */
export const TEMPORAL_FOLDER = 'temporal-postgres';

/**
 * Builds what is missing, and starts the server's Postgres in a temporary folder.
 *
 * @param stops takes what ends it, as soon as there is something to end
 * @throws OperatorError saying what to do; the signal's reason
 */
export async function prepareTemporalOnPostgres(
  signal: AbortSignal,
  stops: Stops,
): Promise<TemporalOnPostgres> {
  const server = await findProgram('the Temporal server', 'cmd/server');
  const sqlTool = await findProgram("Temporal's SQL tool", 'cmd/tools/sql');
  signal.throwIfAborted();
  const { folder, remove } = makeFolder(TEMPORAL_FOLDER);
  const processes = new Supervisor(path.join(folder, 'log'), say);
  stops.push(async () => {
    await processes.stop();
    remove();
  });
  const ports = await choosePorts();
  const postgres = await preparePostgres(folder, ports.postgres, say);
  processes.start(postgres.program);
  const password = randomBytes(24).toString('hex');
  say("Making Temporal's databases …");
  await poll("Temporal's Postgres", POSTGRES_READY_MS, signal, () =>
    makeDatabases(postgres.superuserUrl, password),
  );
  await makeSchemas(sqlTool, ports.postgres, password);
  writeConfig(folder, ports, password);
  return {
    program: serverProgram(server, folder),
    address: `127.0.0.1:${ports.frontend}`,
    description: `server ${VERSION} on a Postgres of its own, ${HISTORY_SHARDS} history shards`,
    postgres: { url: postgres.superuserUrl, databases: Object.values(DATABASES) },
    processes,
  };
}

function serverProgram(command: string, folder: string): Program {
  return {
    name: 'Temporal',
    command,
    args: [`--root=${folder}`, '--config=config', '--env=bench', '--allow-no-auth', 'start'],
    environment: {},
    cwd: folder,
    stopSignal: 'SIGTERM',
    endsWithinMs: 8_000,
  };
}

/** From the cache, or built there: `go install` builds both as they are. */
function findProgram(what: string, place: string): Promise<string> {
  const cached = path.join(cacheFolder(`temporal-server-${VERSION}`), path.posix.basename(place));
  const module = `go.temporal.io/server/${place}@${VERSION}`;
  return firstOf(
    what,
    [
      { name: `the cache ${cached}`, find: () => usable(cached) },
      { name: 'a build with Go', find: () => buildWithGo(what, module, cached, say) },
    ],
    'Install Go (https://go.dev/dl), or take the dev server.',
  );
}

const PARTS = ['postgres', 'frontend', 'history', 'matching', 'worker'] as const;
type Ports = Record<(typeof PARTS)[number], number>;

/** The membership port of a service is the one after its own. */
async function choosePorts(): Promise<Ports> {
  const ports = await freePorts(2 * PARTS.length);
  return Object.fromEntries(PARTS.map((part, i) => [part, ports[2 * i]])) as Ports;
}

const DATABASES = { temporal: 'temporal', visibility: 'temporal_visibility' } as const;
const LOGIN = 'temporal';

async function makeDatabases(superuserUrl: string, password: string): Promise<void> {
  await onDatabase(superuserUrl, async (client) => {
    await client.query(`CREATE ROLE ${LOGIN} LOGIN PASSWORD ${client.escapeLiteral(password)}`);
    for (const name of Object.values(DATABASES)) await client.query(`CREATE DATABASE ${name} OWNER ${LOGIN}`);
  });
}

async function makeSchemas(sqlTool: string, port: number, password: string): Promise<void> {
  const run = (database: string, ...args: string[]) =>
    promisify(execFile)(
      sqlTool,
      [
        '--plugin=postgres12_pgx',
        '--ep=127.0.0.1',
        `--port=${port}`,
        `--user=${LOGIN}`,
        `--db=${database}`,
        ...args,
      ],
      { env: { SQL_PASSWORD: password }, timeout: SCHEMA_WITHIN_MS },
    );
  for (const [schema, database] of Object.entries(DATABASES)) {
    await run(database, 'setup-schema', '--version', '0.0');
    await run(database, 'update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

const service = (port: number) => ({
  rpc: { grpcPort: port, membershipPort: port + 1, bindOnIP: '127.0.0.1' },
});

/** As JSON, which is YAML too. */
function writeConfig(folder: string, ports: Ports, password: string): void {
  const configFolder = path.join(folder, 'config');
  mkdirSync(configFolder);
  const write = (file: string, content: object) => {
    writeFileSync(path.join(configFolder, file), JSON.stringify(content), { mode: 0o600 });
  };
  const store = (databaseName: string, most: number) => ({
    sql: {
      pluginName: 'postgres12_pgx',
      databaseName,
      connectAddr: `127.0.0.1:${ports.postgres}`,
      connectProtocol: 'tcp',
      user: LOGIN,
      password,
      maxConns: most,
      maxIdleConns: most,
    },
  });
  write('bench.yaml', {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'history',
      visibilityStore: 'visibility',
      numHistoryShards: HISTORY_SHARDS,
      datastores: {
        history: store(DATABASES.temporal, CONNECTIONS.history),
        visibility: store(DATABASES.visibility, CONNECTIONS.visibility),
      },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: {
      frontend: service(ports.frontend),
      history: service(ports.history),
      matching: service(ports.matching),
      worker: service(ports.worker),
    },
    clusterMetadata: {
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${ports.frontend}`,
        },
      },
    },
    dynamicConfigClient: { filepath: path.join(configFolder, 'dynamic.yaml'), pollInterval: '60s' },
  });
  // All else as it comes. These as in docker-compose.yml: new search attributes count at once, not
  // in a minute, and tasks that wait are handed out by party in turn.
  write('dynamic.yaml', {
    'system.forceSearchAttributesCacheRefreshOnRead': [{ value: true }],
    'matching.useNewMatcher': [{ value: true }],
    'matching.enableFairness': [{ value: true }],
  });
}

/**
 * Waits until the server answers, and makes the namespace that the dev server brings. Its search
 * attributes come with the start of the engine, as in every namespace that it is given.
 */
export function makeNamespace(address: string, namespace: string, signal: AbortSignal): Promise<void> {
  return poll('The Temporal server', SERVER_READY_MS, signal, async () => {
    const connection = await Connection.connect({ address, connectTimeout: CALL_WITHIN_MS });
    try {
      await connection.withDeadline(Date.now() + CALL_WITHIN_MS, async () => {
        const { namespaces } = await connection.workflowService.listNamespaces({});
        if (namespaces.some(({ namespaceInfo }) => namespaceInfo?.name === namespace)) {
          // The server takes a moment to know its own new namespace in each of its parts.
          await connection.workflowService.countWorkflowExecutions({ namespace });
          return;
        }
        await connection.workflowService.registerNamespace({
          namespace,
          workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
        });
        throw new Error('the namespace has only just been made');
      });
    } finally {
      await connection.close();
    }
  });
}
