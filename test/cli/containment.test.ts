import { randomUUID } from 'node:crypto';
import { row } from '../../src/database/connection';
import { authenticateClients } from '../../src/database/entity/client-credential';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { announce } from '../../src/database/webhook/webhook';
import { attemptsUnderWay, claimUnattempted } from '../../src/database/webhook/attempt';
import { enter, send, serveApi, tokenOf, type ServedApi } from '../support/api';
import { createCli } from '../support/cli';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';

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
      `SELECT previous_secret_sealed IS NOT NULL AS has FROM webhook_endpoints WHERE entity_id = :entityId`,
      { entityId },
    )
  )?.has;

/** Which entities cannot be changed, and with which SQLSTATE each fails. */
const failing = (codes: Record<string, string>) =>
  asOwner(
    test.url,
    `CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
     DECLARE code text := '${JSON.stringify(codes)}'::jsonb->>NEW.id;
     BEGIN IF code IS NOT NULL THEN RAISE EXCEPTION 'not now' USING ERRCODE = code; END IF; RETURN NEW; END $$;
     CREATE OR REPLACE TRIGGER fail BEFORE UPDATE ON entities FOR EACH ROW EXECUTE FUNCTION fail()`,
  );

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

  it('keeps out with a provider what its thief has made, and nobody whom it had made before', async () => {
    const provider = await enter(api, 'provider');
    const make = (clientRef: string) =>
      provider.send(
        'POST',
        '/v1/provider/merchants',
        { merchants: [{ name: clientRef, email: 'm@shop.example', clientRef }] },
        { 'idempotency-key': randomUUID() },
      );
    const made = async (clientRef: string) => {
      const { body } = await make(clientRef);
      const [merchant] = (body.data ?? {})['merchants'] as {
        merchantId: string;
        clientId: string;
        clientSecret: string;
      }[];
      if (!merchant) throw new Error(body.message);
      const client = { ...merchant, entityId: merchant.merchantId, webhookSecret: '' };
      return { ...client, token: await tokenOf(api, client) };
    };
    const [honest, thief] = [await made('honest'), await made('thief')];
    await asOwner(
      test.url,
      `SET session_replication_role = replica;
       UPDATE entities SET created_at = now() - interval '2 hours' WHERE id = '${honest.entityId}'`,
    );
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const disable = (...of: string[]) =>
      cli.json('entity', 'disable', ...of, '--merchants-made-since', since, '--reason', 'ticket 9');
    expect(await disable(provider.entityId)).toEqual({
      entityId: provider.entityId,
      status: 'disabled',
      merchants: [thief.entityId],
      failed: [],
    });
    const ask = async ({ token }: { token: string }) =>
      (await send(api.url, 'GET', '/v1/webhooks/endpoint', undefined, { authorization: `Bearer ${token}` }))
        .status;
    expect([await ask(honest), await ask(thief)]).toEqual([200, 401]);
    await expect(tokenOf(api, thief)).rejects.toThrow('no token: 401');
    expect(await tokenOf(api, honest)).toEqual(expect.any(String));
    // Though this process has yet to hear of it.
    expect((await make('another')).status).toBe(401);
    const { events } = await cli.json<{ events: object[] }>('audit', '--entity', thief.entityId);
    expect(events.at(-1)).toMatchObject({ action: 'entity.disabled', reason: 'ticket 9' });

    expect(await disable(provider.entityId)).toMatchObject({ merchants: [] });
    await expect(disable(honest.entityId)).rejects.toThrow(/only a provider makes merchants/);
    expect(
      await cli.run('entity', 'disable', provider.entityId, '--merchants-made-since', 'yesterday'),
    ).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--merchants-made-since must be a date/) as string,
    });
  });

  it('keeps out all merchants but those that fail, says which, and ends where Postgres is away', async () => {
    const provider = await enter(api, 'provider');
    const merchants = [];
    for (let n = 0; n < 4; n++) {
      merchants.push((await enter(api, 'merchant', { providerId: provider.entityId })).entityId);
    }
    const [locked = '', first, broken = '', second] = merchants.toSorted();
    const disable = (...more: string[]) =>
      cli.run(
        'entity',
        'disable',
        provider.entityId,
        '--merchants-made-since',
        '2020-01-01T00:00:00Z',
        ...more,
      );

    await failing({ [locked]: '57P03' });
    expect(await disable()).toMatchObject({
      code: 1,
      err: expect.stringContaining('57P03: not now') as string,
    });
    await failing({ [locked]: '55P03', [broken]: 'P0001' });
    const { code, out } = await disable('--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({
      entityId: provider.entityId,
      status: 'disabled',
      merchants: [first, second],
      failed: [
        { merchantId: locked, why: 'not now' },
        { merchantId: broken, why: 'not now' },
      ],
    });
    const again = await disable();
    expect(again).toMatchObject({ code: 1, out: expect.stringContaining(`${broken}  not now`) as string });
    await failing({});
    expect(await disable('--json')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`"merchants":["${locked}","${broken}"],"failed":[]`) as string,
    });
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
