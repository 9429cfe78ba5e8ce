import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';
import { MIMEType } from 'node:util';
import { createGunzip, createInflate } from 'node:zlib';
import type { Request } from 'express';
import { Failure } from '../../domain/failures';
import { countedAddress } from './client-address';
import { parseJson } from './json';
import { AnonymousBodies, DECODERS, Slots, type BodySlot } from './slots';

/** Largest body of an ordinary request. 100 merchants with the longest URLs have more. */
export const BODY_LIMIT_BYTES = 256 * 1024;
/** A client id and a secret have a hundred characters, three hundred where a form escapes each. */
export const CREDENTIALS_LIMIT_BYTES = 4 * 1024;

/** Longest wait for the next byte: a sender that is silent longer is lost. */
const SILENCE_MS = 10_000;
/** Interval at which the pace of a body, or of a file that is sent, is checked. */
export const TICK_MS = 250;
/** Longer than any media type that is taken. */
const MEDIA_TYPE_MAX = 100;

/** The least bytes that come, or are taken, while they are waited for, once `graceMs` are over. */
export interface Pace {
  graceMs: number;
  leastBytesPerS: number;
}

export const isBehind = ({ graceMs, leastBytesPerS }: Pace, waitedMs: number, bytes: number) =>
  waitedMs > graceMs + (bytes / leastBytesPerS) * 1_000;

/** At most 18 s for the largest body of an ordinary request. */
const PACE: Pace = { graceMs: SILENCE_MS, leastBytesPerS: 32 * 1024 };
/** Credentials fit into one packet, which may be lost and sent again a few times. */
const PACE_ANONYMOUS: Pace = { graceMs: 5_000, leastBytesPerS: 32 * 1024 };

export const JSON_TYPE = 'application/json';

/** @throws Failure as `requireType`, `readBytes` and `parseJson` */
export async function readJsonBody(req: Request, limitBytes: number, slot?: BodySlot): Promise<unknown> {
  requireType(req, [JSON_TYPE]);
  return parseJson(await readBytes(req, limitBytes, slot));
}

/**
 * The body's type, one of the allowed types.
 *
 * @throws Failure unsupported_media_type, or invalid_request where there is no body
 */
export function requireType<Type extends string>(req: Request, types: readonly Type[]): Type {
  const words = types.join(' or ');
  if (!hasBody(req)) {
    throw new Failure('invalid_request', `The request needs a body of ${words}`, {
      problems: [{ path: 'body', message: 'is required' }],
    });
  }
  const type = types.find((one) => isOfType(req, one));
  if (type !== undefined) return type;
  const message = `The body must be ${words}, in UTF-8: send Content-Type: ${words}`;
  throw new Failure('unsupported_media_type', message);
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** @throws Failure body_too_large where `Content-Length` says so */
export function requireFit(req: Request, limitBytes: number): void {
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

/** A character set must be UTF-8; a table says whether it has a header. */
function isOfType(req: Request, wanted: string): boolean {
  const given = req.headers['content-type'] ?? '';
  if (given.length > MEDIA_TYPE_MAX) return false;
  try {
    const { essence, params } = new MIMEType(given);
    const areKnown = [...params.keys()].every(
      (name) => name === 'charset' || (name === 'header' && wanted !== JSON_TYPE),
    );
    return essence === wanted && areKnown && /^utf-8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

/** @throws Failure as `bodyChunks`, and what the slot throws */
export async function readBytes(req: Request, limitBytes: number, slot?: BodySlot): Promise<Buffer> {
  const bytes = new GrowingBuffer();
  for await (const piece of bodyChunks(req, limitBytes)) {
    bytes.add(piece);
    slot?.has(bytes.length);
  }
  return bytes.whole();
}

/**
 * The bytes of a body as they arrive, read as fast as they are taken. Limit and pace hold for the
 * bytes that arrive, and for the decoder's bytes. A refusal does not wait for the body's end, which
 * may never come: the server drops the rest.
 *
 * @throws Failure body_too_large, request_too_slow, unsupported_media_type for an unknown encoding
 *   or any of a caller who is not known, rate_limited or unavailable where too many are under way,
 *   or invalid_request
 */
export async function* bodyChunks(
  req: Request,
  limitBytes: number,
  pace: Pace | undefined = req.caller ? PACE : PACE_ANONYMOUS,
): AsyncGenerator<Buffer, void, void> {
  requireFit(req, limitBytes);
  const { bytes, release } = decoded(req);
  let arrived = 0;
  let size = 0;
  let isAwaited = true;
  let awaitedMs = 0;
  let silentMs = 0;
  const count = ({ length }: Buffer) => {
    arrived += length;
    if (arrived > limitBytes) bytes.destroy(tooLarge(limitBytes));
  };
  req.on('data', count).pipe(bytes);
  // Ticks are counted, not time: after the process stood still it reads before it blames a sender.
  const watch = setInterval(() => {
    if (!isAwaited) return;
    awaitedMs += TICK_MS;
    silentMs += TICK_MS;
    if (silentMs >= SILENCE_MS) bytes.destroy(silent());
    else if (isBehind(pace, awaitedMs, Math.min(arrived, size))) bytes.destroy(crawls(pace));
  }, TICK_MS);
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      isAwaited = false;
      silentMs = 0;
      size += chunk.length;
      if (size > limitBytes) throw tooLarge(limitBytes);
      yield chunk;
      isAwaited = true;
    }
  } catch (error) {
    throw error instanceof Failure ? error : unreadable();
  } finally {
    clearInterval(watch);
    req.off('data', count);
    release();
  }
}

const PLAIN = 'identity';
/** Without brotli, whose decoder takes 16 MB at its first byte. */
const ENCODINGS = new Map<string, () => Transform>([
  [PLAIN, () => new PassThrough()],
  ['gzip', createGunzip],
  ['deflate', createInflate],
]);
const decoders = new Slots(DECODERS);
const anonymous = new AnonymousBodies();

/** A stream of the body's own: destroying the request would close its connection. */
function decoded(req: Request): { bytes: Transform; release: () => void } {
  const { caller } = req;
  const encoding = (req.headers['content-encoding'] ?? PLAIN).toLowerCase();
  const isPlain = encoding === PLAIN;
  const make = caller || isPlain ? ENCODINGS.get(encoding) : undefined;
  if (!make) throw new Failure('unsupported_media_type', caller ? ENCODINGS_WORDS : PLAIN_WORDS);
  if (caller && !isPlain) decoders.enter(caller);
  const bytes = make();
  if (!caller) anonymous.enter(bytes, countedAddress(req));
  const broken = (error: Error) => bytes.destroy(error);
  req.once('error', broken);
  return {
    bytes,
    release() {
      req.off('error', broken);
      req.unpipe(bytes);
      bytes.destroy();
      if (!caller) anonymous.leave(bytes);
      else if (!isPlain) decoders.leave(caller);
    },
  };
}

const ENCODINGS_WORDS = 'The body may be plain, or compressed with gzip or deflate';
const PLAIN_WORDS = 'The body must be plain: send it without Content-Encoding';

const tooLarge = (limitBytes: number) =>
  new Failure('body_too_large', `The body may have at most ${limitBytes / 1024} KiB`);
const silent = () =>
  new Failure('request_too_slow', `Nothing of the body arrived for ${SILENCE_MS / 1000} seconds`);
const crawls = ({ leastBytesPerS }: Pace) =>
  new Failure('request_too_slow', `The body comes at less than ${leastBytesPerS / 1024} KiB a second`);

function unreadable(): Failure {
  const message = 'is not whole, or not compressed as its Content-Encoding says';
  return new Failure('invalid_request', `The body ${message}`, { problems: [{ path: 'body', message }] });
}

/**
 * Bytes that arrive one after the other, in one piece of at most twice their number. A list of the
 * pieces would cost a hundred bytes for each, and a piece may be one byte. Joining them at each
 * arrival would copy all bytes each time.
 */
export class GrowingBuffer {
  private bytes = Buffer.alloc(0);
  length = 0;

  add(part: ArrayLike<number>): void {
    const needed = this.length + part.length;
    if (needed > this.bytes.length) {
      const grown = Buffer.alloc(Math.max(needed, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, this.length));
      this.bytes = grown;
    }
    this.bytes.set(part, this.length);
    this.length = needed;
  }

  whole(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}
