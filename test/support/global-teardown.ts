import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { FOLDER_VARIABLE } from './once-per-run';
import { SERVERS_PID_FILE } from './servers';

/** Longest that the servers may take to stop; Postgres writes out what it holds. */
const STOP_TIMEOUT_MS = 20_000;

export default async function globalTeardown(): Promise<void> {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder === undefined) return;
  const pid = Number(await readFile(path.join(folder, SERVERS_PID_FILE), 'utf8').catch(() => ''));
  if (pid > 0) await end(pid);
  await rm(folder, { recursive: true, force: true });
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
