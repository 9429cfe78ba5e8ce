import type { PartyControl } from '../../../examples/demo/parties/control';
import { eventually } from '../../support/engine';
import { webhookRequest, type Signing } from '../../support/network-sender';
import { startMerchant, type Started } from '../../support/parties';

const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const OTHER_SECRET = 'whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=';

let merchant: Started<PartyControl>;

beforeEach(async () => {
  merchant = await startMerchant({ webhookSecret: SECRET });
});

afterEach(() => merchant.stop());

const request = (spoilt: Partial<Signing> = {}) =>
  webhookRequest(SECRET, 'billing.response', [{ a: 1 }, { a: 2 }], spoilt);
const send = (init: RequestInit) => fetch(merchant.control.webhookUrl, { redirect: 'manual', ...init });
const outcomes = async () => (await merchant.control.attempts()).map(({ outcome }) => outcome);

describe('a webhook signed by the network', () => {
  test('is answered 200 and heard item by item, in order', async () => {
    const answer = await send(request());

    expect(answer.status).toBe(200);
    expect(await merchant.control.received()).toMatchObject([
      { n: 1, type: 'billing.response', item: { a: 1 } },
      { n: 2, type: 'billing.response', item: { a: 2 } },
    ]);
  });

  test('that comes again is answered 200 and not heard again', async () => {
    await send(request());
    const again = await send(request());

    expect(again.status).toBe(200);
    expect(await merchant.control.received()).toHaveLength(2);
    expect(await outcomes()).toEqual(['taken', 'repeat']);
  });

  test('ends a wait for it, also one that began before it came', async () => {
    const waiting = merchant.control.waitFor('the second item', ({ item }) => item['a'] === 2, 10_000);
    await send(request());

    expect(await waiting).toMatchObject({ n: 2 });
    await expect(merchant.control.waitFor('a third', ({ n }) => n === 3, 50)).rejects.toThrow(
      /a third did not come within 50 ms.*"a":2/s,
    );
  });
});

const upperCase = () => {
  const { headers, ...rest } = request();
  const signature = headers['x-service-signature'] ?? '';
  return { ...rest, headers: { ...headers, 'x-service-signature': signature.toUpperCase() } };
};
const withoutSignature = () => {
  const { 'x-service-signature': _, ...headers } = request().headers;
  return { ...request(), headers };
};
const tenMinutesAgo = () => request({ sentAtS: Math.floor(Date.now() / 1000) - 600 });

describe('a webhook is answered 401 and not heard', () => {
  test.each<[string, () => RequestInit, string]>([
    ['signed with another secret', () => request({ service: OTHER_SECRET }), 'X-Service-Signature'],
    [
      'changed by one byte',
      () => ({ ...request(), body: request().body.replace('"a":1', '"a":3') }),
      'X-Service-Signature',
    ],
    ['not signed', withoutSignature, 'X-Service-Signature'],
    ['signed in upper case', upperCase, 'X-Service-Signature'],
    [
      'whose standard signature has another secret',
      () => request({ standard: OTHER_SECRET }),
      'No matching signature',
    ],
    ['recorded ten minutes ago', tenMinutesAgo, 'timestamp too old'],
    ['whose inner signature has another secret', () => request({ inside: OTHER_SECRET }), 'inside the body'],
  ])('%s', async (_, spoilt, reason) => {
    const answer = await send(spoilt());

    expect(answer.status).toBe(401);
    expect(await merchant.control.received()).toEqual([]);
    expect(await merchant.control.attempts()).toMatchObject([
      { outcome: 'forged', forgery: expect.stringContaining(reason) },
    ]);
  });
});

describe('a receiver told to misbehave', () => {
  test('does so as often as told and for the type told, then takes the webhook as new', async () => {
    await merchant.control.misbehave({ kind: 'status', status: 500, times: 1, type: 'another.type' });
    await merchant.control.misbehave({ kind: 'status', status: 503, times: 2 });

    const statuses = [await send(request()), await send(request()), await send(request())].map(
      ({ status }) => status,
    );

    expect(statuses).toEqual([503, 503, 200]);
    expect(await outcomes()).toEqual(['fault', 'fault', 'taken']);
  });

  test('drops the connection, or leaves the sender waiting', async () => {
    await merchant.control.misbehave({ kind: 'close', times: 1 });
    await merchant.control.misbehave({ kind: 'hang', times: 1 });

    await expect(send(request())).rejects.toThrow('fetch failed');
    await expect(send({ ...request(), signal: AbortSignal.timeout(200) })).rejects.toThrow('timeout');
    expect(await merchant.control.received()).toEqual([]);
  });

  test('sends the network elsewhere, with a redirect', async () => {
    await merchant.control.misbehave({ kind: 'redirect', to: 'http://127.0.0.1:1/', times: 1 });

    const answer = await send(request());

    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'http://127.0.0.1:1/']);
  });

  test('takes a webhook although it answers too late, so that the retry is a repeat', async () => {
    await merchant.control.misbehave({ kind: 'slow', delayMs: 60_000, times: 1 });

    const gaveUp = new AbortController();
    const first = send({ ...request(), signal: gaveUp.signal });
    await eventually(async () => (await outcomes()).length === 1);
    gaveUp.abort();
    await expect(first).rejects.toThrow('aborted');
    await send(request());

    expect(await outcomes()).toEqual(['taken', 'repeat']);
    expect(await merchant.control.received()).toHaveLength(2);
  });
});
