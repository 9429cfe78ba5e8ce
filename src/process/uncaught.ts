import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/*
 * Uncaught exceptions and rejections are logged with their stack, and counted. An error of a
 * request fails that request alone. Any other error leaves the process in an unknown state. It
 * finishes its work in hand and exits with 1; its supervisor starts it again.
 */

/** Longer than any orderly stop. */
const ENDS_WITHIN_MS = 12_000;

interface Process {
  log: Pick<Logger, 'error' | 'fatal'>;
  registry: Registry;
  /** Fails the current request; false outside a request. */
  failRequest?: () => boolean;
  /** Finishes work in hand; called once. */
  drain: () => void;
}

export function handleUncaught({ log, registry, failRequest = () => false, drain }: Process): void {
  const uncaught = new Counter({
    name: 'assent_uncaught_errors_total',
    help: 'Uncaught exceptions and rejections. Each is in the log, with its stack.',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of ['exception', 'rejection']) uncaught.inc({ kind }, 0);
  let ending = false;

  const handle = (kind: 'exception' | 'rejection') => (error: unknown) => {
    uncaught.inc({ kind });
    if (failRequest()) {
      log.error({ err: error, kind }, 'uncaught error: its request has failed');
      return;
    }
    log.fatal({ err: error, kind }, 'uncaught error: the process ends');
    if (ending) return;
    ending = true;
    process.exitCode = 1;
    setTimeout(() => process.exit(1), ENDS_WITHIN_MS).unref();
    drain();
  };
  process.on('uncaughtException', handle('exception'));
  process.on('unhandledRejection', handle('rejection'));
}
