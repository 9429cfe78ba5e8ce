import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './start-error';

/** A program that the engine runs as a process of its own. */
export interface Program {
  name: 'API' | 'worker' | 'Temporal' | 'Postgres';
  command: string;
  args: string[];
  environment: NodeJS.ProcessEnv;
  cwd?: string;
  /** Whom it runs as, where that is somebody else. */
  user?: { uid: number; gid: number };
  /** Asks it to end in order. */
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** What to do where it keeps dying, beside looking into the log: one sentence. */
  advice?: string;
}

export interface SupervisedProcess {
  readonly name: Program['name'];
  /** Undefined between a death and the start after it. */
  pid(): number | undefined;
  /** Ends it in order; what is still there after `withinMs` is killed. */
  stop(withinMs: number): Promise<void>;
}

/**
 * This many deaths in a row, each soon after its start, mean that starting it again is of no use.
 */
const DEATHS_AT_MOST = 5;
/** A process that lived this long before it died was well: its deaths before are forgotten. */
const LIVED_WELL_MS = 60_000;
/** Before the second start; doubled before each further one. */
const BACK_OFF_MS = 500;
/**
 * Its last line arrives within this time of its end, unless something that it started holds the
 * pipe.
 */
const LAST_WORDS_MS = 500;
/** A line longer than this is cut where it is quoted. */
const QUOTE_LENGTH = 500;

/**
 * Starts a program and starts it again when it dies. Its output is appended to a log file.
 *
 * It gets a process group of its own: Ctrl-C in a terminal reaches everything in the foreground
 * group at once, and only the supervisor knows in which order to stop.
 *
 * @param say prints a line for the operator: each death, for one that goes unsaid is found weeks
 *   later
 * @param onChange called after each start and each death
 * @param onGivingUp called when it keeps dying; it is not started any more then
 */
export function supervise(
  program: Program,
  logFile: string,
  say: (line: string) => void,
  onChange: () => void,
  onGivingUp: (error: Error) => void,
): SupervisedProcess {
  let child: ChildProcess | undefined;
  const stopping = new AbortController();

  async function run(): Promise<void> {
    for (let deaths = 0, allDeaths = 1; ; allDeaths += 1) {
      const startedAt = performance.now();
      const end = await oneLife();
      if (stopping.signal.aborted) return;
      deaths = performance.now() - startedAt < LIVED_WELL_MS ? deaths + 1 : 1;
      if (deaths === DEATHS_AT_MOST) {
        const advice = program.advice === undefined ? '' : ` ${program.advice}`;
        throw new StartError(
          `${program.name} died ${deaths} times in a row: ${end} See ${logFile}.${advice}`,
        );
      }
      const backOffMs = BACK_OFF_MS * 2 ** (deaths - 1);
      const line = `${program.name} died (death ${allDeaths} since the start): ${end} It is started again in ${backOffMs / 1000} s.`;
      say(line);
      appendLine(logFile, line);
      await sleep(backOffMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
    }
  }

  /** Starts it once and waits for its end, which it describes. */
  async function oneLife(): Promise<string> {
    const { command, args, cwd, user, environment } = program;
    const log = openSync(logFile, 'a', 0o600);
    child = spawn(command, args, {
      env: environment,
      detached: true,
      // Standard output, where most is written, does not take the way round through here.
      stdio: ['ignore', log, 'pipe'],
      ...(cwd !== undefined && { cwd }),
      ...user,
    });
    closeSync(log);
    onChange();
    let lastWords = '';
    if (child.stderr) {
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (line.trim() !== '') lastWords = line.trim().slice(0, QUOTE_LENGTH);
        appendLine(logFile, line);
      });
    }
    const closed = once(child, 'close').catch(() => undefined);
    const how = await ended(child);
    await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    child = undefined;
    onChange();
    return lastWords === '' ? `${how}.` : `${how}, with the last words "${lastWords}".`;
  }

  const running = run().catch(onGivingUp);
  return {
    name: program.name,
    pid: () => child?.pid,
    async stop(withinMs) {
      stopping.abort();
      child?.kill(program.stopSignal);
      const force = setTimeout(() => child?.kill('SIGKILL'), withinMs);
      await running;
      clearTimeout(force);
    },
  };
}

async function ended(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

/** A full disk must not end the supervisor, and with it the order of things. */
function appendLine(file: string, line: string): void {
  try {
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
  } catch {
    // There is nowhere left to say it.
  }
}
