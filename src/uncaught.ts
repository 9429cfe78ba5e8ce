import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/**
 * Uncaught exceptions and rejections, logged with their stack and counted. One that belongs to a
 * request fails that request alone. Another leaves the process in an unknown state: it finishes
 * what it has in hand and exits with 1, and its supervisor starts it again.
 */

/** For what is in hand: longer than any stop in order. */
const ENDS_WITHIN_MS = 12_000;

interface Process {
  log: Pick<Logger, 'error' | 'fatal'>;
  registry: Registry;
  /** Fails the request at hand; false where there is none. */
  failRequest?: () => boolean;
  /** Finishes what is in hand. It is called once. */
  drain: () => void;
}

export function hearUncaught({ log, registry, failRequest = () => false, drain }: Process): void {
  const uncaught = new Counter({
    name: 'assent_uncaught_errors_total',
    help: 'Exceptions and rejections that nobody caught. Each is in the log, with its stack.',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of ['exception', 'rejection']) uncaught.inc({ kind }, 0);
  let ending = false;

  const hear = (kind: 'exception' | 'rejection') => (error: unknown) => {
    uncaught.inc({ kind });
    if (failRequest()) {
      log.error({ err: error, kind }, 'nobody caught this: the request that it belongs to has failed');
      return;
    }
    log.fatal({ err: error, kind }, 'nobody caught this: the process ends');
    if (ending) return;
    ending = true;
    process.exitCode = 1;
    setTimeout(() => process.exit(1), ENDS_WITHIN_MS).unref();
    drain();
  };
  process.on('uncaughtException', hear('exception'));
  process.on('unhandledRejection', hear('rejection'));
}
