import { persist, type Limits, type Surroundings } from './attempts';
import { AssentError, type FailureCode } from './failure';
import { readJson } from './answer';

interface Token {
  text: string;
  /** Milliseconds since 1970. */
  renewAt: number;
}

/** A token is renewed this long before it expires, so that it does not expire on its way … */
const RENEW_BEFORE_MS = 30_000;
/** … or, of one that lives for seconds, before the last part of its life. */
const RENEW_BEFORE_SHARE = 0.2;

/** Codes for the words of OAuth (RFC 6749, 5.2). */
const CODES = new Map<unknown, FailureCode>([
  ['invalid_client', 'invalid_client'],
  ['invalid_scope', 'invalid_scope'],
  ['invalid_request', 'invalid_request'],
  ['temporarily_unavailable', 'unavailable'],
  ['server_error', 'internal'],
]);

/**
 * The access token of one client. Calls that need a new one at the same time share it: the network
 * hands out one a second.
 */
export class AccessToken {
  // Private names are not shown by inspection, and not copied by a spread.
  readonly #clientId: string;
  readonly #clientSecret: string;
  readonly #scope: string;
  readonly #url: URL;
  readonly #limits: Limits;
  readonly #surroundings: Surroundings;
  #token: Token | undefined;
  #renewal: Promise<Token> | undefined;

  constructor(
    url: URL,
    credentials: { clientId: string; clientSecret: string; scope?: string },
    limits: Limits,
    surroundings: Surroundings,
  ) {
    this.#url = url;
    this.#clientId = credentials.clientId;
    this.#clientSecret = credentials.clientSecret;
    this.#scope = credentials.scope ?? '';
    this.#limits = limits;
    this.#surroundings = surroundings;
  }

  /** @param signal ends this wait, and not the renewal, which others may wait for */
  async get(signal: AbortSignal): Promise<string> {
    if (this.#token && this.#surroundings.now() < this.#token.renewAt) return this.#token.text;
    this.#renewal ??= this.#renewed();
    return (await untilAborted(this.#renewal, signal)).text;
  }

  /** The token that was answered with a 401. Another one that came meanwhile is kept. */
  refused(text: string): void {
    if (this.#token?.text === text) this.#token = undefined;
  }

  async #renewed(): Promise<Token> {
    const renewal = this.#ask();
    // The rejection is handled also where all who waited have left.
    renewal.then(
      (token) => {
        this.#token = token;
        this.#renewal = undefined;
      },
      () => (this.#renewal = undefined),
    );
    return renewal;
  }

  async #ask(): Promise<Token> {
    const askedAt = this.#surroundings.now();
    const reply = await persist(this.#limits, this.#surroundings, undefined, async (signal) =>
      readJson(
        await this.#surroundings.fetch(this.#url, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: this.#clientId,
            client_secret: this.#clientSecret,
            scope: this.#scope,
          }),
          // Followed, it would hand the secret to wherever it leads.
          redirect: 'manual',
          signal,
        }),
      ),
    );
    const body = reply.body as { access_token?: unknown; expires_in?: unknown; error?: unknown } | undefined;
    if (
      reply.status !== 200 ||
      typeof body?.access_token !== 'string' ||
      typeof body.expires_in !== 'number'
    ) {
      throw new AssentError(`no access token: HTTP ${reply.status}`, {
        code: reply.status === 429 ? 'rate_limited' : (CODES.get(body?.error) ?? 'unexpected_answer'),
        status: reply.status,
        requestId: reply.requestId,
      });
    }
    const livesMs = body.expires_in * 1000;
    const renewBeforeMs = Math.min(RENEW_BEFORE_MS, livesMs * RENEW_BEFORE_SHARE);
    return { text: body.access_token, renewAt: askedAt + livesMs - renewBeforeMs };
  }
}

function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
