import { announce } from '../../../src/database/webhook/announce-webhooks';
import { deliveryToAttempt, openDelivery } from '../../../src/database/webhook/attempt-delivery';
import { asSchemaLogin } from '../../support/database';
import { apiOfFile, enter, serveApi, type Party } from '../../support/api';

const { api, database } = apiOfFile();

const ENDPOINT = '/v1/webhooks/endpoint';
const ROTATE = `${ENDPOINT}/rotate-secret`;
const FINISH = `${ROTATE}/finish`;
const TEST = `${ENDPOINT}/test`;

/** The secrets that an attempt made now is signed with, the old one first. */
async function secretsOf(party: Party): Promise<string[]> {
  const { db } = api.deps;
  const [id = ''] = await db.transaction((trx) =>
    announce(trx, [{ entityId: party.entityId, webhookType: 'webhook.test', items: [] }]),
  );
  const delivery = await deliveryToAttempt(db, id);
  return delivery ? openDelivery(db.keyring, delivery).secrets : [];
}

async function rotate(party: Party): Promise<string> {
  const { status, body } = await party.send('POST', ROTATE);
  expect(status).toBe(200);
  return String(body.data?.['webhookSecret']);
}

describe('the webhook endpoint', () => {
  it('is shown and changed by its owner, and may be none', async () => {
    const merchant = await enter(api, 'merchant', { webhookUrl: 'https://one.example/' });
    const shown = async () => (await merchant.send('GET', ENDPOINT)).body.data;
    expect(await shown()).toEqual({ url: 'https://one.example/' });
    for (const url of ['https://two.example/x', null]) {
      expect((await merchant.send('PUT', ENDPOINT, { url })).body.data).toEqual({ url });
      expect(await shown()).toEqual({ url });
    }
  });

  it('takes http only where private webhooks are allowed', async () => {
    const strict = await serveApi(database.db, {
      settings: { ALLOW_PRIVATE_WEBHOOKS: 'false' },
    });
    const bank = await enter(strict, 'bank');
    const put = (url: string) => bank.send('PUT', ENDPOINT, { url });
    expect(await put('http://a.example')).toMatchObject({ status: 400 });
    expect(await put('https://a.example')).toMatchObject({ status: 200 });
    await strict.close();
  });
});

describe('a rotation', () => {
  it('gives a new secret, and signs with the old one too for a day', async () => {
    const party = await enter(api, 'provider');
    const { status, body } = await party.send('POST', ROTATE);
    expect(status).toBe(200);
    expect(body.data).toEqual({
      webhookSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
      previousSecretValidUntil: expect.stringMatching(/Z$/) as string,
    });
    expect(await secretsOf(party)).toEqual([party.webhookSecret, body.data?.['webhookSecret']]);
    const dayMs = 86_400_000;
    const until = Date.parse(String(body.data?.['previousSecretValidUntil']));
    expect(Math.abs(until - Date.now() - dayMs)).toBeLessThan(60_000);
  });

  it('ends with the new secret alone: when it is finished, or after its day', async () => {
    const [early, late] = await Promise.all([enter(api, 'merchant'), enter(api, 'merchant')]);
    const [newOfEarly, newOfLate] = [await rotate(early), await rotate(late)];

    expect(await early.send('POST', FINISH)).toMatchObject({ status: 200, body: { success: true } });
    expect(await secretsOf(early)).toEqual([newOfEarly]);

    await asSchemaLogin(
      database.url,
      `UPDATE webhook_endpoints SET previous_secret_until = clock_timestamp() WHERE entity_id = '${late.entityId}'`,
    );
    expect(await secretsOf(late)).toEqual([newOfLate]);
    const next = await rotate(late);
    expect(await secretsOf(late)).toEqual([newOfLate, next]);
  });

  it('begun again before its end keeps the secret that the receiver knows, and is finished as often as asked', async () => {
    const bank = await enter(api, 'bank');
    expect(await bank.send('POST', FINISH)).toMatchObject({ status: 200 });
    expect(await secretsOf(bank)).toEqual([bank.webhookSecret]);
    await rotate(bank);
    const second = await rotate(bank);
    expect(await secretsOf(bank)).toEqual([bank.webhookSecret, second]);
    for (let i = 0; i < 2; i++) expect(await bank.send('POST', FINISH)).toMatchObject({ status: 200 });
    expect(await secretsOf(bank)).toEqual([second]);
  });

  it('whose answer was lost shows its secret again for an hour to the same key, and no longer', async () => {
    const merchant = await enter(api, 'merchant');
    const again = () => merchant.send('POST', ROTATE, undefined, { 'Idempotency-Key': 'lost' });
    const first = await again();
    const repeated = await again();
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    expect(repeated.body).toEqual(first.body);
    expect(await secretsOf(merchant)).toEqual([merchant.webhookSecret, first.body.data?.['webhookSecret']]);

    await database.db.rows`
      UPDATE idempotency_keys SET created_at = created_at - interval '61 minutes'`;
    const { previousSecretValidUntil } = first.body.data ?? {};
    expect((await again()).body.data).toEqual({ previousSecretValidUntil });
  });

  it('is nobody else’s, and is stored encrypted', async () => {
    const [merchant, other] = await Promise.all([enter(api, 'merchant'), enter(api, 'merchant')]);
    const secret = await rotate(merchant);
    expect(await secretsOf(other)).toEqual([other.webhookSecret]);
    const stored = await database.db.rows<{ encrypted: Buffer }>`
      SELECT secret_encrypted || previous_secret_encrypted AS encrypted FROM webhook_endpoints
      WHERE entity_id = ${merchant.entityId}`;
    expect(stored).toHaveLength(1);
    for (const one of [secret, merchant.webhookSecret]) {
      expect(stored[0]?.encrypted.includes(one)).toBe(false);
      expect(JSON.stringify(api.log)).not.toContain(one);
    }
  });
});

describe('a test event', () => {
  it('is on its way at once', async () => {
    const party = await enter(api, 'bank', { webhookUrl: 'http://127.0.0.1:9/hook' });
    const { status, body } = await party.send('POST', TEST);
    expect(status).toBe(202);
    const deliveryId = String(body.data?.['deliveryId']);
    expect(body).toMatchObject({ message: 'A test event is on its way', data: { deliveryId } });
    const delivery = await party.send('GET', `/v1/webhooks/deliveries/${deliveryId}`);
    expect(delivery.body.data).toMatchObject({
      webhookType: 'webhook.test',
      status: 'pending',
      attempts: [],
    });
    expect(
      await database.db.rows`
      SELECT start->'args' AS args FROM outbox WHERE workflow_id = ${`webhook-delivery/${deliveryId}`}`,
    ).toEqual([{ args: [deliveryId] }]);
  });

  it('is refused while ten wait for their first attempt, and goes out once one was made', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: 'http://127.0.0.1:9/hook' });
    const statuses: number[] = [];
    for (let n = 0; n < 11; n++) statuses.push((await party.send('POST', TEST)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 202), 429]);
    const refused = await party.send('POST', TEST);
    expect(refused.headers.get('retry-after')).toBe('10');
    // Its receiver answers badly: that it waits for a retry keeps its merchant from no other test.
    await database.db.rows`
      UPDATE webhook_deliveries SET attempts = 1 WHERE entity_id = ${party.entityId}`;
    expect(await party.send('POST', TEST)).toMatchObject({ status: 202 });
  });

  it('without a URL goes to the feed alone, and says so; asked for twice with one key it is one', async () => {
    const party = await enter(api, 'merchant');
    const once = () => party.send('POST', TEST, undefined, { 'Idempotency-Key': 'once' });
    const { status, body } = await once();
    expect([status, body.message]).toEqual([202, expect.stringContaining('no webhook URL')]);
    expect((await once()).body).toEqual(body);
    expect((await party.send('GET', '/v1/webhooks/deliveries')).body.data).toMatchObject({
      total: 1,
      deliveries: [{ deliveryId: body.data?.['deliveryId'], status: 'failed', attempts: [] }],
    });
  });
});
