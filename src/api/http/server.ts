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
import type { Config } from '../../config';
import { Failure } from '../../domain/failures';
import { replyOfFailure } from './answer';
import { hasBody } from './body';
import { countedAddress } from './client-address';

/**
 * The HTTP server around the application: what a connection may cost before anybody knows who is on
 * it.
 *
 * Whatever arrives gets an answer in the envelope, also what Node's parser refuses, and no
 * connection keeps others waiting: its requests are served one at a time, and what a refused
 * request goes on sending is read and dropped, up to a limit.
 */

/**
 * Largest request line with its headers. An access token has a kilobyte; a query string at its
 * longest two.
 */
const HEADER_BYTES_MAX = 16 * 1024;
/** How long the headers of a request may take to arrive, and how long all of it. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How often the headers' is looked at. */
const TIMEOUT_CHECK_MS = 2_000;
/**
 * How long a connection without requests is kept: longer than balancers keep theirs (60 s with
 * most), or now and then one would send a request into a connection that is just being closed, and
 * tell its caller 502.
 */
const KEEP_ALIVE_MS = 75_000;
/** Connections of one process, of some 30 kB each. */
const CONNECTIONS_MAX = 4_000;
/** Most of them from one address, where callers connect to us themselves. */
const OF_ADDRESS_MAX = CONNECTIONS_MAX / 4;
/**
 * Requests sent ahead on one connection, and on all: nobody needs more, and each is a few kilobytes
 * until its turn.
 */
const AHEAD_MAX = 10;
const AHEAD_ALL_MAX = 1_000;
/**
 * What a refused request may still send until its connection is closed: the largest body that any
 * route takes.
 */
const REST_BYTES_MAX = 16 * 1024 * 1024;
const REST_MS = 5_000;
const REST_CHECK_MS = 100;
/**
 * A connection on which nothing moves is closed after this, or twice this where some of an answer
 * was taken. A call has 20 s at most.
 */
const STALLED_MS = 60_000;
/** How long a connection that was refused, or cut, stays open for its caller to read why. */
const LINGER_MS = 1_000;

export function createApiServer(
  app: RequestListener,
  log: Pick<Logger, 'info'>,
  { TRUSTED_PROXIES }: Pick<Config, 'TRUSTED_PROXIES'>,
): Server {
  const connections = new Connections(TRUSTED_PROXIES.length === 0, (req, res) => {
    const path = pathOf(req.url ?? '');
    if (path === undefined) refuse(noTarget(), req.socket, log);
    else app(Object.assign(req, { url: path }), res);
  });
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // Of all requests alike; each has its own below.
      requestTimeout: 0,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Of two that must be one, the first would be taken and the other dropped, unseen.
      joinDuplicateHeaders: true,
      // Refused by the application, in the envelope.
      requireHostHeader: false,
    },
    (req, res) => {
      if (connections.isOneTooMany(req.socket)) return refuse(tooMany(), req.socket, log);
      if (hasBody(req)) hurry(req, () => server.emit('clientError', tooLong(), req.socket));
      connections.add(req, res);
    },
  );
  server.setTimeout(STALLED_MS);
  // Node drops what is beyond a count without a word; the application counts, and says so.
  server.maxHeadersCount = 0;
  server.on('connection', (socket: Socket) => connections.open(socket));
  // Nothing is expected of us but the answer.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (connections.isCut(socket)) return;
    if (connections.isAnswering(socket)) socket.destroy();
    else refuse(error, socket, log);
  });
  return server;
}

/**
 * The target of a request as a path. It may come as a whole URL, as to a proxy (RFC 9112, 3.2.2);
 * undefined where that is none.
 */
function pathOf(target: string): string | undefined {
  if (/^[/*]/.test(target)) return target;
  if (!URL.canParse(target)) return undefined;
  const { pathname, search } = new URL(target);
  return `${pathname || '/'}${search}`;
}

/** @param giveUp on a request that has not arrived whole in its time */
function hurry(req: IncomingMessage, giveUp: () => void): void {
  const { socket } = req;
  const timer = setTimeout(() => {
    over();
    if (!req.complete && !isUnhurried.has(req)) giveUp();
  }, REQUEST_TIMEOUT_MS);
  const over = () => {
    clearTimeout(timer);
    req.off('close', over);
    socket.off('close', over);
  };
  // Of a request that never ends, Node tells only the connection's end.
  req.once('close', over);
  socket.once('close', over);
}

const isUnhurried = new WeakSet<IncomingMessage>();

/** A request that may take longer to arrive than others; whoever reads its body bounds it. */
export function unhurried(req: IncomingMessage): void {
  isUnhurried.add(req);
}

const TOO_MANY = 'ERR_TOO_MANY_CONNECTIONS';
const TOO_MANY_RETRY_S = 1;
const tooMany = () => Object.assign(new Error('the address has too many connections'), { code: TOO_MANY });
const TOO_LONG = 'ERR_HTTP_REQUEST_TIMEOUT';
const NO_TARGET = 'ERR_INVALID_URL';
const noTarget = () => Object.assign(new Error('the target is no URL'), { code: NO_TARGET });
const tooLong = () => Object.assign(new Error('the request took too long to arrive'), { code: TOO_LONG });

/**
 * The connections, and the requests of each, one after the other.
 *
 * For each connection beyond their number the one goes that has been silent for longest: nobody
 * waits for an answer on it.
 */
class Connections {
  /** Connections without a request in hand stand in the order in which they fell silent. */
  private readonly lines = new Map<Duplex, Line>();
  private readonly ofAddress = new Map<string, number>();
  private readonly tooMany = new WeakSet<Duplex>();
  private ahead = 0;

  /** @param areCallers whether it is callers that connect, and no proxy for them */
  constructor(
    private readonly areCallers: boolean,
    private readonly serve: RequestListener,
  ) {}

  open(socket: Socket): void {
    const address = countedAddress({ ip: undefined, socket });
    const own = (this.ofAddress.get(address) ?? 0) + 1;
    const isOwnExcess = this.areCallers && own > OF_ADDRESS_MAX;
    if (isOwnExcess || this.lines.size >= CONNECTIONS_MAX) {
      const silent = this.silentLongest(isOwnExcess ? address : undefined);
      if (silent) this.close(silent);
      else if (isOwnExcess) this.tooMany.add(socket);
      else return void socket.destroy();
    }
    this.ofAddress.set(address, (this.ofAddress.get(address) ?? 0) + 1);
    this.lines.set(socket, { address, waiting: [] });
    socket.once('close', () => this.close(socket));
  }

  /** Its address has so many in use that not even a silent one could go for it. */
  isOneTooMany(socket: Duplex): boolean {
    return this.tooMany.has(socket);
  }

  add(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    const line = this.lines.get(socket);
    // After the last answer on a connection nobody could be told what became of a request.
    if (line === undefined || !socket.writable) socket.destroy();
    else if (line.serving === undefined) this.begin(line, req, res);
    else if (line.waiting.length < AHEAD_MAX && this.ahead < AHEAD_ALL_MAX) {
      line.waiting.push([req, res]);
      this.ahead += 1;
      // No more is read until all that has been read is served.
      socket.pause();
    } else cut(line, socket, line.waiting.at(-1)?.[1] ?? line.serving);
  }

  /** Whether some of an answer is on its way, into which no other can be put. */
  isAnswering(socket: Duplex): boolean {
    return this.lines.get(socket)?.serving?.headersSent ?? false;
  }

  /** Whether what still comes is not looked at. */
  isCut(socket: Duplex): boolean {
    return this.lines.get(socket)?.isCut ?? false;
  }

  private begin(line: Line, req: IncomingMessage, res: ServerResponse): void {
    line.serving = res;
    // Before Node's own listener, which closes a connection that is not to be kept.
    res.prependOnceListener('finish', () => dropRest(req));
    // Others get their turn in between.
    const next = () => setImmediate(() => this.next(line, req.socket));
    res.once('close', () => void (isRead(req) ? next() : req.once('close', next)));
    this.serve(req, res);
  }

  private next(line: Line, socket: Socket): void {
    const [req, res] = (socket.writable && line.waiting.shift()) || [];
    if (req === undefined || res === undefined) {
      line.serving = undefined;
      if (line.isCut) socket.destroySoon();
      // The last to fall silent.
      else if (this.lines.delete(socket)) this.lines.set(socket, line);
      return;
    }
    this.ahead -= 1;
    if (line.waiting.length === 0 && !line.isCut) socket.resume();
    this.begin(line, req, res);
  }

  private silentLongest(address: string | undefined): Duplex | undefined {
    for (const [socket, line] of this.lines) {
      if (line.serving === undefined && line.address === (address ?? line.address)) return socket;
    }
    return undefined;
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

/** A connection's requests. */
interface Line {
  /** The address that the connection counts for. */
  address: string;
  serving?: ServerResponse | undefined;
  waiting: Pair[];
  /** More came than may wait. */
  isCut?: boolean;
}

/** Tells Node's parser that no more HTTP follows: it leaves the rest of a piece alone. */
const NOT_HTTP = 2;

/**
 * Looks at nothing more of a connection, and closes it after that answer. In one piece three
 * thousand requests may arrive, and Node makes two objects of each before anything else happens:
 * no event comes early enough to stop it, so its parser is told.
 */
function cut(line: Line, socket: Socket, last: ServerResponse): void {
  if (line.isCut) return;
  line.isCut = true;
  const { parser } = socket as { parser?: { onIncoming: () => number } | null };
  if (!parser) return void socket.destroy();
  parser.onIncoming = () => NOT_HTTP;
  socket.pause();
  if (!last.headersSent) last.setHeader('Connection', 'close');
  // Closed with something unread, a connection is reset, and answers may be lost.
  socket.destroySoon = () => {
    socket.end();
    socket.resume();
    destroyLater(socket);
  };
}

type Pair = [IncomingMessage, ServerResponse];

const isRead = (req: IncomingMessage) => req.complete && req.readableLength === 0;

/**
 * Reads what a request that is answered still sends: what comes after it on its connection is
 * another request.
 */
function dropRest(req: IncomingMessage): void {
  const { socket } = req;
  if (isRead(req) || socket.destroyed) return;
  // Closed with something unread, a connection is reset, and its caller may never see the answer:
  // only our side ends.
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
  // Of a request that is answered, and never ends, Node tells only the connection's end.
  req.once('close', over);
  socket.once('close', over);
  req.resume();
}

/**
 * Answers what is no request of HTTP, or none that is taken. What comes after it on its connection
 * is lost.
 */
function refuse(error: NodeJS.ErrnoException, socket: Duplex, log: Pick<Logger, 'info'>): void {
  // Each further chunk of what was refused comes here again.
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const failure =
    REFUSALS.get(error.code) ?? new Failure('invalid_request', 'This is not a request of HTTP/1.1');
  const { status, body: envelope } = replyOfFailure(failure);
  const requestId = randomUUID();
  log.info({ requestId, status, code: error.code }, 'request');
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

const refused = new WeakSet<Duplex>();

const REFUSALS = new Map<string | undefined, Failure>([
  [
    'HPE_HEADER_OVERFLOW',
    new Failure(
      'headers_too_large',
      `Request line and headers may have at most ${HEADER_BYTES_MAX / 1024} KiB`,
    ),
  ],
  [NO_TARGET, new Failure('invalid_request', 'The target of the request is neither a path nor a URL')],
  [TOO_LONG, new Failure('request_too_slow', 'The request took too long to arrive')],
  [
    TOO_MANY,
    new Failure('rate_limited', `Your address has more than ${OF_ADDRESS_MAX} connections in use`, {
      retryAfterS: TOO_MANY_RETRY_S,
    }),
  ],
]);
