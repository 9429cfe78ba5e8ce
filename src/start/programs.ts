import type { Lock } from './lock';
import { processIdentity } from './process-identity';
import type { StartError } from './start-error';
import { supervise, type Program, type SupervisedProcess } from './supervised-process';

/**
 * By when, after a stop began, each program must have ended; then it is killed. Together they stay below 10 s.
 * The worker's own limit for an effect that hangs is 7 s; nothing here loses anything when it is killed.
 */
const ENDED_BY_MS: Record<Program['name'], number> = {
  API: 2_000,
  worker: 7_500,
  Temporal: 8_500,
  Postgres: 9_500,
};

/** The programs of one engine. Those that others need are started before them and stopped after them. */
export class Programs {
  /** Given when the engine cannot go on: somebody stops it, or a program keeps dying. */
  readonly signal: AbortSignal;
  readonly failed: Promise<StartError>;
  private readonly running: SupervisedProcess[] = [];
  private readonly giveUp: (error: StartError) => void;

  constructor(
    private readonly logFile: string,
    private readonly lock: Lock,
    stopped: AbortSignal,
  ) {
    const failure = new AbortController();
    this.signal = AbortSignal.any([stopped, failure.signal]);
    this.giveUp = (error) => failure.abort(error);
    this.failed = new Promise((resolve) => {
      failure.signal.addEventListener('abort', () => resolve(failure.signal.reason as StartError));
    });
  }

  /** @throws the signal's reason once the engine cannot go on */
  start(program: Program): void {
    this.signal.throwIfAborted();
    this.running.push(supervise(program, this.logFile, () => this.record(), this.giveUp));
    this.record();
  }

  /** What `work` comes to, or the signal's reason as soon as the engine cannot go on. */
  async unlessStopped<Result>(work: Promise<Result>): Promise<Result> {
    this.signal.throwIfAborted();
    return Promise.race([
      work,
      new Promise<never>((_, reject) => {
        this.signal.addEventListener('abort', () => reject(this.signal.reason as Error), { once: true });
      }),
    ]);
  }

  async stop(): Promise<void> {
    const startedAt = performance.now();
    for (const one of this.running.toReversed()) {
      await one.stop(Math.max(ENDED_BY_MS[one.name] - (performance.now() - startedAt), 0));
    }
  }

  private record(): void {
    this.lock.record(
      this.running.flatMap((one) => {
        const pid = one.pid();
        const identity = pid === undefined ? undefined : processIdentity(pid);
        return pid === undefined || identity === undefined ? [] : [{ name: one.name, pid, identity }];
      }),
    );
  }
}
