import { authenticateClients } from '../../src/database/entity/client-credential';
import { announceAny } from '../support/announce-any';
import { attemptsUnderWay, claimUnattempted } from '../../src/database/webhook/attempt-delivery';
import { WEBHOOK_TYPES } from '../../src/domain/webhook/webhook';
import { createCli } from '../support/cli';
import { databaseOfFile } from '../support/database';
import { announcedTo, makeSchedule, standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);

const create = (type: string, ...more: string[]) =>
  cli.json('entity', 'create', '--type', type, '--name', `The ${type}`, ...more);

const good = async (clientId: string, clientSecret: string) =>
  (await authenticateClients(test.db, [{ clientId, clientSecret }]))[0] !== undefined;

const hasOldWebhookSecret = async (entityId: string) =>
  (
    await test.db.row<{ has: boolean }>`
  SELECT previous_secret_encrypted IS NOT NULL AS has FROM webhook_endpoints WHERE entity_id = ${entityId}`
  )?.has;

it('makes entities, a merchant also below its provider, and shows their secrets once', async () => {
  const provider = await create('provider');
  expect(provider).toEqual({
    entityId: expect.stringMatching(/^prv_/) as string,
    clientId: expect.stringMatching(/^cli_/) as string,
    clientSecret: expect.any(String) as string,
    webhookSecret: expect.stringMatching(/^whsec_/) as string,
  });
  const contact = '--email shop@example.com --website https://shop.example'.split(' ');
  const { entityId: providerId = '' } = provider;
  const { entityId, clientSecret } = await create('merchant', '--provider', providerId, ...contact);
  const listed = await cli.json<{ entities: object[] }>('entity', 'list');
  expect(listed.entities).toContainEqual(
    expect.objectContaining({
      entityId,
      type: 'merchant',
      name: 'The merchant',
      status: 'active',
      trustLevel: 'untrusted',
      providerId,
    }),
  );
  expect(JSON.stringify(listed)).not.toContain(clientSecret);
  expect((await cli.run('entity', 'list')).out).toContain(entityId);
});

it('suspends a merchant’s schedules when it disables it, and resumes them when it enables it', async () => {
  const { merchantId, bankId, ...standing } = await standingApproval(test.db);
  const id = await makeSchedule(test.db, { merchantId, bankId, ...standing });
  const status = async () =>
    (await test.db.row<{ status: string }>`SELECT status FROM schedules WHERE id = ${id}`)?.status;

  expect(await cli.json('entity', 'disable', merchantId)).toEqual({
    entityId: merchantId,
    status: 'disabled',
  });
  expect(await status()).toBe('suspended');
  expect((await cli.run('token', merchantId)).err).toMatch(/^assent: this entity is disabled: .+ enable/);
  await cli.json('entity', 'enable', merchantId);
  expect(await status()).toBe('active');
  const told = await announcedTo(test.db, bankId);
  expect(told.map(({ type, item }) => [type, item['status']])).toEqual([
    ['recurring.updated', 'suspended'],
    ['recurring.updated', 'active'],
  ]);
});

it('ends at once what was stolen: tokens, client secret and webhook secret, the ones before them too', async () => {
  const { entityId = '', clientId = '', clientSecret = '' } = await create('merchant');
  expect(await cli.json('entity', 'revoke-tokens', entityId, '--reason', 'stolen')).toEqual({
    entityId,
    tokensRevoked: true,
  });
  const rotated = await cli.json('entity', 'rotate-secret', entityId, '--now');
  expect(rotated).toEqual({ entityId, clientId, clientSecret: expect.any(String) as string });
  expect(await good(clientId, clientSecret)).toBe(false);
  expect(await good(clientId, rotated['clientSecret'] ?? '')).toBe(true);

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
});

it('has the prompt back only when what had been on its way to a disabled party has left, or never will', async () => {
  const { entityId = '' } = await create('bank', '--webhook-url', 'https://bank.example/hooks');
  await test.db.transaction((trx) =>
    announceAny(trx, [
      { entityId, webhookType: 'billing.request', workflowId: 'billing-batch/x', items: [{ sequence: 1 }] },
    ]),
  );
  // A worker that dies over it.
  await claimUnattempted(test.db, 'billing-batch/x', 8_000, WEBHOOK_TYPES);
  expect(await attemptsUnderWay(test.db, entityId)).toHaveLength(1);
  await cli.json('entity', 'disable', entityId);
  expect(await attemptsUnderWay(test.db, entityId)).toEqual([]);
});

it('sees, sets and clears where webhooks go', async () => {
  const { entityId = '' } = await create('bank', '--webhook-url', 'https://bank.example/hooks');
  const at = (url: string | null) => ({ entityId, url });
  expect(await cli.json('entity', 'endpoint', entityId)).toEqual(at('https://bank.example/hooks'));
  const moved = 'https://new.bank.example/hooks';
  expect(await cli.json('entity', 'endpoint', entityId, '--set', moved)).toEqual(at(moved));
  expect(await cli.json('entity', 'endpoint', entityId, '--clear')).toEqual(at(null));
  expect(await cli.run('entity', 'endpoint', entityId, '--set', 'ftp://bank.example')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^assent: --set must be an address/) as string,
  });
  expect(await cli.run('entity', 'endpoint', 'bnk_none', '--clear')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/there is no such entity/) as string,
  });
});

it('sets the two-person limit, in each currency by its own decimals, and ends it', async () => {
  const { entityId = '' } = await create('merchant');
  const twoPerson = (...options: string[]) => cli.json('entity', 'two-person', entityId, ...options);
  expect(await twoPerson()).toEqual({ entityId, twoPersonAbove: null });
  const set = { entityId, twoPersonAbove: { NGN: 100_000, JPY: 500 } };
  expect(await twoPerson('--above', 'NGN=100000.00', '--above', 'JPY=500', '--reason', 'T-1')).toEqual(set);
  expect(await twoPerson()).toEqual(set);
  expect((await cli.run('entity', 'two-person', entityId)).out).toContain(
    'above JPY 500, above NGN 100,000.00',
  );
  for (const wrong of ['NGN', 'NGN=', 'NGN=-1', 'JPY=0.5', 'XXQ=5', '__proto__=5'])
    expect((await cli.run('entity', 'two-person', entityId, '--above', wrong)).code).toBe(1);
  expect((await cli.run('entity', 'two-person', entityId, '--above', 'NGN=1', '--clear')).code).toBe(1);
  expect(await twoPerson('--clear')).toEqual({ entityId, twoPersonAbove: null });
  const { events } = await cli.json<{ events: object[] }>('audit', '--entity', entityId);
  const minor = { twoPersonAbove: { JPY: '500', NGN: '10000000' } };
  expect(events.slice(1)).toMatchObject([
    { action: 'entity.two_person_limit_set', before: { twoPersonAbove: null }, after: minor, reason: 'T-1' },
    { action: 'entity.two_person_limit_set', before: minor, after: { twoPersonAbove: null } },
  ]);
  expect((await cli.run('entity', 'two-person', 'mch_unknown')).err).toContain('there is no such entity');
  expect((await cli.run('entity', 'two-person', 'mch_unknown', '--clear')).code).toBe(1);
});

it('issues tokens, alone on a line or as the token endpoint would', async () => {
  const { entityId = '' } = await create('bank');
  expect((await cli.run('token', entityId)).out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  expect(await cli.json('token', entityId)).toEqual({
    access_token: expect.any(String) as string,
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'read bill refund manage',
  });
});
