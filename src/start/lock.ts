import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../domain/failures';
import {
  lives,
  readEngineLock,
  startOf,
  type EngineFile,
  type EngineLock,
  type Started,
} from '../process/engine-file';
import { writePrivateFile } from '../process/own-file';
import type { Running } from './supervisor';

/** A process left behind is killed after this time. */
const END_WITHIN_MS = 5_000;
const LOOK_AGAIN_MS = 50;

/**
 * Locks the folder. Processes that a killed holder left behind are ended first.
 *
 * @param say prints a line for the operator
 * @throws OperatorError with the address of the engine that holds the folder
 */
export async function takeFolder(folder: string, say: (line: string) => void) {
  const file = join(folder, 'engine.json');
  const before = readEngineLock(folder);
  if (before && lives(before)) throw runsAlready(before);
  // The last process ends first: each needs the processes started before it.
  for (const left of before?.processes.toReversed().filter(lives) ?? []) {
    say(`Ending ${left.name} (pid ${left.pid}), left behind by an engine that was killed.`);
    await end(left);
  }
  // Another start may have locked the folder meanwhile.
  if (readEngineLock(folder)?.startedAt === before?.startedAt) rmSync(file, { force: true });

  let lock: EngineLock = { ...identified({ pid: process.pid }), processes: [] };
  try {
    writeFileSync(file, JSON.stringify(lock), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw runsAlready(readEngineLock(folder));
  }
  const write = (more: Partial<EngineLock>) => {
    lock = { ...lock, ...more };
    try {
      writePrivateFile(file, JSON.stringify(lock, undefined, 2));
    } catch {
      // A full disk must not end the engine. The next start or death writes the whole lock.
    }
  };
  return {
    record: (running: Running[]) => write({ processes: running.map(identified) }),
    publish: (engine: EngineFile) => write(engine),
    release: () => rmSync(file, { force: true }),
  };
}

function runsAlready(holder: EngineLock | undefined): OperatorError {
  const where = holder?.apiUrl === undefined ? ', and is starting or stopping' : `: API ${holder.apiUrl}`;
  return new OperatorError(
    `The engine of this folder already runs (pid ${holder?.pid})${where}. It is stopped by Ctrl-C.`,
  );
}

async function end(left: Started): Promise<void> {
  const deadline = performance.now() + END_WITHIN_MS;
  try {
    process.kill(left.pid, 'SIGTERM');
    while (lives(left) && performance.now() < deadline) await sleep(LOOK_AGAIN_MS);
    if (lives(left)) process.kill(left.pid, 'SIGKILL');
  } catch {
    // The process has ended between the check and the signal.
  }
}

function identified<One extends { pid: number }>(one: One): One & Started {
  return { ...one, startedAt: startOf(one.pid) };
}
