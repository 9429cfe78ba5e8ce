import { rotateClientSecret } from '../../../src/database/entity/client-credential';
import {
  endForGood,
  forgetEndedSessions,
  isConsoleSessionEnded,
} from '../../../src/database/entity/console-session';
import { openDatabase } from '../../../src/database/pool/connection';
import { revokeTokens } from '../../../src/database/entity-control/control-entity';
import { apiOfFile, enter, send, serveApi, type Party, type ServedApi } from '../../support/api';
import { OPERATOR } from '../../support/operator';
import { RawConnection } from '../../support/raw-http';
import { setEntityStatus } from '../../support/recorded-change';
import { engineFacts } from '../../support/keyring';

const { api, database: test } = apiOfFile({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
let bank: Party;
beforeEach(async () => {
  bank = await enter(api, 'bank');
});
afterEach(() => jest.restoreAllMocks());

/** As a browser marks what the console's page asks for. */
const OWN_PAGE = { 'sec-fetch-site': 'same-origin' };

const credentialsOf = ({ clientId, clientSecret }: Pick<Party, 'clientId' | 'clientSecret'>) => ({
  clientId,
  clientSecret,
});

const askSession = (body: unknown, headers: Record<string, string> = OWN_PAGE, at = api) =>
  send(at.url, 'POST', '/console/session', body, headers);

interface SignedIn {
  cookie: string;
  setCookie: string;
  csrf: { 'x-csrf-token': string };
  session: Record<string, string>;
}

async function signIn(party: Party, headers: Record<string, string> = {}): Promise<SignedIn> {
  const answered = await askSession(credentialsOf(party), { ...OWN_PAGE, ...headers });
  expect(answered.status).toBe(201);
  const setCookie = answered.headers.get('set-cookie') ?? '';
  const session = answered.body.data?.['session'] as Record<string, string>;
  return {
    cookie: setCookie.split(';')[0] ?? '',
    setCookie,
    csrf: { 'x-csrf-token': session['csrfToken'] ?? '' },
    session,
  };
}

const get = (path: string, cookie: string, headers: Record<string, string> = OWN_PAGE) =>
  send(api.url, 'GET', path, undefined, { cookie, ...headers });

async function isSignedIn(cookie: string): Promise<boolean> {
  const { status, body } = await get('/console/session', cookie);
  expect(status).toBe(200);
  return body.data?.['session'] !== null;
}

const DEVICE = { fingerprint: 'a-device-that-is-enrolled-once' };

describe('signing in to the console', () => {
  it('keeps the session where no script and no other site can have it, and tells no secret', async () => {
    const { cookie, setCookie, session } = await signIn(bank);
    expect(setCookie).toMatch(
      /^assent_console=[\w-]+; Max-Age=1[78]\d\d; Path=\/console; .*HttpOnly; SameSite=Strict$/,
    );
    expect(session).toEqual({
      entityId: bank.entityId,
      role: 'bank',
      name: 'A bank',
      timezone: 'Africa/Lagos',
      today: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
      testClocks: true,
      currencies: ['NGN'],
      sessionId: expect.stringMatching(/^[\w-]{12}$/) as string,
      csrfToken: expect.stringMatching(/^[\w-]{43}$/) as string,
      endsInS: 1800,
    });
    // Also after the page was loaded again; nobody asks for nothing.
    const again = await get('/console/session', cookie);
    expect(again.body.data).toEqual({ session });
    expect(again.headers.get('ratelimit')).toMatch(/^"caller";/);
    expect((await get('/console/session', '')).body).toMatchObject({ data: { session: null } });
    const { setCookie: overHttps } = await signIn(bank, { 'x-forwarded-proto': 'https' });
    expect(overHttps).toMatch(/^__Host-assent_console=.*; Path=\/; .*Secure/);
    // A proxy that does not say so is no reason to send it in the clear where money moves.
    const { config } = api.deps;
    const live = await serveApi(test.db, { config: { ...config, ASSENT_MODE: 'production' } });
    const { headers } = await askSession(credentialsOf(bank), OWN_PAGE, live);
    expect(headers.get('set-cookie')).toContain('; Secure');
    await live.close();
  });

  it('has nothing in any answer or log line by which anybody could sign in', async () => {
    const { cookie } = await signIn(bank);
    const told = [
      await askSession(credentialsOf(bank)),
      await get('/console/session', cookie),
      await get('/console/api/v1/webhooks/endpoint', cookie),
      await askSession({ ...credentialsOf(bank), clientSecret: `${bank.clientSecret.slice(0, -2)}xx` }),
    ].map(({ body }) => JSON.stringify(body));
    const logged = JSON.stringify(api.log);
    for (const text of [...told, logged]) {
      expect(text).not.toContain(bank.clientSecret.slice(0, -2));
      expect(text).not.toMatch(/eyJ[\w-]+\./);
      expect(text).not.toContain(cookie.slice('assent_console='.length));
    }
  });

  it('pays from the buckets of the token endpoint, so that neither gives a second row of guesses', async () => {
    // Nothing comes back meanwhile.
    const rate = { perSecond: 0.001, burst: 1000 };
    const roomy = await serveApi(test.db, { config: { ...api.deps.config, RATE_LIMIT_TOKEN: rate } });
    const guess = { clientId: bank.clientId, clientSecret: `sec_${'A'.repeat(43)}` };
    for (const given of [guess, credentialsOf(bank)]) {
      for (let i = 0; i < 20; i++) await askSession(given, OWN_PAGE, roomy);
      const { headers } = await send(roomy.url, 'POST', '/v1/oauth/token', {
        grant_type: 'client_credentials',
        client_id: given.clientId,
        client_secret: given.clientSecret,
      });
      const [, name, left] = /^"(\w+)";r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? [];
      expect(name).toBe(given === guess ? 'tokenGuess' : 'token');
      expect(Number(left)).toBeLessThan(980);
    }
    await roomy.close();
  });

  it('is refused to another site’s page, and to whoever does not say where it comes from', async () => {
    const body = credentialsOf(bank);
    const host = new URL(api.url).host;
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      {},
    ] as Record<string, string>[]) {
      expect(await askSession(body, headers)).toMatchObject({ status: 403 });
    }
    expect(await askSession(body, { origin: `http://${host}` })).toMatchObject({ status: 201 });
    // A page of the same name that came without TLS is another site's.
    const https = { 'x-forwarded-proto': 'https' };
    expect(await askSession(body, { ...https, origin: `http://${host}` })).toMatchObject({ status: 403 });
    expect(await askSession(body, { ...https, origin: `https://${host}` })).toMatchObject({ status: 201 });

    const nameless = await RawConnection.to(api.url);
    await nameless.send('DELETE /console/session HTTP/1.0\r\n\r\n');
    expect(await nameless.answers(1)).toEqual([403]);
  });

  it('is answered, and on record, as a request for a token is: whose it was to be, and what became of it', async () => {
    const { clientId } = bank;
    await signIn(bank);
    const wrong = await askSession({ clientId, clientSecret: `sec_${'A'.repeat(43)}` });
    expect(wrong).toMatchObject({
      status: 401,
      body: { message: 'Client id and secret do not belong together' },
    });
    expect(wrong.headers.get('set-cookie')).toBeNull();
    const half = await askSession({ clientId });
    expect(half.body.errors).toEqual([{ path: 'clientSecret', message: 'is required' }]);
    const lines = api.log.filter(({ route }) => route === '/console/session').slice(-3);
    expect(lines).toMatchObject([
      { status: 201, clientId, outcome: 'issued' },
      { status: 401, clientId, outcome: 'invalid_client' },
      { status: 400, outcome: 'invalid_request' },
    ]);
  });
});

describe('a call of the console', () => {
  it('is the API’s own, with the same answer and limits, and is told in the log from the program’s own', async () => {
    const { cookie } = await signIn(bank);
    const signedIn = api.log.at(-1);
    const own = await bank.send('GET', '/v1/webhooks/deliveries?limit=5');
    const viaConsole = await get('/console/api/v1/webhooks/deliveries?limit=5', cookie);
    expect([viaConsole.status, viaConsole.body]).toEqual([200, own.body]);
    const [line, consoleLine] = api.log.slice(-2);
    expect(line).not.toHaveProperty('via');
    expect(consoleLine).toMatchObject({
      via: 'console',
      sessionId: signedIn?.['sessionId'],
      route: '/v1/webhooks/deliveries',
      callerId: bank.entityId,
    });
    expect(signedIn?.['sessionId']).toMatch(/^[\w-]{12}$/);
    for (const [path, status] of [
      ['/console/api/v1/webhooks/deliveries?limits=5', 400],
      ['/console/api/v1/billing/recurring', 403],
      ['/console/api/v1/nowhere', 404],
    ] as const)
      expect(await get(path, cookie)).toMatchObject({ status });
  });

  it('from another site’s page spends nothing of what its address may fail', async () => {
    const strict = await serveApi(test.db, { settings: { RATE_LIMIT_FAILED_AUTH: '1/1' } });
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    for (let i = 0; i < 3; i++) {
      const read = await send(strict.url, 'GET', '/console/api/v1/summary', undefined, crossSite);
      expect([read.status, (await askSession({}, crossSite, strict)).status]).toEqual([403, 403]);
    }
    expect(await send(strict.url, 'GET', '/console/api/v1/summary')).toMatchObject({ status: 401 });
    await strict.close();
  });

  it('that changes something needs the page’s own word, and not the cookie alone', async () => {
    const { cookie, csrf } = await signIn(bank);
    const other = await signIn(bank);
    const enrol = (headers: Record<string, string>) =>
      send(api.url, 'POST', '/console/api/v1/devices', DEVICE, { cookie, ...headers });
    expect(await enrol(OWN_PAGE)).toMatchObject({ status: 403 });
    expect(await enrol({ ...OWN_PAGE, ...other.csrf })).toMatchObject({ status: 403 });
    expect(await enrol({ ...csrf, 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 });
    expect(await enrol(csrf)).toMatchObject({ status: 403 });
    expect(await enrol({ ...OWN_PAGE, ...csrf })).toMatchObject({ status: 201 });
    // Another site's page may not even read.
    const path = '/console/api/v1/webhooks/endpoint';
    expect(await get(path, cookie, { 'sec-fetch-site': 'same-site' })).toMatchObject({ status: 403 });
    expect(await get(path, cookie, { 'sec-fetch-site': 'none' })).toMatchObject({ status: 200 });
  });

  it('is not answered to a page of somebody who was signed in here before', async () => {
    const { csrf } = await signIn(bank);
    const { cookie, csrf: own } = await signIn(await enter(api, 'bank'));
    for (const path of ['/console/api/v1/webhooks/deliveries', '/console/session']) {
      expect((await get(path, cookie, { ...OWN_PAGE, ...csrf })).status).toBe(403);
      expect((await get(path, cookie, { ...OWN_PAGE, ...own })).status).toBe(200);
    }
  });

  it('by a link is answered to whom the link was made for, and not to who has signed in since', async () => {
    const { cookie, session } = await signIn(bank);
    const other = await signIn(await enter(api, 'bank'));
    const link = `/console/api/as/${session['sessionId']}/v1/webhooks/deliveries?limit=5`;
    expect(await get(link, cookie)).toMatchObject({ status: 200 });
    expect(await get(link, other.cookie)).toMatchObject({
      status: 403,
      body: { message: 'This link is of another sign-in: load the page again' },
    });
    for (const path of ['/console/api/as/', '/console/api/as/x', '/console/api/as/x/console/session']) {
      expect(await get(path, cookie)).toMatchObject({ status: 404 });
    }
  });

  it('takes no session from a neighbouring host, which may set cookies beside ours', async () => {
    const https = { 'x-forwarded-proto': 'https' };
    const isIn = async (cookie: string) =>
      (await get('/console/api/v1/webhooks/deliveries', cookie, { ...OWN_PAGE, ...https })).status === 200;
    const { cookie } = await signIn(bank, https);
    const { cookie: tossed } = await signIn(await enter(api, 'bank'));
    // A browser takes a name that begins with __Host- from nobody but the host itself.
    expect([await isIn(cookie), await isIn(`${tossed}; ${cookie}`), await isIn(tossed)]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await isSignedIn(`${tossed}; ${tossed}`)).toBe(false);
  });

  it('goes by the session, whatever token comes beside it', async () => {
    const { cookie } = await signIn(bank);
    const merchant = await enter(api, 'merchant');
    const asked = await get('/console/api/v1/bank/customers', cookie, {
      ...OWN_PAGE,
      authorization: `Bearer ${merchant.token}`,
    });
    expect(asked.status).toBe(200);
    expect(
      await get('/console/api/v1/webhooks/endpoint', '', { authorization: `Bearer ${merchant.token}` }),
    ).toMatchObject({ status: 401, body: { message: 'The session has ended: sign in again' } });
  });
});

describe('a session ends', () => {
  it('when it is signed out, which another page cannot do', async () => {
    const { cookie, csrf } = await signIn(bank);
    const signOut = (headers: Record<string, string>) =>
      send(api.url, 'DELETE', '/console/session', undefined, { cookie, ...headers });
    const { headers: renewal } = await get('/console/session', cookie);
    expect(await signOut(OWN_PAGE)).toMatchObject({ status: 403 });
    expect(await signOut({ ...csrf, 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 });
    const out = await signOut({ ...OWN_PAGE, ...csrf });
    expect(out.status).toBe(200);
    expect(out.headers.get('set-cookie')).toMatch(
      /^assent_console=; Path=\/console; Expires=Thu, 01 Jan 1970/,
    );
    // A renewal of another tab may bring its cookie after that.
    const [late = ''] = (renewal.get('set-cookie') ?? '').split(';');
    expect(late).toMatch(/^assent_console=[\w-]+$/);
    expect(await isSignedIn(late)).toBe(false);
  });

  it('by signing out on every process at once, also for whoever has copied its cookie', async () => {
    const other = await serveApi(test.db);
    const { cookie, csrf } = await signIn(bank);
    const copied = (at: ServedApi) =>
      send(at.url, 'GET', '/console/api/v1/webhooks/endpoint', undefined, { cookie });
    expect((await copied(other)).status).toBe(200);
    await send(api.url, 'DELETE', '/console/session', undefined, { cookie, ...OWN_PAGE, ...csrf });
    expect([(await copied(api)).status, (await copied(other)).status]).toEqual([401, 401]);
    expect(await isSignedIn(cookie)).toBe(false);
    await other.close();
  });

  it('in this browser also by signing out while the database is away, for the next at the desk', async () => {
    const { cookie, csrf } = await signIn(bank);
    const away = openDatabase('postgres://nobody@127.0.0.1:1/none', 1, engineFacts);
    const alone = await serveApi(away, { config: api.deps.config });
    const signOut = (headers: Record<string, string>) =>
      send(alone.url, 'DELETE', '/console/session', undefined, { cookie, ...OWN_PAGE, ...headers });
    const forged = await signOut({});
    expect([forged.status, forged.headers.get('set-cookie')]).toEqual([403, null]);
    const out = await signOut(csrf);
    expect(out.status).toBe(503);
    expect(out.headers.get('set-cookie')).toMatch(/^assent_console=; Path=\/console; Expires=Thu, 01 Jan/);
    await alone.close();
    await away.destroy();
  });

  it('when somebody signs in by the same browser, and no longer than it could have lasted', async () => {
    const { cookie, session } = await signIn(bank);
    const next = await signIn(await enter(api, 'merchant'), { cookie });
    expect([await isSignedIn(cookie), await isSignedIn(next.cookie)]).toEqual([false, true]);
    // This answer may reach the browser after that sign-in, whose cookie it must not take away.
    expect((await get('/console/session', cookie)).headers.get('set-cookie')).toBeNull();
    const long = { id: 'long-over', endsAt: Date.now() - 7_200_000 };
    await endForGood(test.db, long);
    expect(await forgetEndedSessions(test.db)).toBe(false);
    const ended = [session['sessionId'] ?? '', long.id].map((id) => isConsoleSessionEnded(test.db, id));
    expect(await Promise.all(ended)).toEqual([true, false]);
  });

  it.each([
    ['half an hour without use', 30 * 60_000 + 1],
    ['the life of the token', 3600_000 + 6_000],
  ])('after %s', async (_, ms) => {
    const { cookie } = await signIn(bank);
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
    expect(await isSignedIn(cookie)).toBe(false);
    expect((await get('/console/api/v1/webhooks/endpoint', cookie)).status).toBe(401);
  });

  it('later where it is used, and with its token all the same', async () => {
    const { cookie } = await signIn(bank);
    const now = Date.now.bind(Date);
    const later = (ms: number) => jest.spyOn(Date, 'now').mockImplementation(() => now() + ms);
    later(29 * 60_000);
    // A call answered after signing out, or after somebody else has signed in, must not undo that.
    const called = await get('/console/api/v1/webhooks/endpoint', cookie);
    expect([called.status, called.headers.get('set-cookie')]).toEqual([200, null]);
    const used = await get('/console/session', cookie);
    const [renewed = ''] = (used.headers.get('set-cookie') ?? '').split(';');
    later(58 * 60_000);
    expect([await isSignedIn(cookie), await isSignedIn(renewed)]).toEqual([false, true]);
    later(61 * 60_000);
    expect(await isSignedIn(renewed)).toBe(false);
  });

  it('when its entity is disabled, and when its tokens are ended', async () => {
    const { cookie } = await signIn(bank);
    await test.db.transaction((trx) => rotateClientSecret(trx, OPERATOR, bank, { endOld: true }));
    // A new secret keeps nobody out who is in; ended tokens do.
    expect(await isSignedIn(cookie)).toBe(true);
    await test.db.transaction((trx) => revokeTokens(trx, OPERATOR, bank.entityId));
    const other = await serveApi(test.db);
    const asked = await send(other.url, 'GET', '/console/api/v1/webhooks/endpoint', undefined, { cookie });
    expect(asked.status).toBe(401);
    await other.close();

    const merchant = await enter(api, 'merchant');
    const session = await signIn(merchant);
    await setEntityStatus(test.db, merchant.entityId, 'disabled');
    const fresh = await serveApi(test.db);
    const told = await send(fresh.url, 'GET', '/console/session', undefined, { cookie: session.cookie });
    expect(told).toMatchObject({ status: 200, body: { data: { session: null } } });
    await fresh.close();
  });

  it('that never was: a cookie with one letter changed opens nothing', async () => {
    const { cookie } = await signIn(bank);
    for (const at of [20, 60, Math.floor(cookie.length / 2), cookie.length - 2]) {
      const letter = cookie[at] === 'A' ? 'B' : 'A';
      expect(await isSignedIn(cookie.slice(0, at) + letter + cookie.slice(at + 1))).toBe(false);
    }
    for (const made of ['', 'e30', 'AA', 'x'.repeat(3000)]) {
      expect(await isSignedIn(`assent_console=${made}`)).toBe(false);
    }
  });
});
