import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { usableSigningKeys } from '../../src/database/signing-key';
import { createCli } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { standingApproval } from '../support/standing';

const [OLD, NEW] = [makeKeyring(), makeKeyring()];
let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('an operator whose keyring has leaked', () => {
  it('sees what each key seals, brings all under the new one, and revokes the key that signs', async () => {
    const old = readKeyring(OLD);
    await standingApproval(test.db, old);
    const [signer] = await usableSigningKeys(test.db, old, 3600);
    const cli = createCli({ url: test.url, keys: `${NEW},${OLD}` });
    const kid = readKeyring(NEW).current;

    const { code, out, err } = await cli.run('keys', 'reseal', '--reason', 'leaked', '--json');
    expect({ code, told: JSON.parse(out) as object }).toMatchObject({
      code: 0,
      told: { kid, changed: { customers: 1, webhook_endpoints: 3, signing_keys: 1 } },
    });
    expect(err).toContain(`customers: 1 rows brought under ${kid}`);
    const [status, revoked] = await Promise.all([
      cli.json<object>('keys', 'status'),
      cli.json<object>('keys', 'revoke', signer.kid, '--reason', 'leaked'),
    ]);
    expect(status).toMatchObject({
      current: kid,
      keys: [
        { kid, ring: 'current', seals: { 'customers.email_sealed': 1 } },
        { kid: old.current, ring: 'full', seals: {}, paymentIds: 1, deviceIds: 0 },
      ],
    });
    expect(revoked).toEqual({
      kid: signer.kid,
      revoked: true,
      current: expect.stringMatching(/^key_/) as string,
    });
    const { events } = await cli.json<{ events: { action: string; reason: string }[] }>('audit');
    expect(events.map(({ action, reason }) => [action, reason])).toEqual([
      ['keyring.resealed', 'leaked'],
      ['signing_key.revoked', 'leaked'],
    ]);
  });
});
