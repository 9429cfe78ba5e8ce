import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';
import { MIMEType } from 'node:util';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Request } from 'express';
import { Failure } from '../../domain/failures';
import { GrowingBuffer } from './growing-buffer';
import { parseJson } from './json';
import type { BodyPlace } from './places';

/** Largest body of an ordinary request. 100 merchants with the longest URLs have more. */
export const BODY_LIMIT_BYTES = 256 * 1024;

/** Longest wait for the next byte: a sender silent for longer is lost. */
const SILENCE_MS = 10_000;
/** Interval at which a waiting reader checks the pace of a body. */
const TICK_MS = 250;
/** Longer than any media type that is taken. */
const MEDIA_TYPE_MAX = 100;

/** The least bytes that arrive while a body is waited for, once `graceMs` are over. */
export interface Pace {
  graceMs: number;
  leastBytesPerS: number;
}

/** The pace of a body that has a place, which others wait for: at most 18 s for the largest. */
export const PACE: Pace = { graceMs: SILENCE_MS, leastBytesPerS: 32 * 1024 };
const PACE_WITHOUT_PLACE: Pace = { graceMs: 30_000, leastBytesPerS: 32 * 1024 };

/** @throws Failure unsupported_media_type, and as `readBytes` and `parseJson` */
export async function readJsonBody(req: Request, limitBytes: number, place?: BodyPlace): Promise<unknown> {
  requireJson(req);
  return parseJson(await readBytes(req, limitBytes, place));
}

/** @throws Failure unsupported_media_type, or invalid_request where there is no body */
export function requireJson(req: Request): void {
  if (!hasBody(req)) throw bodyRequired('a JSON body');
  if (isOfType(req, 'application/json', ['charset'])) return;
  throw new Failure('unsupported_media_type', 'The body must be JSON: send Content-Type: application/json');
}

/**
 * The type that the body has of those that a file may have.
 *
 * @throws Failure unsupported_media_type, or invalid_request where there is no body
 */
export function requireType<Type extends string>(req: Request, types: readonly Type[]): Type {
  if (!hasBody(req)) throw bodyRequired(`a body of ${types.join(' or ')}`);
  const type = types.find((one) => isOfType(req, one, ['charset', 'header']));
  if (type !== undefined) return type;
  throw new Failure('unsupported_media_type', `The body must be ${types.join(' or ')}, in UTF-8`);
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/** @throws Failure body_too_large where `Content-Length` says so */
export function requireFit(req: Request, limitBytes: number): void {
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

function bodyRequired(what: string): Failure {
  return new Failure('invalid_request', `The request needs ${what}`, {
    problems: [{ path: 'body', message: 'is required' }],
  });
}

/** @param parameters that the type may have; a character set must be UTF-8 */
function isOfType(req: Request, wanted: string, parameters: readonly string[]): boolean {
  const given = req.headers['content-type'] ?? '';
  if (given.length > MEDIA_TYPE_MAX) return false;
  try {
    const { essence, params } = new MIMEType(given);
    const charset = params.get('charset') ?? 'utf-8';
    const areKnown = [...params.keys()].every((name) => parameters.includes(name));
    return essence === wanted && areKnown && charset.toLowerCase() === 'utf-8';
  } catch {
    return false;
  }
}

/** @throws Failure as `bodyChunks`, and what the place throws */
export async function readBytes(req: Request, limitBytes: number, place?: BodyPlace): Promise<Buffer> {
  const bytes = new GrowingBuffer();
  for await (const piece of bodyChunks(req, limitBytes, place ? PACE : PACE_WITHOUT_PLACE)) {
    bytes.add(piece);
    place?.has(bytes.length);
  }
  return bytes.whole();
}

/**
 * The bytes of a body as they arrive, read as fast as they are taken. A refusal does not wait for
 * the body's end, which may never come: the server drops the rest.
 *
 * @throws Failure body_too_large, request_too_slow, unsupported_media_type for an unknown encoding,
 *   or invalid_request
 */
export async function* bodyChunks(
  req: Request,
  limitBytes: number,
  pace: Pace,
): AsyncGenerator<Buffer, void, void> {
  requireFit(req, limitBytes);
  const { bytes, release } = decoded(req);
  let size = 0;
  let isAwaited = true;
  let awaitedMs = 0;
  let silentMs = 0;
  // Ticks are counted, not time: after the process stood still it reads before it blames a sender.
  const watch = setInterval(() => {
    if (!isAwaited) return;
    awaitedMs += TICK_MS;
    silentMs += TICK_MS;
    if (silentMs >= SILENCE_MS) bytes.destroy(silent());
    else if (awaitedMs > pace.graceMs + (size / pace.leastBytesPerS) * 1_000) bytes.destroy(crawls(pace));
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
    release();
  }
}

const DECODERS = new Map<string, () => Transform>([
  ['identity', () => new PassThrough()],
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** A stream behind the request: destroying the request itself would close its connection. */
function decoded(req: Request): { bytes: Transform; release: () => void } {
  const bytes = DECODERS.get((req.headers['content-encoding'] ?? 'identity').toLowerCase())?.();
  if (!bytes) throw unknownEncoding();
  const broken = (error: Error) => bytes.destroy(error);
  req.once('error', broken);
  req.pipe(bytes);
  return {
    bytes,
    release() {
      req.off('error', broken);
      req.unpipe(bytes);
      bytes.destroy();
    },
  };
}

const tooLarge = (limitBytes: number) =>
  new Failure('body_too_large', `The body may have at most ${limitBytes / 1024} KiB`);
const silent = () =>
  new Failure('request_too_slow', `Nothing of the body arrived for ${SILENCE_MS / 1000} seconds`);
const crawls = ({ leastBytesPerS }: Pace) =>
  new Failure('request_too_slow', `The body comes at less than ${leastBytesPerS / 1024} KiB a second`);
const unknownEncoding = () =>
  new Failure('unsupported_media_type', 'The body may be plain, or compressed with gzip, deflate or br');

function unreadable(): Failure {
  const message = 'is not whole, or not compressed as its Content-Encoding says';
  return new Failure('invalid_request', `The body ${message}`, { problems: [{ path: 'body', message }] });
}
