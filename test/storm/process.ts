import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Program } from '../../src/start/supervisor';

/**
 * Before it is started again after a death of its own: a dead Postgres takes that long to be gone.
 */
const RESTART_AFTER_MS = 300;
const STOPPED_WITHIN_MS = 10_000;

/**
 * A process that the storm kills and freezes, and that is started again whenever it dies. Whoever
 * runs the service has a supervisor that does so; unlike that one, this one never gives up.
 */
export class StormProcess {
  readonly unexpected: string[] = [];
  private child: ChildProcess | undefined;
  private frozen: number[] = [];
  private wanted = false;
  private ordered = false;
  private life: Promise<void> = Promise.resolve();

  constructor(
    readonly name: string,
    private program: Omit<Program, 'name' | 'endsWithinMs'>,
    private readonly logFile: string,
  ) {}

  get pid(): number | undefined {
    return this.child?.pid;
  }

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    this.ordered = false;
    this.life = this.live();
  }

  replace(args: string[]): void {
    this.program = { ...this.program, args };
  }

  /**
   * Ends it as a power cut would, with all that it has started. It stays down until it is started
   * again.
   */
  async kill(): Promise<void> {
    this.wanted = false;
    this.ordered = true;
    this.signal('SIGKILL');
    await this.life;
    this.frozen = [];
  }

  /** Asks it to end in order, and ends it after the time that supervisors give. */
  async stop(): Promise<void> {
    this.wanted = false;
    this.ordered = true;
    this.thaw();
    this.child?.kill(this.program.stopSignal);
    const force = setTimeout(() => this.signal('SIGKILL'), STOPPED_WITHIN_MS);
    await this.life;
    clearTimeout(force);
  }

  /** Stops it in its tracks: its connections stay open, and nobody answers on them. */
  freeze(): void {
    this.frozen = this.signal('SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.frozen) send(pid, 'SIGCONT');
    this.frozen = [];
  }

  /** @returns the pids that it was sent to: of the process and of all that it has started */
  private signal(signal: NodeJS.Signals): number[] {
    const pid = this.child?.pid;
    if (pid === undefined) return [];
    // Itself first, so that it starts nothing more meanwhile.
    send(pid, signal === 'SIGKILL' ? 'SIGSTOP' : signal);
    const pids = [pid, ...descendants(pid)];
    for (const one of pids) send(one, signal);
    return pids;
  }

  private async live(): Promise<void> {
    while (this.wanted) {
      const end = await this.oneLife();
      if (!this.ordered) this.unexpected.push(`${this.name}: ${end}`);
      if (this.wanted) await wait(RESTART_AFTER_MS);
    }
  }

  private async oneLife(): Promise<string> {
    const { command, args, environment, cwd, user } = this.program;
    const log = openSync(this.logFile, 'a', 0o600);
    const child = spawn(command, args, {
      env: environment,
      // A group of its own, so that Ctrl-C reaches the storm alone, which then ends the rest in
      // order.
      detached: true,
      stdio: ['ignore', log, log],
      ...(cwd !== undefined && { cwd }),
      ...user,
    });
    closeSync(log);
    this.child = child;
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    this.child = undefined;
    return signal ?? `exit code ${code}`;
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
