import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  checkedSecrets,
  verifyWebhook,
  WebhookError,
  type VerifyOptions,
  type WebhookEvent,
} from './webhook';

export interface ReceiverOptions extends Omit<VerifyOptions, 'now'> {
  /** Your webhook secret; several while you change it. */
  secret: string | readonly string[];
  /** A larger body is a 413; 2 MiB unless given, which is above the largest webhook. */
  maxBytes?: number;
}

/** Its body was not read to its end, and the answer says why. */
class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const DEFAULT_MAX_BYTES = 2 * 1024 * 1024;

/**
 * A handler for Node's `http.createServer`. What is genuine is handed to `receive`; once that is
 * done, the network gets its 200. Where it throws, `onError` is told, and the network gets a 500
 * and tries again later. So store the event there, keyed by its `deliveryId`, and work afterwards:
 * the first attempt waits for two seconds.
 *
 * @throws TypeError for what is no secret
 */
export function webhookHandler(
  options: ReceiverOptions & { onError?: (error: unknown) => void },
  receive: (event: WebhookEvent) => void | Promise<void>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { onError = warn, ...rest } = options;
  checkedSecrets(rest.secret);
  return (request, response) => {
    genuine(request, rest)
      .then(receive)
      .then(
        () => answer(response, 200, 'received'),
        (error: unknown) => {
          if (isRefusal(error)) return refuse(response, error);
          // What went wrong here is for your log, and for nobody at the other end.
          answer(response, 500, 'not received');
          onError(error);
        },
      );
  };
}

/** A request that {@link webhookMiddleware} has let through. */
export interface WebhookRequest extends IncomingMessage {
  webhook: WebhookEvent;
}

/**
 * Middleware for Express: what is genuine goes on with `request.webhook`, anything else is
 * answered here. It reads the body itself, so put it before `express.json()`; a body that
 * `express.raw()` has read is fine.
 *
 * @throws TypeError for what is no secret
 */
export function webhookMiddleware(
  options: ReceiverOptions,
): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void {
  checkedSecrets(options.secret);
  return (request, response, next) => {
    genuine(request, options).then(
      (event) => {
        (request as WebhookRequest).webhook = event;
        next();
      },
      (error: unknown) => (isRefusal(error) ? refuse(response, error) : next(error)),
    );
  };
}

async function genuine(request: IncomingMessage, options: ReceiverOptions): Promise<WebhookEvent> {
  const { secret, maxBytes = DEFAULT_MAX_BYTES, ...verify } = options;
  if (request.method !== 'POST') throw new Refused(405, 'a webhook is a POST');
  return verifyWebhook(await rawBody(request, maxBytes), request.headers, secret, verify);
}

async function rawBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { body } = request as { body?: unknown };
  if (Buffer.isBuffer(body)) return body;
  if (request.readableEnded) {
    throw new Error('the body was parsed before it could be verified: put this before express.json()');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Refused(413, `the body has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isRefusal(error: unknown): error is Refused | WebhookError {
  return error instanceof Refused || error instanceof WebhookError;
}

function refuse(response: ServerResponse, error: Refused | WebhookError): void {
  answer(response, error instanceof Refused ? error.status : 401, error.message);
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

function answer(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return;
  // The rest of a body that is too large is not read: this connection has no next request.
  response.writeHead(status, {
    'content-type': 'text/plain',
    ...(status === 413 && { connection: 'close' }),
  });
  response.end(text);
}
