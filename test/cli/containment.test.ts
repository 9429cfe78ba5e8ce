import { row } from '../../src/database/pool/connection';
import { authenticateClients } from '../../src/database/entity/client-credential';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { attemptsUnderWay, claimUnattempted } from '../../src/database/webhook/attempt-delivery';
import { enter, serveApi, type ServedApi } from '../support/api';
import { createCli } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';

const keys = makeKeyring();
let test: TestDatabase;
let api: ServedApi;
let cli: ReturnType<typeof createCli>;
beforeAll(async () => {
  test = await createTestDatabase();
  api = await serveApi(test.db, {
    ring: readKeyring(keys),
    settings: { RATE_LIMIT_MERCHANT_BATCH: '1000/1000' },
  });
  cli = createCli({ url: test.url, keys });
});
afterAll(async () => {
  await api.close();
  await test.drop();
});

const good = async (clientId: string, clientSecret: string) =>
  (await authenticateClients(test.db, readKeyring(keys), [{ clientId, clientSecret }]))[0] !== undefined;

const hasOldWebhookSecret = async (entityId: string) =>
  (
    await row<{ has: boolean }>(
      test.db,
      `SELECT previous_secret_encrypted IS NOT NULL AS has FROM webhook_endpoints WHERE entity_id = :entityId`,
      { entityId },
    )
  )?.has;

// Each command is a process of its own, and a test runs a dozen.
jest.setTimeout(180_000);

describe('an operator', () => {
  it('ends what was stolen at once: tokens, client secret and webhook secret, the ones before them too', async () => {
    const { entityId, clientId, clientSecret, ...merchant } = await enter(api, 'merchant');
    const [revoked, rotated] = await Promise.all([
      cli.json<object>('entity', 'revoke-tokens', entityId, '--reason', 'stolen'),
      cli.json('entity', 'rotate-secret', entityId, '--now'),
    ]);
    expect(revoked).toEqual({ entityId, tokensRevoked: true });
    expect(rotated).toEqual({ entityId, clientId, clientSecret: expect.any(String) as string });
    expect(await good(clientId, clientSecret)).toBe(false);
    expect(await good(clientId, rotated['clientSecret'] ?? '')).toBe(true);
    expect(rotated['clientSecret']).not.toBe(clientSecret);

    const soft = await cli.json('entity', 'rotate-webhook-secret', entityId);
    expect(soft).toEqual({
      entityId,
      webhookSecret: expect.stringMatching(/^whsec_/) as string,
      previousSecretValidUntil: expect.stringMatching(/^\d{4}-/) as string,
    });
    expect(await hasOldWebhookSecret(entityId)).toBe(true);
    const hard = await cli.json('entity', 'rotate-webhook-secret', entityId, '--now');
    expect(hard).toMatchObject({ entityId, previousSecretValidUntil: null });
    expect(hard['webhookSecret']).not.toBe(soft['webhookSecret']);
    expect(await hasOldWebhookSecret(entityId)).toBe(false);

    const { events } = await cli.json<{ events: { action: string; reason: string | null }[] }>(
      'audit',
      '--entity',
      entityId,
    );
    expect(new Set(events.map(({ action, reason }) => `${action} ${reason}`))).toEqual(
      new Set(['client_secret.rotated null', 'entity.tokens_revoked stolen', 'webhook_secret.rotated null']),
    );
    const told = JSON.stringify(events);
    for (const secret of [merchant.webhookSecret, soft['webhookSecret'], hard['webhookSecret']]) {
      expect(told).not.toContain(secret);
    }
  });

  it('has the prompt back only when what had been on its way to a disabled party has left, or never will', async () => {
    const { entityId } = await enter(api, 'bank', { webhookUrl: 'https://bank.example/hooks' });
    await test.db.transaction((trx) =>
      announce(trx, api.deps.ring, [
        { entityId, webhookType: 'billing.request', workflowId: 'billing-batch/x', items: [{ sequence: 1 }] },
      ]),
    );
    // A worker that dies over it.
    await claimUnattempted(test.db, 'billing-batch/x', 8_000);
    expect(await attemptsUnderWay(test.db, entityId)).toHaveLength(1);
    await cli.json('entity', 'disable', entityId);
    expect(await attemptsUnderWay(test.db, entityId)).toEqual([]);
  });

  it('sees, sets and clears where webhooks go', async () => {
    const { entityId } = await enter(api, 'bank', { webhookUrl: 'https://bank.example/hooks' });
    const at = (url: string | null) => ({ entityId, url });
    expect(await cli.json('entity', 'endpoint', entityId)).toEqual(at('https://bank.example/hooks'));
    const moved = 'https://new.bank.example/hooks';
    expect(await cli.json('entity', 'endpoint', entityId, '--set', moved)).toEqual(at(moved));
    expect(await cli.json('entity', 'endpoint', entityId, '--clear')).toEqual(at(null));
    const wrong = await Promise.all([
      cli.run('entity', 'endpoint', entityId, '--set', 'ftp://bank.example'),
      cli.run('entity', 'endpoint', 'bnk_none', '--clear'),
    ]);
    expect(wrong).toMatchObject([
      { code: 1, err: expect.stringMatching(/^assent: --set must be an address/) as string },
      { code: 1, err: expect.stringMatching(/there is no such entity/) as string },
    ]);
  });
});
