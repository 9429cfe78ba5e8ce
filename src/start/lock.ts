import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEngineFile, type EngineFile } from './engine-file';
import { writePrivateFile } from './private-file';
import { processIdentity } from './process-identity';
import { StartError } from './start-error';

/**
 * One engine per folder. The lock names its holder and the processes that it runs, so that whoever
 * comes after a holder that was killed can end what it left behind.
 */
export interface Lock {
  /** Writes down which processes run now. */
  record(processes: Recorded[]): void;
  release(): void;
}

/** A process and what tells it from a later one of the same pid. */
export interface Recorded {
  name: string;
  pid: number;
  identity: string;
}

interface Holder {
  pid: number;
  identity: string;
  processes: Recorded[];
}

/** Longest that a process left behind may take to end before it is killed. */
const END_WITHIN_MS = 5_000;
/** Each try fails only because somebody else took over a stale lock at the same moment. */
const TRIES = 3;

/**
 * @param say prints a line for the operator
 * @throws StartError where the engine runs already, saying where
 */
export async function takeLock(folder: string, say: (line: string) => void): Promise<Lock> {
  const file = join(folder, 'lock');
  const holder: Holder = { pid: process.pid, identity: processIdentity(process.pid) ?? '', processes: [] };
  for (let tries = 0; tries < TRIES && !create(file, holder); tries += 1) {
    const other = readHolder(file);
    if (other && lives(other)) throw runsAlready(folder, other.pid);
    if (!other && existsSync(file)) {
      say(
        `${file} was damaged, and is made anew. What an engine that was killed left behind is not ended by it.`,
      );
    }
    // Before the lock goes, so that nobody starts beside them.
    await endAll(other?.processes ?? [], say);
    removeStale(file);
  }
  if (readHolder(file)?.pid !== process.pid) throw runsAlready(folder, readHolder(file)?.pid);
  return {
    record: (processes) => writePrivateFile(file, JSON.stringify({ ...holder, processes })),
    release: () => rmSync(file, { force: true }),
  };
}

/** A link to a file that is written already: nobody ever reads half a lock. */
function create(file: string, holder: Holder): boolean {
  const written = `${file}.${holder.pid}`;
  writeFileSync(written, JSON.stringify(holder), { mode: 0o600 });
  try {
    linkSync(written, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(written);
  }
}

/**
 * Undefined where there is none, or where what is there says nothing: a damaged lock keeps nobody
 * out.
 */
function readHolder(file: string): Holder | undefined {
  try {
    const read = JSON.parse(readFileSync(file, 'utf8')) as Partial<Holder> | null;
    const isWhole =
      typeof read?.pid === 'number' && typeof read.identity === 'string' && Array.isArray(read.processes);
    return isWhole ? (read as Holder) : undefined;
  } catch {
    return undefined;
  }
}

function lives({ pid, identity }: { pid: number; identity: string }): boolean {
  return processIdentity(pid) === identity;
}

/**
 * Takes a stale lock away. Of several that try, one moves it; where that was a new lock, made since
 * it was looked at, it is put back.
 */
function removeStale(file: string): void {
  const aside = `${file}.${process.pid}.stale`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = readHolder(aside);
  if (moved && lives(moved)) linkSync(aside, file);
  rmSync(aside);
}

/**
 * Ends the last one first: each needs those that were recorded before it.
 */
async function endAll(processes: Recorded[], say: (line: string) => void): Promise<void> {
  for (const left of processes.toReversed().filter(lives)) {
    say(`Ending ${left.name} (pid ${left.pid}), left behind by an engine that was killed.`);
    signal(left.pid, left.name === 'Postgres' ? 'SIGINT' : 'SIGTERM');
    const deadline = performance.now() + END_WITHIN_MS;
    while (lives(left) && performance.now() < deadline) await sleep(50);
    if (lives(left)) signal(left.pid, 'SIGKILL');
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

function runsAlready(folder: string, pid: number | undefined): StartError {
  const file = engineFileOf(folder);
  const where =
    file?.pid === pid && file !== undefined
      ? `: API ${file.apiUrl}${file.temporalUiUrl === undefined ? '' : `, Temporal UI ${file.temporalUiUrl}`}`
      : ', and is starting or stopping';
  return new StartError(
    `The engine of this folder already runs (pid ${pid})${where}. It is stopped by Ctrl-C.`,
  );
}

/** For a message alone, which is of use without it. */
function engineFileOf(folder: string): EngineFile | undefined {
  try {
    return readEngineFile(folder);
  } catch {
    return undefined;
  }
}
