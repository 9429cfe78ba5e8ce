import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from './start-error';

/** A program that the engine runs as a process of its own. */
export interface Program {
  name: string;
  command: string;
  args: string[];
  environment: NodeJS.ProcessEnv;
  cwd?: string;
  /** The user that it runs as, where that is another than this process's. */
  user?: { uid: number; gid: number };
  /** Asks it to end in order. */
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** Counted from the moment that the stop of all began; what still runs then is killed. */
  endsWithinMs: number;
  /** What to do where it keeps dying, beside looking into the log. */
  advice?: string;
}

/** A process that runs now. */
export interface Running {
  name: string;
  pid: number;
}

interface Life {
  program: Program;
  /** Undefined between a death and the start after it. */
  child: ChildProcess | undefined;
  ended: Promise<void>;
}

/** After this many deaths in a row, each soon after a start, starting again is of no use. */
const DEATHS_AT_MOST = 5;
/** A process that lived this long was well: the deaths before it are forgotten. */
const LIVED_WELL_MS = 60_000;
/** Before the second start; doubled before each further one. */
const BACK_OFF_MS = 500;
/** Longest wait for lines that a process wrote ahead of its exit. */
const LAST_WORDS_WITHIN_MS = 500;
/** A longer line is cut where it is quoted. */
const QUOTE_LENGTH = 500;

/**
 * The programs of one engine. Each is started again when it dies, with a line in the log. A program
 * that others need is started before them, and stopped after them.
 */
export class Supervisor {
  private readonly failure = new AbortController();
  private readonly stopping = new AbortController();
  private readonly lives: Life[] = [];

  /**
   * @param say prints a line for the operator: a death that goes unsaid is found weeks later
   * @param onChange told what runs, after each start and each death
   */
  constructor(
    private readonly logFile: string,
    private readonly say: (line: string) => void,
    private readonly onChange: (running: Running[]) => void = () => undefined,
  ) {}

  /** Aborted, with the error as its reason, should a program keep dying. */
  get failing(): AbortSignal {
    return this.failure.signal;
  }

  /** @throws Error once all is being stopped */
  start(program: Program): void {
    this.stopping.signal.throwIfAborted();
    const life: Life = { program, child: undefined, ended: Promise.resolve() };
    this.lives.push(life);
    life.ended = this.keepAlive(life).catch((error: unknown) => this.failure.abort(error));
  }

  /** Stops all in order, the last one first. */
  async stop(): Promise<void> {
    this.stopping.abort();
    const startedAt = performance.now();
    for (const life of this.lives.toReversed()) {
      const leftMs = life.program.endsWithinMs - (performance.now() - startedAt);
      life.child?.kill(life.program.stopSignal);
      const force = setTimeout(() => life.child?.kill('SIGKILL'), Math.max(leftMs, 0));
      await life.ended;
      clearTimeout(force);
    }
  }

  /** @throws StartError when the program keeps dying */
  private async keepAlive(life: Life): Promise<void> {
    const { name, advice = '' } = life.program;
    const { signal } = this.stopping;
    for (let deaths = 0; !signal.aborted;) {
      const startedAt = performance.now();
      const end = await this.oneProcess(life);
      if (signal.aborted) return;
      deaths = performance.now() - startedAt < LIVED_WELL_MS ? deaths + 1 : 1;
      if (deaths === DEATHS_AT_MOST) {
        throw new StartError(`${name} died ${deaths} times in a row: ${end} See ${this.logFile}. ${advice}`);
      }
      const backOffMs = BACK_OFF_MS * 2 ** (deaths - 1);
      const line = `${name} died: ${end} It is started again in ${backOffMs / 1000} s.`;
      this.say(line);
      this.log(line);
      await sleep(backOffMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Starts the program once and waits for its end, which it describes. */
  private async oneProcess(life: Life): Promise<string> {
    const { command, args, environment, cwd, user } = life.program;
    const log = openSync(this.logFile, 'a', 0o600);
    const child = spawn(command, args, {
      env: environment,
      // A process group of its own: Ctrl-C in a terminal reaches the whole foreground group at
      // once, and only the supervisor knows in which order to stop.
      detached: true,
      // Standard output, where most is written, does not take the way round through here.
      stdio: ['ignore', log, 'pipe'],
      ...(cwd !== undefined && { cwd }),
      ...user,
    });
    closeSync(log);
    this.changed(life, child);
    let lastWords = '';
    const lines = child.stderr && createInterface({ input: child.stderr });
    lines?.on('line', (line) => {
      if (line.trim() !== '') lastWords = `, with the last words "${line.trim().slice(0, QUOTE_LENGTH)}"`;
      this.log(line);
    });
    // The last line may still be on its way at the exit. A process of the child's own that outlives
    // it keeps the pipe open for ever.
    const closed = new Promise((resolve) => child.once('close', resolve));
    const how = await once(child, 'exit').then(
      async ([code, signal]) => {
        await Promise.race([closed, sleep(LAST_WORDS_WITHIN_MS, undefined, { ref: false })]);
        return (signal as string | null) ?? `exit code ${code}`;
      },
      (error: Error) => error.message,
    );
    child.stderr?.destroy();
    this.changed(life, undefined);
    return `${how}${lastWords}.`;
  }

  private changed(life: Life, child: ChildProcess | undefined): void {
    life.child = child;
    this.onChange(
      this.lives.flatMap(({ program: { name }, child: { pid } = {} }) => (pid ? [{ name, pid }] : [])),
    );
  }

  /** A full disk must not end the supervisor, and with it the order of things. */
  private log(line: string): void {
    try {
      appendFileSync(this.logFile, `${line}\n`, { mode: 0o600 });
    } catch {
      // The line has nowhere else to go.
    }
  }
}
