import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { createEntity, type EntityCredentials } from '../../src/database/entity/create-entity';
import type { Role } from '../../src/domain/entity';
import { registerSearchAttributes } from '../../src/temporal/register-search-attributes';
import { ReadyProcess } from '../launch/process';
import { isUp, isWorkerReady } from '../launch/ready';
import { createTestDatabase, type TestDatabase } from './database';
import { freePort } from './free-port';
import { programOf } from './installation';
import { keys } from './keyring';
import { runFolder } from './once-per-run';
import { servers } from './servers';
import { setEntityTrust } from './recorded-change';

/**
 * The real engine for journeys: the API and the worker as processes of their own, on a database and
 * a Temporal namespace that nobody else uses. Either process can be killed and started again.
 */
export interface TestEngine {
  apiUrl: string;
  temporalAddress: string;
  namespace: string;
  database: TestDatabase;
  /** Settings of both processes, for more processes beside them. */
  environment: NodeJS.ProcessEnv;
  api: EngineProcess;
  worker: EngineProcess;
  /**
   * One more API process on the same data, as behind a load balancer. It is stopped with the
   * engine.
   */
  startAnotherApi(): Promise<{ apiUrl: string; process: EngineProcess }>;
  /** One more worker on the same servers. It is stopped with the engine. */
  startAnotherWorker(): Promise<EngineProcess>;
  /** As the operator's command does it. */
  createEntity(type: Role, name: string): Promise<EntityCredentials>;
  trust(merchantId: string): Promise<void>;
  /** All that both processes have logged, for looking for what must not be there. */
  log(): Promise<string>;
  stop(): Promise<void>;
}

/** An API or a worker. */
export type EngineProcess = ReadyProcess;

const READY_TIMEOUT_MS = 60_000;

/**
 * @param settings of `config.ts`, for both processes. Metrics are served only where `METRICS_PORT`
 *   is among them: the API's there, the worker's on the port after it
 * @param given servers of the test's own, in place of the shared ones
 * @param prepare what must be there before the processes start; returns more settings of theirs
 */
export async function startEngine(
  settings: Record<string, string> = {},
  given?: Pick<TestEngine, 'database' | 'temporalAddress'>,
  prepare?: (made: Pick<TestEngine, 'apiUrl' | 'database'>) => Promise<Record<string, string>>,
): Promise<TestEngine> {
  const { temporalAddress } = given ?? (await servers());
  const database = given?.database ?? (await createTestDatabase());
  const namespace = new URL(database.url).pathname.slice(1);
  await createNamespace(temporalAddress, namespace);
  // A run of one file may be the first that needs it.
  await mkdir(runFolder(), { recursive: true });
  const folder = await mkdtemp(path.join(runFolder(), 'engine-'));
  const logFile = path.join(folder, 'log');
  const apiPort = await freePort();
  const apiUrl = urlAt(apiPort);
  const environment = {
    ...process.env,
    ASSENT_MODE: 'sandbox',
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    ASSENT_KEYS: keys,
    LOG_FILE: logFile,
    // The tests of a file share its customers.
    INTENTS_PER_CUSTOMER_DAY: '1000000',
    ...settings,
    ...(await prepare?.({ apiUrl, database })),
  };
  const newApi = (port: number, more: Record<string, string>) =>
    engineProcess('api', { ...environment, ...more, PORT: String(port) }, () => isUp(urlAt(port)));
  const metricsPort = Number(settings['METRICS_PORT'] ?? 0);
  const metricsAt = (port: number) => ({ METRICS_PORT: String(metricsPort === 0 ? 0 : port) });
  const unmeasured = { METRICS_PORT: '0' };
  const others: EngineProcess[] = [];
  const newWorker = (more: Record<string, string>) =>
    engineProcess('worker', { ...environment, ...more }, (pid) => isWorkerReady(logFile, pid));
  const [api, worker] = await Promise.all([
    newApi(apiPort, metricsAt(metricsPort)),
    newWorker(metricsAt(metricsPort + 1)),
  ]);
  await Promise.all([api.start(), worker.start()]);
  return {
    apiUrl,
    temporalAddress,
    namespace,
    database,
    environment,
    api,
    worker,
    async startAnotherApi() {
      const port = await freePort();
      const another = await newApi(port, unmeasured);
      others.push(another);
      await another.start();
      return { apiUrl: urlAt(port), process: another };
    },
    async startAnotherWorker() {
      const another = await newWorker(unmeasured);
      others.push(another);
      await another.start();
      return another;
    },
    async createEntity(type, name) {
      const made = await database.db.transaction((trx) => createEntity(trx, { type, name }));
      if (made === undefined) throw new Error(`${name} is taken`);
      return made;
    },
    async trust(merchantId) {
      await setEntityTrust(database.db, merchantId, 'trusted');
    },
    log: () => readFile(logFile, 'utf8'),
    async stop() {
      // Their work is gone with the database. Some tests ask how they end in order.
      await Promise.all([api, worker, ...others].map((one) => one.kill()));
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const urlAt = (port: number) => `http://127.0.0.1:${port}`;

async function createNamespace(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  // The server takes a moment to know its own new namespace.
  await eventually(() =>
    registerSearchAttributes(connection, namespace).then(
      () => true,
      () => false,
    ),
  );
  await connection.close();
}

async function engineProcess(
  name: 'api' | 'worker',
  environment: NodeJS.ProcessEnv,
  isReady: (pid: number | undefined) => Promise<boolean>,
): Promise<EngineProcess> {
  // So that Postgres can tell which of the two holds a connection.
  const named = new URL(environment['DATABASE_URL'] ?? '');
  named.searchParams.set('application_name', name);
  const settings = { ...environment, DATABASE_URL: named.href };
  const args = [await programOf(name)];
  return new ReadyProcess({ command: process.execPath, args, environment: settings }, isReady);
}

/**
 * Polls until it holds.
 *
 * @throws Error when it does not within a minute, or what the check itself throws
 */
export async function eventually(holds: () => Promise<boolean>, withinMs = READY_TIMEOUT_MS): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > deadline)
      throw new Error(`did not come true within ${withinMs} ms: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
