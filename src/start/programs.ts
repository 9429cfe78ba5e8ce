import { untilAborted } from '../deadline';
import type { Lock } from './lock';
import { poll } from './poll';
import { processIdentity } from './process-identity';
import { supervise, type Program, type SupervisedProcess } from './supervised-process';

/**
 * By when, after a stop began, each program must have ended; then it is killed. Together they stay
 * below 10 s. The worker's own limit for an effect that hangs is 7 s; nothing here loses anything
 * when it is killed.
 */
const ENDED_BY_MS: Record<Program['name'], number> = {
  API: 2_000,
  worker: 7_500,
  Temporal: 8_500,
  Postgres: 9_500,
};

/**
 * The programs of one engine. Those that others need are started before them and stopped after
 * them.
 */
export class Programs {
  /** Resolves, should a program keep dying. */
  readonly failed: Promise<Error>;
  /** Given when the engine cannot go on: somebody stops it, or a program keeps dying. */
  private readonly signal: AbortSignal;
  private readonly failure = new AbortController();
  private readonly running: SupervisedProcess[] = [];

  constructor(
    private readonly logFile: string,
    private readonly say: (line: string) => void,
    private readonly lock: Lock,
    stopped: AbortSignal,
  ) {
    this.signal = AbortSignal.any([stopped, this.failure.signal]);
    this.failed = new Promise((resolve) => {
      this.failure.signal.addEventListener('abort', () => resolve(this.failure.signal.reason as Error));
    });
  }

  /** @throws the signal's reason once the engine cannot go on */
  start(program: Program): void {
    this.signal.throwIfAborted();
    const one = supervise(
      program,
      this.logFile,
      this.say,
      () => this.record(),
      (error) => this.failure.abort(error),
    );
    this.running.push(one);
    this.record();
  }

  /** What `work` comes to, or the signal's reason as soon as the engine cannot go on. */
  unlessStopped<Result>(work: Promise<Result>): Promise<Result> {
    return untilAborted(work, this.signal);
  }

  /**
   * Waits until `attempt` succeeds.
   *
   * @throws StartError when it does not in time; the signal's reason
   */
  async until<Found>(what: string, withinMs: number, attempt: () => Promise<Found>): Promise<Found> {
    return this.unlessStopped(poll(what, withinMs, this.signal, attempt));
  }

  async stop(): Promise<void> {
    const startedAt = performance.now();
    for (const one of this.running.toReversed()) {
      await one.stop(Math.max(ENDED_BY_MS[one.name] - (performance.now() - startedAt), 0));
    }
  }

  /** A full disk must not end what runs; the next start or death writes all of it anew. */
  private record(): void {
    const processes = this.running.flatMap((one) => {
      const pid = one.pid();
      const identity = pid === undefined ? undefined : processIdentity(pid);
      return pid === undefined || identity === undefined ? [] : [{ name: one.name, pid, identity }];
    });
    try {
      this.lock.record(processes);
    } catch (error) {
      this.say(
        `Which processes run could not be written down (${error instanceof Error ? error.message : String(error)}). ` +
          'All goes on; were the engine killed now, the next start would not end what it left behind.',
      );
    }
  }
}
