import { timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { Failure } from '../../domain/failures';
import type { Session } from './cookie';

/** Whether a page of ours has read the session that its request comes with. */

/**
 * A page whose session was replaced would show one party's figures under another's name.
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
    throw new Failure(
      'cross_site',
      'The header X-CSRF-Token is not that of this session: load the page again',
    );
  }
}
