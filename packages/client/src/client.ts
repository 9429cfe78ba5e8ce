import { randomUUID } from 'node:crypto';
import { AccessToken } from './access-token';
import { readJson, refusal, type Reply } from './answer';
import { OPERATIONS, type Operations } from './api.generated';
import { persist, REAL, type Limits, type Surroundings } from './attempts';
import { AssentError } from './failure';

export interface ClientOptions {
  /** Of the network, as `https://assent.example`; a path before `/v1` is kept. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Some of the client's scopes, as `read bill`; all of them unless given. */
  scope?: string;
  /** For one try; 15 000 unless given. */
  timeoutMs?: number;
  /** Of one call; 6 unless given, 1 for none again. */
  tries?: number;
  /** For all tries of a call together; 60 000 unless given. */
  patienceMs?: number;
}

type Id = keyof Operations;
/** Operations that answer with JSON. */
export type CallId = { [O in Id]: Operations[O] extends { answer: unknown } ? O : never }[Id];
/** Operations that answer with a file. */
export type FileId = { [O in Id]: Operations[O] extends { file: unknown } ? O : never }[Id];
/** Operations that answer with a list. */
export type ListId = { [O in Id]: (typeof OPERATIONS)[O] extends { list: unknown } ? O : never }[Id];

interface CallOptions {
  /** Calls it off. */
  signal?: AbortSignal;
  /** For one try, in place of the client's: of a large file, for example. */
  timeoutMs?: number;
}

interface KeyedOptions extends CallOptions {
  /**
   * Made for each call unless given: give one of your own where a repeat of the call, after a
   * restart of your process, must not do it twice.
   */
  idempotencyKey?: string;
}

export type RequestOf<O extends Id> = Omit<Operations[O], 'answer' | 'file'> &
  ((typeof OPERATIONS)[O] extends { keyed: true } ? KeyedOptions : CallOptions);
export type AnswerOf<O extends CallId> = Operations[O] extends { answer: infer Answer } ? Answer : never;
export type ItemOf<O extends ListId> =
  AnswerOf<O> extends { data: infer Data }
    ? Data extends Record<(typeof OPERATIONS)[O]['list']['items'], (infer Item)[]>
      ? Item
      : never
    : never;

/** The request is optional if all its fields are. */
type Asked<Request> = Partial<Request> extends Request ? [request?: Request] : [request: Request];

/** A request of any operation. */
interface AnyRequest extends KeyedOptions {
  path?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  contentType?: string;
}

interface Facts {
  method: string;
  path: string;
  keyed?: true;
  list?: { items: string; next: 'page' | 'after' | 'none' };
}

const DEFAULTS: Limits = { timeoutMs: 15_000, tries: 6, patienceMs: 60_000 };
/** The most that the network gives at once. */
const PAGE_SIZE = 100;
/** A list beyond this is the fault of a network whose pages never get empty. */
const MOST_PAGES = 1_000_000;

/**
 * A bank's, merchant's or provider's way to the network. Operations have the names that the
 * reference at `/docs` gives them.
 */
export class AssentClient {
  readonly #baseUrl: string;
  readonly #token: AccessToken;
  readonly #limits: Limits;
  readonly #surroundings: Surroundings;

  /**
   * @param surroundings in place of the world's own
   * @throws TypeError for a `baseUrl` that is none, or names a user
   */
  constructor(options: ClientOptions, surroundings: Partial<Surroundings> = {}) {
    const url = URL.canParse(options.baseUrl) ? new URL(options.baseUrl) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError('baseUrl is not an http or https URL');
    if (url.username !== '' || url.password !== '') throw new TypeError('baseUrl must not name a user');
    this.#baseUrl = url.origin + url.pathname.replace(/\/$/, '');
    this.#limits = {
      timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
      tries: options.tries ?? DEFAULTS.tries,
      patienceMs: options.patienceMs ?? DEFAULTS.patienceMs,
    };
    this.#surroundings = { ...REAL, ...surroundings };
    const tokenUrl = new URL(`${this.#baseUrl}/v1/oauth/token`);
    this.#token = new AccessToken(tokenUrl, options, this.#limits, this.#surroundings);
  }

  /**
   * One operation.
   *
   * @returns its answer: the envelope, or the array of a batch, whose items have statuses of their
   *   own
   * @throws AssentError for whatever is no 2xx
   */
  async call<O extends CallId>(operation: O, ...[request]: Asked<RequestOf<O>>): Promise<AnswerOf<O>> {
    const reply = await this.#send(operation, request ?? {}, 'application/json', readJson);
    return reply.body as AnswerOf<O>;
  }

  /**
   * Every item of a list, page after page as they are asked for. Lists come oldest first unless
   * `sortOrder` is given, so that what is added meanwhile comes last. An item that the loop takes
   * out of its own filter moves the rest: collect the list first, then act. An item
   * that is still being written, for seconds, may be left out; `listEvents` leaves out none.
   *
   * @throws AssentError as `call` does; `list_too_long` where pages do not reach all of it
   */
  async *each<O extends ListId>(
    operation: O,
    ...[request]: Asked<RequestOf<O>>
  ): AsyncGenerator<ItemOf<O>, void, undefined> {
    const { list } = OPERATIONS[operation] as Facts;
    const { items, next } = list ?? { items: '', next: 'none' };
    const { query = {}, ...rest } = (request ?? {}) as AnyRequest;
    const paging = next === 'none' ? {} : { limit: PAGE_SIZE, ...(next === 'page' && { sortOrder: 'asc' }) };
    let place: Record<string, string | number> = {};
    for (let page = 1; page <= MOST_PAGES; page++) {
      if (next === 'page') place = { page };
      const asked = { ...rest, query: { ...paging, ...query, ...place } };
      const { body } = await this.#send(operation, asked, 'application/json', readJson);
      const data = (body as { data: Record<string, unknown> }).data;
      const found = data[items] as ItemOf<O>[];
      yield* found;
      const last = found.at(-1);
      if (next === 'none' || last === undefined) return;
      if (next === 'after') place = { after: (last as { eventId: string }).eventId };
      else if (page * Number(data['limit']) >= Number(data['total'])) {
        if (data['totalIsMinimum'] !== true) return;
        throw new AssentError(`${operation}: only the first ${Number(data['total'])} can be had by pages`, {
          code: 'list_too_long',
        });
      }
    }
  }

  /**
   * A file, as a stream that has not been read. Its end comes without an error only where the file
   * is whole.
   */
  async download<O extends FileId>(
    operation: O,
    ...[request]: Asked<RequestOf<O>>
  ): Promise<ReadableStream<Uint8Array>> {
    const reply = await this.#send(operation, request ?? {}, 'text/csv', async (response) =>
      response.ok ? { ...(await emptied(response)), body: response.body } : readJson(response),
    );
    return reply.body as ReadableStream<Uint8Array>;
  }

  async #send(
    operation: Id,
    request: AnyRequest,
    accept: string,
    read: (response: Response) => Promise<Reply>,
  ): Promise<Reply> {
    const { method, path, keyed } = OPERATIONS[operation] as Facts;
    // One key for all tries: the network then does the work once.
    const key = keyed ? (request.idempotencyKey ?? randomUUID()) : undefined;
    const url = `${this.#baseUrl}${filled(path, request.path)}${queryOf(request.query)}`;
    const what = `${method} ${path}`;
    // As it is now: the caller may fill the same object with what the next call says.
    const body = request.body === undefined ? undefined : bodyOf(request);
    const headers = new Headers({
      accept,
      ...(body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    });
    let renewed = false;
    const attempt = async (signal: AbortSignal): Promise<Reply> => {
      const token = await this.#token.get(signal);
      headers.set('authorization', `Bearer ${token}`);
      const response = await this.#surroundings.fetch(url, {
        method,
        headers,
        ...(body !== undefined && { body }),
        redirect: 'manual',
        signal,
      });
      if (response.status !== 401 || renewed) return read(response);
      // Revoked, or made with a key that is gone. A second 401 is the answer.
      renewed = true;
      await response.body?.cancel();
      this.#token.refused(token);
      return attempt(signal);
    };
    const limits = {
      ...this.#limits,
      ...(request.timeoutMs !== undefined && { timeoutMs: request.timeoutMs }),
    };
    const reply = await persist(limits, this.#surroundings, request.signal, attempt).catch(
      (error: unknown) => {
        throw error instanceof AssentError ? inContext(what, key, error) : error;
      },
    );
    if (reply.status < 200 || reply.status > 299 || reply.body === undefined) throw refusal(what, reply, key);
    return reply;
  }
}

/** A file's bytes are not read here. */
async function emptied({ status, headers }: Response): Promise<Omit<Reply, 'body'>> {
  return { status, headers, requestId: headers.get('x-request-id') ?? undefined };
}

function inContext(what: string, idempotencyKey: string | undefined, error: AssentError): AssentError {
  const { code, status, requestId, cause } = error;
  return new AssentError(`${what}: ${error.message}`, { code, status, requestId, idempotencyKey, cause });
}

function bodyOf({ body, contentType }: AnyRequest): NonNullable<RequestInit['body']> {
  return contentType === undefined ? JSON.stringify(body) : (body as string | Uint8Array<ArrayBuffer> | Blob);
}

/** @throws TypeError for a value that would make another path of it */
function filled(path: string, values: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? '';
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} is missing from the path`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: AnyRequest['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}
