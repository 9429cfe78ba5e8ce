import type { Database } from '../../../src/database/pool/connection';
import { banksOfEmail, updateCustomer } from '../../../src/database/customer/find-customers';
import { addClient, disableClient } from '../../../src/database/entity/client-credential';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { enrolDevice, openDeviceToken } from '../../../src/database/customer/link-device';
import { claimKey, storeAnswer } from '../../../src/database/call/idempotency';
import { makeKeyring, readKeyring, type Keyring } from '../../../src/database/keyring/keyring';
import { openDatabase } from '../../../src/database/pool/connection';
import { openPaymentId } from '../../../src/database/agreement/payment-id';
import { keyUse, reencrypt, ENCRYPTED_TABLES } from '../../../src/database/key-rotation/re-encrypt';
import { revokeSigningKey, rotateKey, usableSigningKeys } from '../../../src/database/keys/signing-key';
import { findPasskey, useInvitation } from '../../../src/database/person/passkey';
import { addPerson, listPersons } from '../../../src/database/person/person';
import { decrypt } from '../../../src/database/keyring/encrypt';
import { responseHeadPlace } from '../../../src/database/webhook/announce-webhooks';
import { announceAny } from '../../support/announce-any';
import { deliveryToAttempt, openDelivery } from '../../../src/database/webhook/attempt-delivery';
import { newWebhookSecret, rotateWebhookSecret } from '../../../src/database/webhook/change-endpoint';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { OPERATOR } from '../../support/operator';
import { renewHashes, standingApproval } from '../../support/standing';
import { recordOutcome } from '../../support/record-outcome';
import { engineFacts, keyed } from '../../support/keyring';

const [OLD, NEW] = [makeKeyring(), makeKeyring()];
const old = readKeyring(OLD);
const both = readKeyring(`${NEW},${OLD}`);
/** The old key opens the strings that were made with it, and nothing else. */
const retired = readKeyring(`${NEW},${OLD}:ids`);

let test: TestDatabase;
let db: Database;
let owner: Awaited<ReturnType<typeof openDatabase>>;
beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
  owner = openDatabase(test.url, 4, engineFacts, { role: 'none' });
});
afterAll(async () => {
  await owner.destroy();
  await test.drop();
});

const ADA = {
  clientRef: 'again',
  firstname: 'Ada',
  lastname: 'Obi',
  accountName: 'Ada Obi',
  email: 'ada@example.test',
  country: 'NG',
  accountNumber: '0123456789',
};
const onboard = (ring: Keyring, bankId: string) =>
  db.transaction((trx) => onboardBatch(keyed(trx, ring), bankId, [{ person: ADA }]));
const enrol = (ring: Keyring, holderId: string) =>
  db.transaction((trx) => enrolDevice(keyed(trx, ring), holderId, 'fingerprint-of-a-phone'));
/** Adds a client whose secret is hashed with the old key. */
async function addedTo(entityId: string, name: string) {
  const wanted = { entityId, name, scopes: ['read'] as const };
  const added = await db.transaction((trx) => addClient(keyed(trx, old), OPERATOR, wanted));
  if (!added) throw new Error(`there is no ${entityId}`);
  return added;
}
const request = (ring: Keyring, callerId: string) => ({
  callerId,
  path: '/v1/things',
  key: 'k',
  bodyIndexes: ring.blindIndexes('idempotency.body', '{}'),
});

describe('encrypting again', () => {
  it('brings everything under the current key, and the old one can go but for the ids that it made', async () => {
    const standing = await standingApproval(keyed(db, old));
    const { bankId, merchantId, customerId, agreementId, paymentId } = standing;
    const device = await enrol(old, bankId);
    const [deliveryId = ''] = await db.transaction(async (trx) => {
      await updateCustomer(
        keyed(trx, old),
        bankId,
        { customerId },
        { phone: '+2341234567', address: '1 Marina' },
      );
      await rotateWebhookSecret(keyed(trx, old), OPERATOR, merchantId, newWebhookSecret());
      await storeAnswer(keyed(trx, old), request(old, merchantId), { status: 201, body: { n: 1 } }, { n: 0 });
      return announceAny(keyed(trx, old), [
        { entityId: merchantId, webhookType: 'webhook.test', items: [{ text: 'x' }] },
      ]);
    });
    await usableSigningKeys(keyed(db, old), 3600);
    const colleague = { email: 'bob@example.test', role: 'admin' } as const;
    const add = (ring: Keyring) =>
      db.transaction((trx) => addPerson(keyed(trx, ring), OPERATOR, bankId, colleague));
    const added = await add(old);
    const { personId } = added;
    const passkey = { credentialId: 'pk', publicKey: Buffer.from('public'), counter: 0 };
    await db.transaction((trx) => useInvitation(keyed(trx, old), { requestId: null }, added, passkey));
    await recordOutcome(keyed(db, old), deliveryId, 1, { responseHead: 'echo' });

    // A client that was disabled never sends its secret again: it keeps no key.
    const [till, gone] = [await addedTo(merchantId, 'till'), await addedTo(merchantId, 'gone')];
    await db.transaction((trx) => disableClient(trx, OPERATOR, gone.clientId));

    // Meanwhile, with both keys in the ring, what the old one indexed is found, and held to be
    // there already.
    expect((await onboard(both, bankId)).summary.duplicates).toBe(1);
    expect((await enrol(both, bankId)).token).toBe(device.token);
    await expect(add(both)).rejects.toMatchObject({ code: 'person_exists' });
    expect(await banksOfEmail(keyed(db, both), ADA.email)).toHaveLength(1);
    const claimed = await db.transaction((trx) => claimKey(keyed(trx, both), request(both, merchantId)));
    expect(claimed).toMatchObject({ outcome: 'done', answer: { body: { n: 1 } } });
    const [before] = (await keyUse(keyed(owner, both))).filter(({ kid }) => kid === old.current);
    expect(before).toMatchObject({ ring: 'full', paymentIds: 1, deviceIds: 1, clientSecrets: 4 });
    await renewHashes(keyed(db, both), { credentials: { ...standing.credentials, till } });
    expect(before?.encrypts).toMatchObject({
      'customers.email_encrypted': 1,
      'customers.phone_encrypted': 1,
      'devices.fingerprint_encrypted': 1,
      'webhook_endpoints.previous_secret_encrypted': 1,
      'signing_keys.private_key_encrypted': 1,
      'idempotency_keys.secret_free_encrypted': 1,
      'webhook_deliveries.body_encrypted': 1,
      'webhook_attempts.response_head_encrypted': 1,
    });

    const told: string[] = [];
    const changed = await reencrypt(keyed(owner, both), OPERATOR, ({ table }) => told.push(table));
    expect(changed).toMatchObject({ customers: 1, devices: 1, webhook_deliveries: 1, webhook_attempts: 1 });
    expect(told).toContain('customers');
    // Run again, as after it was killed, it finds nothing left to do.
    expect(Object.values(await reencrypt(keyed(owner, both), OPERATOR, () => undefined))).toEqual(
      ENCRYPTED_TABLES.map(() => 0),
    );

    const uses = await keyUse(keyed(owner, retired));
    expect(uses.find(({ kid }) => kid === old.current)).toEqual({
      kid: old.current,
      ring: 'ids',
      encrypts: {},
      paymentIds: 1,
      deviceIds: 1,
      clientSecrets: 0,
    });
    expect((await onboard(retired, bankId)).summary.duplicates).toBe(1);
    expect((await enrol(retired, bankId)).token).toBe(device.token);
    expect(openDeviceToken(retired, device.token, bankId)).toBeDefined();
    expect(openPaymentId(retired, paymentId, merchantId)).toBe(agreementId);
    expect(await banksOfEmail(keyed(db, retired), ADA.email)).toHaveLength(1);
    await expect(add(retired)).rejects.toMatchObject({ code: 'person_exists' });
    expect(await listPersons(keyed(db, retired), bankId)).toMatchObject([{ email: 'bob@example.test' }]);
    const key = (await findPasskey(keyed(db, retired), 'pk', personId))?.publicKey;
    expect(Buffer.from(key ?? []).toString()).toBe('public');
    const delivery = await deliveryToAttempt(db, deliveryId);
    if (!delivery) throw new Error('the delivery is gone');
    expect(openDelivery(retired, delivery)).toMatchObject({
      body: expect.stringContaining('"text":"x"') as string,
      secrets: [expect.stringMatching(/^whsec_/), expect.stringMatching(/^whsec_/)] as string[],
    });
    const [head] = await db.rows<{ encrypted: Buffer }>`
      SELECT response_head_encrypted AS encrypted FROM webhook_attempts WHERE delivery_id = ${deliveryId}`;
    expect(decrypt(retired, head?.encrypted ?? Buffer.alloc(0), responseHeadPlace(deliveryId, 1))).toBe(
      'echo',
    );
    await expect(usableSigningKeys(keyed(db, retired), 3600)).resolves.toHaveLength(1);
    const answers = await db.rows<{ kid: string }>`
      SELECT convert_from(substring(answer_encrypted FROM 3 FOR get_byte(answer_encrypted, 1)), 'UTF8') AS kid
      FROM idempotency_keys`;
    expect(answers).toEqual([{ kid: retired.current }]);
    const acts = await db.rows`
      SELECT after->>'kid' AS kid FROM audit_events WHERE action = 'keyring.resealed'`;
    expect(acts).toEqual([{ kid: both.current }, { kid: both.current }]);
  });

  it('killed after its first page, begins again where it was: each row is changed once, and none is left', async () => {
    const { bankId } = await standingApproval(keyed(db, old));
    const webhooks = Array.from({ length: 150 }, (_, n) => ({
      entityId: bankId,
      webhookType: 'webhook.test' as const,
      items: [{ text: String(n) }],
    }));
    await db.transaction((trx) => announceAny(keyed(trx, old), webhooks));
    const killed = reencrypt(keyed(owner, both), OPERATOR, ({ table, changed }) => {
      if (table === 'webhook_deliveries' && changed > 0) throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    const [left] = (await keyUse(keyed(owner, both))).filter(({ kid }) => kid === old.current);
    expect(left?.encrypts).toMatchObject({ 'webhook_deliveries.body_encrypted': 50 });
    expect(await reencrypt(keyed(owner, both), OPERATOR, () => undefined)).toMatchObject({
      webhook_deliveries: 50,
    });
    expect((await keyUse(keyed(owner, both))).find(({ kid }) => kid === old.current)?.encrypts).toEqual({});
  });

  it('leaves alone what somebody changes meanwhile, and comes back to it', async () => {
    const { bankId, customerId } = await standingApproval(keyed(db, old));
    const change = (phone: string) =>
      db.transaction((trx) => updateCustomer(keyed(trx, both), bankId, { customerId }, { phone }));
    await change('+2340000000');
    const writing = Promise.all(Array.from({ length: 20 }, (_, i) => change(`+23400000${10 + i}`)));
    await reencrypt(keyed(owner, both), OPERATOR, () => undefined);
    await writing;
    expect((await keyUse(keyed(owner, both))).find(({ kid }) => kid === old.current)?.encrypts).toEqual({});
  });
});

describe('a revoked signing key', () => {
  it('is gone at once, and another signs in its place where it was in force', async () => {
    const [first] = await usableSigningKeys(keyed(db, both), 3600);
    const second = await rotateKey(keyed(db, both), OPERATOR, 'signing_keys');
    expect(await revokeSigningKey(keyed(db, both), OPERATOR, first.kid)).toBe(second);
    const kids = async () => (await usableSigningKeys(keyed(db, both), 3600)).map(({ kid }) => kid);
    expect(await kids()).toEqual([second]);
    const third = await revokeSigningKey(keyed(db, both), OPERATOR, second);
    expect(await kids()).toEqual([third]);
    expect(third).not.toBe(second);
    expect(await revokeSigningKey(keyed(db, both), OPERATOR, 'key_none')).toBeUndefined();
  });
});
