import { setTimeout as wait } from 'node:timers/promises';
import { heard, type Call, type RetryPolicy, type Said } from './client';

/** Longest that one try may take: a frozen API answers nothing, and the other one is asked then. */
const TRY_WITHIN_MS = 6_000;
const PAUSE_MS = 300;
const SURPRISES_MAX = 100;

/**
 * Has callers ask one API after the other until one answers for certain, and keeps what was
 * answered. "Come back later" (503, 429, 408), no answer at all and "the first one still runs" (409
 * with `Retry-After`) are none: the same is sent again, with the same key, as the contract allows.
 */
export class Watch implements RetryPolicy {
  /** How often which answer came: a status, or that none did. */
  readonly answers = new Map<string, number>();
  /** Answers that no caller should ever get. */
  readonly surprises: string[] = [];
  /** By `Date.now()`: whoever has no answer by then gives up. Set when all is well again. */
  giveUpAt = Infinity;

  constructor(readonly signal: AbortSignal) {}

  async insist(call: Call): Promise<Said> {
    for (;;) {
      this.signal.throwIfAborted();
      // A caller that meets nothing else would ask for ever.
      if (this.surprises.length === SURPRISES_MAX) throw new Error(`${this.surprises.at(-1)}`);
      if (Date.now() > this.giveUpAt) throw new Error(`${call.method} ${call.path} was never answered`);
      const said = await this.attempt(call);
      if (said) return said;
      await wait(PAUSE_MS);
    }
  }

  private surprise(what: string): void {
    if (this.surprises.length < SURPRISES_MAX) this.surprises.push(what);
  }

  private async attempt({ method, path, withinMs = TRY_WITHIN_MS, send }: Call): Promise<Said | undefined> {
    const signal = AbortSignal.any([this.signal, AbortSignal.timeout(withinMs)]);
    const said = await heard(send(signal)).catch(() => undefined);
    this.count(said ? String(said.status) : 'no answer');
    if (!said) return undefined;
    const { status, headers } = said;
    if (status === 503 || status === 429 || status === 408 || (status === 409 && headers.has('retry-after')))
      return undefined;
    if (status >= 500 || status === 401) {
      const id = headers.get('x-request-id');
      this.surprise(`${method} ${path.split('?', 1)[0]} got ${status} (X-Request-Id ${id})`);
      return undefined;
    }
    return said;
  }

  private count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }
}
