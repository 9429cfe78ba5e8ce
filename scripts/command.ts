import { setMaxListeners } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { OperatorError } from '../src/domain/failures';
import { untilAborted, withDeadline } from '../src/process/deadline';

/** The start, the end and the options that all commands of the project share. */

/** Ends what a command has started, the last of it first, however the command itself ends. */
export type Stops = (() => Promise<void> | void)[];

const DOWN_WITHIN_MS = 20_000;

export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Runs a command to its end. A signal aborts it, and its stops run before the process exits.
 *
 * @param work returns whether all is well: exit code 0, otherwise 1
 * @param fail prints why the command could not go on
 */
export function runCommand(
  work: (signal: AbortSignal, stops: Stops) => Promise<boolean>,
  fail: (text: string) => void = say,
): void {
  // Files made from here on, an engine's data for one, are for nobody else to read.
  process.umask(0o077);
  const interrupted = new AbortController();
  const { signal } = interrupted;
  // Each call in flight listens to it.
  setMaxListeners(0, signal);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => interrupted.abort(new OperatorError('interrupted')));
  }
  const stops: Stops = [];
  const run = async () => {
    const working = work(signal, stops);
    try {
      return await untilAborted(working, signal);
    } finally {
      for (const stop of stops.toReversed()) await stop();
      // An engine that is still starting takes itself down.
      const isStarting = signal.aborted && stops.length === 0;
      if (isStarting)
        await withDeadline(
          working.catch(() => false),
          DOWN_WITHIN_MS,
          () => false,
        );
    }
  };
  run().then(
    // Abandoned work may still wait for something, which must not hold the process.
    (isWell) => process.exit(isWell ? 0 : 1),
    (error: unknown) => {
      fail(textOf(error));
      process.exit(1);
    },
  );
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof OperatorError ? error.message : (error.stack ?? error.message);
}

export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const given = z.coerce.number().int().min(least).max(most).safeParse(text);
    if (!given.success) throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    return given.data;
  };
