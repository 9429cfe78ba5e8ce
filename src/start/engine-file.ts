import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SETTING_NAMES } from '../settings/config';
import { readOwnJson, writePrivateFile } from './own-file';
import { StartError } from './start-error';
import type { Running } from './supervisor';

/** Addresses and files of a running `npm start`, for commands beside it. */
export interface EngineFile {
  pid: number;
  apiUrl: string;
  /** Only in a sandbox. */
  sandboxUrl?: string | undefined;
  /** Absent if the settings switch the console off. */
  consoleUrl?: string | undefined;
  /** Absent if the settings switch metrics off. */
  metricsUrls?: { api: string; worker: string } | undefined;
  /** Absent for a given Temporal, whose UI may be anywhere. */
  temporalUiUrl?: string | undefined;
  temporalAddress: string;
  namespace: string;
  databaseUrl: string;
  ownerUrl: string;
  /** File with the keyring in the form of `ASSENT_KEYS`. Absent if `ASSENT_KEYS` was given. */
  keysFile?: string | undefined;
  logFile: string;
  /** The settings of the engine's processes, as their environment has them, without `SECRETS`. */
  settings: Record<string, string>;
}

/** Settings that stay out of the file: `keysFile` has the keyring, or the operator has it. */
const SECRETS = ['ASSENT_KEYS', 'TEMPORAL_API_KEY', 'OTEL_EXPORTER_OTLP_HEADERS'];
const SHARED = SETTING_NAMES.filter((name) => !SECRETS.includes(name));

/** The settings of an environment that the file holds. */
export function sharedSettings(environment: NodeJS.ProcessEnv): EngineFile['settings'] {
  return Object.fromEntries(
    SHARED.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** An environment in which the engine's settings stand in place of its own. */
export function withSettingsOf({ settings }: EngineFile, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const others = Object.entries(environment).filter(([name]) => !SHARED.includes(name));
  return { ...Object.fromEntries(others), ...settings };
}

/** The start tells a process from a later process of the same pid. */
export interface Started {
  pid: number;
  startedAt?: string | undefined;
}

/**
 * `engine.json`, the lock of an engine's folder. It names its holder and the holder's processes,
 * and once all is up the fields of `EngineFile`.
 */
interface Lock extends Started, Partial<Omit<EngineFile, 'pid'>> {
  processes: (Running & Started)[];
}

/** A process left behind is killed after this time. */
const END_WITHIN_MS = 5_000;
const LOOK_AGAIN_MS = 50;

const ADVICE =
  'Nothing is lost by it: end what may still run of this engine, remove the file and start again.';

/**
 * Locks the folder. Processes that a killed holder left behind are ended first.
 *
 * @param say prints a line for the operator
 * @throws StartError with the address of the engine that holds the folder
 */
export async function takeFolder(folder: string, say: (line: string) => void) {
  const file = join(folder, 'engine.json');
  const before = readLock(folder);
  if (before && lives(before)) throw runsAlready(before);
  if (before && !Array.isArray(before.processes))
    throw new StartError(`${file} is of another version. ${ADVICE}`);
  // The last process ends first: each needs the processes started before it.
  for (const left of before?.processes.toReversed().filter(lives) ?? []) {
    say(`Ending ${left.name} (pid ${left.pid}), left behind by an engine that was killed.`);
    await end(left);
  }
  // Another start may have locked the folder meanwhile.
  if (readLock(folder)?.startedAt === before?.startedAt) rmSync(file, { force: true });

  let lock: Lock = { ...identified({ pid: process.pid }), processes: [] };
  try {
    writeFileSync(file, JSON.stringify(lock), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw runsAlready(readLock(folder));
  }
  const write = (more: Partial<Lock>) => {
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

/**
 * Reads the lock of the engine that is up, or that was killed while it was up.
 *
 * @throws StartError if the file is damaged
 */
export function readEngineFile(folder: string): EngineFile | undefined {
  const lock = readLock(folder);
  return lock?.databaseUrl === undefined ? undefined : (lock as Lock & EngineFile);
}

function readLock(folder: string): Lock | undefined {
  return readOwnJson(join(folder, 'engine.json'), ADVICE) as Lock | undefined;
}

function runsAlready(holder: Lock | undefined): StartError {
  const where = holder?.apiUrl === undefined ? ', and is starting or stopping' : `: API ${holder.apiUrl}`;
  return new StartError(
    `The engine of this folder already runs (pid ${holder?.pid})${where}. It is stopped by Ctrl-C.`,
  );
}

async function end(left: Running & Started): Promise<void> {
  const deadline = performance.now() + END_WITHIN_MS;
  try {
    process.kill(left.pid, 'SIGTERM');
    while (lives(left) && performance.now() < deadline) await sleep(LOOK_AGAIN_MS);
    if (lives(left)) process.kill(left.pid, 'SIGKILL');
  } catch {
    // The process has ended between the check and the signal.
  }
}

export function lives({ pid, startedAt }: Started): boolean {
  return startedAt !== undefined && startOf(pid) === startedAt;
}

function identified<One extends { pid: number }>(one: One): One & Started {
  return { ...one, startedAt: startOf(one.pid) };
}

/** A process's start in the system's own words; undefined if no process has the pid. */
export function startOf(pid: number): string | undefined {
  try {
    const [state, ...start] = process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
    // A zombie has ended, but keeps its pid.
    return state?.startsWith('Z') ? undefined : start.join(' ');
  } catch {
    return undefined;
  }
}

/** Some containers have no `ps`. */
function fromProc(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in brackets, which may hold spaces and brackets.
  const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The start is counted from the boot.
  return [state, readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), fields[18] ?? ''];
}

function fromPs(pid: number): string[] {
  return execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'ignore'],
  }).split(/\s+/);
}
