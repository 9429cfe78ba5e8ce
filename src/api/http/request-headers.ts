import type { RequestHandler } from 'express';
import { Failure } from '../../domain/failures';

/** Browsers send some twenty, balancers add ten. The server bounds their bytes. */
const HEADERS_MAX = 100;

/**
 * Refuses a request whose headers nobody means, before anything of them is read.
 *
 * @throws Failure
 */
export const boundHeaders: RequestHandler = (req, _res, next) => {
  // Names and values, one after the other.
  if (req.rawHeaders.length > 2 * HEADERS_MAX) {
    throw new Failure('headers_too_large', `The request may have at most ${HEADERS_MAX} headers`);
  }
  const { host } = req.headers;
  if (req.httpVersion === '1.1' && (host === undefined || host.includes(','))) {
    throw new Failure('invalid_request', 'The request must have one Host header');
  }
  // They ask for a part, or compare with an ETag or a date, which no answer has.
  for (const name of CONDITIONS) delete req.headers[name];
  next();
};

const CONDITIONS = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
];
