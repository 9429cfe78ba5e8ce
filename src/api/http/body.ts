import { PassThrough, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Request } from 'express';
import { Failure } from '../../domain/failures';
import { parseJson } from './json';

/** Largest body of an ordinary request. The largest legitimate one, 100 ids, is far below. */
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
 * @throws Failure media_type_unsupported, body_too_large, body_too_slow or invalid_request
 */
export async function readJsonBody(req: Request, limitBytes: number): Promise<unknown> {
  requireJson(req);
  return parseJson(await readBytes(req, limitBytes));
}

/**
 * @throws Failure media_type_unsupported or invalid_request, where the body cannot be JSON or is
 *   none at all
 */
export function requireJson(req: Request): void {
  if (!hasBody(req)) {
    throw new Failure('invalid_request', 'The request needs a JSON body', {
      problems: [{ path: 'body', message: 'is required' }],
    });
  }
  if (!isJson(req.headers['content-type'] ?? '')) {
    throw new Failure('media_type_unsupported', 'The body must be JSON: send Content-Type: application/json');
  }
}

/** JSON, with no parameter but the character set that JSON has. */
function isJson(mediaType: string): boolean {
  if (mediaType.length > MEDIA_TYPE_MAX) return false;
  const [type, parameter = '', ...more] = mediaType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (type !== 'application/json' || more.some((part) => part !== '')) return false;
  if (parameter === '') return more.length === 0;
  const [name, value] = parameter.split('=').map((part) => part.trim());
  return more.length <= 1 && name === 'charset' && (value === 'utf-8' || value === '"utf-8"');
}

/**
 * @throws Failure body_too_large, body_too_slow, media_type_unsupported for an unknown encoding, or
 *   invalid_request
 */
export async function readBytes(req: Request, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bodyChunks(req, limitBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * The bytes of a body as they arrive, read only as fast as they are taken. A body that is refused
 * is not read to its end first, for it may have none: the server drops the rest.
 *
 * @throws Failure body_too_large, body_too_slow, media_type_unsupported for an unknown encoding, or
 *   invalid_request
 */
export async function* bodyChunks(req: Request, limitBytes: number): AsyncGenerator<Buffer, void, void> {
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
  const { bytes, release } = decoded(req);
  // It runs only while something is waited for: whoever takes the bytes may take its time.
  const giveUp = () => bytes.destroy(tooSlow());
  // A process that stood still wakes to its timers first: what has arrived meanwhile is read before
  // anybody is blamed.
  const pollOnce = () => (timer = setTimeout(giveUp, POLL_MS));
  let timer = setTimeout(pollOnce, SILENCE_MS);
  let size = 0;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      size += chunk.length;
      if (size > limitBytes) throw tooLarge(limitBytes);
      yield chunk;
      timer = setTimeout(pollOnce, SILENCE_MS);
    }
  } catch (error) {
    throw error instanceof Failure ? error : notWhole();
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

function hasBody(req: Request): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('body_too_large', `The body may have at most ${limitBytes / 1024} KiB`);
}

function tooSlow(): Failure {
  return new Failure('body_too_slow', `Nothing of the body arrived for ${SILENCE_MS / 1000} seconds`);
}

function unknownEncoding(): Failure {
  return new Failure(
    'media_type_unsupported',
    'The body may be plain, or compressed with gzip, deflate or br',
  );
}

function notWhole(): Failure {
  return new Failure('invalid_request', 'The body did not arrive whole');
}
