import type { PartyControl } from '../parties/control';
import { webhookRequest, type Signing } from '../support/network-sender';
import { startMerchant, type Started } from '../support/parties';

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

test('a webhook signed by the network is heard item by item, in order, and once', async () => {
  const waiting = merchant.control.waitFor('the second item', ({ item }) => item['a'] === 2, 10_000);
  const answers = [await send(request()), await send(request())];

  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await waiting).toMatchObject({ n: 2 });
  expect(await merchant.control.received()).toMatchObject([
    { n: 1, type: 'billing.response', item: { a: 1 } },
    { n: 2, type: 'billing.response', item: { a: 2 } },
  ]);
  const attempts = await merchant.control.attempts();
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['taken', 'repeat']);
});

const HEADER = 'x-service-signature';
const signed = (change: (signature: string) => string): RequestInit => {
  const { headers, ...rest } = request();
  return { ...rest, headers: { ...headers, [HEADER]: change(headers[HEADER] ?? '') } };
};

test.each<[string, () => RequestInit, string]>([
  ['signed with another secret', () => request({ service: OTHER_SECRET }), 'X-Service-Signature'],
  [
    'changed by one byte',
    () => ({ ...request(), body: request().body.replace('"a":1', '"a":3') }),
    'X-Service-Signature',
  ],
  ['not signed', () => signed(() => ''), 'X-Service-Signature'],
  ['signed in upper case', () => signed((signature) => signature.toUpperCase()), 'X-Service-Signature'],
  ['with another standard signature', () => request({ standard: OTHER_SECRET }), 'No matching signature'],
  [
    'recorded ten minutes ago',
    () => request({ sentAtS: Math.floor(Date.now() / 1000) - 600 }),
    'timestamp too old',
  ],
  ['with another inner signature', () => request({ inside: OTHER_SECRET }), 'inside the body'],
])('a webhook %s is answered 401 and not heard', async (_, spoilt, reason) => {
  const answer = await send(spoilt());

  expect(answer.status).toBe(401);
  expect(await merchant.control.received()).toEqual([]);
  expect(await merchant.control.attempts()).toMatchObject([
    { outcome: 'forged', forgery: expect.stringContaining(reason) },
  ]);
});
