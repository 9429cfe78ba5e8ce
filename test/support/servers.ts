import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { openSync } from 'node:fs';
import path from 'node:path';

/**
 * The servers that tests share: one real Postgres and one real Temporal for a whole run of jest, started by the
 * first test file that needs them, so that a run of pure rules starts none.
 */
export interface Servers {
  /** Owner's login, without a database. */
  postgres: string;
  temporalAddress: string;
}

export const SERVERS_FILE = 'servers.json';
/** Migrated once; each test file's database is a copy of it. */
export const TEMPLATE = 'template_assent';
/** Set by jest's global set-up: the folder of this run. */
export const FOLDER_VARIABLE = 'ASSENT_TEST_FOLDER';
/** Set beside it: the process whose end ends the servers. */
export const JEST_PID_VARIABLE = 'ASSENT_TEST_JEST_PID';

/** Postgres' first initialisation, Temporal's start, and where it must be built first, its building. */
const START_TIMEOUT_MS = 15 * 60_000;

let known: Servers | undefined;

export async function servers(): Promise<Servers> {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder === undefined) throw new Error(`${FOLDER_VARIABLE} is not set: run the tests with jest`);
  if (known) return known;
  await startOnce(folder);
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const written = await readFile(path.join(folder, SERVERS_FILE), 'utf8').catch(() => undefined);
    if (written !== undefined) return (known = JSON.parse(written) as Servers);
    const failed = await readFile(path.join(folder, 'failed'), 'utf8').catch(() => undefined);
    if (failed !== undefined || Date.now() > deadline) {
      throw new Error(`the test servers did not start: ${await readFile(path.join(folder, 'log'), 'utf8')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Of all test files that ask at once, the one that makes the folder starts the servers. */
async function startOnce(folder: string): Promise<void> {
  try {
    await mkdir(path.join(folder, 'starting'));
  } catch {
    return;
  }
  const log = openSync(path.join(folder, 'log'), 'a');
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      path.join(__dirname, 'servers-process.ts'),
      folder,
      process.env[JEST_PID_VARIABLE] ?? '',
    ],
    {
      detached: true,
      stdio: ['ignore', log, log],
    },
  );
  child.once('exit', () => void writeFile(path.join(folder, 'failed'), ''));
  await writeFile(path.join(folder, 'pid'), String(child.pid));
  child.unref();
}
