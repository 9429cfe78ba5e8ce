import { userInfo } from 'node:os';
import { SCOPES } from '../../src/domain/scope';
import { enter, serveApi, type ServedApi } from '../support/api';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { keys } from '../support/keyring';

const ACTOR = `operator:${userInfo().username}`;

const test = databaseOfFile();
const cli = createCli(test, keys);
let api: ServedApi;
beforeAll(async () => {
  api = await serveApi(test.db);
});
afterAll(() => api.close());

interface Shown {
  at: string;
  actor: string;
  action: string;
  entityId: string | null;
  requestId: string | null;
  ownRequestId: string | null;
  reason: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

const audit = async (...filter: string[]) => (await cli.json<{ events: Shown[] }>('audit', ...filter)).events;

describe('the audit record', () => {
  it('has every privileged act of an operator, with login, reason, and what was changed', async () => {
    const hook = 'https://shop.example/hook/path-that-is-secret?key=hidden';
    const shop = `entity create --type merchant --name Shop --webhook-url ${hook}`.split(' ');
    const { entityId = '', clientId } = await cli.json(...shop, '--reason', 'contract 17');
    await cli.json('entity', 'trust', entityId, 'trusted', '--reason', 'checked');
    await cli.json('entity', 'rotate-secret', entityId, '--reason', 'yearly');
    await cli.json('entity', 'rotate-webhook-secret', entityId, '--now');
    await cli.json('token', entityId, '--reason', 'support call');
    await cli.json('entity', 'revoke-tokens', entityId, '--reason', 'stolen');
    await cli.json('entity', 'disable', entityId, '--reason', 'a stolen token');
    await cli.json('entity', 'enable', entityId);
    const { kid } = await cli.json('keys', 'rotate', '--reason', 'a laptop was lost');
    const events = await audit('--entity', entityId);
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
    const url = { origin: 'https://shop.example', sha256 };
    const previousSecretValidUntil = expect.stringMatching(/^\d{4}-/) as string;
    const tokenId = expect.any(String) as string;
    expect(events.map(({ action, reason, before, after }) => [action, reason, before, after])).toEqual([
      ['entity.created', 'contract 17', null, { type: 'merchant', providerId: null, clientId, url }],
      ['entity.trust_set', 'checked', { trustLevel: 'untrusted' }, { trustLevel: 'trusted' }],
      ['client_secret.rotated', 'yearly', null, { clientId, previousSecretValidUntil }],
      ['webhook_secret.rotated', null, null, { previousSecretValidUntil: null }],
      ['token.issued', 'support call', null, { tokenId, expiresInS: 3600, scope: SCOPES.join(' ') }],
      ['entity.tokens_revoked', 'stolen', null, null],
      ['entity.disabled', 'a stolen token', { status: 'active' }, { status: 'disabled' }],
      ['entity.enabled', null, { status: 'disabled' }, { status: 'active' }],
    ]);
    for (const event of events) {
      expect(event).toMatchObject({ actor: ACTOR, entityId, requestId: null });
      expect(Math.abs(Date.now() - Date.parse(event.at))).toBeLessThan(60_000);
    }
    expect(JSON.stringify(events)).not.toMatch(/sec_|whsec_|eyJ|secret\?|hidden|path-that/);
    // The signing keys belong to no entity.
    const rotation = {
      action: 'signing_key.rotated',
      entityId: null,
      reason: 'a laptop was lost',
      after: { kid },
    };
    expect((await audit()).at(-1)).toMatchObject(rotation);
  });

  it('has what parties do by the API, with the request that did it', async () => {
    const provider = await enter(api, 'provider');
    const since = new Date().toISOString();
    const made = await provider.send(
      'POST',
      '/v1/provider/merchants',
      { merchants: [{ name: 'Kiosk', email: 'kiosk@example.com', clientRef: 'k1' }] },
      { 'x-request-id': 'request-of-making' },
    );
    const { merchants: [item] = [] } = made.body.data as { merchants?: { merchantId: string }[] };
    const merchantId = item?.merchantId ?? '';
    const trusted = await provider.send(
      'PATCH',
      '/v1/provider/merchant/trust',
      { merchantId, trustLevel: 'trusted' },
      { 'x-request-id': 'request-of-making' },
    );
    expect(trusted.status).toBe(200);
    const merchant = await enter(api, 'merchant');
    const as = async (method: string, path: string, body?: object) => {
      expect((await merchant.send(method, `/v1/webhooks/endpoint${path}`, body)).status).toBe(200);
    };
    await as('PUT', '', { url: 'https://shop.example/a' });
    await as('PUT', '', { url: null });
    await as('POST', '/rotate-secret');
    await as('POST', '/rotate-secret/finish');

    const ofMerchant = await audit('--entity', merchantId, '--since', since);
    // The caller has chosen one id for two requests, which ours tell apart, in the log as well.
    const ours = ofMerchant.map(({ ownRequestId }) => ownRequestId);
    expect(new Set(ours).size).toBe(2);
    expect(api.log).toEqual(
      expect.arrayContaining(
        ours.map((ownRequestId) => expect.objectContaining({ requestId: 'request-of-making', ownRequestId })),
      ),
    );
    expect(ofMerchant).toEqual([
      expect.objectContaining({
        actor: provider.entityId,
        action: 'entity.created',
        requestId: 'request-of-making',
        reason: null,
      }),
      expect.objectContaining({
        actor: provider.entityId,
        action: 'entity.trust_set',
        requestId: 'request-of-making',
        after: { trustLevel: 'trusted' },
      }),
    ]);
    expect((await audit('--entity', provider.entityId)).map(({ entityId }) => entityId)).toEqual([
      merchantId,
      merchantId,
    ]);
    const own = await audit('--entity', merchant.entityId);
    expect(own.map(({ action }) => action)).toEqual([
      'endpoint.changed',
      'endpoint.cleared',
      'webhook_secret.rotated',
      'webhook_secret.rotation_finished',
    ]);
    expect(own[1]).toMatchObject({
      actor: merchant.entityId,
      requestId: expect.any(String) as string,
      before: { url: { origin: 'https://shop.example' } },
      after: { url: null },
    });
  });

  it('is lines of at most 100 columns for people, and tells who asks wrongly', async () => {
    const { out } = await cli.run('audit');
    expect(out).toContain(ACTOR);
    expect(out).toContain('signing_key.rotated');
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    for (const [words, message] of [
      ['audit --since yesterday', /^assent: --since must be a date and time/],
      ['audit --entity mch_none', /^assent: there is no such entity/],
      ['keys rotate --reason two\nlines', /^assent: --reason must not have control/],
    ] as const)
      expect((await cli.run(...words.split(' '))).err).toMatch(message);
  });

  it('is read whole, however long it is, in the order of the acts', async () => {
    await test.db.rows`
      INSERT INTO audit_events (actor, action, after)
      SELECT 'many', 'thing.done', jsonb_build_object('n', n) FROM generate_series(1, 2500) AS n`;
    const all = (await audit()).filter(({ actor }) => actor === 'many');
    expect(all.map(({ after }) => after?.['n'])).toEqual(Array.from({ length: 2500 }, (_, i) => i + 1));
    const { out, err } = await cli.run('audit');
    expect(out.split('\n').filter((line) => line.includes('thing.done'))).toHaveLength(1_000);
    expect(err).toBe('These are the latest 1000: narrow it with --since, or have all with --json.\n');
  });

  it('cannot be rewritten, not even by the owner of the tables', async () => {
    for (const statement of [
      `UPDATE audit_events SET actor = 'nobody'`,
      `DELETE FROM audit_events`,
      `TRUNCATE audit_events`,
    ]) {
      await expect(asSchemaLogin(test.url, statement)).rejects.toMatchObject({ code: '23001' });
      await expect(test.db.query(statement)).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('is written with the act or not at all', async () => {
    const merchant = await enter(api, 'merchant');
    await asSchemaLogin(
      test.url,
      `ALTER TABLE audit_events ADD CONSTRAINT full_for_now CHECK (actor <> '${merchant.entityId}') NOT VALID`,
    );
    const put = await merchant.send('PUT', '/v1/webhooks/endpoint', { url: 'https://shop.example/a' });
    expect(put.status).toBe(500);
    const shown = await merchant.send('GET', '/v1/webhooks/endpoint');
    expect(shown.body.data).toEqual({ url: null });
  });
});
