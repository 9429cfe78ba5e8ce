import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../launch/ports';
import type { Identity } from '../parties/operator';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { onDatabase } from '../../src/database/pool/one-connection';
import { poll } from '../../src/process/poll';
import { preparePostgres } from '../../src/start/postgres';
import { OperatorError } from '../../src/domain/failures';
import { HEAP } from '../../src/start/own-program';
import type { Program } from '../../src/start/supervisor';
import { temporalServer } from '../../src/start/temporal';
import { findTemporal } from '../../src/start/temporal-binary';
import { Disk } from './disk';
import { Link } from './link';
import { makeFolder } from '../launch/folder';
import { RestartedProcess } from '../launch/process';
import { isUp, isWorkerReady } from '../launch/ready';
import { WITHOUT_LIMITS } from '../launch/settings';
import { makeNamespace, type TemporalOnPostgres } from '../launch/temporal-postgres';

/**
 * Two APIs, two workers, Postgres and Temporal: real processes of the storm's own, as built for
 * production, in a temporary folder. Each API and worker has a way of its own to each server, which
 * can be made bad.
 */

const run = promisify(execFile);

const OURS = ['api-1', 'api-2', 'worker-1', 'worker-2'] as const;
type OurProcess = (typeof OURS)[number];
export type EngineProcess = OurProcess | 'postgres' | 'temporal';
type Server = 'postgres' | 'temporal';
export type LinkName = `${OurProcess} to ${Server}`;

/** Windows that close while one watches. */
const WINDOW_S = 12;
const SETTINGS = {
  ASSENT_MODE: 'sandbox',
  METRICS_PORT: '0',
  INTENT_WINDOW_S: String(WINDOW_S),
  APPROVAL_WINDOW_S: String(WINDOW_S),
  SETTLEMENT_WINDOW_S: String(WINDOW_S),
  // One retry after two seconds: each is a stop of the test clock, and its advances take as many
  // steps.
  RECURRING_RETRY_DAYS: '0.000025',
  CLOCK_WAIT_S: '1',
  // For four minutes every five seconds: no receiver is given up while a storm lasts over it.
  WEBHOOK_RETRY_S: `1,2,3,${Array.from({ length: 47 }, () => 5).join(',')}`,
  WEBHOOK_TIMEOUT_S: '4',
  ...WITHOUT_LIMITS,
};

const NAMESPACE = 'storm';
const ROOT = path.join(__dirname, '../..');

const READY_WITHIN_MS = 60_000;
/** Most commands take a second; to compare a ledger takes minutes, where there is much in it. */
const COMMAND_WITHIN_MS = 600_000;

export interface StormEngine {
  apiUrls: [string, string];
  processes: Record<EngineProcess, RestartedProcess>;
  links: Record<LinkName, Link>;
  /** For the oracle: straight to the servers. */
  ownerUrl: string;
  temporalAddress: string;
  namespace: string;
  folder: string;
  /** Complaints of an operator's command that looks for what is wrong, straight at the servers. */
  complaints(...args: string[]): Promise<string[]>;
  createEntity(type: 'bank' | 'provider', name: string): Promise<Identity>;
  /**
   * Whether transactions may write; undone by `heal`. Waits for a Postgres that is away, for a
   * while.
   */
  setReadOnly(readOnly: boolean): Promise<void>;
  disk: Disk;
  /** Starts, thaws and opens whatever is not well, and waits until all answer. */
  heal(signal: AbortSignal): Promise<void>;
  /** @param keep leaves data and logs where they are, for whoever wants to look */
  stop(keep: boolean): Promise<void>;
}

export interface EngineOptions {
  diskFolder?: string | undefined;
  root?: string;
  settings?: Record<string, string>;
  /** Links can be made bad, and cost this process work for each byte; without there are none. */
  linked?: boolean;
  /** The server of production, in place of the dev server. */
  temporal?: TemporalOnPostgres | undefined;
}

export async function startStormEngine(
  { diskFolder, root = ROOT, settings = {}, linked = true, temporal }: EngineOptions,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<StormEngine> {
  const built = path.join(root, 'dist/src');
  if (!existsSync(path.join(built, 'api/main.js'))) throw new OperatorError('Run "npm run build" first.');
  const { folder, remove } = makeFolder('storm');
  const disk = new Disk(diskFolder);
  const [postgresPort = 0, ownPort = 0, temporalUi = 0, ...apiPorts] = await freePorts(5);
  const temporalPort = temporal ? Number(new URL(`http://${temporal.address}`).port) : ownPort;
  const log = (name: string) => path.join(folder, `${name}.log`);
  const inherited = { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'] };

  const postgres = await preparePostgres(disk.place(folder), postgresPort, say);
  const temporalProgram =
    temporal?.program ?? (await devServer(inherited, folder, temporalPort, temporalUi, say));
  const restarted = (name: string, program: Omit<Program, 'name' | 'endsWithinMs'>) =>
    new RestartedProcess(name, { ...program, logFile: log(name) });
  const processes = {
    postgres: restarted('postgres', postgres.program),
    temporal: restarted('temporal', temporalProgram),
  } as StormEngine['processes'];
  const links = {} as StormEngine['links'];

  const stop = async (keep: boolean) => {
    for (const one of Object.values(processes)) one.thaw();
    await Promise.all(Object.values(links).map((link) => link.close()));
    const { postgres: database, temporal: server, ...ours } = processes;
    await Promise.all(Object.values(ours).map((one) => one.stop()));
    await server.stop();
    await database.stop();
    if (!keep) disk.clear();
    if (!keep) remove();
  };

  try {
    say('Starting Postgres and Temporal …');
    processes.postgres.start();
    processes.temporal.start();
    await poll('Postgres', READY_WITHIN_MS, signal, () => postgres.setUp());
    const temporalAddress = `127.0.0.1:${temporalPort}`;
    if (temporal) await makeNamespace(temporalAddress, NAMESPACE, signal);
    const common = {
      ...inherited,
      ...SETTINGS,
      ...settings,
      ASSENT_KEYS: makeKeyring(),
      TEMPORAL_NAMESPACE: NAMESPACE,
    };
    const straight = { ...common, DATABASE_URL: postgres.databaseUrl, TEMPORAL_ADDRESS: temporalAddress };
    const assent = async (env: NodeJS.ProcessEnv, ...args: string[]) => {
      const cli = path.join(built, 'cli/main.js');
      const options = { env, cwd: folder, timeout: COMMAND_WITHIN_MS };
      return (await run(process.execPath, [cli, ...args], options)).stdout;
    };
    await poll('Temporal', READY_WITHIN_MS, signal, () =>
      assent({ ...straight, DATABASE_OWNER_URL: postgres.ownerUrl }, 'migrate'),
    );

    say('Starting two APIs and two workers …');
    const apiUrls = apiPorts.map((port) => `http://127.0.0.1:${port}`) as [string, string];
    for (const name of OURS) {
      const toServer = async (server: Server, port: number) =>
        linked ? (links[`${name} to ${server}`] = new Link(port)).listen() : port;
      const databaseUrl = new URL(postgres.databaseUrl);
      databaseUrl.port = String(await toServer('postgres', postgresPort));
      // So that Postgres' own log and tables tell whose a session is.
      databaseUrl.searchParams.set('application_name', name);
      const isApi = name.startsWith('api');
      const own = {
        ...common,
        DATABASE_URL: databaseUrl.href,
        TEMPORAL_ADDRESS: `127.0.0.1:${await toServer('temporal', temporalPort)}`,
        ...(isApi && { PORT: String(apiPorts[name === 'api-1' ? 0 : 1]) }),
      };
      const main = path.join(built, isApi ? 'api' : 'worker', 'main.js');
      const args = [...HEAP[isApi ? 'API' : 'worker'], main];
      const program = { command: process.execPath, args, environment: own, cwd: folder };
      processes[name] = restarted(name, { ...program, stopSignal: 'SIGTERM' });
      processes[name].start();
    }
    const engine: StormEngine = {
      apiUrls,
      processes,
      links,
      ownerUrl: postgres.ownerUrl,
      temporalAddress,
      namespace: NAMESPACE,
      folder,
      complaints: (...args) =>
        assent(straight, ...args).then(
          () => [],
          ({ stdout = '', message }: Error & { stdout?: string }) => [
            `assent ${args.join(' ')}: ${stdout.trim() || message}`,
          ],
        ),
      createEntity: async (type, name) =>
        JSON.parse(
          await assent(straight, 'entity', 'create', '--type', type, '--name', name, '--json'),
        ) as Identity,
      setReadOnly: (readOnly) => setReadOnly(postgres.superuserUrl, readOnly, signal),
      disk,
      async heal(until) {
        disk.free();
        for (const link of Object.values(links)) link.become('open');
        for (const one of Object.values(processes)) one.thaw();
        for (const one of Object.values(processes)) one.start();
        await setReadOnly(postgres.superuserUrl, false, until);
        await ready(apiUrls, log, processes, until);
      },
      stop,
    };
    await ready(apiUrls, log, processes, signal);
    return engine;
  } catch (error) {
    await stop(false);
    throw error;
  }
}

async function devServer(
  environment: NodeJS.ProcessEnv,
  folder: string,
  port: number,
  uiPort: number,
  say: (line: string) => void,
): Promise<Program> {
  const command = await findTemporal({ cliPath: process.env['TEMPORAL_CLI_PATH'], say });
  return temporalServer({ command, environment }, folder, { temporal: port, temporalUi: uiPort }, NAMESPACE);
}

async function setReadOnly(superuserUrl: string, readOnly: boolean, signal: AbortSignal): Promise<void> {
  await poll('Postgres', READY_WITHIN_MS, signal, () =>
    onDatabase(superuserUrl, async (client) => {
      // Else the second change could not be written any more.
      await client.query('SET default_transaction_read_only = off');
      await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${readOnly ? 'on' : 'off'}`);
      await client.query('SELECT pg_reload_conf()');
    }),
  );
}

async function ready(
  apiUrls: string[],
  log: (name: string) => string,
  processes: StormEngine['processes'],
  signal: AbortSignal,
): Promise<void> {
  for (const url of apiUrls) {
    await poll(`The API at ${url}`, READY_WITHIN_MS, signal, async () => {
      if (!(await isUp(url, '/readyz'))) throw new Error('it is not ready');
    });
  }
  for (const name of ['worker-1', 'worker-2'] as const) {
    await poll(name, READY_WITHIN_MS, signal, async () => {
      if (!(await isWorkerReady(log(name), processes[name].pid))) throw new Error('it is not ready');
    });
  }
}
