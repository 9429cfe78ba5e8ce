import { openDatabase, type Database } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { claimRing } from '../../src/database/key-rotation/claim-keyring';
import { usableSigningKeys } from '../../src/database/keys/signing-key';
import { createCli } from '../support/cli';
import {
  createProductionDatabase,
  PRODUCTION,
  type ProductionDatabase,
} from '../support/production-database';
import { renewHashes, standingApproval } from '../support/standing';
import { engineFacts, keyed } from '../support/keyring';

const [OLD, NEW] = [makeKeyring(), makeKeyring()];

let production: ProductionDatabase;
let db: Database;
beforeAll(async () => {
  production = await createProductionDatabase();
  db = openDatabase(production.url, 2, engineFacts);
});
afterAll(async () => {
  await db.destroy();
  await production.drop();
});

/** With the logins of production, none of which is a superuser. */
it('an operator whose keyring has leaked sees what each key encrypts, brings all under the new one, and revokes the key that signs', async () => {
  const old = readKeyring(OLD);
  await claimRing(db, old);
  const standing = await standingApproval(keyed(db, old));
  const [signer] = await usableSigningKeys(keyed(db, old), 3600);
  const more = { ...PRODUCTION, DATABASE_OWNER_URL: production.ownerUrl };
  const cli = createCli(production, `${NEW},${OLD}`, more);
  const kid = readKeyring(NEW).current;
  const status = () => cli.json<object>('keys', 'status');

  expect(await status()).toMatchObject({
    current: kid,
    keys: [
      { kid, ring: 'current', encrypts: {} },
      { kid: old.current, ring: 'full', encrypts: { 'customers.email_encrypted': 1 }, paymentIds: 1 },
    ],
  });
  expect(await cli.json<object>('keys', 'reseal', '--reason', 'leaked')).toMatchObject({
    kid,
    changed: { customers: 1, webhook_endpoints: 3, signing_keys: 1 },
    clientSecretsLeft: 3,
  });
  await renewHashes(keyed(db, readKeyring(`${NEW},${OLD}`)), standing);
  expect(await cli.json<object>('keys', 'reseal')).toMatchObject({ clientSecretsLeft: 0 });
  expect(await status()).toMatchObject({
    keys: [
      { kid, ring: 'current', encrypts: { 'customers.email_encrypted': 1 } },
      { kid: old.current, ring: 'full', encrypts: {}, paymentIds: 1, deviceIds: 0 },
    ],
  });
  expect(await cli.json<object>('keys', 'revoke', signer.kid, '--reason', 'leaked')).toEqual({
    kid: signer.kid,
    revoked: true,
    current: expect.stringMatching(/^key_/) as string,
  });
  const { events } = await cli.json<{ events: { action: string; reason: string }[] }>('audit');
  const acts = events.map(({ action, reason }) => `${action} ${reason}`);
  expect(acts).toEqual(expect.arrayContaining(['keyring.resealed leaked', 'signing_key.revoked leaked']));

  // The login of API and worker suffices to count, and the old key is left for ids alone.
  const ids = createCli(production, `${NEW},${OLD}:ids`, PRODUCTION);
  expect(await ids.json<object>('keys', 'status')).toMatchObject({
    keys: [
      { kid, ring: 'current', encrypts: { 'customers.email_encrypted': 1 } },
      { kid: old.current, ring: 'ids', encrypts: {}, paymentIds: 1 },
    ],
  });
  expect((await ids.run('entity', 'list')).code).toBe(0);
});
