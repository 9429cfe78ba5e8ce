import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Request } from 'express';
import { Failure } from '../../domain/failures';
import type { BodyPlace } from './body-places';
import { GrowingBuffer } from './growing-buffer';
import { parseJson } from './json';

/** Largest body of an ordinary request. 100 merchants with the longest URLs have more. */
export const BODY_LIMIT_BYTES = 256 * 1024;

/**
 * Longest that nothing of a body may arrive: its caller has been lost, or means no good. How long a
 * whole request may take is the server's to say.
 */
const SILENCE_MS = 10_000;
/** And then, for what is in the socket already. */
const POLL_MS = 250;

/** Longer than any type that is JSON. Of a longer one nothing more is looked at. */
const MEDIA_TYPE_MAX = 100;

/**
 * Reads the JSON body of a request.
 *
 * @param place as of `readBytes`
 * @throws Failure unsupported_media_type, body_too_large, request_too_slow or invalid_request
 */
export async function readJsonBody(req: Request, limitBytes: number, place?: BodyPlace): Promise<unknown> {
  requireJson(req);
  return parseJson(await readBytes(req, limitBytes, place));
}

/**
 * Reads the JSON body of a request that needs none. One that was announced may turn out to be
 * empty: some proxies announce a body with every request.
 *
 * @throws Failure as `readJsonBody`
 */
export async function readUnneededBody(req: Request, limitBytes: number, place: BodyPlace): Promise<unknown> {
  const bytes = await readBytes(req, limitBytes, place);
  if (bytes.length === 0) return undefined;
  requireJson(req);
  return parseJson(bytes);
}

/**
 * @throws Failure unsupported_media_type or invalid_request, where the body cannot be JSON or is
 *   none at all
 */
export function requireJson(req: Request): void {
  if (!hasBody(req)) throw bodyRequired('a JSON body');
  if (!isJson(req.headers['content-type'] ?? '')) {
    throw new Failure('unsupported_media_type', 'The body must be JSON: send Content-Type: application/json');
  }
}

/**
 * Which of the types that a file may have this one has.
 *
 * @throws Failure unsupported_media_type, or invalid_request where there is no body
 */
export function requireType<Type extends string>(req: Request, types: readonly Type[]): Type {
  if (!hasBody(req)) throw bodyRequired(`a body of ${types.join(' or ')}`);
  const given = req.headers['content-type'] ?? '';
  const type = types.find((one) => isOfType(given, one, ['charset', 'header']));
  if (type !== undefined) return type;
  throw new Failure('unsupported_media_type', `The body must be ${types.join(' or ')}, in UTF-8`);
}

/** @throws Failure body_too_large, where the request says that the body is */
export function requireFit(req: Request, limitBytes: number): void {
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

function bodyRequired(what: string): Failure {
  return new Failure('invalid_request', `The request needs ${what}`, {
    problems: [{ path: 'body', message: 'is required' }],
  });
}

/** JSON, with no parameter but the character set that JSON has. */
const isJson = (mediaType: string) => isOfType(mediaType, 'application/json', ['charset']);

/** @param parameters that it may have, each once */
function isOfType(mediaType: string, wanted: string, parameters: readonly string[]): boolean {
  if (mediaType.length > MEDIA_TYPE_MAX) return false;
  const [type, ...given] = mediaType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  // One may end with a semicolon.
  if (given.at(-1) === '') given.pop();
  if (type !== wanted || given.length > parameters.length) return false;
  return given.every((parameter) => {
    const [name = '', value] = parameter.split('=').map((part) => part.trim());
    if (!parameters.includes(name)) return false;
    return name !== 'charset' || value === 'utf-8' || value === '"utf-8"';
  });
}

/**
 * @param place that the body has where it is large; left out where its limit is low
 * @throws Failure body_too_large, request_too_slow, unsupported_media_type for an unknown encoding,
 *   or invalid_request; and what the place throws
 */
export async function readBytes(req: Request, limitBytes: number, place?: BodyPlace): Promise<Buffer> {
  const bytes = new GrowingBuffer();
  for await (const chunk of bodyChunks(req, limitBytes, place && PACE)) {
    bytes.add(chunk);
    place?.has(bytes.length);
  }
  return bytes.take();
}

/** The slowest that a body may come, of the time that it is waited for, once `graceMs` are over. */
export interface Pace {
  graceMs: number;
  leastBytesPerS: number;
}

/** That of a body with a place, which it would keep from others: at most 18 s for the largest. */
export const PACE: Pace = { graceMs: SILENCE_MS, leastBytesPerS: 32 * 1024 };

/**
 * The bytes of a body as they arrive, read only as fast as they are taken. A body that is refused
 * is not read to its end first, for it may have none: the server drops the rest.
 *
 * @param pace of a body that has a place
 * @throws Failure body_too_large, request_too_slow, unsupported_media_type for an unknown encoding,
 *   or invalid_request
 */
export async function* bodyChunks(
  req: Request,
  limitBytes: number,
  pace?: Pace,
): AsyncGenerator<Buffer, void, void> {
  requireFit(req, limitBytes);
  const { bytes, release } = decoded(req);
  let size = 0;
  let waitedMs = 0;
  let waitingSince = performance.now();
  const leftMs = () => (pace ? pace.graceMs + (size / pace.leastBytesPerS) * 1_000 - waitedMs : Infinity);
  // It runs only while something is waited for: whoever takes the bytes may take its time.
  const giveUp = () => {
    const wasSilent = performance.now() - waitingSince >= SILENCE_MS;
    bytes.destroy(pace && !wasSilent ? crawls(pace) : tooSlow());
  };
  // A process that stood still wakes to its timers first: what has arrived meanwhile is read before
  // anybody is blamed.
  const pollOnce = () => (timer = setTimeout(giveUp, POLL_MS));
  const wait = () => setTimeout(pollOnce, Math.min(SILENCE_MS, leftMs()));
  let timer = wait();
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      waitedMs += performance.now() - waitingSince;
      size += chunk.length;
      if (size > limitBytes) throw tooLarge(limitBytes);
      if (pace && leftMs() < 0) throw crawls(pace);
      yield chunk;
      waitingSince = performance.now();
      timer = wait();
    }
  } catch (error) {
    throw error instanceof Failure ? error : unreadable();
  } finally {
    clearTimeout(timer);
    release();
  }
}

const DECODERS = new Map<string, () => Transform>([
  ['identity', () => new PassThrough()],
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** What is read is never the request itself: giving up on that would leave nobody to answer to. */
function decoded(req: Request): { bytes: Transform; release: () => void } {
  const decoder = DECODERS.get((req.headers['content-encoding'] ?? 'identity').toLowerCase())?.();
  if (!decoder) throw unknownEncoding();
  const broken = (error: Error) => decoder.destroy(error);
  req.once('error', broken);
  req.pipe(decoder);
  return {
    bytes: decoder,
    release() {
      req.off('error', broken);
      req.unpipe(decoder);
      decoder.destroy();
    },
  };
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('body_too_large', `The body may have at most ${limitBytes / 1024} KiB`);
}

function tooSlow(): Failure {
  return new Failure('request_too_slow', `Nothing of the body arrived for ${SILENCE_MS / 1000} seconds`);
}

function crawls({ leastBytesPerS }: Pace): Failure {
  return new Failure('request_too_slow', `The body comes at less than ${leastBytesPerS / 1024} KiB a second`);
}

function unknownEncoding(): Failure {
  return new Failure(
    'unsupported_media_type',
    'The body may be plain, or compressed with gzip, deflate or br',
  );
}

function unreadable(): Failure {
  const message = 'is not whole, or not compressed as its Content-Encoding says';
  return new Failure('invalid_request', `The body ${message}`, { problems: [{ path: 'body', message }] });
}
