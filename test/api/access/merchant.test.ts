import { apiOfFile, enter, tokenOf, type Party } from '../../support/api';

const { api, database: test } = apiOfFile({ settings: { RATE_LIMIT_MERCHANT_BATCH: '1000/1000' } });
let provider: Party;
beforeAll(async () => {
  provider = await enter(api, 'provider');
});

interface Item {
  statusCode: number;
  success: boolean;
  message: string;
  merchantId: string;
  clientId: string;
  clientSecret: string;
  webhookSecret: string;
}
const shop = (clientRef: string) => ({ name: 'Shop', email: 'shop@example.com', clientRef });
const create = (merchants: unknown[], by = provider) =>
  by.send('POST', '/v1/provider/merchants', { merchants });
const itemsOf = (data: Record<string, unknown> | undefined) => data?.['merchants'] as Item[];
const trust = (merchantId: string | undefined) =>
  provider.send('PATCH', '/v1/provider/merchant/trust', { merchantId, trustLevel: 'trusted' });

describe('the batch of merchants', () => {
  it('makes each with credentials that work, shown once', async () => {
    const { status, body } = await create([
      { ...shop('a'), website: 'https://shop.example', icon: 'https://shop.example/i.png' },
      { ...shop('b'), webhookUrl: 'http://127.0.0.1:9/hook' },
    ]);
    expect(status).toBe(201);
    const items = itemsOf(body.data);
    expect(items).toHaveLength(2);
    for (const item of items) {
      expect(item).toMatchObject({ statusCode: 201, success: true, message: 'Merchant created' });
      expect(item.webhookSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      await expect(tokenOf(api, item)).resolves.toBeDefined();
    }
  });

  it('refuses a clientRef that the provider has used, item by item, and makes the rest', async () => {
    await create([shop('taken')]);
    const { status, body } = await create([shop('taken'), shop('new')]);
    expect(status).toBe(201);
    expect(itemsOf(body.data)).toMatchObject([
      { statusCode: 409, success: false, clientRef: 'taken' },
      { statusCode: 201, success: true, clientRef: 'new' },
    ]);
    const all = await create([shop('taken')]);
    expect(all).toMatchObject({ status: 409, body: { statusCode: 409, success: false } });
    expect(itemsOf(all.body.data)).toMatchObject([{ statusCode: 409, success: false }]);
    const other = await enter(api, 'provider');
    expect(await create([shop('taken')], other)).toMatchObject({ status: 201 });
  });

  it('takes a hundred and not one more, none of them twice', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => shop(`many-${count}-${i}`));
    expect(await create(many(101))).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'merchants', message: 'must have at most 100 entries' }] },
    });
    expect(itemsOf((await create(many(100))).body.data)).toHaveLength(100);
    expect(await create([shop('twice'), { ...shop(' twice '), email: 'nobody' }])).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'merchants[1].email' }, { path: 'merchants[1].clientRef' }] },
    });
  });
});

describe('the trust level', () => {
  it('is set by the merchant’s own provider, and is untrusted before', async () => {
    const [item] = itemsOf((await create([shop('trust')])).body.data);
    const level = () => test.db.row`SELECT trust_level FROM entities WHERE id = ${item?.merchantId}`;
    expect(await level()).toEqual({ trustLevel: 'untrusted' });
    expect(await trust(item?.merchantId)).toMatchObject({
      status: 200,
      body: { data: { merchantId: item?.merchantId, trustLevel: 'trusted' } },
    });
    expect(await level()).toEqual({ trustLevel: 'trusted' });
  });
});
