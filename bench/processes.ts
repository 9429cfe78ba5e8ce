import { supervise, type Program, type SupervisedProcess } from '../src/start/supervised-process';

const STOPPED_WITHIN_MS = 8_000;

/**
 * Processes that are started again when they die. Those that others need are started before them.
 */
export class Processes {
  /** Resolves, should one of them keep dying. */
  readonly failed: Promise<Error>;
  private readonly failure = new AbortController();
  private readonly running: SupervisedProcess[] = [];

  constructor() {
    const { signal } = this.failure;
    this.failed = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason as Error));
    });
  }

  start(program: Program, logFile: string): void {
    this.running.push(
      supervise(
        program,
        logFile,
        (line) => process.stderr.write(`${line}\n`),
        () => undefined,
        (error) => this.failure.abort(error),
      ),
    );
  }

  async stop(): Promise<void> {
    for (const one of this.running.toReversed()) await one.stop(STOPPED_WITHIN_MS);
  }
}
