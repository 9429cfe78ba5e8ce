import { openDatabase } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { claimRing } from '../../src/database/key-rotation/claim-keyring';
import { usableSigningKeys } from '../../src/database/keys/signing-key';
import { createCli } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { createProductionDatabase, PRODUCTION } from '../support/production-database';
import { renewHashes, standingApproval } from '../support/standing';

const [OLD, NEW] = [makeKeyring(), makeKeyring()];
let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('an operator whose keyring has leaked', () => {
  it('sees what each key encrypts, brings all under the new one, and revokes the key that signs', async () => {
    const old = readKeyring(OLD);
    await standingApproval(test.db, old);
    const [signer] = await usableSigningKeys(test.db, old, 3600);
    const cli = createCli({ url: test.url, keys: `${NEW},${OLD}` });
    const kid = readKeyring(NEW).current;

    const { code, out } = await cli.run('keys', 'reseal', '--reason', 'leaked', '--json');
    expect({ code, told: JSON.parse(out) as object }).toMatchObject({
      code: 0,
      told: { kid, changed: { customers: 1, webhook_endpoints: 3, signing_keys: 1 } },
    });
    const [status, revoked] = await Promise.all([
      cli.json<object>('keys', 'status'),
      cli.json<object>('keys', 'revoke', signer.kid, '--reason', 'leaked'),
    ]);
    expect(status).toMatchObject({
      current: kid,
      keys: [
        { kid, ring: 'current', encrypts: { 'customers.email_encrypted': 1 } },
        { kid: old.current, ring: 'full', encrypts: {}, paymentIds: 1, deviceIds: 0 },
      ],
    });
    expect(revoked).toEqual({
      kid: signer.kid,
      revoked: true,
      current: expect.stringMatching(/^key_/) as string,
    });
    const { events } = await cli.json<{ events: { action: string; reason: string }[] }>('audit');
    expect(events.map(({ action, reason }) => [action, reason])).toEqual([
      ['signing_key.created', null],
      ['keyring.resealed', 'leaked'],
      ['signing_key.revoked', 'leaked'],
    ]);
  });
});

describe('with the logins of production, none of which is a superuser', () => {
  it('keys status counts, and keys reseal brings all under the new key, as the owner of the tables', async () => {
    const production = await createProductionDatabase();
    const db = openDatabase(production.url, 2);
    const old = readKeyring(OLD);
    await claimRing(db, old);
    const standing = await standingApproval(db, old);
    const cli = createCli({
      url: production.url,
      keys: `${NEW},${OLD}`,
      more: { ...PRODUCTION, DATABASE_OWNER_URL: production.ownerUrl },
    });
    const kid = readKeyring(NEW).current;
    expect(await cli.json<object>('keys', 'status')).toMatchObject({
      keys: [
        { kid, ring: 'current', encrypts: {} },
        { kid: old.current, ring: 'full', encrypts: { 'customers.email_encrypted': 1 }, paymentIds: 1 },
      ],
    });
    expect(await cli.json<object>('keys', 'reseal', '--reason', 'leaked')).toMatchObject({
      kid,
      changed: { customers: 1, webhook_endpoints: 3 },
      clientSecretsLeft: 3,
    });
    await renewHashes(db, readKeyring(`${NEW},${OLD}`), standing);
    expect(await cli.json<object>('keys', 'reseal')).toMatchObject({ clientSecretsLeft: 0 });
    const ids = createCli({ url: production.url, keys: `${NEW},${OLD}:ids`, more: PRODUCTION });
    // To count, the login of API and worker will do.
    expect(await ids.json<object>('keys', 'status')).toMatchObject({
      keys: [
        { kid, ring: 'current', encrypts: { 'customers.email_encrypted': 1 } },
        { kid: old.current, ring: 'ids', encrypts: {}, paymentIds: 1 },
      ],
    });
    expect((await ids.run('entity', 'list')).code).toBe(0);
    await db.destroy();
    await production.drop();
  });
});
