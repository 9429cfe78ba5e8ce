import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { OperatorError } from '../../src/domain/failures';
import { poll } from '../../src/process/poll';

export interface Launched {
  command: string;
  args: readonly string[];
  environment: NodeJS.ProcessEnv;
  cwd?: string | undefined;
  /** Absent for this process's own user. */
  user?: { uid: number; gid: number } | undefined;
  /** The signal that asks the process to end in order. */
  stopSignal?: NodeJS.Signals;
  /** It is killed where it has not ended by then; without, it is waited for. */
  endsWithinMs?: number;
  /** Takes what it prints, in place of `output`. */
  logFile?: string;
  /** Its children die and freeze with it. */
  hasFamily?: boolean;
  /** It is started once more where it gives up before it is ready. */
  startsAnew?: boolean;
  /** In a group of its own: Ctrl-C reaches the owner alone, which then ends the rest in order. */
  detached?: boolean;
}

/** The time that supervisors give. */
const ENDS_WITHIN_MS = 10_000;
/**
 * Before it is started again after a death of its own: a dead Postgres takes that long to be gone.
 */
const RESTART_AFTER_MS = 300;

/** A process that tests start, freeze, end in each way, and start again. */
export class OwnProcess {
  /** All that it has printed, in each of its lives. */
  output = '';
  private child: ChildProcess | undefined;
  private exit: Promise<number | NodeJS.Signals> = Promise.resolve(0);
  private frozen: number[] = [];

  constructor(protected launched: Launched) {}

  get pid(): number | undefined {
    return this.isRunning ? this.child?.pid : undefined;
  }

  get isRunning(): boolean {
    return this.child?.exitCode === null && this.child.signalCode === null;
  }

  /** @param more settings of this life alone */
  start(more: NodeJS.ProcessEnv = {}): void {
    if (this.isRunning) return;
    const { command, args, environment, cwd, user, logFile, detached = false } = this.launched;
    const log = logFile === undefined ? undefined : openSync(logFile, 'a', 0o600);
    const child = spawn(command, args, {
      env: { ...environment, ...more },
      detached,
      stdio: ['ignore', log ?? 'pipe', log ?? 'pipe'],
      ...(cwd !== undefined && { cwd }),
      ...user,
    });
    if (log !== undefined) closeSync(log);
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.child = child;
    // With the last that it has printed.
    this.exit = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals);
  }

  /**
   * Ends when the process has, however it came to that.
   *
   * @returns its exit code, or the signal that ended it
   */
  ended(): Promise<number | NodeJS.Signals> {
    return this.exit;
  }

  /** Waits until it has printed this. @throws Error with its output, should it end before */
  async says(words: string): Promise<void> {
    while (!this.output.includes(words)) {
      const more = this.child?.stdout ? once(this.child.stdout, 'data') : undefined;
      const end = await Promise.race([more, this.exit]);
      if (typeof end === 'number' || typeof end === 'string') throw new Error(`it ended:\n${this.output}`);
    }
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    this.signalAll('SIGKILL');
    await this.exit;
    this.frozen = [];
  }

  /** Asks it to end in order. */
  async stop(): Promise<void> {
    const { stopSignal = 'SIGTERM', endsWithinMs } = this.launched;
    this.thaw();
    this.signal(stopSignal);
    const force = endsWithinMs && setTimeout(() => this.signalAll('SIGKILL'), endsWithinMs);
    await this.exit;
    clearTimeout(force);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.child?.kill(signal);
  }

  /** Stops it in its tracks: its connections stay open, and nobody answers on them. */
  freeze(): void {
    this.frozen = this.signalAll('SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.frozen) send(pid, 'SIGCONT');
    this.frozen = [];
  }

  /** @returns the pids that it was sent to */
  private signalAll(signal: NodeJS.Signals): number[] {
    const { pid } = this;
    if (pid === undefined) return [];
    // Itself first, so that it starts nothing more meanwhile.
    send(pid, signal === 'SIGKILL' ? 'SIGSTOP' : signal);
    const pids = [pid, ...(this.launched.hasFamily ? descendants(pid) : [])];
    for (const one of pids) send(one, signal);
    return pids;
  }
}

/** A slow machine compiles for long. */
const READY_WITHIN_MS = 60_000;

/** A process whose start is over when it is ready. */
export class ReadyProcess extends OwnProcess {
  /** @param isReady asked again and again; a failure is no */
  constructor(
    launched: Launched,
    private readonly isReady: (pid: number | undefined) => Promise<unknown>,
  ) {
    super(launched);
  }

  override async start(more: NodeJS.ProcessEnv = {}): Promise<void> {
    super.start(more);
    await poll('The process', READY_WITHIN_MS, new AbortController().signal, async () => {
      const { output, launched } = this;
      if (!this.isRunning && !launched.startsAnew) throw new OperatorError(`It did not start: ${output}`);
      super.start(more);
      if ((await this.isReady(this.pid)) === false) throw new Error('it says no');
    });
  }
}

/**
 * A process that is started again whenever it dies. Whoever runs the service has a supervisor that
 * does so; unlike that one, this one never gives up.
 */
export class RestartedProcess extends OwnProcess {
  readonly unexpected: string[] = [];
  private isWanted = false;
  private life: Promise<void> = Promise.resolve();

  constructor(
    readonly name: string,
    launched: Launched & { logFile: string },
  ) {
    super({ ...launched, endsWithinMs: ENDS_WITHIN_MS, hasFamily: true, detached: true });
  }

  replace(args: string[]): void {
    this.launched = { ...this.launched, args };
  }

  override start(): void {
    if (this.isWanted) return;
    this.isWanted = true;
    this.life = this.live();
  }

  /** It stays down until it is started again, as it does after `stop`. */
  override async kill(): Promise<void> {
    this.isWanted = false;
    await super.kill();
    await this.life;
  }

  override async stop(): Promise<void> {
    this.isWanted = false;
    await super.stop();
    await this.life;
  }

  private async live(): Promise<void> {
    while (this.isWanted) {
      super.start();
      const end = await this.ended();
      if (!this.isWanted) return;
      this.unexpected.push(`${this.name}: ${typeof end === 'number' ? `exit code ${end}` : end}`);
      await wait(RESTART_AFTER_MS);
    }
  }
}

/**
 * All that a process has started, and what those have. Each process of Postgres has a group of its
 * own.
 */
function descendants(pid: number): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const children = new Map<number, number[]>();
  for (const line of table.trim().split('\n')) {
    const [child = 0, parent = 0] = line.trim().split(/ +/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const found: number[] = [];
  for (let generation = children.get(pid) ?? []; generation.length > 0;) {
    found.push(...generation);
    generation = generation.flatMap((one) => children.get(one) ?? []);
  }
  return found;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
