import { decode } from 'jsonwebtoken';
import { createAccessTokens } from '../../../src/database/keys/access-token';
import { addClient, disableClient, rotateClientSecret } from '../../../src/database/entity/client-credential';
import { revokeTokens } from '../../../src/database/entity-control/control-entity';
import { rotateKey, usableSigningKeys } from '../../../src/database/keys/signing-key';
import { SCOPES, type Scope } from '../../../src/domain/scope';
import { apiOfFile, enter, send, serveApi, tokenOf, type Party } from '../../support/api';
import { createTestDatabase, unrecorded } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { setEntityStatus } from '../../support/recorded-change';

const { api, database: test } = apiOfFile({
  settings: { RATE_LIMIT_TOKEN: '1000/1000', RATE_LIMIT_TOKEN_ADDRESS: '1000/1000' },
});
let bank: Party;
beforeAll(async () => {
  bank = await enter(api, 'bank');
});

const FORM = 'application/x-www-form-urlencoded';
const BASIC_CHALLENGE = 'Basic realm="assent", charset="UTF-8"';
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

/** The status, and the answer as RFC 6749 has it. */
async function ask(body: string | undefined, headers: Record<string, string> = {}) {
  const answered = await fetch(`${api.url}/v1/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': FORM, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const { error, token_type, scope } = (await answered.json()) as Record<string, string>;
  return {
    status: answered.status,
    error,
    tokenType: token_type,
    scope,
    challenge: answered.headers.get('www-authenticate'),
    cached: answered.headers.get('cache-control'),
  };
}

const form = (fields: Record<string, string>) => String(new URLSearchParams(fields));
const client = () => ({ client_id: bank.clientId, client_secret: bank.clientSecret });
const grant = { grant_type: 'client_credentials' };
const granted = expect.objectContaining({ status: 200, tokenType: 'Bearer', cached: 'no-store' }) as object;

async function addedTo({ entityId }: Party, scopes: Scope[]) {
  const wanted = { entityId, name: 'another', scopes };
  const added = await test.db.transaction((trx) => addClient(trx, OPERATOR, wanted));
  if (!added) throw new Error(`there is no ${entityId}`);
  return added;
}

const now = performance.now.bind(performance);
let ahead = 0;
/** Lets what the process remembers grow old. */
function later(ms: number) {
  ahead += ms;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
}

const isAccepted = async (token: string) =>
  (await send(api.url, 'GET', '/v1/webhooks/endpoint', undefined, { authorization: `Bearer ${token}` }))
    .status === 200;

describe('the token endpoint', () => {
  it('takes the client in a form, in JSON and in HTTP Basic', async () => {
    expect(await ask(form({ ...grant, ...client() }))).toEqual(granted);
    const json = JSON.stringify({ ...grant, ...client() });
    expect(await ask(json, { 'content-type': 'application/json' })).toEqual(granted);
    expect(await ask(form(grant), basic(bank.clientId, bank.clientSecret))).toEqual(granted);
  });

  it('ignores parameters that it does not know, and takes one without value as left out', async () => {
    const asked = { ...grant, ...client(), audience: 'x', scope: '' };
    expect(await ask(form(asked))).toEqual(granted);
    // Resource indicators (RFC 8707) come several times in one form.
    expect(await ask(`${form(asked)}&resource=a&resource=b`)).toEqual(granted);
    const json = JSON.stringify({ ...asked, resource: ['a', 'b'], claims: {} });
    expect(await ask(json, { 'content-type': 'application/json' })).toEqual(granted);
  });

  it.each([
    ['no grant type', () => form(client()), 'invalid_request'],
    ['nothing at all', () => undefined, 'invalid_request'],
    ['another grant type', () => form({ ...client(), grant_type: 'password' }), 'unsupported_grant_type'],
    ['an unknown scope', () => form({ ...grant, ...client(), scope: 'read all' }), 'invalid_scope'],
    ['scopes that are spaces', () => form({ ...grant, ...client(), scope: ' ' }), 'invalid_scope'],
    [
      'a scope that every object has',
      () => form({ ...grant, ...client(), scope: 'constructor' }),
      'invalid_scope',
    ],
    ['a broken form', () => `${form({ ...grant, ...client() })}&a=%zz`, 'invalid_request'],
    ['a parameter twice', () => `${form({ ...grant, ...client() })}&grant_type=x`, 'invalid_request'],
  ])('refuses %s', async (_, body, error) => {
    expect(await ask(body())).toMatchObject({ status: 400, error, cached: 'no-store' });
  });

  it('gives a token the scopes that are asked for, and all that the client has where none are', async () => {
    const asking = async (scope: object, as = client()) =>
      (await ask(JSON.stringify({ ...grant, ...as, ...scope }), { 'content-type': 'application/json' }))
        .scope;
    expect(await asking({})).toBe('read bill refund manage');
    expect(await asking({ scope: 'refund read refund' })).toBe('read refund');
    const { clientId: client_id, clientSecret: client_secret } = await addedTo(bank, ['read', 'bill']);
    const narrow = { client_id, client_secret };
    expect(await asking({ scope: '' }, narrow)).toBe('read bill');
    expect(await asking({ scope: 'bill' }, narrow)).toBe('bill');
    const beyond = await ask(form({ ...grant, ...narrow, scope: 'read manage' }));
    expect(beyond).toMatchObject({ status: 400, error: 'invalid_scope' });
  });

  it('refuses a body that is no form and no JSON object', async () => {
    for (const [body, type, status] of [
      ...['{', '[]', 'null', '{"grant_type":1}', '{"a":"1","a":"2"}'].map(
        (text) => [text, 'application/json', 400] as const,
      ),
      ['x', 'text/plain', 400],
      ['x'.repeat(4 * 1024 + 1), FORM, 413],
    ] as const) {
      const asked = await ask(body, { 'content-type': type });
      expect(asked).toMatchObject({ status, error: 'invalid_request' });
    }
    const packed = await ask('x', { 'content-encoding': 'zstd' });
    expect(packed).toMatchObject({ status: 415, error: 'invalid_request' });
  });

  it('refuses a client that comes in two ways at once', async () => {
    const both = await ask(form({ ...grant, ...client() }), basic(bank.clientId, bank.clientSecret));
    expect(both).toMatchObject({ status: 400, error: 'invalid_request' });
  });

  it('refuses wrong, unknown and missing clients alike, and says how to come', async () => {
    for (const wrong of [
      { ...client(), client_secret: 'sec_wrong' },
      { ...client(), client_id: 'cli_00000000000000000000000000' },
      { ...client(), client_id: 'cli_\u0000' },
      { client_id: bank.clientId },
      {},
    ]) {
      expect(await ask(form({ ...grant, ...wrong }))).toMatchObject({
        status: 401,
        error: 'invalid_client',
        challenge: BASIC_CHALLENGE,
      });
    }
    for (const authorization of ['Basic !', 'Bearer x', 'Basic', `Basic ${btoa('%:x')}`]) {
      expect(await ask(form(grant), { authorization })).toMatchObject({
        status: 401,
        error: 'invalid_client',
      });
    }
  });

  it('refuses a disabled entity', async () => {
    const gone = await enter(api, 'merchant');
    await setEntityStatus(test.db, gone.entityId, 'disabled');
    await expect(tokenOf(api, gone)).rejects.toThrow('no token: 401');
  });

  it('refuses a disabled client, and no other of its entity', async () => {
    const merchant = await enter(api, 'merchant');
    const added = await addedTo(merchant, ['read']);
    await test.db.transaction((trx) => disableClient(trx, OPERATOR, added.clientId));
    await expect(tokenOf(api, added)).rejects.toThrow('no token: 401');
    await expect(tokenOf(api, merchant)).resolves.toBeDefined();
  });

  it('takes the old secret for 24 h after a rotation, and the one before that no more', async () => {
    const merchant = await enter(api, 'merchant');
    const clientSecret = await test.db.transaction((trx) =>
      rotateClientSecret(trx, OPERATOR, merchant, { endOld: false }),
    );
    await expect(tokenOf(api, merchant)).resolves.toBeDefined();
    await expect(tokenOf(api, { ...merchant, clientSecret })).resolves.toBeDefined();
    await unrecorded(
      test.url,
      `UPDATE client_credentials SET previous_secret_until = previous_secret_until - interval '24 hours'
       WHERE entity_id = '${merchant.entityId}'`,
    );
    await expect(tokenOf(api, merchant)).rejects.toThrow('no token: 401');
    await expect(tokenOf(api, { ...merchant, clientSecret })).resolves.toBeDefined();
  });
});

describe('an access token', () => {
  it('says who and what, for whom, and until when', () => {
    expect(decode(bank.token, { complete: true })).toMatchObject({
      header: { alg: 'ES256', kid: expect.stringMatching(/^key_/) as string },
      payload: { iss: 'assent', aud: 'assent', sub: bank.entityId, role: 'bank' },
    });
    const { iat, exp, jti } = decode(bank.token, { json: true }) ?? {};
    expect((exp ?? 0) - (iat ?? 0)).toBe(3600);
    expect(jti).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('can be checked with the public keys, which hold nothing private', async () => {
    const answered = await fetch(`${api.url}/.well-known/jwks.json`);
    const { keys } = (await answered.json()) as { keys: Record<string, string>[] };
    expect(keys).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        alg: 'ES256',
        use: 'sig',
        kid: decode(bank.token, { complete: true })?.header.kid,
        x: expect.any(String) as string,
        y: expect.any(String) as string,
      },
    ]);
  });

  it('of a disabled entity stops working within a minute, and stays dead once it is enabled', async () => {
    const merchant = await enter(api, 'merchant');
    expect(await isAccepted(merchant.token)).toBe(true);
    await setEntityStatus(test.db, merchant.entityId, 'disabled');
    later(59_000);
    expect(await isAccepted(merchant.token)).toBe(false);
    await setEntityStatus(test.db, merchant.entityId, 'active');
    // At once, although this process remembers that it was disabled, and in the same second.
    expect(await isAccepted(await tokenOf(api, merchant))).toBe(true);
    expect(await isAccepted(merchant.token)).toBe(false);
    later(120_000);
    expect(await isAccepted(merchant.token)).toBe(false);
  });

  it('is dead on every process within a minute once tokens are revoked, and a new one is good at once', async () => {
    const merchant = await enter(api, 'merchant');
    expect(await isAccepted(merchant.token)).toBe(true);
    await test.db.transaction((trx) => revokeTokens(trx, OPERATOR, merchant.entityId));
    const fresh = await tokenOf(api, merchant);
    expect(await isAccepted(fresh)).toBe(true);
    later(59_000);
    expect(await isAccepted(merchant.token)).toBe(false);
    expect(await isAccepted(fresh)).toBe(true);
  });

  it('of a disabled client is dead on every process within a second, and those of others stay good', async () => {
    const merchant = await enter(api, 'merchant');
    const added = await addedTo(merchant, ['read']);
    const token = await tokenOf(api, added);
    expect([await isAccepted(token), await isAccepted(merchant.token)]).toEqual([true, true]);
    await test.db.transaction((trx) => disableClient(trx, OPERATOR, added.clientId));
    later(1_000);
    expect([await isAccepted(token), await isAccepted(merchant.token)]).toEqual([false, true]);
  });

  it('is dead that was issued by a request that a revocation overtook', async () => {
    const merchant = await enter(api, 'merchant');
    const { db, config } = api.deps;
    const late = createAccessTokens({ db, config }).issue({
      entityId: merchant.entityId,
      role: 'merchant',
      tokenGeneration: 0,
      scopes: SCOPES,
    });
    await test.db.transaction((trx) => revokeTokens(trx, OPERATOR, merchant.entityId));
    later(59_000);
    expect(await isAccepted((await late).token)).toBe(false);
  });
});

describe('the signing keys', () => {
  it('rotate: old tokens stay good, new ones are signed with the new key, in every process', async () => {
    const other = await serveApi(test.db);
    const kid = await rotateKey(test.db, OPERATOR, 'signing_keys');
    // Another process has signed with the new key before this one has heard of it.
    const token = await tokenOf(other, bank);
    expect(decode(token, { complete: true })?.header.kid).toBe(kid);
    later(2_000);
    expect(await isAccepted(token)).toBe(true);
    expect(await isAccepted(bank.token)).toBe(true);
    await other.close();
  });

  it('verify until their last token has expired, and take those of a moment ago with them', async () => {
    const own = await createTestDatabase();
    const process = await serveApi(own.db);
    const merchant = await enter(process, 'merchant');
    const isStillAccepted = async () => (await merchant.send('GET', '/v1/webhooks/endpoint')).status !== 401;
    expect(await isStillAccepted()).toBe(true);
    await rotateKey(own.db, OPERATOR, 'signing_keys');
    later(31_000);
    expect(await isStillAccepted()).toBe(true);
    expect(await usableSigningKeys(own.db, 3600)).toHaveLength(2);
    await unrecorded(
      own.url,
      `UPDATE signing_keys SET created_at = created_at - interval '1 day', retired_at = retired_at - interval '1 day'`,
    );
    later(62_000);
    expect(await isStillAccepted()).toBe(false);
    expect(await usableSigningKeys(own.db, 3600)).toHaveLength(1);
    await process.close();
    await own.drop();
  });

  it('are made once when many processes need the first at the same time', async () => {
    const empty = await createTestDatabase();
    const { config } = api.deps;
    const made = await Promise.all(
      Array.from({ length: 8 }, () =>
        createAccessTokens({ db: empty.db, config }).issue({
          entityId: bank.entityId,
          role: 'bank',
          tokenGeneration: 0,
          scopes: SCOPES,
        }),
      ),
    );
    const kids = new Set(made.map(({ token }) => decode(token, { complete: true })?.header.kid));
    expect(kids.size).toBe(1);
    await empty.drop();
  });
});
