import { createPublicKey, sign as signBytes, type KeyObject } from 'node:crypto';
import type { Request, Response } from 'express';
import { sign } from 'jsonwebtoken';
import { createAccessTokens } from '../../../src/database/keys/access-token';
import { createAuthenticate } from '../../../src/api/http/authentication';
import { createFailedAuthentication } from '../../../src/api/http/failed-authentication';
import type { Database } from '../../../src/database/pool/connection';
import { usableSigningKeys } from '../../../src/database/keys/signing-key';
import { newId } from '../../../src/database/identifier/new-id';
import { enter, send, serveApi, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { memoryKept } from '../../support/memory';

let test: TestDatabase;
let statements = 0;
let api: ServedApi;
let bank: Party;
let key: { kid: string; privateKey: KeyObject };
beforeAll(async () => {
  test = await createTestDatabase();
  const db: Database = {
    ...test.db,
    query(...asked) {
      statements += 1;
      return test.db.query(...asked);
    },
  };
  api = await serveApi(db, { settings: { RATE_LIMIT_FAILED_AUTH: '1000/1000' } });
  bank = await enter(api, 'bank');
  [key] = await usableSigningKeys(test.db, api.deps.ring, 0);
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

const call = (authorization: string, at = api) =>
  send(at.url, 'GET', '/v1/webhooks/endpoint', undefined, { authorization });

const base64url = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A token of any header and payload, truly signed with the key in force. */
function signed(header: unknown, payload: unknown = claims()): string {
  const text = `${base64url(header)}.${base64url(payload)}`;
  const signature = signBytes('sha256', Buffer.from(text), {
    key: key.privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${text}.${signature.toString('base64url')}`;
}

const head = (more: object = {}) => ({ alg: 'ES256', typ: 'JWT', kid: key.kid, ...more });
function claims(more: object = {}) {
  const iat = Math.floor(Date.now() / 1000);
  return {
    role: 'bank',
    gen: 0,
    iss: 'assent',
    aud: 'assent',
    sub: bank.entityId,
    iat,
    exp: iat + 60,
    ...more,
  };
}

/** A good token with another signature. */
function withSignature(change: (signature: Buffer) => Buffer | string): string {
  const [header = '', payload = '', signature = ''] = bank.token.split('.');
  const other = change(Buffer.from(signature, 'base64url'));
  return `${header}.${payload}.${typeof other === 'string' ? other : other.toString('base64url')}`;
}

const der = () => {
  const [header = '', payload = ''] = bank.token.split('.');
  return signBytes('sha256', Buffer.from(`${header}.${payload}`), key.privateKey).toString('base64url');
};

/** The same bits, but for those that no byte is made of. */
function otherSpelling(signature: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return signature.slice(0, -1) + letters[letters.indexOf(signature.at(-1) ?? '') + 1];
}

const wrong: [string, () => string][] = [
  ['a signature that is cut off by one byte', () => withSignature((bytes) => bytes.subarray(0, 63))],
  ['a signature that is cut off to one byte', () => withSignature((bytes) => bytes.subarray(0, 1))],
  [
    'a signature with a byte too many',
    () => withSignature((bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
  ],
  ['a signature of twice the length', () => withSignature((bytes) => Buffer.concat([bytes, bytes]))],
  ['a signature as DER', () => withSignature(der)],
  ['a signature of zeros', () => withSignature(() => Buffer.alloc(64))],
  ['a signature of ones', () => withSignature(() => Buffer.alloc(64, 0xff))],
  ['no signature', () => withSignature(() => '')],
  [
    'a signature in another spelling',
    () => withSignature((bytes) => otherSpelling(bytes.toString('base64url'))),
  ],
  ['a padded signature', () => `${bank.token}==`],
  ['a signature in plain base64', () => withSignature((bytes) => `+/${bytes.toString('base64').slice(2)}`)],
  ['a signature with a dot in it', () => `${bank.token}.`],
  ['a header of another algorithm', () => signed(head({ alg: 'ES384' }))],
  ['a header of the algorithm none', () => signed(head({ alg: 'none' }))],
  ['a header of no algorithm', () => signed(head({ alg: undefined }))],
  ['a header whose algorithm is an object', () => signed(head({ alg: {} }))],
  ['no key id', () => signed(head({ kid: undefined }))],
  ['a key id that is a number', () => signed(head({ kid: 1 }))],
  ['a key id that every object has', () => signed(head({ kid: '__proto__' }))],
  ['a key id that every object has as a method', () => signed(head({ kid: 'constructor' }))],
  ['a key id of eight thousand characters', () => signed(head({ kid: 'key_'.repeat(2_000) }))],
  ['the id of a key that there is not', () => signed(head({ kid: newId('signingKey') }))],
  ['a header that is null', () => signed('null')],
  ['a header that is a list', () => signed('[]')],
  ['a header that is a text', () => signed('"ES256"')],
  ['a header that is no JSON', () => signed('{')],
  ['a header of another shape', () => signed('{"__proto__":{"alg":"ES256"}}')],
  ['a payload that is null', () => signed(head(), 'null')],
  ['a payload that is no JSON', () => signed(head(), '{')],
  ['a payload that is a text', () => signed(head(), '"bank"')],
  ['an end that is no number', () => signed(head(), claims({ exp: 'never' }))],
  ['an end in no number’s reach', () => signed(head(), claims({ exp: '1e400' }))],
  ['no end', () => signed(head(), claims({ exp: undefined }))],
  ['a beginning that is no number', () => signed(head(), claims({ nbf: {} }))],
  ['an owner that is an object', () => signed(head(), claims({ sub: {} }))],
  ['an owner that every object has', () => signed(head(), claims({ sub: '__proto__' }))],
  ['a role that every object has', () => signed(head(), claims({ role: 'constructor' }))],
  ['a generation that is a text', () => signed(head(), claims({ gen: '0' }))],
  ['no generation', () => signed(head(), claims({ gen: undefined }))],
  ['an issuer that is a list', () => signed(head(), claims({ iss: ['assent', 'other'] }))],
  ['nothing but dots', () => '..'],
  ['one part', () => 'a'],
  ['four parts', () => 'a.b.c.d'],
  ['fourteen thousand characters', () => 'a'.repeat(14_000)],
  [
    'fourteen thousand characters in three parts',
    () => `${'a'.repeat(7_000)}.${'a'.repeat(6_900)}.${'a'.repeat(86)}`,
  ],
];

describe('an access token', () => {
  it('made by hand is good where nothing about it is wrong', async () => {
    expect(await call(`Bearer ${signed(head())}`)).toMatchObject({ status: 200 });
  });

  it.each(wrong)('with %s is a 401, and no fault of ours', async (_, token) => {
    const seen = api.log.length;
    expect(await call(`Bearer ${token()}`)).toMatchObject({
      status: 401,
      body: { statusCode: 401, success: false, message: expect.stringContaining('not valid') as string },
    });
    for (const line of api.log.slice(seen)) expect(line).toMatchObject({ level: 30 });
  });

  it.each(['', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearer a b', `Bearer ${'"'.repeat(100)}`])(
    'that is missing, as in %j, is a 401',
    async (authorization) => {
      expect(await call(authorization)).toMatchObject({ status: 401 });
    },
  );

  it('whose form is wrong costs no database statement', async () => {
    await call(`Bearer ${bank.token}`);
    const before = statements;
    for (const [, token] of wrong.slice(0, 12)) {
      expect(await call(`Bearer ${token()}`)).toMatchObject({ status: 401 });
    }
    expect(statements).toBe(before);
  });

  it('signed with the public key as a shared secret is a 401', async () => {
    const pem = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' });
    const token = sign(claims(), pem, { algorithm: 'HS256', keyid: key.kid });
    expect(await call(`Bearer ${token}`)).toMatchObject({ status: 401 });
  });

  it('is remembered without the header that it came in', async () => {
    const authenticate = createAuthenticate(
      api.deps,
      createAccessTokens(api.deps),
      createFailedAuthentication(api.deps.config),
    );
    let made = 0;
    async function authenticateTokens(count: number) {
      for (let n = 0; n < count; n += 1) {
        made += 1;
        const token = signed(head(), claims({ jti: made }));
        // One text, as Node makes of what arrives.
        const authorization = Buffer.from(`Bearer${' '.repeat(15_300)}${token}`).toString('latin1');
        const req = { headers: { authorization } } as Request;
        expect(await authenticate(req, {} as Response)).toMatchObject({ entityId: bank.entityId });
      }
    }
    // What is compiled and kept for good is there from here on.
    await authenticateTokens(10);
    const before = memoryKept();
    await authenticateTokens(2_000);
    // A token is half a kilobyte; what is in between is room for what a process has besides.
    expect(memoryKept() - before).toBeLessThan(2_000 * 2_000);
  });
});
