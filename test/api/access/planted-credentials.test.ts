import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { sign } from 'jsonwebtoken';
import { newClientSecret } from '../../../src/database/entity/client-credential';
import { recordAuditEvent } from '../../../src/database/record/audit-event';
import { openDatabase } from '../../../src/database/pool/connection';
import { sql, type Fragment } from '../../../src/database/pool/statement';
import { newId } from '../../../src/database/identifier/new-id';
import { makeKeyring, readKeyring, type Keyring } from '../../../src/database/keyring/keyring';
import { claimRing, requireRing } from '../../../src/database/key-rotation/claim-keyring';
import { keyUse, reencrypt } from '../../../src/database/key-rotation/re-encrypt';
import { apiOfFile, enter, send, serveApi, type Party } from '../../support/api';
import { createTestDatabase } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { engineFacts, keyed } from '../../support/keyring';

/** Gains of a thief who has the database login of the API, and nothing of the ring. */

const [OLD, NEW] = [makeKeyring(), makeKeyring()];
const UNRECORDED = {
  code: '23001',
  message: expect.stringMatching(/together with an audit event alone/) as string,
};

const { api, database: test } = apiOfFile({
  settings: { RATE_LIMIT_TOKEN: '1000/1000', RATE_LIMIT_TOKEN_ADDRESS: '1000/1000' },
});
let bank: Party;
let thief: Party;
beforeAll(async () => {
  bank = await enter(api, 'bank');
  thief = await enter(api, 'merchant');
});

/** Runs a statement together with an audit event, which the login may write as well. */
const plant = (action: `${string}.${string}`, entityId: string | null, statement: Fragment) =>
  test.db.transaction(async (trx) => {
    await trx.rows`${statement}`;
    await recordAuditEvent(trx, OPERATOR, { action, entityId });
  });

async function tokenStatus(clientId: string, clientSecret: string, url = api.url): Promise<number> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  });
  return (await fetch(`${url}/v1/oauth/token`, { method: 'POST', body })).status;
}

const hashOf = (entityId: string) =>
  test.db.row<{ hash: Buffer; previous: Buffer | null }>`
  SELECT secret_hash AS hash, previous_secret_hash AS previous FROM client_credentials
  WHERE entity_id = ${entityId}`;

const setPrevious = (entityId: string, hash: Buffer | undefined) => sql`
  UPDATE client_credentials
  SET previous_secret_hash = ${hash}, previous_secret_until = clock_timestamp() + interval '1 day'
  WHERE entity_id = ${entityId}`;

describe('a planted hash of a client secret', () => {
  it('is refused where no audit event is written with it', async () => {
    const { entityId } = bank;
    const hash = (await hashOf(entityId))?.hash;
    for (const statement of [
      setPrevious(entityId, hash),
      sql`UPDATE client_credentials SET secret_hash = ${hash} WHERE entity_id = ${entityId}`,
    ]) {
      await expect(test.db.transaction((trx) => trx.rows`${statement}`)).rejects.toMatchObject(UNRECORDED);
    }
    // An audit event about somebody else does not count.
    await expect(
      plant('client_secret.rotated', thief.entityId, setPrevious(entityId, hash)),
    ).rejects.toMatchObject(UNRECORDED);
    expect((await hashOf(entityId))?.previous).toBeNull();
  });

  it('gives no token without the ring, however it was made', async () => {
    const { entityId, clientId } = bank;
    const guess = newClientSecret();
    const stored = (await hashOf(entityId))?.hash ?? Buffer.alloc(0);
    const head = stored.subarray(0, -32);
    const text = `${entityId}:${clientId}:${guess}`;
    const unknown = Buffer.from([1, 4, ...Buffer.from('mine')]);
    const withoutKey = createHash('sha256').update(`${clientId}:${guess}`).digest();
    const withOtherKey = createHmac('sha256', randomBytes(32)).update(text).digest();
    const withKeyOfNoRing = createHmac('sha256', 'mine').update(text).digest();
    const planted: [hash: Buffer, secret: string][] = [
      [Buffer.concat([head, withoutKey]), guess],
      [Buffer.concat([head, withOtherKey]), guess],
      [Buffer.concat([unknown, withKeyOfNoRing]), guess],
      [(await hashOf(thief.entityId))?.hash ?? stored, thief.clientSecret],
    ];
    for (const [hash, secret] of planted) {
      await plant('client_secret.rotated', entityId, setPrevious(entityId, hash));
      expect(await tokenStatus(clientId, secret)).toBe(401);
    }
    expect(await tokenStatus(clientId, bank.clientSecret)).toBe(200);
    // Nor does it open what is another's to the one who has copied it.
    expect(await tokenStatus(thief.clientId, bank.clientSecret)).toBe(401);
  });
});

it('does not let a client back in unseen, nor widen its scopes by whatever event', async () => {
  const { entityId } = thief;
  const back = sql`UPDATE client_credentials SET disabled_at = NULL WHERE entity_id = ${entityId}`;
  await expect(plant('client_secret.rotated', entityId, back)).rejects.toMatchObject(UNRECORDED);
  const widened = sql`UPDATE client_credentials SET scopes = '{manage}' WHERE entity_id = ${entityId}`;
  await expect(plant('client.disabled', entityId, widened)).rejects.toMatchObject({ code: '42501' });
});

const insertKey = (kid: string, encrypted: Buffer | undefined) => sql`
  INSERT INTO signing_keys (kid, private_key_encrypted, retired_at)
  VALUES (${kid}, ${encrypted}, clock_timestamp() + interval '1 second')`;

describe('a planted signing key', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  it('is refused where no audit event is written with it', async () => {
    await expect(
      test.db.transaction((trx) => trx.rows`${insertKey(newId('signingKey'), randomBytes(99))}`),
    ).rejects.toMatchObject(UNRECORDED);
  });

  it('verifies nothing, whatever stands in the place of its private half, and is told to nobody', async () => {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const own = await test.db.row<{ kid: string; encrypted: Buffer }>`
      SELECT kid, private_key_encrypted AS encrypted FROM signing_keys WHERE retired_at IS NULL`;
    const kids: string[] = [];
    for (const encrypted of [randomBytes(99), Buffer.from(pem), own?.encrypted]) {
      const kid = newId('signingKey');
      kids.push(kid);
      await plant('signing_key.rotated', null, insertKey(kid, encrypted));
    }
    // A process that has never seen the keys before.
    const other = await serveApi(test.db);
    for (const kid of kids) {
      const token = sign({ role: 'bank', gen: 0 }, privateKey, {
        algorithm: 'ES256',
        keyid: kid,
        issuer: 'assent',
        audience: 'assent',
        subject: bank.entityId,
        expiresIn: 600,
      });
      const answer = await send(other.url, 'GET', '/v1/events', undefined, {
        authorization: `Bearer ${token}`,
      });
      expect(answer.status).toBe(401);
    }
    const jwks = (await (await fetch(`${other.url}/.well-known/jwks.json`)).json()) as {
      keys: { kid: string }[];
    };
    expect(jwks.keys.map(({ kid }) => kid)).toEqual([own?.kid]);
    expect(
      await send(other.url, 'GET', '/v1/events', undefined, { authorization: `Bearer ${bank.token}` }),
    ).toMatchObject({ status: 200 });
    await other.close();
  });
});

it('a client secret is hashed with the new key of the ring at its next token call, and needs the old one no more', async () => {
  const own = await createTestDatabase();
  const [old, both, fresh] = [OLD, `${NEW},${OLD}`, NEW].map(readKeyring) as [Keyring, Keyring, Keyring];
  await claimRing(own.db, old);
  const before = await serveApi(keyed(own.db, old));
  const { clientId, clientSecret, entityId } = await enter(before, 'bank');
  const silent = await enter(before, 'merchant');
  await before.close();
  const left = async () => {
    const uses = await keyUse(keyed(own.db, both));
    return Object.fromEntries(uses.map(({ kid, clientSecrets }) => [kid, clientSecrets]));
  };
  const owner = openDatabase(own.url, 2, engineFacts, { role: 'none' });
  await reencrypt(keyed(owner, both), OPERATOR, () => undefined).finally(() => owner.destroy());
  expect(await left()).toEqual({ [fresh.current]: 0, [old.current]: 2 });
  await expect(requireRing(own.db, fresh)).rejects.toThrow(`lacks the key "${old.current}"`);

  const rotated = await serveApi(keyed(own.db, both));
  const twice = Array.from({ length: 2 }, () => tokenStatus(clientId, clientSecret, rotated.url));
  expect(await Promise.all(twice)).toEqual([200, 200]);
  expect(await left()).toEqual({ [fresh.current]: 1, [old.current]: 1 });
  expect(
    await own.db.rows`
    SELECT actor, after FROM audit_events WHERE action = 'client_secret.rehashed'`,
  ).toEqual([{ actor: entityId, after: { clientId, kid: fresh.current } }]);
  await rotated.close();

  const alone = await serveApi(keyed(own.db, fresh));
  expect(await tokenStatus(clientId, clientSecret, alone.url)).toBe(200);
  expect(await tokenStatus(silent.clientId, silent.clientSecret, alone.url)).toBe(401);
  await alone.close();
  await own.drop();
});
