import { setTimeout as wait } from 'node:timers/promises';
import type { Credentials } from '../../examples/demo/api-client';

/** An API's response. A batch is a bare array, which is in `items` then. */
export interface Reply {
  status: number;
  data: Record<string, unknown>;
  items: Record<string, unknown>[];
  text: string;
}

/** Longest that one try may take: a frozen API answers nothing, and the other one is asked then. */
const TRY_WITHIN_MS = 6_000;
/** A hundred thousand lines are read in seconds, on a slow machine in more. */
const UPLOAD_WITHIN_MS = 120_000;
const PAUSE_MS = 300;
const SURPRISES_MAX = 100;

export class Watch {
  /** How often which answer came: a status, or that none did. */
  readonly answers = new Map<string, number>();
  /** Answers that no caller should ever get. */
  readonly surprises: string[] = [];
  /** By `Date.now()`: whoever has no answer by then gives up. Set when all is well again. */
  giveUpAt = Infinity;

  constructor(readonly signal: AbortSignal) {}

  count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }

  surprise(what: string): void {
    if (this.surprises.length < SURPRISES_MAX) this.surprises.push(what);
  }
}

/**
 * An entity's way to the network: asks one API after the other until one answers for certain. "Come
 * back later" (503, 429, 408), no answer at all and "the first one still runs" (409 with
 * `Retry-After`) are none: the same is sent again, with the same key, as the contract allows.
 */
export class Caller {
  private token: Promise<string> | undefined;
  private turn = 0;

  constructor(
    private readonly apiUrls: readonly string[],
    private readonly credentials: Credentials,
    private readonly watch: Watch,
  ) {}

  async get(path: string): Promise<Reply> {
    return this.insist(path, await this.headers());
  }

  /** @param key where sending it twice would otherwise do it twice */
  async post(path: string, body: unknown, key?: string, method = 'POST'): Promise<Reply> {
    const headers = {
      ...(await this.headers()),
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    };
    return this.insist(path, headers, method, JSON.stringify(body));
  }

  /** A file, which may take longer than a call. */
  async upload(path: string, text: string, contentType: string, key: string): Promise<Reply> {
    const headers = { ...(await this.headers()), 'content-type': contentType, 'idempotency-key': key };
    return this.insist(path, headers, 'POST', text, UPLOAD_WITHIN_MS);
  }

  accessToken(): Promise<string> {
    this.token ??= this.newToken();
    return this.token;
  }

  private async headers(): Promise<Record<string, string>> {
    return { authorization: `Bearer ${await this.accessToken()}` };
  }

  private async newToken(): Promise<string> {
    const { clientId, clientSecret } = this.credentials;
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const reply = await this.insist(
      '/v1/oauth/token',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'POST',
      new URLSearchParams(form).toString(),
    );
    const { access_token: token } = JSON.parse(reply.text) as { access_token?: string };
    if (token === undefined) throw new Error(`no token: ${reply.status}`);
    return token;
  }

  private async insist(
    path: string,
    headers: Record<string, string>,
    method = 'GET',
    body?: string,
    withinMs = TRY_WITHIN_MS,
  ): Promise<Reply> {
    const { watch } = this;
    for (;;) {
      watch.signal.throwIfAborted();
      // A caller that meets nothing else would ask for ever.
      if (watch.surprises.length === SURPRISES_MAX) throw new Error(`${watch.surprises.at(-1)}`);
      if (Date.now() > watch.giveUpAt) throw new Error(`${method} ${path} was never answered`);
      const url = `${this.apiUrls[this.turn++ % this.apiUrls.length]}${path}`;
      const reply = await this.attempt(
        url,
        { method, headers, ...(body !== undefined && { body }) },
        withinMs,
      );
      if (reply) return reply;
      await wait(PAUSE_MS);
    }
  }

  private async attempt(url: string, request: RequestInit, withinMs: number): Promise<Reply | undefined> {
    const { watch } = this;
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        ...request,
        signal: AbortSignal.any([watch.signal, AbortSignal.timeout(withinMs)]),
      });
      text = await response.text();
    } catch {
      watch.count('no answer');
      return undefined;
    }
    const { status, headers } = response;
    watch.count(String(status));
    if (status === 503 || status === 429 || status === 408 || (status === 409 && headers.has('retry-after')))
      return undefined;
    if (status >= 500 || status === 401) {
      const id = headers.get('x-request-id');
      watch.surprise(`${request.method} ${new URL(url).pathname} got ${status} (X-Request-Id ${id})`);
      return undefined;
    }
    const isJson = headers.get('content-type')?.startsWith('application/json');
    return isJson ? replyOf(status, text) : { status, data: {}, items: [], text };
  }
}

function replyOf(status: number, text: string): Reply {
  const body = JSON.parse(text) as unknown;
  if (Array.isArray(body)) return { status, data: {}, items: body as Reply['items'], text };
  const { data } = body as { data?: unknown };
  return Array.isArray(data)
    ? { status, data: {}, items: data as Reply['items'], text }
    : { status, data: (data ?? {}) as Reply['data'], items: [], text };
}
