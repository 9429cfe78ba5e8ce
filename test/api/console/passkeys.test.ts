import { addPerson, changePerson, invitePerson, type Invited } from '../../../src/database/person/person';
import { recordAuditEvent } from '../../../src/database/record/audit-event';
import { setEntityStatus } from '../../support/recorded-change';
import type { PersonRole } from '../../../src/domain/person';
import { apiOfFile, enter, send, serveApi, type Answered, type Party } from '../../support/api';
import { Authenticator } from '../../support/authenticator';
import { OPERATOR } from '../../support/operator';

const CONSOLE_URL = 'https://console.example.com';
const { api, db } = apiOfFile({
  settings: {
    CONSOLE_URL,
    RATE_LIMIT_TOKEN: '999/999',
    RATE_LIMIT_TOKEN_ADDRESS: '999/999',
    RATE_LIMIT_FAILED_AUTH: '999/999',
  },
});
let shop: Party;
beforeEach(async () => {
  shop = await enter(api, 'merchant');
});

type Faults = Parameters<Authenticator['make']>[1];
interface Options {
  options: Parameters<Authenticator['make']>[0] & { rpId?: string };
  sealed: string;
}
interface Session {
  cookie: string;
  csrfToken: string;
  person?: { personId: string; email: string; role: string };
}

let people = 0;
const person = (role: PersonRole, { entityId } = shop): Promise<Invited> =>
  db.transaction((trx) => addPerson(trx, OPERATOR, entityId, { email: `p${++people}@example.com`, role }));
const invite = ({ personId }: { personId: string }): Promise<Invited> =>
  db.transaction((trx) => invitePerson(trx, OPERATOR, { personId }));

const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  send(api.url, 'POST', path, body, { 'sec-fetch-site': 'same-origin', ...headers });
const optionsFor = async (body: object): Promise<Options> => {
  const { status, body: answered } = await ask('/console/passkey-options', body);
  expect(status).toBe(200);
  return answered.data as unknown as Options;
};

/** Opens the link of an invitation, and makes the passkey. */
async function use({ invitation }: Invited, by = new Authenticator(CONSOLE_URL), faults: Faults = {}) {
  const { options, sealed } = await optionsFor({ invitation });
  return ask('/console/session', { invitation, sealed, passkey: by.make(options, faults) });
}

async function show(by: Authenticator, faults: { unverified?: boolean } = {}) {
  const { options, sealed } = await optionsFor({});
  return ask('/console/session', { sealed, passkey: by.sign(options, faults) });
}

function sessionOf({ status, headers, body }: Answered): Session {
  expect([status, body.message]).toEqual([201, 'You are signed in']);
  const session = body.data?.['session'] as Session;
  return { ...session, cookie: headers.get('set-cookie')?.split(';')[0] ?? '' };
}

const call = ({ cookie, csrfToken }: Session, method: string, path: string, body?: object) =>
  send(api.url, method, `/console/api${path}`, body, {
    cookie,
    'x-csrf-token': csrfToken,
    'sec-fetch-site': 'same-origin',
  });
const isIn = async (session: Session) => (await call(session, 'GET', '/v1/refunds')).status === 200;

/** A person with a passkey, and the session in which it was made. */
async function joined(role: PersonRole) {
  const added = await person(role);
  const authenticator = new Authenticator(CONSOLE_URL);
  return { ...added, authenticator, session: sessionOf(await use(added, authenticator)) };
}

const secretSignIn = () =>
  ask('/console/session', { clientId: shop.clientId, clientSecret: shop.clientSecret });

describe('an invitation', () => {
  it('makes a passkey for the console’s own name, signs in with it, and says who that is', async () => {
    const added = await person('clerk');
    const { options } = await optionsFor({ invitation: added.invitation });
    expect(options).toMatchObject({
      rp: { id: 'console.example.com' },
      user: { name: added.email },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    const { person: own, ...session } = sessionOf(await use(added));
    expect(api.log.at(-1)).toMatchObject({ status: 201, personId: added.personId, outcome: 'issued' });
    expect(own).toEqual({ personId: added.personId, email: added.email, role: 'clerk' });
    expect(await isIn(session)).toBe(true);
    const logged = JSON.stringify(api.log);
    expect(logged).not.toContain(added.invitation.split('.')[1]);
    expect(logged).not.toContain(added.email);
    expect(api.log.at(-1)).toMatchObject({
      personId: added.personId,
      callerId: shop.entityId,
      via: 'console',
    });
  });

  it('is used once, also by two at the same moment, and only the latest, for a day', async () => {
    const added = await person('clerk');
    const both = await Promise.all([use(added), use(added)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401]);
    expect(await ask('/console/passkey-options', { invitation: added.invitation })).toMatchObject({
      status: 401,
    });

    const first = await invite(added);
    const { sealed, options } = await optionsFor({ invitation: first.invitation });
    const second = await invite(added);
    const passkey = new Authenticator(CONSOLE_URL).make(options);
    expect(await ask('/console/session', { invitation: first.invitation, sealed, passkey })).toMatchObject({
      status: 401,
    });
    await db.rows`UPDATE invitations SET expires_at = clock_timestamp() WHERE person_id = ${added.personId}`;
    expect(await ask('/console/passkey-options', { invitation: second.invitation })).toMatchObject({
      status: 401,
    });
  });

  it('opens nothing more once its person was disabled, also after a return', async () => {
    const { personId, invitation } = await person('clerk');
    for (const disabled of [true, false])
      await db.transaction((trx) => changePerson(trx, OPERATOR, { personId }, { disabled }));
    expect(await ask('/console/passkey-options', { invitation })).toMatchObject({ status: 401 });
  });

  it('is nobody else’s: not another person’s, nor one whose hash was copied to another row', async () => {
    const [one, other] = [await person('viewer'), await person('admin')];
    const { sealed, options } = await optionsFor({ invitation: one.invitation });
    const passkey = new Authenticator(CONSOLE_URL).make(options);
    expect(await ask('/console/session', { invitation: other.invitation, sealed, passkey })).toMatchObject({
      status: 401,
    });
    await db.rows`
      UPDATE invitations SET token_hash = (SELECT token_hash FROM invitations WHERE person_id = ${one.personId})
      WHERE person_id = ${other.personId}`;
    const copied = one.invitation.replace(one.personId, other.personId);
    for (const invitation of [copied, other.invitation, 'psn_nobody.x', '', 'x'.repeat(5000)]) {
      const { status } = await ask('/console/passkey-options', { invitation });
      expect([401, 413]).toContain(status);
    }
  });

  it('ends the passkeys of whoever has lost them, with their sessions, once it is used', async () => {
    const lost = await joined('admin');
    const again = await invite(lost);
    expect(await isIn(lost.session)).toBe(true);
    const found = new Authenticator(CONSOLE_URL);
    const fresh = sessionOf(await use(again, found));
    expect(await isIn(lost.session)).toBe(false);
    expect(await isIn(fresh)).toBe(true);
    expect(await show(lost.authenticator)).toMatchObject({ status: 401 });
    expect(await show(found)).toMatchObject({ status: 201 });
  });

  it('opens nothing for a disabled person or entity', async () => {
    const added = await person('clerk');
    const disable = (disabled: boolean) =>
      db.transaction((trx) => changePerson(trx, OPERATOR, added, { disabled }));
    await disable(true);
    expect(await ask('/console/passkey-options', { invitation: added.invitation })).toMatchObject({
      status: 401,
    });
    await disable(false);
    // Nor does a link of the time before open again.
    expect(await ask('/console/passkey-options', { invitation: added.invitation })).toMatchObject({
      status: 401,
    });
    const { invitation } = await invite(added);
    const { sealed, options } = await optionsFor({ invitation });
    await setEntityStatus(db, shop.entityId, 'disabled');
    const passkey = new Authenticator(CONSOLE_URL).make(options);
    expect(await ask('/console/session', { invitation, sealed, passkey })).toMatchObject({
      status: 401,
    });
  });
});

describe('a passkey', () => {
  it('signs in, at any process, until its person or entity is disabled', async () => {
    const { authenticator, personId, email } = await joined('viewer');
    const session = sessionOf(await show(authenticator));
    expect(session.person).toEqual({ personId, email, role: 'viewer' });
    await db.transaction((trx) => changePerson(trx, OPERATOR, { personId }, { disabled: true }));
    expect(await show(authenticator)).toMatchObject({ status: 401 });
    await db.transaction((trx) => changePerson(trx, OPERATOR, { personId }, { disabled: false }));
    await setEntityStatus(db, shop.entityId, 'disabled');
    expect(await show(authenticator)).toMatchObject({ status: 401 });
  });

  it.each([
    [
      'another page’s origin',
      (a: Authenticator) => show(Object.assign(a, { origin: 'https://evil.example' })),
    ],
    ['no verification of its user', (a: Authenticator) => show(a, { unverified: true })],
    [
      'another site’s challenge',
      async (a: Authenticator) => {
        const { sealed, options } = await optionsFor({});
        return ask('/console/session', { sealed, passkey: a.sign({ ...options, rpId: 'evil.example' }) });
      },
    ],
    [
      'a challenge that was not sealed for it',
      async (a: Authenticator) => {
        const [first, second] = [await optionsFor({}), await optionsFor({})];
        return ask('/console/session', { sealed: second.sealed, passkey: a.sign(first.options) });
      },
    ],
    [
      'a challenge of its own making',
      async (a: Authenticator) => {
        const { options } = await optionsFor({});
        return ask('/console/session', { sealed: 'AAAA', passkey: a.sign(options) });
      },
    ],
    [
      'the challenge of an invitation',
      async (a: Authenticator) => {
        const { sealed, options } = await optionsFor({ invitation: (await person('admin')).invitation });
        return ask('/console/session', {
          sealed,
          passkey: a.sign({ challenge: options.challenge, rpId: 'console.example.com' }),
        });
      },
    ],
    [
      'another person’s handle',
      async (a: Authenticator) => {
        const { sealed, options } = await optionsFor({});
        const passkey = a.sign(options);
        passkey.response.userHandle = Buffer.from((await person('admin')).personId).toString('base64url');
        return ask('/console/session', { sealed, passkey });
      },
    ],
    ['a key that nobody knows', () => show(new Authenticator(CONSOLE_URL))],
  ])('does not sign in with %s, and the try counts as failed', async (_what, signIn) => {
    const { authenticator } = await joined('admin');
    const refused = await signIn(authenticator);
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
    expect(refused.headers.get('ratelimit')).toMatch(/^"failedAuth";r=9(?!99)/);
  });

  it('signs in once by a challenge, however often it is sent, and not five minutes later', async () => {
    const { authenticator } = await joined('viewer');
    const { sealed, options } = await optionsFor({});
    const body = { sealed, passkey: authenticator.sign(options) };
    const sent = await Promise.all([1, 2, 3].map(() => ask('/console/session', body)));
    expect(sent.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401]);
    const old = await optionsFor({});
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 5 * 60_000);
    const late = await ask('/console/session', {
      sealed: old.sealed,
      passkey: authenticator.sign(old.options),
    });
    jest.restoreAllMocks();
    expect(late.status).toBe(401);
  });

  it('that counts its uses is refused as a copy once another has counted on', async () => {
    const added = await joined('viewer');
    const { authenticator } = added;
    authenticator.counter = 7;
    expect(await show(authenticator)).toMatchObject({ status: 201 });
    expect(await show(authenticator)).toMatchObject({ status: 401 });
    authenticator.counter = 0;
    expect(await show(authenticator)).toMatchObject({ status: 401 });
    authenticator.counter = 8;
    expect(await show(authenticator)).toMatchObject({ status: 201 });
  });

  it.each<[string, Faults]>([
    ['without verification of its user', { unverified: true }],
    ['with a word of its maker, which nobody asked for', { attested: true }],
  ])('is not made %s, and the invitation stays', async (_what, faults) => {
    const added = await person('clerk');
    expect(await use(added, undefined, faults)).toMatchObject({ status: 401 });
    expect(await use(added, new Authenticator('https://evil.example'))).toMatchObject({ status: 401 });
    expect(await use(added)).toMatchObject({ status: 201 });
  });

  it('is not made of bytes that decoders read differently', async () => {
    const { invitation } = await person('clerk');
    const { options, sealed } = await optionsFor({ invitation });
    const passkey = new Authenticator(CONSOLE_URL).make(options);
    const { attestationObject: bytes } = passkey.response;
    const padded = { ...passkey.response, attestationObject: `${bytes.slice(0, 40)}    ${bytes.slice(40)}` };
    const made = await ask('/console/session', {
      invitation,
      sealed,
      passkey: { ...passkey, response: padded },
    });
    expect(made).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'passkey.response.attestationObject' }] },
    });
  });

  it('is looked up no more for an address that has failed too often, whose secrets still are', async () => {
    const { authenticator } = await joined('viewer');
    const RATE_LIMIT_FAILED_AUTH = { perSecond: 0.001, burst: 1 };
    const strict = await serveApi(db, { config: { ...api.deps.config, RATE_LIMIT_FAILED_AUTH } });
    const strictly = (path: string, body: object) =>
      send(strict.url, 'POST', path, body, { 'sec-fetch-site': 'same-origin' });
    const { options, sealed } = await optionsFor({});
    expect(await strictly('/console/passkey-options', { invitation: 'x' })).toMatchObject({ status: 401 });
    const right = { sealed, passkey: authenticator.sign(options) };
    expect(await strictly('/console/session', right)).toMatchObject({ status: 429 });
    const { clientId, clientSecret } = shop;
    expect(await strictly('/console/session', { clientId, clientSecret })).toMatchObject({ status: 201 });
    await strict.close();
  });

  it('is its person’s alone: a row that somebody has planted for another signs nobody in', async () => {
    const [own, admin] = [await joined('viewer'), await joined('admin')];
    await db.transaction(async (trx) => {
      await trx.rows`
        INSERT INTO passkeys (credential_id, person_id, entity_id, public_key_encrypted, counter)
        SELECT 'planted', ${admin.personId}, entity_id, public_key_encrypted, 0
        FROM passkeys WHERE person_id = ${own.personId}`;
      await recordAuditEvent(trx, OPERATOR, { action: 'person.passkey_made', entityId: shop.entityId });
    });
    const { sealed, options } = await optionsFor({});
    const passkey = { ...own.authenticator.sign(options), id: 'planted', rawId: 'planted' };
    passkey.response.userHandle = Buffer.from(admin.personId).toString('base64url');
    expect(await ask('/console/session', { sealed, passkey })).toMatchObject({ status: 401 });
  });

  it('is not made of one that is known: it stays its person’s', async () => {
    const { authenticator, personId } = await joined('clerk');
    const other = await person('admin');
    expect(await use(other, authenticator)).toMatchObject({ status: 400 });
    expect(await db.oneRow`SELECT person_id FROM passkeys WHERE credential_id = ${authenticator.id}`).toEqual(
      { personId },
    );
    expect(await use(other)).toMatchObject({ status: 201 });
  });
});

/** Adds a second passkey from a session. */
async function add(session: Session, authenticator = new Authenticator(CONSOLE_URL)) {
  const begun = (await call(session, 'POST', '/v1/console/passkeys/options')).body.data;
  const { options, sealed } = begun as unknown as Options;
  return call(session, 'POST', '/v1/console/passkeys', { sealed, passkey: authenticator.make(options) });
}

describe('a second passkey', () => {
  it('is added from a session, signs in beside the first, and is on record', async () => {
    const { session, personId } = await joined('viewer');
    const second = new Authenticator(CONSOLE_URL);
    expect(await add(session, second)).toMatchObject({ status: 200 });
    expect(sessionOf(await show(second)).person).toMatchObject({ personId });
    const own = (await call(session, 'GET', '/v1/console/passkeys')).body.data?.['passkeys'];
    expect(own).toMatchObject([{ current: true }, { current: false }]);
    const { count } = await db.oneRow<{ count: number }>`
      SELECT count(*)::int AS count FROM audit_events WHERE actor = ${personId} AND action = 'person.passkey_made'`;
    expect(count).toBe(2);
  });

  it('is not added by another’s challenge, beyond ten, or from a session whose own was ended', async () => {
    const [one, other] = [await joined('viewer'), await joined('viewer')];
    const begun = (await call(other.session, 'POST', '/v1/console/passkeys/options')).body.data;
    const { options, sealed } = begun as unknown as Options;
    const passkey = new Authenticator(CONSOLE_URL).make(options);
    expect(await call(one.session, 'POST', '/v1/console/passkeys', { sealed, passkey })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('still signed in') as string },
    });
    for (let n = 2; n <= 10; n++) expect(await add(one.session)).toMatchObject({ status: 200 });
    expect(await add(one.session)).toMatchObject({ status: 409, body: { code: 'too_many_passkeys' } });
    sessionOf(await use(await invite(one)));
    expect(await call(one.session, 'POST', '/v1/console/passkeys', { sealed, passkey })).toMatchObject({
      status: 401,
    });
  });
});

async function waysIn() {
  const asked = await send(api.url, 'GET', '/console/sign-in', undefined, {
    'sec-fetch-site': 'same-origin',
  });
  return asked.body.data;
}

describe('client id and secret', () => {
  it('sign in until an admin has a passkey, and never after; their sessions end at once', async () => {
    const before = sessionOf(await secretSignIn());
    expect(before.person).toBeUndefined();
    await joined('clerk');
    expect(await isIn(before)).toBe(true);
    const admin = await joined('admin');
    expect(await isIn(before)).toBe(false);
    const refused = await secretSignIn();
    expect([refused.status, refused.body.message]).toEqual([401, expect.stringContaining('by a passkey')]);
    // An API client's token is no session.
    expect(await shop.send('GET', '/v1/refunds')).toMatchObject({ status: 200 });
    await person('admin');
    await db.transaction((trx) => changePerson(trx, OPERATOR, admin, { disabled: true }));
    expect(await secretSignIn()).toMatchObject({ status: 401 });
  });

  it('are asked for only while they sign anybody in', async () => {
    expect(await waysIn()).toEqual({ secrets: true });
    // Nobody but entities with persons are left, as no test beside this one shares the database.
    await db.transaction(async (trx) => {
      const open = await trx.rows<{ id: string }>`
        UPDATE entities SET persons_since = clock_timestamp() WHERE persons_since IS NULL RETURNING id`;
      for (const { id } of open)
        await recordAuditEvent(trx, OPERATOR, { action: 'person.passkey_made', entityId: id });
    });
    expect(await waysIn()).toEqual({ secrets: false });
  });

  it('make no person: their session does not see the persons, nor a passkey', async () => {
    const session = sessionOf(await secretSignIn());
    for (const path of ['/v1/console/persons', '/v1/console/passkeys'])
      expect(await call(session, 'GET', path)).toMatchObject({ status: 403 });
    expect(await call(session, 'POST', '/v1/console/passkeys/options')).toMatchObject({ status: 403 });
  });
});
