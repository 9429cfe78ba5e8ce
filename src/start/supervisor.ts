import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../domain/failures';

export interface Program {
  name: string;
  command: string;
  args: string[];
  environment: NodeJS.ProcessEnv;
  cwd?: string;
  /** Absent for this process's own user. */
  user?: { uid: number; gid: number };
  /** Asks the program to end in order. */
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** Counted from the start of the engine's stop; a program that still runs then is killed. */
  endsWithinMs: number;
  /** Remedy for a program that keeps dying, beside a look at the log. */
  advice?: string;
}

export interface Running {
  name: string;
  pid: number;
}

interface Life {
  program: Program;
  /** Undefined between a death and the next start. */
  child?: ChildProcess | undefined;
  ended: Promise<void>;
}

/** A program that dies this often in a row, each time soon after its start, is given up. */
const DEATHS_AT_MOST = 5;
/** A process that lived this long was well, and resets the count of deaths. */
const LIVED_WELL_MS = 60_000;
/** Pause before the second start; doubled before each further start. */
const BACK_OFF_MS = 500;
/** Longest wait for lines that a process wrote before its exit. */
const LAST_WORDS_WITHIN_MS = 500;
/** Longer lines are cut in messages. */
const QUOTE_LENGTH = 500;

/**
 * The programs of an engine. A program that dies is logged and started again. Programs start in the
 * order of their needs, and stop in reverse.
 */
export class Supervisor {
  private readonly failure = new AbortController();
  private readonly stopping = new AbortController();
  private readonly lives: Life[] = [];
  /** Aborted with the error if a program keeps dying. */
  readonly failing = this.failure.signal;

  /**
   * @param say prints a line for the operator: an unannounced death is found weeks later
   * @param onChange receives the running processes after each start and death
   */
  constructor(
    private readonly logFile: string,
    private readonly say: (line: string) => void,
    private readonly onChange: (running: Running[]) => void = () => undefined,
  ) {}

  /** @throws Error once the supervisor stops */
  start(program: Program): void {
    this.stopping.signal.throwIfAborted();
    const life: Life = { program, ended: Promise.resolve() };
    this.lives.push(life);
    life.ended = this.keepAlive(life).catch((error: unknown) => this.failure.abort(error));
  }

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

  /** @throws OperatorError when the program keeps dying */
  private async keepAlive(life: Life): Promise<void> {
    const { name, advice = '' } = life.program;
    const { signal } = this.stopping;
    for (let deaths = 0; ;) {
      const startedAt = performance.now();
      const end = await this.oneProcess(life);
      if (signal.aborted) return;
      deaths = performance.now() - startedAt < LIVED_WELL_MS ? deaths + 1 : 1;
      if (deaths === DEATHS_AT_MOST)
        throw new OperatorError(
          `${name} died ${deaths} times in a row: ${end} See ${this.logFile}. ${advice}`,
        );
      const backOffMs = BACK_OFF_MS * 2 ** (deaths - 1);
      const line = `${name} died: ${end} It is started again in ${backOffMs / 1000} s.`;
      this.say(line);
      this.log(line);
      await sleep(backOffMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  /** @returns a description of the process's end */
  private async oneProcess(life: Life): Promise<string> {
    const { command, args, environment, cwd, user } = life.program;
    const log = openSync(this.logFile, 'a', 0o600);
    // A process group of its own: Ctrl-C in a terminal reaches the whole foreground group at once,
    // and only the supervisor knows the order of stopping. The busy standard output goes straight
    // to the log.
    const child = spawn(command, args, {
      env: environment,
      detached: true,
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
    // The last line may arrive after the exit. A grandchild that outlives the process keeps the
    // pipe open for ever.
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
    const running = this.lives.map((one) => ({ name: one.program.name, pid: one.child?.pid ?? 0 }));
    this.onChange(running.filter(({ pid }) => pid > 0));
  }

  /** A full disk must not end the supervisor: programs would stop out of order. */
  private log(line: string): void {
    try {
      appendFileSync(this.logFile, `${line}\n`, { mode: 0o600 });
    } catch {
      // The line has nowhere else to go.
    }
  }
}
