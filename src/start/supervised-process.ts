import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './start-error';

/** A program that the engine runs as a process of its own. */
export interface Program {
  /** As people call it: "API", "Postgres". */
  name: 'API' | 'worker' | 'Temporal' | 'Postgres';
  command: string;
  args: string[];
  environment: NodeJS.ProcessEnv;
  cwd?: string;
  /** Whom it runs as, where that is somebody else. */
  user?: { uid: number; gid: number };
  /** Asks it to end in order. */
  stopSignal: 'SIGTERM' | 'SIGINT';
}

export interface SupervisedProcess {
  readonly name: Program['name'];
  /** Undefined between a death and the start after it. */
  pid(): number | undefined;
  /** Ends it in order; what is still there after `withinMs` is killed. */
  stop(withinMs: number): Promise<void>;
}

/** This many deaths in a row, each soon after its start, mean that starting it again is of no use. */
const DEATHS_AT_MOST = 5;
/** A process that lived this long before it died was well: its deaths before are forgotten. */
const LIVED_WELL_MS = 60_000;
/** Before the second start; doubled before each further one. */
const BACK_OFF_MS = 500;
/** A line longer than this is cut where it is quoted. */
const QUOTE_LENGTH = 500;

/**
 * Starts a program and starts it again when it dies. Its output is appended to a log file.
 *
 * It gets a process group of its own: Ctrl-C in a terminal reaches everything in the foreground group at once,
 * and only the supervisor knows in which order to stop.
 *
 * @param onChange called after each start and each death
 * @param onGivingUp called when it keeps dying; nothing is started any more then
 */
export function supervise(
  program: Program,
  logFile: string,
  onChange: () => void,
  onGivingUp: (error: StartError) => void,
): SupervisedProcess {
  let child: ChildProcess | undefined;
  let deaths = 0;
  const stopping = new AbortController();
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  const running = run();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const end = await oneLife(log);
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt >= LIVED_WELL_MS) deaths = 0;
      deaths += 1;
      if (deaths >= DEATHS_AT_MOST) {
        onGivingUp(new StartError(`${program.name} died ${deaths} times in a row: ${end}`));
        return;
      }
      await sleep(BACK_OFF_MS * 2 ** (deaths - 1), undefined, { signal: stopping.signal }).catch(
        () => undefined,
      );
    }
  }

  /** Starts it once and waits for its end, which it describes. */
  async function oneLife(output: WriteStream): Promise<string> {
    const { command, args, cwd, user, environment } = program;
    const started = spawn(command, args, {
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(cwd !== undefined && { cwd }),
      ...user,
    });
    child = started;
    let lastWords = '';
    started.stdout.pipe(output, { end: false });
    started.stderr.pipe(output, { end: false });
    createInterface({ input: started.stderr }).on('line', (line) => {
      if (line.trim() !== '') lastWords = line.trim().slice(0, QUOTE_LENGTH);
    });
    onChange();
    const how = await new Promise<string>((resolve) => {
      started.once('error', (error) => resolve(error.message));
      // After "close", unlike after "exit", all that it wrote has been read.
      started.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : signal));
    });
    child = undefined;
    onChange();
    return lastWords === '' ? `${how}.` : `${how}. Its last words: ${lastWords}`;
  }

  return {
    name: program.name,
    pid: () => child?.pid,
    async stop(withinMs) {
      stopping.abort();
      child?.kill(program.stopSignal);
      const force = setTimeout(() => child?.kill('SIGKILL'), withinMs);
      await running;
      clearTimeout(force);
      await new Promise<void>((resolve) => {
        log.end(resolve);
      });
    },
  };
}
