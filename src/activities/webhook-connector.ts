import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { performance } from 'node:perf_hooks';
import * as ipaddr from 'ipaddr.js';
import { Agent, buildConnector, request } from 'undici';

/**
 * Sends webhooks to addresses that their receivers chose, and to no place inside.
 *
 * A receiver's URL is a wish of somebody else: it may name this machine, its neighbours or a cloud's metadata
 * service, as a literal address, as a name that resolves to one, or as a name that resolves to another address
 * each time it is asked. So the check comes when the connection is made, on the address that is connected to:
 * names are resolved here and only what was checked is handed on, and literals, which skip name resolution, are
 * checked beside it. A redirect would be a second URL and is not followed. Only https, unless private
 * addresses are allowed, as in a sandbox.
 *
 * A receiver's answer is as foreign: how long it takes and how much of it is read are limited.
 */
export interface WebhookConnector {
  /** Sends one POST. Never throws: whatever goes wrong is the outcome's `error`. */
  post(
    url: string,
    headers: Record<string, string>,
    body: string,
    options: { timeoutMs: number },
  ): Promise<PostOutcome>;
  /** Closes the connections kept open; ends when the requests in hand have. */
  close(): Promise<void>;
}

export interface PostOutcome {
  durationMs: number;
  /** Null where no answer came. */
  httpStatus: number | null;
  /** Null for a 2xx within the time; otherwise one line, without any address, for the receiver's eyes too. */
  error: string | null;
  /** The first 1 KiB of the answer's body. */
  responseHead: string | null;
}

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** An honest answer is a few bytes. Reading on a little keeps the connection usable; reading all is a risk. */
const READ_BYTES = 64 * 1024;
/** Enough for a receiver to find its error page in; it is stored with the attempt. */
const KEPT_BYTES = 1024;
/**
 * The status says whether the receiver has the message; its body is read for the record alone, and a receiver
 * that never ends it must not hold up a sender to whom all has been said.
 */
const BODY_TIMEOUT_MS = 500;
/** A connection that a dead receiver lets hang is given up no later than the default request would be. */
const CONNECT_TIMEOUT_MS = 10_000;

class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** @param resolve looks a name up; the system's own resolver unless a test brings another */
export function createWebhookConnector(
  { allowPrivate }: { allowPrivate: boolean },
  resolve: Resolve = sharedLookups(),
): WebhookConnector {
  const agent = new Agent({ connect: guarded(resolve, allowPrivate ? () => true : isPublicAddress) });
  return {
    async post(url, headers, body, { timeoutMs }) {
      const startedAt = performance.now();
      const outcome = await send(agent, { url, headers, body, allowPrivate, timeoutMs });
      return { ...outcome, durationMs: Math.round(performance.now() - startedAt) };
    },
    close: () => agent.close(),
  };
}

interface Post {
  url: string;
  headers: Record<string, string>;
  body: string;
  allowPrivate: boolean;
  timeoutMs: number;
}

async function send(agent: Agent, post: Post): Promise<Omit<PostOutcome, 'durationMs'>> {
  const abort = new AbortController();
  // Over name lookup, connection and answer alike.
  let timer = setTimeout(() => abort.abort(), post.timeoutMs);
  try {
    const url = new URL(post.url);
    if (!(url.protocol === 'https:' || (post.allowPrivate && url.protocol === 'http:'))) {
      throw new AddressRefused('only https is allowed');
    }
    const response = await request(url, {
      method: 'POST',
      dispatcher: agent,
      headers: post.headers,
      body: Buffer.from(post.body, 'utf8'),
      signal: abort.signal,
    });
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), BODY_TIMEOUT_MS);
    return {
      httpStatus: response.statusCode,
      error: refusal(response.statusCode),
      responseHead: await readHead(response.body),
    };
  } catch (error) {
    const reason = abort.signal.aborted ? `no answer within ${post.timeoutMs} ms` : explain(error);
    return { httpStatus: null, error: reason, responseHead: null };
  } finally {
    clearTimeout(timer);
  }
}

function refusal(httpStatus: number): string | null {
  if (httpStatus >= 200 && httpStatus < 300) return null;
  return httpStatus >= 300 && httpStatus < 400
    ? `HTTP ${httpStatus}: redirects are not followed`
    : `HTTP ${httpStatus}`;
}

/** Its first 1 KiB, from what came of the body before it ended, grew too long, took too long or broke off. */
export async function readHead(body: AsyncIterable<Buffer>): Promise<string> {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  try {
    for await (const chunk of body) {
      kept.push(chunk.subarray(0, KEPT_BYTES - keptBytes));
      keptBytes = Math.min(KEPT_BYTES, keptBytes + chunk.length);
      readBytes += chunk.length;
      // Leaving the loop closes the connection, and with it the rest of the answer.
      if (readBytes >= READ_BYTES) break;
    }
  } catch {
    // The status has decided already; what came so far is kept.
  }
  // Postgres stores no NUL.
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\uFFFD');
}

/** What Node and undici call what happens often, in words; anything else shows its code. */
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

/** Makes connections to allowed addresses, and to no other. */
function guarded(resolve: Resolve, allowed: (address: string) => boolean): buildConnector.connector {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    lookup: guardedLookup(resolve, allowed),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) !== 0 && !allowed(host)) {
      callback(notPublic(), null);
      return;
    }
    connect(options, callback);
  };
}

function guardedLookup(resolve: Resolve, allowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || !addresses.every(({ address }) => allowed(address))) callback(notPublic(), []);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

function notPublic(): AddressRefused {
  return new AddressRefused('the address is not public');
}

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether an IP address, in either notation, belongs to the open Internet. */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address);
  // Leaves out IPv4 addresses in IPv6 clothing, and all ways to tunnel to one.
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}

/**
 * The system's resolver, one lookup of a name at a time: those who ask meanwhile share its answer.
 *
 * getaddrinfo runs on a pool of four threads and may hang for many seconds on a dead zone. So a receiver whose
 * name servers are gone holds one of them, however much is sent to it.
 */
function sharedLookups(): Resolve {
  const running = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) => {
    const known = running.get(hostname);
    if (known) return known;
    const started = lookup(hostname, { all: true }).finally(() => running.delete(hostname));
    running.set(hostname, started);
    return started;
  };
}
