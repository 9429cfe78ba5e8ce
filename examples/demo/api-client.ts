import { setTimeout as wait } from 'node:timers/promises';

/** The network's answer; `body` is the envelope, or the bare array of a batch. */
export interface Answer<Body = Envelope> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface Envelope<Data = Record<string, unknown>> {
  statusCode: number;
  success: boolean;
  message: string;
  data: Data;
  errors?: { path: string; message: string }[];
}

export interface Credentials {
  clientId: string;
  clientSecret: string;
}

interface Request {
  query?: Record<string, string | number>;
  body?: unknown;
  idempotencyKey?: string;
  /** Sending it twice does it twice. */
  once?: true;
}

interface Token {
  text: string;
  /** Milliseconds since 1970. */
  renewAt: number;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH';

/**
 * Enough to sit out a restart of the API; a network that is away longer is the caller's problem.
 */
const MOST_TRIES = 8;
/** A server may ask for any wait; a caller with a deadline gives it this much, per try. */
const LONGEST_WAIT_MS = 5_000;
/** Well above the 5 s after which the network itself gives up on its database. */
const ANSWER_WITHIN_MS = 15_000;
/** A token is renewed this long before it expires, so that it does not expire on its way. */
const RENEW_BEFORE_EXPIRY_MS = 30_000;

/**
 * An entity's way to the network: keeps its access token fresh, and asks again when told to come
 * back later (429) or when nobody knows whether it was heard (503, a broken connection) and asking
 * twice is harmless. Any other answer, also a refusal, is handed to the caller as it is.
 *
 * For simulated parties, tests and tools, who look at refusals and at single requests; they share
 * nothing with `@assent/client`, which is among what is tested with them.
 */
export class ApiClient {
  private token: Token | undefined;
  private renewal: Promise<Token> | undefined;

  constructor(
    readonly baseUrl: string,
    private readonly credentials: Credentials,
  ) {}

  get<Body = Envelope>(path: string, query: Record<string, string | number> = {}): Promise<Answer<Body>> {
    return this.call('GET', path, { query });
  }

  /**
   * @param idempotencyKey lets the client ask again after a lost connection without creating twice
   */
  post<Body = Envelope>(path: string, body: unknown, idempotencyKey?: string): Promise<Answer<Body>> {
    return this.call('POST', path, {
      body,
      ...(idempotencyKey === undefined ? { once: true } : { idempotencyKey }),
    });
  }

  /**
   * A bank's answer: by contract the same one twice counts once, so it is repeated without a key.
   */
  answer<Body = Envelope>(path: string, body: unknown): Promise<Answer<Body>> {
    return this.call('POST', path, { body });
  }

  put<Body = Envelope>(path: string, body: unknown): Promise<Answer<Body>> {
    return this.call('PUT', path, { body });
  }

  patch<Body = Envelope>(
    path: string,
    body: unknown,
    query: Record<string, string | number> = {},
  ): Promise<Answer<Body>> {
    return this.call('PATCH', path, { body, query });
  }

  /** @throws Error where no answer came, after as many tries as are harmless */
  private async call<Body>(method: Method, path: string, request: Request): Promise<Answer<Body>> {
    const url = new URL(path, this.baseUrl);
    for (const [name, value] of Object.entries(request.query ?? {}))
      url.searchParams.set(name, String(value));
    const token = await this.accessToken();
    return insist(!request.once, () =>
      fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(request.body !== undefined && { 'content-type': 'application/json' }),
          ...(request.idempotencyKey !== undefined && { 'idempotency-key': request.idempotencyKey }),
        },
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      }),
    );
  }

  /**
   * A token that is good for a while. Calls that need a new one at the same time share it, for the
   * network hands out only a few a second.
   */
  async accessToken(): Promise<string> {
    if (this.token && Date.now() < this.token.renewAt) return this.token.text;
    this.renewal ??= this.newToken().finally(() => (this.renewal = undefined));
    this.token = await this.renewal;
    return this.token.text;
  }

  private async newToken(): Promise<Token> {
    const { clientId, clientSecret } = this.credentials;
    const { status, body } = await insist<{ access_token: string; expires_in: number }>(true, () =>
      fetch(new URL('/v1/oauth/token', this.baseUrl), {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: clientSecret,
        }),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      }),
    );
    if (status !== 200) throw new Error(`no token for ${clientId}: ${status} ${JSON.stringify(body)}`);
    return {
      text: body.access_token,
      renewAt: Date.now() + body.expires_in * 1000 - RENEW_BEFORE_EXPIRY_MS,
    };
  }
}

/** @param repeatable whether to ask again after a broken connection: the call may have arrived */
async function insist<Body>(repeatable: boolean, send: () => Promise<Response>): Promise<Answer<Body>> {
  for (let tries = 1; ; tries++) {
    const waitMs = Math.min(LONGEST_WAIT_MS, 100 * 2 ** tries);
    let response: Response;
    try {
      response = await send();
    } catch (error) {
      if (!repeatable || tries === MOST_TRIES) throw error;
      await wait(waitMs);
      continue;
    }
    // A 503 may hide a commit that went through; a 429 never does.
    const comeBack = response.status === 429 || (response.status === 503 && repeatable);
    if (!comeBack || tries === MOST_TRIES) {
      return { status: response.status, headers: response.headers, body: await jsonOf<Body>(response) };
    }
    await response.body?.cancel();
    const asked = Number(response.headers.get('retry-after') ?? NaN) * 1000;
    await wait(Number.isFinite(asked) ? Math.min(LONGEST_WAIT_MS, asked) : waitMs);
  }
}

async function jsonOf<Body>(response: Response): Promise<Body> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Body;
  } catch {
    throw new Error(`${response.status} ${response.url} answered no JSON: ${text.slice(0, 200)}`);
  }
}
