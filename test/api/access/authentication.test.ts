import { createPublicKey, sign as signBytes, type KeyObject } from 'node:crypto';
import type { Request, Response } from 'express';
import { sign } from 'jsonwebtoken';
import { createAccessTokens } from '../../../src/database/keys/access-token';
import { createAuthenticate } from '../../../src/api/http/authentication';
import { createFailedAuthentication } from '../../../src/api/http/failed-authentication';
import { openDatabase, type Database } from '../../../src/database/pool/connection';
import { usableSigningKeys } from '../../../src/database/keys/signing-key';
import { newId } from '../../../src/database/identifier/new-id';
import { enter, send, serveApi, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { startSilentServer } from '../../support/dead-server';
import { memoryKept } from '../../support/memory';
import { engineFacts } from '../../support/keyring';

let test: TestDatabase;
let counted: Database;
let statements = 0;
let api: ServedApi;
let bank: Party;
let otherBank: Party;
let key: { kid: string; privateKey: KeyObject };
beforeAll(async () => {
  test = await createTestDatabase();
  counted = {
    ...test.db,
    query(...asked) {
      statements += 1;
      return test.db.query(...asked);
    },
  };
  api = await serveApi(counted, { settings: { RATE_LIMIT_FAILED_AUTH: '1000/1000' } });
  bank = await enter(api, 'bank');
  otherBank = await enter(api, 'bank');
  [key] = await usableSigningKeys(test.db, 0);
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

const call = (authorization: string, at = api, headers: Record<string, string> = {}) =>
  send(at.url, 'GET', '/v1/webhooks/endpoint', undefined, { authorization, ...headers });

const nowS = () => Math.floor(Date.now() / 1000);

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
  const iat = nowS();
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

const forged = (name: string, value: unknown) => () => signed(head(), claims({ [name]: value }));
const withHead = (name: string, value: unknown) => () => signed(head({ [name]: value }));

/** Tokens that no caller may have, by the fault in them; the first have a wrong form. */
const MALFORMED: Record<string, () => string> = {
  'a signature that is cut off by one byte': () => withSignature((bytes) => bytes.subarray(0, 63)),
  'a signature with a byte too many': () => withSignature((bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
  'a signature as DER': () => withSignature(der),
  'no signature': () => withSignature(() => ''),
  'a signature in another spelling': () =>
    withSignature((bytes) => otherSpelling(bytes.toString('base64url'))),
  'a padded signature': () => `${bank.token}==`,
  'a signature in plain base64': () => withSignature((bytes) => `+/${bytes.toString('base64').slice(2)}`),
  'a signature with a dot in it': () => `${bank.token}.`,
  'nothing but dots': () => '..',
  'one part': () => 'a',
  'four parts': () => 'a.b.c.d',
  'three parts that are no JSON': () => 'a.b.c',
  'fourteen thousand characters': () => `${'a'.repeat(7_000)}.${'a'.repeat(6_900)}.${'a'.repeat(86)}`,
};
const WRONG: Record<string, () => string> = {
  ...MALFORMED,
  'a signature of zeros': () => withSignature(() => Buffer.alloc(64)),
  'a signature of ones': () => withSignature(() => Buffer.alloc(64, 0xff)),
  'another payload than was signed': () => {
    const [header, , signature] = bank.token.split('.');
    return `${header}.${base64url(claims({ sub: 'x' }))}.${signature}`;
  },
  'the public key as a shared secret': () => {
    const pem = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' });
    return sign(claims(), pem, { algorithm: 'HS256', keyid: key.kid });
  },
  'another algorithm': withHead('alg', 'ES384'),
  'the algorithm none': withHead('alg', 'none'),
  'no algorithm': withHead('alg', undefined),
  'an algorithm that is an object': withHead('alg', {}),
  'no key id': withHead('kid', undefined),
  'a key id that is a number': withHead('kid', 1),
  'a key id that every object has': withHead('kid', '__proto__'),
  'a key id of eight thousand characters': withHead('kid', 'key_'.repeat(2_000)),
  'the id of a key that there is not': withHead('kid', newId('signingKey')),
  'a header that is null': () => signed('null'),
  'a header that is a list': () => signed('[]'),
  'a header that is no JSON': () => signed('{'),
  'a payload that is null': () => signed(head(), 'null'),
  'a payload that is no JSON': () => signed(head(), '{'),
  'an end that is no number': forged('exp', 'never'),
  'no end': forged('exp', undefined),
  'an end that is over': forged('exp', nowS() - 6),
  'a beginning that is no number': forged('nbf', {}),
  'an owner that is an object': forged('sub', {}),
  'an owner that every object has': forged('sub', '__proto__'),
  'an owner that nobody knows': forged('sub', 'bnk_00000000000000000000000000'),
  'another role': forged('role', 'merchant'),
  'a role that every object has': forged('role', 'constructor'),
  'no role': forged('role', undefined),
  'a generation that is a text': forged('gen', '0'),
  'no generation': forged('gen', undefined),
  'another issuer': forged('iss', 'other'),
  'an issuer that is a list': forged('iss', ['assent', 'other']),
  'another audience': forged('aud', 'other'),
  'a client that is no id': forged('cid', '__proto__'),
  'a client that is a list': forged('cid', []),
  'a client that nobody knows': forged('cid', newId('client')),
  'a client of another entity': () => forged('cid', otherBank.clientId)(),
  'scopes that are a list': forged('scope', ['read']),
};

describe('an access token', () => {
  it('made by hand is good where nothing about it is wrong, and for five seconds of clocks that differ', async () => {
    expect(await call(`Bearer ${signed(head())}`)).toMatchObject({ status: 200 });
    expect(await call(`Bearer ${forged('exp', nowS() - 3)()}`)).toMatchObject({ status: 200 });
  });

  it('that is older than scopes may do all', async () => {
    const authorization = `Bearer ${signed(head())}`;
    for (const path of ['/v1/webhooks/endpoint/test', '/v1/devices', '/v1/bank/customers/search']) {
      expect((await send(api.url, 'POST', path, undefined, { authorization })).status).not.toBe(403);
    }
  });

  it('that was good a moment ago is refused once it has expired', async () => {
    const token = signed(head());
    expect(await call(`Bearer ${token}`)).toMatchObject({ status: 200 });
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 66_000);
    expect(await call(`Bearer ${token}`)).toMatchObject({ status: 401 });
    clock.mockRestore();
  });

  it('with whatever fault is a 401, and no fault of ours', async () => {
    const seen = api.log.length;
    const taken: string[] = [];
    for (const [fault, token] of Object.entries(WRONG)) {
      const { status, body } = await call(`Bearer ${token()}`);
      if (status !== 401 || !body.message.includes('not valid')) taken.push(`${fault}: ${status}`);
    }
    expect(taken).toEqual([]);
    expect(new Set(api.log.slice(seen).map(({ level }) => level))).toEqual(new Set([30]));
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
    for (const token of Object.values(MALFORMED)) await call(`Bearer ${token()}`);
    expect(statements).toBe(before);
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
        // A single text, as Node makes of the bytes that arrive.
        const authorization = Buffer.from(`Bearer${' '.repeat(15_300)}${token}`).toString('latin1');
        const req = { headers: { authorization } } as Request;
        expect(await authenticate(req, {} as Response)).toMatchObject({ entityId: bank.entityId });
      }
    }
    // Compiled code is there from here on.
    await authenticateTokens(10);
    const before = memoryKept();
    await authenticateTokens(2_000);
    // A token is half a kilobyte; what is in between is room for what a process has besides.
    expect(memoryKept() - before).toBeLessThan(2_000 * 2_000);
  });
});

describe('failed authentication', () => {
  /** Nothing flows into the buckets meanwhile, however slow the machine is. */
  beforeEach(() => void jest.spyOn(performance, 'now').mockReturnValue(performance.now()));
  afterEach(() => jest.restoreAllMocks());

  it('is a 429 once an address has had its failures, and costs no database statement at any time', async () => {
    const strict = await serveApi(counted, { settings: { RATE_LIMIT_FAILED_AUTH: '1/5' } });
    const before = statements;
    const answers = [];
    for (let i = 0; i < 7; i++) answers.push(await call('Bearer x.y.z', strict));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"failedAuth";q=5;w=5');
    expect(answers[0]?.headers.get('ratelimit')).toBe('"failedAuth";r=4;t=1');
    expect(answers[5]?.headers.get('retry-after')).toBe('1');
    expect(answers[5]?.body).toMatchObject({ statusCode: 429, success: false });
    expect(statements).toBe(before);
    await strict.close();
  });

  it('never refuses a good token, old or new, for the bad ones of its address', async () => {
    const strict = await serveApi(test.db, { settings: { RATE_LIMIT_FAILED_AUTH: '1/1' } });
    const [old, other] = [await enter(strict, 'bank'), await enter(strict, 'merchant')];
    expect(await call(`Bearer ${old.token}`, strict)).toMatchObject({ status: 200 });
    for (let i = 0; i < 5; i++) await call('Bearer x.y.z', strict);
    expect(await call('Bearer x.y.z', strict)).toMatchObject({ status: 429 });
    // Seen before, and seen for the first time while the address has no failures left.
    expect(await call(`Bearer ${old.token}`, strict)).toMatchObject({ status: 200 });
    expect(await call(`Bearer ${other.token}`, strict)).toMatchObject({ status: 200 });
    await strict.close();
  });

  it('counts each address alone, as a trusted proxy names it, and an IPv6 network as one', async () => {
    const behind = await serveApi(test.db, {
      settings: { RATE_LIMIT_FAILED_AUTH: '1/1', TRUSTED_PROXIES: '127.0.0.1' },
    });
    for (const [address, status] of [
      ['192.0.2.1', 401],
      ['192.0.2.2', 401],
      ['192.0.2.1', 429],
      ['2001:db8::1', 401],
      ['2001:db8::2', 429],
      ['2001:db8:0:1::1', 401],
      ['::ffff:192.0.2.2', 429],
    ] as const) {
      const answered = await call('Bearer x', behind, { 'x-forwarded-for': address });
      expect([address, answered.status]).toEqual([address, status]);
    }
    await behind.close();
  });

  it('is a 401 also while the database is away', async () => {
    const dead = await startSilentServer();
    const db = openDatabase(`postgres://nobody@127.0.0.1:${dead.port}/none`, 1, engineFacts);
    const alone = await serveApi(db);
    expect(await call('Bearer x.y.z', alone)).toMatchObject({ status: 401 });
    await Promise.all([alone.close(), db.destroy()]);
    dead.stop();
  });
});
