import { timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { Failure } from '../../domain/failures';
import type { Session } from './cookie';

/**
 * Whether a request comes from our own page. A browser sends cookies with whatever any page asks
 * for; by these two it also says which page that was, or proves that it has read ours.
 */

/** Of what changes something. @throws Failure cross_site */
export function requireOwnPage(req: Request): void {
  const site = req.headers['sec-fetch-site'];
  // Browsers leave it out on plain http; then there is the origin.
  const isOwn = site === undefined ? isOwnOrigin(req) : site === 'same-origin';
  if (!isOwn) throw crossSite('This call is for the console’s own page');
}

/** Of what is only read: also by an address that somebody has typed. @throws Failure cross_site */
export function refuseOtherPages(req: Request): void {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw crossSite('This call is for the console’s own page');
  }
}

/**
 * Of a page whose session another has replaced: it would show one's figures under another's name.
 *
 * @throws Failure cross_site
 */
export function refuseStalePage(req: Request, session: Session): void {
  if (req.get('X-CSRF-Token') !== undefined) requireCsrfToken(req, session);
}

/** @throws Failure cross_site */
export function requireCsrfToken(req: Request, { csrfToken }: Session): void {
  const given = Buffer.from(req.get('X-CSRF-Token') ?? '');
  const expected = Buffer.from(csrfToken);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw crossSite('The header X-CSRF-Token is not that of this session: load the page again');
  }
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

const crossSite = (message: string) => new Failure('cross_site', message);
