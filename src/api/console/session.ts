import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import { todayOf } from '../../database/clock/moment';
import { endForGood, isConsoleSessionEnded } from '../../database/entity/console-session';
import { findEntity } from '../../database/entity/create-entity';
import { openInvitee } from '../../database/person/invitation';
import { findPerson, isSecretSignInOpen } from '../../database/person/person';
import { Failure } from '../../domain/failures';
import { SCOPES } from '../../domain/scope';
import type { Authenticate } from '../http/authentication';
import { meterLogin, type ClientLogin } from '../http/client-login';
import { answered } from '../http/deadline';
import { gathered } from '../http/gathered';
import type { FailedAuthentication } from '../http/failed-authentication';
import type { ApiDeps } from '../http/deps';
import { isOurs, replyOf, unknownEndpoint } from '../http/answer';
import { CREDENTIALS_LIMIT_BYTES, readJsonBody } from '../http/body';
import { endpoint } from '../http/serve-endpoints';
import { consolePages, READING } from '../http/own-page';
import { meterCaller } from '../http/rate-limit';
import { noteTokenRequest, requestIdOf } from '../http/request-log';
import { check, invalidRequest } from '../http/validation';
import type { AccessTokens } from '../../database/keys/access-token';
import {
  invitationUsed,
  PASSKEY_LIMIT_BYTES,
  passkeyShown,
  registrationOptions,
  signInByInvitation,
  signInByPasskey,
  signInOptions,
} from './passkey';
import { decryptOwn, encrypt, type EncryptedPlace } from '../../database/keyring/encrypt';
import type { Keyring } from '../../database/keyring/keyring';

/**
 * A sign-in to the console, kept in the person's browser alone. No script can read its cookie, and
 * only the service can decrypt or make it. The service remembers only sessions that were ended
 * before their time, so any process serves any session.
 */
interface Session {
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
async function readSession(deps: Deps, req: Request): Promise<Session | undefined> {
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
  const text = decryptOwn(ring, Buffer.from(cookie, 'base64url'), PLACE);
  return text === undefined ? undefined : (JSON.parse(text) as Session);
}

function keepSession(deps: Deps, req: Request, res: Response, session: Session): void {
  const value = encrypt(deps.db.keyring, JSON.stringify(session), PLACE).toString('base64url');
  const maxAge = Math.max(0, session.usedAt + lastsMs(session) - Date.now());
  const { name, attributes } = cookieFor(deps, req);
  res.cookie(name, value, { ...attributes, maxAge });
}

/** From its last use on, unless there is another. */
const lastsMs = ({ endsAt, usedAt }: Session) => Math.min(endsAt - usedAt, IDLE_MS);

function forgetSession(deps: Deps, req: Request, res: Response): void {
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

/**
 * The console's way to the API. A sign-in makes a session in place of a token. Calls below
 * `/console/api` are the public calls, with the session's token. So the page can do what the
 * token's caller can do, and nothing else; neither secret nor token ever reach it. No page of
 * another site reaches it.
 */

interface Access {
  deps: ApiDeps;
  tokens: AccessTokens;
  login: ClientLogin;
  authenticate: Authenticate;
  failures: FailedAuthentication;
}

const PREFIX = '/console/api';
const OF_SESSION = `${PREFIX}/as/`;
const SESSION = '/console/session';

/** Visitors of one question; more wait for the next. */
const ASKED_MAX = 200;

const CSRF_BYTES = 32;
/** Tells sessions apart in the log, and opens nothing. */
const ID_BYTES = 9;

const credentials = z.strictObject({ clientId: z.string().trim(), clientSecret: z.string().trim() });
const wanted = z.strictObject({ invitation: z.string().optional() });

export function consoleAccess(access: Access) {
  // Visitors who ask have proved nothing: one query serves all that wait.
  const secrets = gathered(ASKED_MAX, async (asked: null[]) => {
    const open = await isSecretSignInOpen(access.deps.db);
    return asked.map(() => open);
  });
  return {
    calls: [consolePages, calling(access)],
    endpoints: [
      endpoint('post', SESSION, (req, res) => signIn(access, req, res)),
      endpoint('get', SESSION, (req, res) => whoAmI(access, req, res)),
      endpoint('delete', SESSION, (req, res) => signOut(access, req, res)),
      endpoint('get', '/console/sign-in', async (_req, res) => {
        send(res, 200, 'Ways to sign in', { secrets: await answered(secrets(null)) });
      }),
      endpoint('post', '/console/passkey-options', (req, res) => begin(access, req, res)),
    ],
  };
}

/**
 * The caller whose token the session holds, who pays for the answer as for any call.
 *
 * @throws Failure unauthenticated where the token has ended before the session; rate_limited
 */
async function shown({ deps, authenticate }: Access, req: Request, res: Response, session: Session) {
  const { config, db } = deps;
  const caller = await authenticate(asApiCall(req, session), res);
  await meterCaller(deps, res, 'caller', caller);
  const { entityId, role } = caller;
  const timezone = config.NETWORK_TIMEZONE;
  const [entity, today, person] = await Promise.all([
    findEntity(db, entityId),
    todayOf(db, entityId),
    caller.person && findPerson(db, caller.person.personId),
  ]);
  return {
    entityId,
    role,
    ...(person && { person: { personId: person.personId, email: person.email, role: person.role } }),
    name: entity?.name ?? '',
    timezone,
    today,
    testClocks: config.ASSENT_MODE === 'sandbox',
    currencies: config.ACCEPTED_CURRENCIES,
    sessionId: session.id,
    csrfToken: session.csrfToken,
    endsInS: Math.floor(lastsMs(session) / 1000),
  };
}

/** Counts a try that proves no identity. */
async function counted<Result>(
  { failures }: Access,
  req: Request,
  res: Response,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Failure && !isOurs(error)) {
      noteTokenRequest(req, { outcome: error.code });
      failures.count(req, res);
    }
    throw error;
  }
}

/** @throws Failure invalid_request */
function checked<Body>(schema: z.ZodType<Body>, body: unknown): Body {
  const given = check(schema, body, '');
  if (given.problems) throw invalidRequest(given.problems);
  return given.value;
}

/** A token for a client that shows its secret, or a person who shows a passkey. */
async function issued(access: Access, req: Request, res: Response) {
  const { deps, login, tokens } = access;
  const given = await counted(access, req, res, async () => {
    const body = await readJsonBody(req, PASSKEY_LIMIT_BYTES);
    if (hasField(body, 'invitation')) return checked(invitationUsed, body);
    return hasField(body, 'passkey') ? checked(passkeyShown, body) : checked(credentials, body);
  });
  if ('clientId' in given) return login(req, res, given);
  access.failures.refuseSpent(req);
  const request = { requestId: requestIdOf(res), ownRequestId: req.ownRequestId };
  const holder = await counted(access, req, res, () =>
    answered('invitation' in given ? signInByInvitation(deps, request, given) : signInByPasskey(deps, given)),
  );
  noteTokenRequest(req, { personId: holder.personId, outcome: 'issued' });
  const claims = { ...holder, scopes: SCOPES };
  // An invitation works once: a full bucket would use it up in vain.
  if (!('invitation' in given)) await meterLogin(deps, req, res, claims);
  return tokens.issue(claims);
}

const hasField = (body: unknown, name: string) =>
  typeof body === 'object' && body !== null && Object.hasOwn(body, name);

/** Options for the browser's authenticator: to show a passkey that is there, or make a new one. */
async function begin(access: Access, req: Request, res: Response): Promise<void> {
  const { deps, failures } = access;
  failures.refuseSpent(req);
  const data = await counted(access, req, res, async () => {
    const { invitation } = checked(wanted, await readJsonBody(req, CREDENTIALS_LIMIT_BYTES));
    if (invitation === undefined) return signInOptions(deps);
    const personId = await answered(openInvitee(deps.db, invitation));
    if (personId !== undefined) return answered(registrationOptions(deps, personId, []));
    throw new Failure('unauthenticated', 'The invitation was used, replaced or has expired: ask for another');
  });
  send(res, 200, 'Ask the authenticator with these', data);
}

async function signIn(access: Access, req: Request, res: Response): Promise<void> {
  const { deps } = access;
  const { token, expiresInS } = await issued(access, req, res);
  const now = Date.now();
  const csrfToken = randomBytes(CSRF_BYTES).toString('base64url');
  const id = randomBytes(ID_BYTES).toString('base64url');
  const session = { id, token, csrfToken, usedAt: now, endsAt: now + expiresInS * 1000 };
  const before = await readSession(deps, req);
  const data = { session: await shown(access, req, res, session) };
  // An answer to it that is still on its way would put it back into its browser.
  if (before) await endForGood(deps.db, before);
  keepSession(deps, req, res, session);
  send(res, 201, 'You are signed in', data);
}

async function whoAmI(access: Access, req: Request, res: Response): Promise<void> {
  const { deps } = access;
  const read = await readSession(deps, req);
  if (read) refuseStalePage(req, read);
  // Only this puts its end off. A cookie with any other call's answer could arrive after signing
  // out, and undo it.
  const session = read && { ...read, usedAt: Date.now() };
  // Not being signed in is an answer here, and no failure.
  const own = session && (await shown(access, req, res, session).catch(isUnauthenticated));
  // The cookie of a session that is over stays, and opens nothing: by now the browser may hold
  // the cookie of a later sign-in.
  if (session && own) keepSession(deps, req, res, session);
  send(res, 200, own ? `Signed in as ${own.name}` : 'There is no session', { session: own ?? null });
}

async function signOut({ deps }: Access, req: Request, res: Response): Promise<void> {
  const session = openSession(deps, req);
  if (session) requireCsrfToken(req, session);
  // Also where the database is away, and the answer a 503: on a shared desk there must be a way
  // out. A copy of the cookie is good until its end then.
  forgetSession(deps, req, res);
  if (session) await endForGood(deps.db, session);
  send(res, 200, 'You are signed out');
}

/** Turns a call of the console into one of the API; in front of all routes. */
const calling =
  ({ deps, failures }: Access): RequestHandler =>
  async (req, res, next) => {
    const called = callOf(req.url);
    if (called === undefined) return next();
    const session = await readSession(deps, req);
    if (session === undefined) {
      failures.count(req, res);
      throw new Failure('unauthenticated', 'The session has ended: sign in again');
    }
    if (called.sessionId !== undefined && called.sessionId !== session.id) {
      throw new Failure('cross_site', 'This link is of another sign-in: load the page again');
    }
    if (READING.includes(req.method)) refuseStalePage(req, session);
    else requireCsrfToken(req, session);
    asApiCall(req, session);
    req.url = called.url;
    next();
  };

/** For the console's own rows, which are not there for API clients. */
export const throughConsole: RequestHandler = (req, res, next) =>
  req.consoleSession ? next() : unknownEndpoint(req, res, next);

/** The API's own URL. Links have no header, so each names the session that made it. */
function callOf(url: string): { url: string; sessionId?: string } | undefined {
  if (url.startsWith(`${PREFIX}/v1/`)) return { url: url.slice(PREFIX.length) };
  if (!url.startsWith(OF_SESSION)) return undefined;
  const at = url.indexOf('/', OF_SESSION.length);
  const rest = url.slice(at);
  return at > 0 && rest.startsWith('/v1/')
    ? { url: rest, sessionId: url.slice(OF_SESSION.length, at) }
    : undefined;
}

/**
 * A page whose session was replaced would show one party's figures under another's name.
 *
 * @throws Failure cross_site
 */
function refuseStalePage(req: Request, session: Session): void {
  if (req.get('X-CSRF-Token') !== undefined) requireCsrfToken(req, session);
}

/** @throws Failure cross_site */
function requireCsrfToken(req: Request, { csrfToken }: Session): void {
  const given = Buffer.from(req.get('X-CSRF-Token') ?? '');
  const expected = Buffer.from(csrfToken);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new Failure(
      'cross_site',
      'The header X-CSRF-Token is not that of this session: load the page again',
    );
  }
}

/** The token replaces everything else that names a sender. */
function asApiCall(req: Request, { id, token }: Session): Request {
  req.consoleSession = { via: 'console', sessionId: id };
  req.headers.authorization = `Bearer ${token}`;
  delete req.headers.cookie;
  return req;
}

function isUnauthenticated(error: unknown): undefined {
  if (error instanceof Failure && error.code === 'unauthenticated') return undefined;
  throw error;
}

function send(res: Response, status: number, message: string, data?: object): void {
  res.status(status).json(replyOf({ message, ...(data && { data }) }, status).body);
}
