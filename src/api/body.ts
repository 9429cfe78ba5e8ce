import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Readable, Transform } from 'node:stream';
import express, { type Request, type Response } from 'express';
import { Failure } from '../domain/failures';
import { parseJson } from './json';

/** Largest body of an ordinary request. The largest legitimate one, 100 ids, is far below. */
export const BODY_LIMIT_BYTES = 256 * 1024;

/** Longer than any type that is JSON. Of a longer one nothing more is looked at. */
const MEDIA_TYPE_MAX = 100;

/**
 * Reads the JSON body of a request.
 *
 * @throws Failure media_type_unsupported, body_too_large or invalid_request
 */
export async function readJsonBody(req: Request, res: Response, limitBytes: number): Promise<unknown> {
  requireJson(req);
  return parseJson(await readBytes(req, res, limitBytes));
}

/** @throws Failure media_type_unsupported or invalid_request, where the body cannot be JSON or is none at all */
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

/** @throws Failure body_too_large, media_type_unsupported for an unknown encoding, or invalid_request */
export async function readBytes(req: Request, res: Response, limitBytes: number): Promise<Buffer> {
  await new Promise<void>((resolve, reject) => {
    // Any type: whoever calls has looked at it. A limit that is no number would turn the check off.
    express.raw({ type: () => true, limit: limitBytes })(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(bodyFailure(error, limitBytes));
    });
  });
  return Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
}

/**
 * The bytes of a body as they arrive, read only as fast as they are taken.
 *
 * @throws Failure body_too_large, media_type_unsupported for an unknown encoding, or invalid_request
 */
export async function* bodyChunks(req: Request, limitBytes: number): AsyncGenerator<Buffer, void, void> {
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes);
  const { bytes, release } = decoded(req);
  let size = 0;
  try {
    // Destroying the request, which is what leaving a loop over it does, would leave nobody to answer to.
    for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limitBytes) throw tooLarge(limitBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof Failure ? error : notWhole();
  } finally {
    release();
  }
}

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

function decoded(req: Request): { bytes: Readable; release: () => void } {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return { bytes: req, release: () => undefined };
  const decoder = DECODERS.get(encoding)?.();
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

function bodyFailure(error: unknown, limitBytes: number): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) return tooLarge(limitBytes);
  if (status === 415) return unknownEncoding();
  if (status === 400) return notWhole();
  return error;
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('body_too_large', `The body may have at most ${limitBytes / 1024} KiB`);
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
