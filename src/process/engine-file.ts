import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTING_NAMES } from '../settings/config';
import { readOwnJson } from './own-file';

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

/** The start tells a process from a later process of the same pid. */
export interface Started {
  pid: number;
  startedAt?: string | undefined;
}

/**
 * `engine.json`, the lock of an engine's folder. It names its holder and the holder's processes,
 * and once all is up the fields of `EngineFile`.
 */
export interface EngineLock extends Started, Partial<Omit<EngineFile, 'pid'>> {
  processes: (Started & { name: string })[];
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

const ADVICE =
  'Nothing is lost by it: end what may still run of this engine, remove the file and start again.';

/** @throws OperatorError if the file is damaged */
export function readEngineLock(folder: string): EngineLock | undefined {
  return readOwnJson(join(folder, 'engine.json'), ADVICE) as EngineLock | undefined;
}

/**
 * Reads the lock of the engine that is up, or that was killed while it was up.
 *
 * @throws OperatorError if the file is damaged
 */
export function readEngineFile(folder: string): EngineFile | undefined {
  const lock = readEngineLock(folder);
  return lock?.databaseUrl === undefined ? undefined : (lock as EngineLock & EngineFile);
}

export function lives({ pid, startedAt }: Started): boolean {
  return startedAt !== undefined && startOf(pid) === startedAt;
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
