import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import { untilAborted } from '../process/deadline';
import type { SendOutcome } from '../database/webhook/attempt-delivery';
import type { Reached } from '../domain/webhook/webhook';
import {
  AddressRefused,
  connectTo,
  dnsResolve,
  isPublicAddress,
  systemResolve,
  type Resolve,
} from './webhook-address';

/**
 * Sends webhooks to addresses that their receivers chose, and to no place inside.
 *
 * A receiver's URL may name this machine, its neighbours or a cloud's metadata service, so the
 * address is checked when the connection is made (`webhook-address.ts`). A redirect would be a
 * second URL and is not followed. Only https is allowed, unless private addresses are, as in a
 * sandbox.
 *
 * One deadline holds for the whole attempt, from the DNS look-up to the end of the response, of
 * which little is read.
 */
export interface WebhookConnector {
  /**
   * Sends one POST. A receiver's fault is the outcome's `error`.
   *
   * @returns undefined where `begin` said no
   * @throws what `begin` throws
   */
  send(webhook: WebhookRequest): Promise<SendOutcome | undefined>;
  /** Closes all connections. */
  close(): Promise<void>;
}

interface WebhookRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  /**
   * Asked once the connection stands, before a byte of the request leaves. None does after a no.
   */
  begin?: (() => Promise<boolean>) | undefined;
}

/** An honest answer is a few bytes, and reading it to its end keeps the connection usable. */
const READ_BYTES = 64 * 1024;
/** Enough for a receiver to find its error page in; it is stored with the attempt. */
const KEPT_BYTES = 1024;
/** The status has said all; the answer's body is read for the record alone. */
const BODY_TIMEOUT_MS = 500;

/**
 * An attempt that is over leaves its connection to this limit: undici does not call off connecting
 * for the sake of one request.
 */
const CONNECT_MS = 10_000;
/** Longest that an unused connection is kept, whatever its receiver offers. */
const KEPT_MS = 4_000;

/** @param options.resolve looks a name up; a test brings another */
export function createWebhookConnector({
  allowPrivate,
  resolve = allowPrivate ? systemResolve : dnsResolve(),
  connectMs = CONNECT_MS,
}: {
  allowPrivate: boolean;
  resolve?: Resolve;
  connectMs?: number;
}): WebhookConnector {
  const agent = new Agent({
    connect: connectTo(allowPrivate ? () => true : isPublicAddress, resolve, connectMs),
    keepAliveMaxTimeout: KEPT_MS,
  });
  return {
    async send(webhook) {
      const startedAt = performance.now();
      const outcome = await request(agent, allowPrivate, webhook);
      return outcome && { ...outcome, durationMs: Math.round(performance.now() - startedAt) };
    },
    close: () => agent.destroy(),
  };
}

/** The receiver did nothing wrong: the attempt was not to be made, or could not be begun. */
class NotBegun extends Error {
  override readonly name = 'NotBegun';
}

async function request(
  agent: Agent,
  allowPrivate: boolean,
  { url, headers, body, timeoutMs, begin }: WebhookRequest,
): Promise<Omit<SendOutcome, 'durationMs'> | undefined> {
  const endsAt = performance.now() + timeoutMs;
  const deadline = new AbortController();
  const { signal } = deadline;
  let timer = setTimeout(() => deadline.abort(), timeoutMs);
  const bytes = Buffer.from(body, 'utf8');
  let reached: Reached = 'no';
  /**
   * undici asks for the body once it has a connection, and writes nothing before it has some of it.
   */
  async function* onceConnected() {
    if (begin && !(await begin().catch((cause: unknown) => Promise.reject(new NotBegun('', { cause }))))) {
      throw new NotBegun('');
    }
    // The timer of a process that was frozen meanwhile may be late.
    if (performance.now() >= endsAt) deadline.abort();
    signal.throwIfAborted();
    reached = 'maybe';
    yield bytes;
  }
  try {
    const { origin, pathname, search } = allowedUrl(url, allowPrivate);
    const sent = agent.request({
      origin,
      path: pathname + search,
      method: 'POST',
      headers: { ...headers, 'content-length': String(bytes.length) },
      body: Readable.from(onceConnected()),
      signal,
    });
    // undici hears the signal only once it has a connection.
    const response = await untilAborted(sent, signal);
    reached = 'yes';
    clearTimeout(timer);
    timer = setTimeout(() => deadline.abort(), Math.min(BODY_TIMEOUT_MS, endsAt - performance.now()));
    const { statusCode: httpStatus } = response;
    return { reached, httpStatus, error: refusal(httpStatus), responseHead: await readHead(response.body) };
  } catch (error) {
    if (error instanceof NotBegun) {
      if (error.cause !== undefined) throw error.cause;
      return undefined;
    }
    const reason = signal.aborted ? `no answer within ${timeoutMs} ms` : explain(error);
    return { reached, httpStatus: null, error: reason, responseHead: null };
  } finally {
    clearTimeout(timer);
  }
}

function allowedUrl(text: string, allowPrivate: boolean): URL {
  const url = new URL(text);
  if (url.protocol === 'https:' || (allowPrivate && url.protocol === 'http:')) return url;
  throw new AddressRefused('only https is allowed');
}

function refusal(httpStatus: number): string | null {
  if (httpStatus >= 200 && httpStatus < 300) return null;
  return httpStatus >= 300 && httpStatus < 400
    ? `HTTP ${httpStatus}: redirects are not followed`
    : `HTTP ${httpStatus}`;
}

/**
 * Its first 1 KiB, from what came of the body before it ended, grew too long, took too long or
 * broke off.
 */
export async function readHead(body: AsyncIterable<Buffer>): Promise<string> {
  // A copy: a piece of one byte would keep all that arrived with it in memory.
  const kept = Buffer.alloc(KEPT_BYTES);
  let readBytes = 0;
  try {
    for await (const chunk of body) {
      chunk.copy(kept, Math.min(readBytes, KEPT_BYTES));
      readBytes += chunk.length;
      // Leaving the loop closes the connection, and with it the rest of the answer.
      if (readBytes >= READ_BYTES) break;
    }
  } catch {
    // The status has decided already; what came so far is kept.
  }
  return kept.toString('utf8', 0, Math.min(readBytes, KEPT_BYTES));
}

/** Frequent codes of Node and undici, in words; any other code is shown as it is. */
const REASONS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name lookup failed',
  ERR_INVALID_URL: 'not a URL',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_SOCKET: 'connection closed before the answer',
};

function explain(error: unknown): string {
  if (error instanceof AddressRefused) return error.message;
  // Not every error that Node throws is an instance of the `Error` seen here.
  const { code, name } = error as { code?: unknown; name?: unknown };
  const cause = String(code ?? name);
  return REASONS[cause] ?? `request failed (${cause})`;
}
