import { newId } from '../../../src/database/identifier/new-id';
import { announceAny } from '../../support/announce-any';
import { claimUnattempted } from '../../../src/database/webhook/attempt-delivery';
import { WEBHOOK_TYPES, type WebhookType } from '../../../src/domain/webhook/webhook';
import { asSchemaLogin } from '../../support/database';
import { apiOfFile, enter, signIn, type Party } from '../../support/api';
import { bill } from '../../support/shared-api';
import { moveClock, standingApproval } from '../../support/standing';
import { recordOutcome } from '../../support/record-outcome';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';

const { api, database } = apiOfFile({ settings: { RATE_LIMIT_CALLER: '1000/1000' } });

const DELIVERIES = '/v1/webhooks/deliveries';
const ENDPOINT = '/v1/webhooks/endpoint';
const WEBHOOK_URL = 'http://127.0.0.1:9/hook';

async function tell(party: Party, webhookType: WebhookType = 'billing.response'): Promise<string> {
  const [id] = await database.db.transaction((trx) =>
    announceAny(trx, [
      {
        entityId: party.entityId,
        webhookType,
        batchId: newId('batch'),
        workflowId: 'billing-request/x',
        items: [{ customerEmail: 'ada@example.com', sequence: 2 }],
      },
    ]),
  );
  return id ?? '';
}

const attempted = (deliveryId: string, n: number, error: string | null, httpStatus: number | null) =>
  recordOutcome(database.db, deliveryId, n, { error, httpStatus, responseHead: 'hello' }, 3);

async function list(
  party: Party,
  query = '',
): Promise<{ deliveries: { deliveryId: string }[]; total: number }> {
  const { status, body } = await party.send('GET', DELIVERIES + query);
  expect(status).toBe(200);
  return body.data as { deliveries: { deliveryId: string }[]; total: number };
}

const idsOf = ({ deliveries }: { deliveries: { deliveryId: string }[] }) =>
  deliveries.map(({ deliveryId }) => deliveryId);

describe('a delivery', () => {
  it('is shown to its owner with all attempts, and with the bytes that are sent', async () => {
    const party = await enter(api, 'provider', { webhookUrl: WEBHOOK_URL });
    const id = await tell(party);
    await attempted(id, 1, 'no answer within 2000 ms', null);
    await attempted(id, 2, 'HTTP 503', 503);
    await attempted(id, 3, null, 200);

    const { status, body } = await party.send('GET', `${DELIVERIES}/${id}`);
    expect(status).toBe(200);
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) as string;
    const sent = JSON.parse(String(body.data?.['body'])) as { data: unknown };
    expect(sent).toMatchObject({ webhookType: 'billing.response', entityId: party.entityId });
    expect(sent.data).toEqual([{ customerEmail: 'ada@example.com', sequence: 2 }]);
    expect(body.data).toEqual({
      body: expect.any(String) as string,
      deliveryId: id,
      eventId: expect.stringMatching(/^evt_/) as string,
      webhookType: 'billing.response',
      batchId: expect.stringMatching(/^bat_/) as string,
      status: 'delivered',
      createdAt: moment,
      finishedAt: moment,
      attempts: [
        { at: moment, status: null, durationMs: 7, error: 'no answer within 2000 ms' },
        { at: moment, status: 503, durationMs: 7, error: 'HTTP 503' },
        { at: moment, status: 200, durationMs: 7, error: null },
      ],
    });
  });
});

describe('the list of deliveries', () => {
  it('has its owner’s own, the newest first, each with its attempts', async () => {
    const [party, other] = await Promise.all([
      enter(api, 'bank', { webhookUrl: WEBHOOK_URL }),
      enter(api, 'bank', { webhookUrl: WEBHOOK_URL }),
    ]);
    const [first, second] = [await tell(party), await tell(party)];
    await tell(other);
    await attempted(first, 1, null, 204);
    const found = await list(party);
    expect(found).toMatchObject({ total: 2, page: 1, limit: 20 });
    expect(found.deliveries).toMatchObject([
      { deliveryId: second, status: 'pending', attempts: [] },
      { deliveryId: first, status: 'delivered', attempts: [{ status: 204, error: null }] },
    ]);
  });

  it('is filtered by status and by type, one or both', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: WEBHOOK_URL });
    const response = await tell(party, 'billing.response');
    const delivered = await tell(party, 'billing.response');
    const upcoming = await tell(party, 'recurring.upcoming');
    await attempted(delivered, 1, null, 200);
    expect(idsOf(await list(party, '?status=delivered'))).toEqual([delivered]);
    expect(idsOf(await list(party, '?webhookType=recurring.upcoming'))).toEqual([upcoming]);
    expect(await list(party, '?status=pending&webhookType=billing.response')).toMatchObject({
      deliveries: [{ deliveryId: response }],
      total: 1,
    });
    expect(await list(party, '?status=failed')).toMatchObject({ deliveries: [], total: 0 });
  });

  it('is narrowed to days of the network’s zone, both included, or to moments', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: WEBHOOK_URL });
    const [late, next] = [await tell(party), await tell(party)];
    // A day in Lagos ends at 23:00 UTC.
    for (const [id, at] of [
      [late, '2026-03-02T22:59:59Z'],
      [next, '2026-03-02T23:00:00Z'],
    ])
      await asSchemaLogin(
        database.url,
        `UPDATE webhook_deliveries SET created_at = '${at}' WHERE id = '${id}'`,
      );
    expect(idsOf(await list(party, '?from=2026-03-02&to=2026-03-02'))).toEqual([late]);
    expect(idsOf(await list(party, '?from=2026-03-03'))).toEqual([next]);
    expect(idsOf(await list(party, '?to=2026-03-02'))).toEqual([late]);
    expect(idsOf(await list(party, '?from=2026-03-02T23:00:00Z&status=pending'))).toEqual([next]);
    expect(idsOf(await list(party, '?to=2026-03-02T23:00:00Z'))).toEqual([late]);
  });

  it('is read page by page without overlap or gap, in either order', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: WEBHOOK_URL });
    const types = ['billing.response', 'recurring.updated'] as const;
    const all: string[] = [];
    for (let i = 0; i < 5; i++) all.push(await tell(party, types[i % 2]));
    const read = async (order: string) => {
      const pages = [1, 2, 3, 4].map((page) => list(party, `?limit=2&page=${page}${order}`));
      return (await Promise.all(pages)).flatMap(idsOf);
    };
    expect(await read('')).toEqual(all.toReversed());
    expect(await read('&sortOrder=asc')).toEqual(all);
    const ofType = (type: number) => all.filter((_, i) => i % 2 === type);
    expect(await read('&sortBy=webhookType&sortOrder=asc')).toEqual([...ofType(0), ...ofType(1)]);
  });

  it.each([
    ['status=open', 'query.status'],
    ['webhookType=billing', 'query.webhookType'],
    ['merchantId=mch_1', 'query.merchantId'],
    ['from=yesterday', 'query.from'],
  ])('with %s is a 400 that says what is wrong', async (query, path) => {
    const party = await enter(api, 'merchant');
    const { status, body } = await party.send('GET', `${DELIVERIES}?${query}`);
    expect([status, body.errors?.map((problem) => problem.path)]).toEqual([400, [path]]);
  });
});

const redeliver = (party: Party, id: string, headers = {}) =>
  party.send('POST', `${DELIVERIES}/${id}/redeliver`, undefined, headers);
const starts = (id: string) =>
  database.db.rows<{ start: Record<string, unknown> }>`
  SELECT start FROM outbox WHERE workflow_id = ${`webhook-delivery/${id}`} ORDER BY id`;

const leftToItsWorkflow = async () =>
  (await claimUnattempted(database.db, 'billing-request/x', 0, WEBHOOK_TYPES)).map((one) => one.id);

describe('a redelivery', () => {
  it('of a delivered one is accepted, and keeps its id and its attempts', async () => {
    const party = await enter(api, 'provider', { webhookUrl: WEBHOOK_URL });
    const id = await tell(party);
    await attempted(id, 1, null, 200);
    expect(await redeliver(party, id)).toMatchObject({ status: 202, body: { data: { deliveryId: id } } });
    expect((await party.send('GET', `${DELIVERIES}/${id}`)).body.data).toMatchObject({
      status: 'pending',
      finishedAt: null,
      attempts: [{ status: 200 }],
    });
    const start = { type: 'webhookDelivery', args: [id], again: 'redeliveryRequested' };
    expect(await starts(id)).toMatchObject([{ start }]);
  });

  it('of a failed one has all the retries of a new one before it', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: WEBHOOK_URL });
    const id = await tell(party);
    const shown = async () => (await party.send('GET', `${DELIVERIES}/${id}`)).body.data;
    for (let n = 1; n <= 2; n++) await attempted(id, n, 'HTTP 503', 503);
    expect(await shown()).toMatchObject({ status: 'pending', finishedAt: null });
    await attempted(id, 3, 'HTTP 503', 503);
    expect(await shown()).toMatchObject({ status: 'failed', finishedAt: expect.any(String) as string });
    expect(await redeliver(party, id)).toMatchObject({ status: 202 });
    expect(await attempted(id, 4, 'HTTP 503', 503)).toMatchObject({ status: 'pending' });
    expect(await attempted(id, 5, 'HTTP 503', 503)).toMatchObject({ status: 'pending' });
    expect(await attempted(id, 6, 'HTTP 503', 503)).toMatchObject({ status: 'failed', attempts: 6 });
  });

  it('without a URL to go to is refused, and is accepted once there is one', async () => {
    const party = await enter(api, 'merchant');
    const id = await tell(party);
    expect(await redeliver(party, id)).toMatchObject({
      status: 409,
      body: {
        message: expect.stringContaining('no webhook URL') as string,
        data: { deliveryId: id, status: 'failed' },
      },
    });
    expect(await starts(id)).toEqual([]);
    expect((await list(party)).deliveries).toMatchObject([{ deliveryId: id, status: 'failed' }]);

    await party.send('PUT', ENDPOINT, { url: WEBHOOK_URL });
    expect(await redeliver(party, id)).toMatchObject({ status: 202 });
    expect(await starts(id)).toHaveLength(1);
    expect((await list(party)).deliveries).toMatchObject([{ deliveryId: id, status: 'pending' }]);
  });

  it('while no URL is set leaves a delivered one delivered', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: WEBHOOK_URL });
    const id = await tell(party);
    await attempted(id, 1, null, 200);
    await party.send('PUT', ENDPOINT, { url: null });
    expect(await redeliver(party, id)).toMatchObject({
      status: 409,
      body: { data: { deliveryId: id, status: 'delivered' } },
    });
    expect((await party.send('GET', `${DELIVERIES}/${id}`)).body.data).toMatchObject({ status: 'delivered' });
  });

  it('of one whose first attempt has not been made takes it off the workflow that would make it', async () => {
    const party = await enter(api, 'merchant', { webhookUrl: WEBHOOK_URL });
    const id = await tell(party);
    expect(await leftToItsWorkflow()).toContain(id);
    expect(await redeliver(party, id)).toMatchObject({ status: 202 });
    expect(await leftToItsWorkflow()).not.toContain(id);
    // Should that workflow have been at it already, its failure starts no second one.
    await attempted(id, 1, 'HTTP 503', 503);
    expect(await starts(id)).toHaveLength(1);
  });

  it('of a charge that ended before its bank was asked is refused: the merchant may have billed anew', async () => {
    const { db } = api.deps;
    const standing = await standingApproval(db);
    const merchant = await signIn(api, standing.credentials.merchant);
    const { id } = await bill({ merchant, paymentId: standing.paymentId });
    await moveClock(db, standing.merchantId, '25 hours');
    await db.transaction((trx) => closeExpiredRequests(trx, [id]));
    const [asked] = await db.rows<{ deliveryId: string }>`
      SELECT bank_delivery_id AS "deliveryId" FROM billing_requests WHERE id = ${id}`;
    const deliveryId = asked?.deliveryId ?? '';
    const bank = await signIn(api, standing.credentials.bank);

    expect(await redeliver(bank, deliveryId)).toMatchObject({
      status: 409,
      body: {
        message: expect.stringContaining('ended before it was sent') as string,
        data: { deliveryId, status: 'failed' },
      },
    });
    expect(await starts(deliveryId)).toEqual([]);
    expect((await bank.send('GET', `${DELIVERIES}/${deliveryId}`)).body.data).toMatchObject({
      status: 'failed',
      withdrawnAt: expect.stringMatching(/^\d{4}-/) as string,
    });
    const listed = async (status: string) =>
      JSON.stringify((await bank.send('GET', `${DELIVERIES}?status=${status}`)).body).includes(deliveryId);
    // Nobody can do anything about it.
    expect([await listed('withdrawn'), await listed('failed')]).toEqual([true, false]);
  });
});
