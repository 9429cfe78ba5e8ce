import { randomUUID } from 'node:crypto';
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { Config } from '../../settings/config';
import { Failure } from '../../domain/failures';
import { replyOfFailure } from './answer';
import { ownerOf, type Caller } from './caller';
import { countedAddress } from './client-address';
import { LARGE_BYTES } from './slots';

/**
 * The HTTP server around the application, which limits the cost of a connection before its caller
 * is known.
 *
 * Each request gets a response in the envelope, also a request that Node's parser refuses. A
 * connection's requests are served one at a time. The rest of a refused request is read and
 * dropped, up to a limit.
 */

/** Request line with headers. An access token has a kilobyte, the longest query string two. */
const HEADER_BYTES_MAX = 16 * 1024;
/** For the headers; `bodyChunks` has the limits of a body. */
const HEADERS_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 2_000;
/**
 * A connection without requests outlives most balancers' (60 s). Otherwise a balancer now and then
 * sends a request into a connection that closes, and responds 502.
 */
const KEEP_ALIVE_MS = 75_000;
/**
 * Connections of one process, of some 30 kB each. As many wait to be accepted: one that finds no
 * place in that queue tries again seconds later, when the process may long be free.
 */
export const CONNECTIONS_MAX = 4_000;
/** Connections of one address, where callers connect without a proxy. */
const OF_ADDRESS_MAX = CONNECTIONS_MAX / 4;
/** Bytes of callers' responses that are not read, each whole in memory: a list may have 11 MB. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024;
const UNREAD_OF_OWNER_MAX = UNREAD_BYTES_MAX / 4;
/** Requests sent ahead on one connection, and on all; each has a few kilobytes until its turn. */
const AHEAD_MAX = 10;
const AHEAD_ALL_MAX = 1_000;
/** Bytes that a refused request may still send: the largest body of any JSON route. */
const REST_BYTES_MAX = 16 * 1024 * 1024;
const REST_MS = 5_000;
const REST_CHECK_MS = 100;
/** A connection without traffic is closed after this. A call has 20 s at most. */
const STALLED_MS = 60_000;
/** A refused connection stays open for this long, so that its caller can read the reason. */
const LINGER_MS = 1_000;

const TOO_MANY = new Failure(
  'rate_limited',
  `Your address has more than ${OF_ADDRESS_MAX} connections in use`,
  { retryAfterS: 1 },
);
const NO_TARGET = new Failure('invalid_request', 'The target of the request is neither a path nor a URL');
const NO_REQUEST = new Failure('invalid_request', 'This is not a request of HTTP/1.1');
const REFUSALS = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    new Failure(
      'headers_too_large',
      `Request line and headers may have at most ${HEADER_BYTES_MAX / 1024} KiB`,
    ),
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', new Failure('request_too_slow', 'The request took too long to arrive')],
]);

export function createApiServer(
  app: RequestListener,
  log: Pick<Logger, 'info'>,
  { TRUSTED_PROXIES }: Pick<Config, 'TRUSTED_PROXIES'>,
): Server {
  const connections = new Connections(TRUSTED_PROXIES.length === 0, (req, res) => {
    const path = pathOf(req.url ?? '');
    if (path === undefined) refuse(NO_TARGET, req.socket, log);
    else app(Object.assign(req, { url: path }), res);
  });
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // It would bound the upload of a bank's file, too.
      requestTimeout: 0,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node otherwise keeps the first of a repeated single-value header, and drops the second.
      joinDuplicateHeaders: true,
      // The application refuses a missing one in the envelope.
      requireHostHeader: false,
    },
    (req, res) => {
      if (connections.isOneTooMany(req.socket)) refuse(TOO_MANY, req.socket, log);
      else connections.add(req, res);
    },
  );
  server.setTimeout(STALLED_MS);
  // Node drops headers beyond a count silently; the application refuses them.
  server.maxHeadersCount = 0;
  server.on('connection', (socket: Socket) => connections.open(socket));
  // RFC 9110 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    if (connections.isCut(socket)) return;
    if (connections.isAnswering(socket) || code === 'ECONNRESET') socket.destroy();
    else refuse(REFUSALS.get(code) ?? NO_REQUEST, socket, log, code);
  });
  return server;
}

/** The path of a target, which may be a whole URL as to a proxy (RFC 9112, 3.2.2). */
function pathOf(target: string): string | undefined {
  if (/^[/*]/.test(target)) return target;
  if (!URL.canParse(target)) return undefined;
  const { pathname, search } = new URL(target);
  return `${pathname || '/'}${search}`;
}

/** A connection and its requests. */
interface Line {
  /** The address that the connection counts for. */
  address: string;
  serving?: ServerResponse<IncomingMessage & { caller?: Caller }> | undefined;
  /** Bytes that had come when its request began. */
  readBefore: number;
  waiting: [IncomingMessage, ServerResponse][];
  /** More came than may wait. */
  isCut?: boolean;
}

/**
 * The order in which connections make room for others. The first three wait for their callers: for
 * the rest of a body, for a response to be read, or for a request. `LARGE_BODIES` bounds the large.
 */
const RANK = { anonymousBody: 0, waiting: 1, silent: 2, inHand: 3, stays: 4 };

/** @param before a rank: bytes are counted only where the result may be a lower one */
function rankOf({ serving, readBefore }: Line, before: number): number {
  if (serving === undefined) return RANK.silent;
  const { req, writableEnded } = serving;
  if (!req.complete && !req.caller) return RANK.anonymousBody;
  if (writableEnded || before <= RANK.waiting) return RANK.waiting;
  if (req.complete) return req.caller ? RANK.stays : RANK.inHand;
  return req.socket.bytesRead - readBefore <= LARGE_BYTES ? RANK.waiting : RANK.inHand;
}

/**
 * The connections, and the requests of each, one after the other. A connection beyond the limit
 * takes the place of another, as `RANK` has it.
 */
class Connections {
  /** In the order in which each got its request, or fell silent. */
  private readonly lines = new Map<Duplex, Line>();
  private readonly ofAddress = new Map<string, number>();
  private readonly tooMany = new WeakSet<Duplex>();
  private ahead = 0;

  /** @param areCallers whether callers connect without a proxy */
  constructor(
    private readonly areCallers: boolean,
    private readonly serve: RequestListener,
  ) {}

  open(socket: Socket): void {
    const address = countedAddress({ ip: undefined, socket });
    const isOwnExcess = this.areCallers && (this.ofAddress.get(address) ?? 0) >= OF_ADDRESS_MAX;
    if (isOwnExcess || this.lines.size >= CONNECTIONS_MAX) {
      const next = isOwnExcess ? this.nextToGo(RANK.silent, address) : this.nextToGo(RANK.inHand);
      if (next) this.close(next);
      else if (isOwnExcess) this.tooMany.add(socket);
      else return void socket.destroy();
    }
    this.ofAddress.set(address, (this.ofAddress.get(address) ?? 0) + 1);
    this.lines.set(socket, { address, readBefore: 0, waiting: [] });
    socket.once('close', () => this.close(socket));
  }

  /** Its address has too many connections, and all of them are in hand. */
  isOneTooMany(socket: Duplex): boolean {
    return this.tooMany.has(socket);
  }

  add(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    const line = this.lines.get(socket);
    // Behind the last response of a connection a request would get none.
    if (line === undefined || !socket.writable) socket.destroy();
    else if (line.serving === undefined) this.begin(line, req, res);
    else if (line.waiting.length < AHEAD_MAX && this.ahead < AHEAD_ALL_MAX) {
      line.waiting.push([req, res]);
      this.ahead += 1;
      socket.pause();
    } else cut(line, socket, line.waiting.at(-1)?.[1] ?? line.serving);
  }

  /** Some of a response is on its way, so no other can be sent. */
  isAnswering(socket: Duplex): boolean {
    return this.lines.get(socket)?.serving?.headersSent ?? false;
  }

  /** The connection is not read any more. */
  isCut(socket: Duplex): boolean {
    return this.lines.get(socket)?.isCut ?? false;
  }

  private begin(line: Line, req: IncomingMessage, res: ServerResponse): void {
    line.serving = res;
    line.readBefore = req.socket.bytesRead;
    this.putLast(line, req.socket);
    // Before Node's own listener, which closes a connection that is not to be kept.
    res.prependOnceListener('finish', () => dropRest(req));
    // A response that has ended keeps in memory what the system did not take at once.
    res.once('prefinish', () => res.writableLength > 0 && this.boundUnread());
    // Other connections get their turn in between.
    const next = () => setImmediate(() => this.next(line, req.socket));
    res.once('close', () => void (isRead(req) ? next() : req.once('close', next)));
    this.serve(req, res);
  }

  private next(line: Line, socket: Socket): void {
    const [req, res] = (socket.writable && line.waiting.shift()) || [];
    if (req === undefined || res === undefined) {
      line.serving = undefined;
      if (line.isCut) socket.destroySoon();
      else this.putLast(line, socket);
      return;
    }
    this.ahead -= 1;
    if (line.waiting.length === 0 && !line.isCut) socket.resume();
    this.begin(line, req, res);
  }

  private putLast(line: Line, socket: Duplex): void {
    if (this.lines.delete(socket)) this.lines.set(socket, line);
  }

  /** @param last rank that goes @param address whose connections go alone, if it is given */
  private nextToGo(last: number, address?: string): Duplex | undefined {
    let before = last + 1;
    let next: Duplex | undefined;
    for (const [socket, line] of this.lines) {
      if (line.address !== (address ?? line.address)) continue;
      const rank = rankOf(line, before);
      if (rank < before) [before, next] = [rank, socket];
      if (before === RANK.anonymousBody) break;
    }
    return next;
  }

  /** Closes the responses that are unread longest, first of an owner above its share. */
  private boundUnread(): void {
    const unread = [...this.lines].flatMap(([socket, { serving }]) =>
      // Unknown callers get small responses, or pages that are in memory once.
      serving?.writableEnded && serving.req.caller
        ? [{ socket, owner: ownerOf(serving.req.caller), bytes: serving.writableLength }]
        : [],
    );
    let all = 0;
    const ofOwner = new Map<string, number>();
    const count = (owner: string, bytes: number) => {
      all += bytes;
      ofOwner.set(owner, (ofOwner.get(owner) ?? 0) + bytes);
    };
    for (const { owner, bytes } of unread) count(owner, bytes);
    for (const share of [UNREAD_OF_OWNER_MAX, 0]) {
      for (const { socket, owner, bytes } of unread) {
        if (all <= UNREAD_BYTES_MAX) return;
        if (!this.lines.has(socket) || (ofOwner.get(owner) ?? 0) <= share) continue;
        this.close(socket);
        count(owner, -bytes);
      }
    }
  }

  private close(socket: Duplex): void {
    const line = this.lines.get(socket);
    if (line === undefined) return;
    this.lines.delete(socket);
    this.ahead -= line.waiting.length;
    const left = (this.ofAddress.get(line.address) ?? 1) - 1;
    if (left === 0) this.ofAddress.delete(line.address);
    else this.ofAddress.set(line.address, left);
    socket.destroy();
  }
}

/** Tells Node's parser that no more HTTP follows. */
const NOT_HTTP = 2;

/**
 * Reads no more of a connection, and closes it after its last response. One piece may have three
 * thousand requests, and Node makes two objects of each before any event: so its parser is told.
 */
function cut(line: Line, socket: Socket, last: ServerResponse): void {
  if (line.isCut) return;
  line.isCut = true;
  const { parser } = socket as { parser?: { onIncoming: () => number } | null };
  if (!parser) return void socket.destroy();
  parser.onIncoming = () => NOT_HTTP;
  socket.pause();
  if (!last.headersSent) last.setHeader('Connection', 'close');
  // Closed with something unread, a connection is reset, and responses may be lost.
  socket.destroySoon = () => {
    socket.end();
    socket.resume();
    destroyLater(socket);
  };
}

const isRead = (req: IncomingMessage) => req.complete && req.readableLength === 0;

/** Reads what a request that has its response still sends: the next request comes after it. */
function dropRest(req: IncomingMessage): void {
  const { socket } = req;
  if (isRead(req) || socket.destroyed) return;
  // Closed with something unread, a connection is reset, and the response may be lost: only our
  // side ends.
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => socket.end();
  const readBefore = socket.bytesRead;
  const startedAt = performance.now();
  const watch = setInterval(() => {
    const tooMuch = socket.bytesRead - readBefore > REST_BYTES_MAX;
    if (tooMuch || performance.now() - startedAt > REST_MS) socket.destroy();
  }, REST_CHECK_MS);
  const over = () => {
    clearInterval(watch);
    req.off('close', over);
    socket.off('close', over);
    socket.destroySoon = destroySoon;
    if (!socket.writable) socket.destroy();
  };
  // A request that never ends has no `close` of its own.
  req.once('close', over);
  socket.once('close', over);
  req.resume();
}

const refused = new WeakSet<Duplex>();

/**
 * Responds to what the application does not get, and closes the connection.
 *
 * @param code of Node, for the log
 */
function refuse(failure: Failure, socket: Duplex, log: Pick<Logger, 'info'>, code?: string): void {
  // Node reports each further piece of what was refused.
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable) return void socket.destroy();
  const { status, body: envelope } = replyOfFailure(failure);
  const requestId = randomUUID();
  log.info({ requestId, status, code }, 'request');
  const body = JSON.stringify(envelope);
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'Cache-Control: no-store',
      ...(failure.retryAfterS === undefined ? [] : [`Retry-After: ${failure.retryAfterS}`]),
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  destroyLater(socket);
}

function destroyLater(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
