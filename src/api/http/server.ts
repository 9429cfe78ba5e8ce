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
import { Failure } from '../../domain/failures';
import { replyOfFailure } from './answer';
import { hasBody } from './body';

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
/** Connections of one process, of some 30 kB each; more are closed at once. */
const CONNECTIONS_MAX = 4_000;
/**
 * Requests sent ahead on one connection: nobody needs more, and each is a few kilobytes until its
 * turn.
 */
const AHEAD_MAX = 1_000;
/**
 * What a refused request may still send until its connection is closed: the largest body that any
 * route takes.
 */
const REST_BYTES_MAX = 16 * 1024 * 1024;
const REST_MS = 5_000;
const REST_CHECK_MS = 100;
/** How long a connection that was refused stays open for its caller to read why. */
const LINGER_MS = 1_000;

export function createApiServer(app: RequestListener, log: Pick<Logger, 'info'>): Server {
  const line = new Lines((req, res) => {
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
      if (hasBody(req)) hurry(req, () => server.emit('clientError', tooLong(), req.socket));
      line.add(req, res);
    },
  );
  // Node drops what is beyond a count without a word; the application counts, and says so.
  server.maxHeadersCount = 0;
  server.maxConnections = CONNECTIONS_MAX;
  // Nothing is expected of us but the answer.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (line.isAnswering(socket)) socket.destroy();
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

const TOO_LONG = 'ERR_HTTP_REQUEST_TIMEOUT';
const NO_TARGET = 'ERR_INVALID_URL';
const noTarget = () => Object.assign(new Error('the target is no URL'), { code: NO_TARGET });
const tooLong = () => Object.assign(new Error('the request took too long to arrive'), { code: TOO_LONG });

/** The requests of each connection, one after the other. */
class Lines {
  private readonly lines = new WeakMap<Duplex, { serving: ServerResponse; waiting: Pair[] }>();

  constructor(private readonly serve: RequestListener) {}

  add(req: IncomingMessage, res: ServerResponse): void {
    const line = this.lines.get(req.socket);
    if (!req.socket.writable) {
      // The answer before was the last: of a request that comes after it nobody could be told what
      // became.
      req.socket.destroy();
    } else if (line === undefined) {
      this.lines.set(req.socket, { serving: res, waiting: [] });
      this.begin(req, res);
    } else if (line.waiting.length < AHEAD_MAX) {
      line.waiting.push([req, res]);
      // No more is read until all that has been read is served.
      req.socket.pause();
    } else req.socket.destroy();
  }

  /** Whether some of an answer is on its way, into which no other can be put. */
  isAnswering(socket: Duplex): boolean {
    return this.lines.get(socket)?.serving.headersSent ?? false;
  }

  private begin(req: IncomingMessage, res: ServerResponse): void {
    // Before Node's own listener, which closes a connection that is not to be kept.
    res.prependOnceListener('finish', () => dropRest(req));
    // Others get their turn in between.
    const next = () => setImmediate(() => this.next(req.socket));
    res.once('close', () => void (isRead(req) ? next() : req.once('close', next)));
    this.serve(req, res);
  }

  private next(socket: Socket): void {
    const line = this.lines.get(socket);
    const [req, res] = line?.waiting.shift() ?? [];
    if (line === undefined || req === undefined || res === undefined || !socket.writable) {
      this.lines.delete(socket);
      return;
    }
    line.serving = res;
    if (line.waiting.length === 0) socket.resume();
    this.begin(req, res);
  }
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
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
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
]);
