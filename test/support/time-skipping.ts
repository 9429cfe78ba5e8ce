import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { TestWorkflowEnvironment, TimeSkippingWorkflowClient } from '@temporalio/testing';
import type { NativeConnection } from '@temporalio/worker';
import { withDeadline } from '../../src/process/deadline';
import { cacheFolder, firstOf, type Source } from '../../src/start/temporal-binary';
import { SEARCH_ATTRIBUTE } from '../../src/temporal/search-attribute-keys';
import { registration } from '../../src/temporal/register-search-attributes';

/** The environment of one test's workflows. */
export interface TimeSkippingEnvironment {
  client: { workflow: TimeSkippingWorkflowClient };
  nativeConnection: NativeConnection;
  namespace: string;
  /** By the clock that jumps. */
  currentTimeMs(): Promise<number>;
  /** Returns once that clock has gone on so far. */
  sleep(ms: number): Promise<void>;
}

/**
 * A Temporal whose clock jumps to the next timer, for workflows with stubbed activities: one for a
 * test file, which starts and ends with it. Its clock runs on by years, so nothing in it may ask a
 * real clock, and no two files share one.
 *
 * The server is looked for as the Temporal command is: a path that a variable gives, the cache, the
 * SDK's download, and last Maven, which has the same server as a Java program.
 *
 * @returns makes what one test runs in, with a namespace of its own, so that what another test has
 *   left running has no part in it
 */
export function timeSkippingServer(): () => TimeSkippingEnvironment {
  let server: TestWorkflowEnvironment;
  let stop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    server = await start(await findTimeSkippingServer());
    stop = () => server.teardown();
    // This server has them for all namespaces, and cannot list them; a workflow that sets one that
    // it lacks would hang.
    await server.connection.operatorService.addSearchAttributes(
      registration(Object.values(SEARCH_ATTRIBUTE), 'default'),
    );
  });
  afterAll(() => stop?.());
  return () => {
    const { connection, nativeConnection } = server;
    const namespace = `test-${randomUUID()}`;
    return {
      client: { workflow: new TimeSkippingWorkflowClient({ connection, namespace }) },
      nativeConnection,
      namespace,
      currentTimeMs: () => server.currentTimeMs(),
      sleep: (ms) => server.sleep(ms),
    };
  };
}

/** The SDK gives the server 5 s to start, which a Java program on a busy machine may miss. */
const STARTS_MAX = 6;

async function start(server: string): Promise<TestWorkflowEnvironment> {
  for (let starts = 1; ; starts++) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path: server } },
      });
    } catch (error) {
      if (starts === STARTS_MAX) throw error;
    }
  }
}

const VERSION = '1.38.0';
const CACHE_FOLDER = cacheFolder(`temporal-test-server-${VERSION}`);
const DOWNLOAD_TIMEOUT_MS = 60_000;
const MAVEN_TIMEOUT_MS = 5 * 60_000;

/** @returns its path, once it is on this machine; the first time that takes up to some minutes */
export async function findTimeSkippingServer(): Promise<string> {
  const given = process.env['TEMPORAL_TEST_SERVER_PATH'];
  if (given !== undefined) return given;
  const cached = path.join(CACHE_FOLDER, 'temporal-test-server');
  const candidates: Source[] = [
    { name: `the cache ${cached}`, find: () => usable(cached) },
    { name: "the Temporal SDK's download", find: () => download(cached) },
    { name: 'Maven', find: () => fetchWithMaven(cached) },
  ];
  return firstOf(
    "Temporal's time-skipping test server",
    candidates,
    'Install Java and Maven, or set TEMPORAL_TEST_SERVER_PATH to the server.',
  );
}

/**
 * It came here whole, so what is there works; running it would cost each run of jest a start of
 * Java.
 */
async function usable(command: string): Promise<string> {
  await access(command, constants.X_OK).catch(() => {
    throw new Error('not found');
  });
  return command;
}

/**
 * The SDK leaves the server in the folder that it is given; a start that works shows that it is
 * whole.
 */
async function download(cached: string): Promise<string> {
  return inFreshFolder(cached, async (folder) => {
    const started = TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'cached-download', downloadDir: folder } },
    });
    const environment = await withDeadline(started, DOWNLOAD_TIMEOUT_MS, () => {
      throw new Error(`not done within ${DOWNLOAD_TIMEOUT_MS / 1000} s`);
    });
    await environment.teardown();
    const [file] = await readdir(folder);
    if (file === undefined) throw new Error('the download left no server');
    await rename(path.join(folder, file), path.join(folder, path.basename(cached)));
  });
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>assent</groupId><artifactId>test-server</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

async function fetchWithMaven(cached: string): Promise<string> {
  return inFreshFolder(cached, async (folder) => {
    const pom = path.join(folder, 'pom.xml');
    const jars = path.join(folder, 'jars');
    await writeFile(pom, POM);
    await promisify(execFile)(
      'mvn',
      [
        '-q',
        '-B',
        '-f',
        pom,
        'dependency:copy-dependencies',
        '-DincludeScope=runtime',
        `-DoutputDirectory=${jars}`,
      ],
      { timeout: MAVEN_TIMEOUT_MS },
    ).catch((error: { code?: unknown }) => {
      throw new Error(error.code === 'ENOENT' ? 'Maven is not installed' : 'Maven could not fetch it');
    });
    // The SDK starts the server with its port as the only argument. It lives for a test: a quick
    // start counts.
    const script = `#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -cp "$(dirname "$0")/jars/*" io.temporal.testserver.TestServer "$1"\n`;
    await writeFile(path.join(folder, path.basename(cached)), script);
    await chmod(path.join(folder, path.basename(cached)), 0o755);
  });
}

/**
 * Fills a folder of its own and moves it into place whole, so that the cache never holds half of
 * it.
 */
async function inFreshFolder(cached: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const place = path.dirname(cached);
  await mkdir(path.dirname(place), { recursive: true });
  const folder = await mkdtemp(`${place}-new-`);
  try {
    await fill(folder);
    await rm(place, { recursive: true, force: true });
    await rename(folder, place);
    return cached;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
