import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { Failure } from '../../domain/failures';

/**
 * Whether a request comes from a page of ours: in front of all that is there for these pages. A
 * browser sends cookies with whatever any page asks for, and asks this machine for what any page
 * wants; it also says which page that was.
 */

/** In front of all below `/console`; a link to the page itself may stand on any other. */
export const consolePages: RequestHandler = ownPagesOnly((path) => path.startsWith('/console/'));

/** @param isOurs of a path, whether it is there for our pages alone */
export function ownPagesOnly(isOurs: (path: string) => boolean): RequestHandler {
  return (req, _res, next) => {
    const isOwn = READING.includes(req.method) ? !isOtherPages(req) : isOwnPages(req);
    next(isOwn || !isOurs(req.path) ? undefined : new Failure('cross_site', 'This call is for our own page'));
  };
}

export const READING = ['GET', 'HEAD'];

/**
 * What changes something. Browsers leave the header out on plain http; then there is the origin.
 */
function isOwnPages(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  return site === undefined ? isOwnOrigin(req) : site === 'same-origin';
}

/** What is read may also be asked for by an address that somebody has typed. */
function isOtherPages(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  return site !== undefined && site !== 'same-origin' && site !== 'none';
}

/** Scheme and host, both named: a page that came without TLS may be anybody's. */
function isOwnOrigin({ headers, protocol, host }: Request): boolean {
  if (headers.origin === undefined || headers.host === undefined) return false;
  const own = originOf(`${protocol}://${host}`);
  return own !== undefined && originOf(headers.origin) === own;
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/**
 * In front of what asks nobody who he is. A foreign site may have its own name lead here, and be
 * taken by a browser for a page of ours. It cannot do so with an address, nor with the name that a
 * machine has for itself.
 *
 * @param ownUrl where it is served
 * @param path of its page
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
