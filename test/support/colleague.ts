import type { Page } from 'playwright-core';
import { SCOPES } from '../../src/domain/scope';
import { createAccessTokens } from '../../src/database/keys/access-token';
import { encrypt } from '../../src/database/keyring/encrypt';
import { addPerson } from '../../src/database/person/person';
import { useInvitation, type Holder } from '../../src/database/person/passkey';
import type { PersonRole } from '../../src/domain/person';
import { send, type Answered, type ServedApi } from './api';
import type { TestBrowser } from './browser';
import { OPERATOR } from './operator';

/** A person who is signed in to the console for an entity. */
export interface Colleague {
  personId: string;
  email: string;
  cookie: string;
  token: string;
  /** A call of the API, or of the console's own rows, as the console's page makes it. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
}

let people = 0;

/** Adds a person, and signs them in by the database: the passkey is nobody's. */
export async function colleague(api: ServedApi, entityId: string, role: PersonRole): Promise<Colleague> {
  const n = ++people;
  const { db } = api.deps;
  const { holder, email } = await db.transaction(async (trx) => {
    const added = await addPerson(trx, OPERATOR, entityId, { email: `colleague${n}@example.com`, role });
    const passkey = {
      credentialId: `of-${added.personId}`,
      publicKey: Buffer.alloc(77),
      counter: 0,
    };
    const used = await useInvitation(trx, { requestId: null }, added, passkey);
    if (!used) throw new Error('the invitation is refused');
    return { holder: used, email: added.email };
  });
  return signedIn(api, holder, email);
}

/** A page with the cookie of a person. */
export async function atDesk(
  browser: Pick<TestBrowser, 'open'>,
  { url }: ServedApi,
  { cookie }: Colleague,
): Promise<Page> {
  const page = await browser.open('about:blank');
  const [name = '', value = ''] = cookie.split('=');
  const { hostname: domain } = new URL(url);
  // As the service sets it: two cookies of a name would count as none.
  await page.context().addCookies([{ name, value, domain, path: '/console' }]);
  return page;
}

/** A session of a person, as a sign-in makes it. */
async function signedIn({ deps, url }: ServedApi, holder: Holder, email = ''): Promise<Colleague> {
  const { token } = await createAccessTokens(deps).issue({ ...holder, scopes: SCOPES });
  const now = Date.now();
  const csrfToken = 'c'.repeat(43);
  const id = `session-${++people}`;
  const session = { id, token, csrfToken, usedAt: now, endsAt: now + 3_600_000 };
  const value = encrypt(deps.db.keyring, JSON.stringify(session), 'console.session:cookie');
  const cookie = `assent_console=${value.toString('base64url')}`;
  return {
    personId: holder.personId,
    email,
    cookie,
    token,
    send: (method, path, body, headers) =>
      send(url, method, `/console/api${path}`, body, {
        cookie,
        'sec-fetch-site': 'same-origin',
        'x-csrf-token': csrfToken,
        ...headers,
      }),
  };
}
