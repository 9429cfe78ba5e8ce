import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { oncePerRun, runFolder } from './once-per-run';

/**
 * The servers that tests share: one real Postgres and one real Temporal for a whole run of jest.
 */
export interface Servers {
  /** Owner's login, without a database. */
  postgres: string;
  temporalAddress: string;
}

/** Migrated once; each test file's database is a copy of it. */
export const TEMPLATE = 'template_assent';
/** In the folder of the run: the process that has the servers. */
export const SERVERS_PID_FILE = 'servers.pid';
/** Set by jest's global set-up: the process whose end ends the servers. */
export const JEST_PID_VARIABLE = 'ASSENT_TEST_JEST_PID';

let known: Promise<Servers> | undefined;

export function servers(): Promise<Servers> {
  return (known ??= oncePerRun('servers', start));
}

async function start(folder: string): Promise<Servers> {
  const logFile = path.join(folder, 'log');
  const log = openSync(logFile, 'a');
  const program = path.join(__dirname, 'servers-process.ts');
  const args = ['--import', 'tsx', program, runFolder(), process.env[JEST_PID_VARIABLE] ?? ''];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log, log, 'ipc'] });
  await writeFile(path.join(runFolder(), SERVERS_PID_FILE), String(child.pid));
  const ready = once(child, 'message') as Promise<[Servers]>;
  const [told] = await Promise.race([ready, once(child, 'exit')]);
  if (child.exitCode !== null) throw new Error(await readFile(logFile, 'utf8'));
  // It outlives this test file, and the process of jest that runs it.
  child.disconnect();
  child.unref();
  return told as Servers;
}
