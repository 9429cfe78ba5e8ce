import { setTimeout as wait } from 'node:timers/promises';

/** The network's answer. */
export interface Answer<Body = Envelope> {
  status: number;
  headers: Headers;
  text: string;
  /** The envelope, or the bare array of a batch; text, where it is no JSON. */
  body: Body;
  /** What the envelope holds; empty where it is an array. */
  data: Record<string, unknown>;
  /** The array that is the body, or that the envelope holds. */
  items: Record<string, unknown>[];
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

/** A call, which may be made again and again. */
export interface Call {
  method: string;
  path: string;
  /** Whether asking twice is harmless: a call without an answer may have arrived. */
  isRepeatable: boolean;
  /** Where one try takes longer than those of other calls. */
  withinMs: number | undefined;
  send: (signal: AbortSignal) => Promise<Response>;
}

export interface Said {
  status: number;
  headers: Headers;
  text: string;
}

/** How often a caller asks, and what it takes for an answer. */
export interface RetryPolicy {
  /** @throws Error where no answer came */
  insist(call: Call): Promise<Said>;
}

interface Request {
  query?: Record<string, string | number>;
  body?: unknown;
  /** Of a body that is sent as it is. */
  contentType?: string;
  idempotencyKey?: string;
  /** Sending it twice does it twice. */
  once?: true;
  withinMs?: number;
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
/** A hundred thousand lines are read in seconds, on a slow machine in more. */
const UPLOAD_WITHIN_MS = 120_000;
/** A token is renewed this long before it expires, so that it does not expire on its way. */
const RENEW_BEFORE_EXPIRY_MS = 30_000;

/**
 * Asks again when told to come back later (429), or when nobody knows whether it was heard (503, a
 * broken connection) and asking twice is harmless. Any other answer is one, also a refusal.
 */
const BRIEFLY: RetryPolicy = {
  async insist({ isRepeatable, withinMs = ANSWER_WITHIN_MS, send }) {
    for (let tries = 1; ; tries++) {
      const waitMs = Math.min(LONGEST_WAIT_MS, 100 * 2 ** tries);
      let said: Said;
      try {
        said = await heard(send(AbortSignal.timeout(withinMs)));
      } catch (error) {
        if (!isRepeatable || tries === MOST_TRIES) throw error;
        await wait(waitMs);
        continue;
      }
      // A 503 may hide a commit that went through; a 429 never does.
      const comeBack = said.status === 429 || (said.status === 503 && isRepeatable);
      if (!comeBack || tries === MOST_TRIES) return said;
      const asked = Number(said.headers.get('retry-after') ?? NaN) * 1000;
      await wait(Number.isFinite(asked) ? Math.min(LONGEST_WAIT_MS, asked) : waitMs);
    }
  },
};

export async function heard(sent: Promise<Response>): Promise<Said> {
  const response = await sent;
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/**
 * An entity's way to the network, which may have several APIs: each try goes to the next one. It
 * keeps its access token fresh.
 *
 * For simulated parties, tests and tools, who look at refusals and at single requests; they share
 * nothing with `@assent/client`, which is among what is tested with them.
 */
export class ApiClient {
  private token: Token | undefined;
  private renewal: Promise<Token> | undefined;
  private turn = 0;

  constructor(
    private readonly apiUrls: readonly string[],
    private readonly credentials: Credentials,
    private readonly retryPolicy = BRIEFLY,
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

  patch<Body = Envelope>(path: string, body: unknown): Promise<Answer<Body>> {
    return this.call('PATCH', path, { body });
  }

  /** A file, which may take longer than a call. */
  upload(path: string, body: string, contentType: string, idempotencyKey: string): Promise<Answer> {
    return this.call('POST', path, { body, contentType, idempotencyKey, withinMs: UPLOAD_WITHIN_MS });
  }

  /** @throws Error where no answer came */
  private async call<Body>(
    method: Method,
    path: string,
    { query = {}, body, contentType, idempotencyKey, once, withinMs }: Request,
  ): Promise<Answer<Body>> {
    const token = await this.accessToken();
    const said = await this.retryPolicy.insist({
      method,
      path,
      isRepeatable: !once,
      withinMs,
      send: (signal) => {
        const url = this.urlOf(path);
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
        return fetch(url, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
            ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          },
          ...(body !== undefined && {
            body: contentType === undefined ? JSON.stringify(body) : (body as string),
          }),
          signal,
        });
      },
    });
    return answerOf<Body>(said);
  }

  private urlOf(path: string): URL {
    return new URL(path, this.apiUrls[this.turn++ % this.apiUrls.length]);
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
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const [method, path] = ['POST', '/v1/oauth/token'];
    const said = await this.retryPolicy.insist({
      method,
      path,
      isRepeatable: true,
      withinMs: undefined,
      send: (signal) => fetch(this.urlOf(path), { method, body: new URLSearchParams(form), signal }),
    });
    const { status, body } = answerOf<{ access_token: string; expires_in: number }>(said);
    if (status !== 200) throw new Error(`no token for ${clientId}: ${status} ${JSON.stringify(body)}`);
    return {
      text: body.access_token,
      renewAt: Date.now() + body.expires_in * 1000 - RENEW_BEFORE_EXPIRY_MS,
    };
  }
}

function answerOf<Body>({ status, headers, text }: Said): Answer<Body> {
  const isJson = headers.get('content-type')?.startsWith('application/json') === true;
  const body = (isJson ? JSON.parse(text) : text) as Body;
  const told: unknown = Array.isArray(body) ? body : (body as { data?: unknown }).data;
  const [data, items] = Array.isArray(told) ? [{}, told as Answer['items']] : [told ?? {}, []];
  return { status, headers, text, body, data, items };
}

/** @throws Error where the status is another */
export function expected(status: number, answer: Answer<unknown>): Record<string, unknown> {
  if (answer.status !== status) throw new Error(`${answer.status}: ${answer.text}`);
  return answer.data;
}
