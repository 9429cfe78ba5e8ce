import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { FOLDER_VARIABLE } from './once-per-run';
import { SERVERS_PID_FILE } from './servers';

/** Longest that the servers may take to stop; Postgres writes out what it holds. */
const STOP_TIMEOUT_MS = 20_000;

/** What jest was asked to run. */
interface RunConfig {
  testPathPatterns: { patterns: string[] };
  shard?: object;
}

export default async function globalTeardown(config: RunConfig): Promise<void> {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder === undefined) return;
  const pid = Number(await readFile(path.join(folder, SERVERS_PID_FILE), 'utf8').catch(() => ''));
  if (pid > 0) await end(pid);
  try {
    checkStatements(path.join(folder, 'statements'), config);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws Error if a statement and its row type differ, or a whole run left a statement out */
function checkStatements(folder: string, { testPathPatterns, shard }: RunConfig): void {
  if (!existsSync(folder)) return;
  const run = testPathPatterns.patterns.length === 0 && !shard ? 'all' : 'some';
  const check = path.join(__dirname, 'check-statements.ts');
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', check, folder, run], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('row types differ from their statements: see above');
}

async function end(pid: number): Promise<void> {
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  let signal: NodeJS.Signals | 0 = 'SIGTERM';
  while (send(pid, signal)) {
    signal = Date.now() > deadline ? 'SIGKILL' : 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** @returns false when there is no such process any more */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
