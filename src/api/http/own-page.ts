import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { Failure } from '../../domain/failures';

/**
 * Tells requests of our own pages. A browser sends our cookies with the requests of any page, and
 * says in headers which page it is.
 */

/** For all below `/console`; a link to the page itself may stand on any other page. */
export const consolePages: RequestHandler = ownPagesOnly((path) => path.startsWith('/console/'));

/** @param isOurs whether a path is for our pages alone */
export function ownPagesOnly(isOurs: (path: string) => boolean): RequestHandler {
  return (req, _res, next) => {
    const isOwn = READING.includes(req.method) ? !isOtherPages(req) : isOwnPages(req);
    next(isOwn || !isOurs(req.path) ? undefined : new Failure('cross_site', 'This call is for our own page'));
  };
}

export const READING = ['GET', 'HEAD'];

/** For a request that changes something. Browsers leave the header out on plain http. */
function isOwnPages(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  return site === undefined ? isOwnOrigin(req) : site === 'same-origin';
}

/** For a read, which a person may also request by typing its address. */
function isOtherPages(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/** Scheme and host: anybody on the way may make a page that came without TLS. */
function isOwnOrigin({ headers, protocol, host }: Request): boolean {
  if (headers.origin === undefined || headers.host === undefined) return false;
  const own = originOf(`${protocol}://${host}`);
  return own !== undefined && originOf(headers.origin) === own;
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/**
 * Protects endpoints without authentication. A foreign site may point its own name here, and a
 * browser takes it for a page of ours. An address or `localhost` cannot be pointed so.
 *
 * @param path of the page to open instead
 */
export function ownHostOnly(ownUrl: string, path: string): RequestHandler {
  const own = new URL(ownUrl).hostname;
  return (req, _res, next) => {
    const url = `http://${req.headers.host ?? ''}`;
    const host = URL.canParse(url) ? new URL(url).hostname : '';
    const isOwn = host === own || host === 'localhost' || isIP(host.replaceAll(/[[\]]/g, '')) !== 0;
    next(isOwn ? undefined : new Failure('cross_site', `Open it at ${ownUrl}${path}`));
  };
}
