import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/**
 * What nobody caught: an exception thrown where no code waits for it, and a rejection that nobody
 * hears.
 *
 * Node would end the process at once, and one line of text would be all that is known of it. Here
 * it is logged with its stack and counted. Where it belongs to one request, that request fails and
 * all others go on. Otherwise nobody knows what state the process is in: it takes nothing new,
 * finishes what it has in hand, and ends with exit code 1, for whoever supervises it to start it
 * anew.
 */

/**
 * What is in hand gets this long, well beyond what a stop in order takes; then the process ends as
 * it is.
 */
const ENDS_WITHIN_MS = 12_000;

interface Process {
  log: Pick<Logger, 'error' | 'fatal'>;
  registry: Registry;
  /** Fails the request that the code at hand works for; false where it works for none. */
  failRequest?: () => boolean;
  /** Takes nothing new and finishes what is in hand. It is called once. */
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
