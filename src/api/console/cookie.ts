import type { Request, Response } from 'express';
import { isConsoleSessionEnded } from '../../database/entity/console-session';
import { decrypt, encrypt, type EncryptedPlace } from '../../database/keyring/encrypt';
import { KeyringError, type Keyring } from '../../database/keyring/keyring';
import type { ApiDeps } from '../http/deps';

/**
 * A sign-in to the console, kept in the person's browser alone. No script can read its cookie, and
 * only the service can decrypt or make it. The service remembers only sessions that were ended
 * before their time, so any process serves any session.
 */
export interface Session {
  /** Its name in the log, in links, and among the ended sessions. */
  id: string;
  /** Makes every call; like any token it ends when its entity is disabled. */
  token: string;
  /** The page sends it along, to show that it is ours. */
  csrfToken: string;
  /** When the token ends, in milliseconds since 1970, and the session with it. */
  endsAt: number;
  /** Last use that was put on record. */
  usedAt: number;
}

type Deps = Pick<ApiDeps, 'db' | 'config'>;

const NAME = 'assent_console';
const PLACE: EncryptedPlace = 'console.session:cookie';

/** A session unused for this long is over, so that an unattended desk is signed out. */
const IDLE_MS = 30 * 60_000;

/** The session that a request comes with, undefined where it has none that is still good. */
export async function readSession(deps: Deps, req: Request): Promise<Session | undefined> {
  const session = openSession(deps, req);
  if (!session) return undefined;
  return (await isConsoleSessionEnded(deps.db, session.id)) ? undefined : session;
}

/** The same, whether or not it was ended before its time: no database is asked. */
export function openSession(deps: Deps, req: Request): Session | undefined {
  const given = cookieOf(req, cookieFor(deps, req).name);
  if (given === undefined) return undefined;
  const session = opened(deps.db.keyring, given);
  const now = Date.now();
  if (!session || now >= session.endsAt || now >= session.usedAt + IDLE_MS) return undefined;
  return session;
}

/** Two cookies of the name count as none: one of them is not ours. */
function cookieOf({ headers }: Request, name: string): string | undefined {
  const named = (headers.cookie ?? '').split(';').filter((pair) => pair.trimStart().startsWith(`${name}=`));
  const [mine] = named;
  return named.length === 1 ? mine?.slice(mine.indexOf('=') + 1).trim() : undefined;
}

function opened(ring: Keyring, cookie: string): Session | undefined {
  try {
    return JSON.parse(decrypt(ring, Buffer.from(cookie, 'base64url'), PLACE)) as Session;
  } catch (error) {
    if (error instanceof KeyringError) return undefined;
    throw error;
  }
}

export function keepSession(deps: Deps, req: Request, res: Response, session: Session): void {
  const value = encrypt(deps.db.keyring, JSON.stringify(session), PLACE).toString('base64url');
  const maxAge = Math.max(0, session.usedAt + lastsMs(session) - Date.now());
  const { name, attributes } = cookieFor(deps, req);
  res.cookie(name, value, { ...attributes, maxAge });
}

/** From its last use on, unless there is another. */
export const lastsMs = ({ endsAt, usedAt }: Session) => Math.min(endsAt - usedAt, IDLE_MS);

export function forgetSession(deps: Deps, req: Request, res: Response): void {
  const { name, attributes } = cookieFor(deps, req);
  res.clearCookie(name, attributes);
}

/**
 * On a developer's machine there is no https, and a browser may drop a `Secure` cookie. Production
 * always sets `Secure`: a proxy that ends TLS may not say so.
 *
 * Hosts of the same domain can set cookies for each other, except under a name that begins with
 * `__Host-`. That prefix requires `Secure` and the path `/`. Calls to the API then carry the cookie
 * too, unread.
 */
function cookieFor({ config }: Deps, req: Request) {
  const secure = req.secure || config.ASSENT_MODE === 'production';
  const path = secure ? '/' : '/console';
  return {
    name: secure ? `__Host-${NAME}` : NAME,
    attributes: { httpOnly: true, sameSite: 'strict', path, secure },
  } as const;
}
