import { setTimeout as sleep } from 'node:timers/promises';
import { AssentError } from './failure';

/** How long and how often a call is tried. */
export interface Limits {
  /** For one try, from the connection to the end of the answer. */
  timeoutMs: number;
  tries: number;
  /** For all tries of a call, and the waits between them. */
  patienceMs: number;
}

/** A call's clock, randomness and network. */
export interface Surroundings {
  fetch: typeof fetch;
  /** Milliseconds since 1970. */
  now: () => number;
  /** From 0 to below 1. */
  random: () => number;
  wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export const REAL: Surroundings = {
  fetch: (...request) => fetch(...request),
  now: () => Date.now(),
  random: () => Math.random(),
  wait: (ms, signal) => sleep(ms, undefined, signal && { signal }),
};

/** Longest first wait, which is random; each later wait may be twice as long. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;

/**
 * Statuses that say nothing of the request, but that it should come again. A proxy's 502 and 504
 * leave open whether it was carried out; so does a 503, and so does no answer at all. Asking again
 * is harmless: a call whose repeat would do more, or be refused, has a key.
 */
const COME_AGAIN = new Set([408, 429, 502, 503, 504]);

/**
 * Sends until there is an answer that says something, or tries or patience are at their end. The
 * last answer that says nothing is then the answer.
 *
 * @param send makes one try, and reads of its answer what is to be read
 * @throws AssentError where the last try had no answer; what `send` throws as one
 */
export async function persist<Reply extends { status: number; headers: Headers }>(
  { tries, patienceMs, timeoutMs }: Limits,
  surroundings: Surroundings,
  signal: AbortSignal | undefined,
  send: (signal: AbortSignal) => Promise<Reply>,
): Promise<Reply> {
  const endsAt = surroundings.now() + patienceMs;
  for (let number = 1; ; number++) {
    const outcome = await oneTry(timeoutMs, signal, send);
    const asked = 'reply' in outcome ? askedWaitMs(outcome.reply, surroundings.now()) : undefined;
    const again = 'failure' in outcome || isComeAgain(outcome.reply, asked);
    const waitMs = (asked ?? 0) + jitterMs(number, surroundings.random);
    if (!again || number >= tries || surroundings.now() + waitMs > endsAt) {
      if ('failure' in outcome) throw outcome.failure;
      return outcome.reply;
    }
    await surroundings.wait(waitMs, signal).catch((cause: unknown) => {
      throw aborted(cause);
    });
  }
}

/** A failure of this kind leaves open whether the request arrived. */
type Outcome<Reply> = { reply: Reply } | { failure: AssentError };

async function oneTry<Reply>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  send: (signal: AbortSignal) => Promise<Reply>,
): Promise<Outcome<Reply>> {
  if (signal?.aborted) throw aborted(signal.reason);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    return { reply: await send(signal ? AbortSignal.any([signal, late.signal]) : late.signal) };
  } catch (cause) {
    // An error of `send` itself, about a token or an answer, is not mended by asking again.
    if (cause instanceof AssentError) throw cause;
    if (signal?.aborted) throw aborted(signal.reason);
    if (late.signal.aborted) {
      return { failure: new AssentError(`no answer within ${timeoutMs} ms`, { code: 'timeout' }) };
    }
    return { failure: new AssentError(`no connection${reasonOf(cause)}`, { code: 'unreachable', cause }) };
  } finally {
    clearTimeout(timer);
  }
}

/** A 409 that says when to come again is that of a key whose first request still runs. */
function isComeAgain({ status }: { status: number }, asked: number | undefined): boolean {
  return COME_AGAIN.has(status) || (status === 409 && asked !== undefined);
}

/** Full jitter: those who failed together do not come back together. */
function jitterMs(number: number, random: () => number): number {
  return random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (number - 1));
}

/** `Retry-After`, which is a number of seconds or a date (RFC 9110, 10.2.3). */
function askedWaitMs({ headers }: { headers: Headers }, now: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function aborted(cause: unknown): AssentError {
  return new AssentError('called off', { code: 'aborted', cause });
}

/** Node's code, as `ECONNREFUSED`: its message may name more than belongs into a log. */
function reasonOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown }).cause ?? error) as { code?: unknown };
  return typeof code === 'string' ? `: ${code}` : '';
}
