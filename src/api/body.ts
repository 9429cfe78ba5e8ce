import express, { type Request, type Response } from 'express';
import { Failure } from '../domain/failures';
import { parseJson } from './json';

/** Largest body of an ordinary request. The largest legitimate one, 100 ids, is far below. */
export const BODY_LIMIT_BYTES = 256 * 1024;

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i;

/**
 * Reads the JSON body of a request.
 *
 * @throws Failure media_type_unsupported, body_too_large or invalid_request
 */
export async function readJsonBody(req: Request, res: Response, limitBytes: number): Promise<unknown> {
  if (!hasBody(req)) {
    throw new Failure('invalid_request', 'The request needs a JSON body', {
      problems: [{ path: 'body', message: 'is required' }],
    });
  }
  if (!JSON_TYPE.test(req.headers['content-type'] ?? '')) {
    throw new Failure('media_type_unsupported', 'The body must be JSON: send Content-Type: application/json');
  }
  return parseJson(await readBytes(req, res, limitBytes));
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

function hasBody(req: Request): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function bodyFailure(error: unknown, limitBytes: number): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) {
    return new Failure('body_too_large', `The body may have at most ${limitBytes / 1024} KiB`);
  }
  if (status === 415) {
    return new Failure(
      'media_type_unsupported',
      'The body may be plain, or compressed with gzip, deflate or br',
    );
  }
  if (status === 400) return new Failure('invalid_request', 'The body did not arrive whole');
  return error;
}
