import { rows } from '../../src/database/connection';
import { enter, send, serveApi, type ServedApi } from '../support/api';
import { createTestDatabase, type TestDatabase } from '../support/database';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const ENDPOINT = '/v1/webhooks/endpoint';

const get = (api: ServedApi, token: string) =>
  send(api.url, 'GET', ENDPOINT, undefined, { authorization: `Bearer ${token}` });

/** How many buckets token requests that claim these addresses are paid from. */
async function bucketsOf(trustedProxies: string, claimed: string[]): Promise<number> {
  const taken = () => rows(test.db, `DELETE FROM rate_limits WHERE key LIKE 'tokenAddress:%' RETURNING key`);
  await taken();
  const api = await serveApi(test.db, { settings: { TRUSTED_PROXIES: trustedProxies } });
  const ask = (address: string) =>
    fetch(`${api.url}/v1/oauth/token`, { method: 'POST', headers: { 'x-forwarded-for': address } });
  const answers = await Promise.all(claimed.map(ask));
  await api.close();
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
  return (await taken()).length;
}

describe('the rate limits', () => {
  it('hold exactly over two processes, for each caller apart', async () => {
    const settings = { RATE_LIMIT_CALLER: '1/20' };
    const one = await serveApi(test.db, { settings });
    const two = await serveApi(test.db, { settings });
    const [bank, merchant] = [await enter(one, 'bank'), await enter(one, 'merchant')];
    const began = Date.now();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => get(i % 2 === 0 ? one : two, bank.token)),
    );
    const admitted = answers.filter(({ status }) => status === 200).length;
    // One token flows in each second that the test took, and no more.
    expect(admitted).toBeGreaterThanOrEqual(20);
    expect(admitted).toBeLessThanOrEqual(20 + Math.ceil((Date.now() - began) / 1000));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(60 - admitted);
    expect(await get(two, merchant.token)).toMatchObject({ status: 200 });
    await Promise.all([one.close(), two.close()]);
  });

  it('tell in every answer what is left, and a refused caller when to come again', async () => {
    const api = await serveApi(test.db, { settings: { RATE_LIMIT_CALLER: '1/2' } });
    const bank = await enter(api, 'bank');
    const headers = async () => {
      const { status, headers: given } = await bank.send('GET', ENDPOINT);
      return [status, given.get('ratelimit-policy'), given.get('ratelimit'), given.get('retry-after')];
    };
    expect(await headers()).toEqual([200, '"caller";q=2;w=2', '"caller";r=1;t=1', null]);
    expect(await headers()).toEqual([200, '"caller";q=2;w=2', '"caller";r=0;t=2', null]);
    expect(await headers()).toEqual([429, '"caller";q=2;w=2', '"caller";r=0;t=2', '1']);
    await api.close();
  });

  it('count also what is refused for another reason', async () => {
    const api = await serveApi(test.db, { settings: { RATE_LIMIT_MERCHANT_BATCH: '1/2' } });
    const bank = await enter(api, 'bank');
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await bank.send('POST', '/v1/provider/merchants')).status);
    expect(statuses).toEqual([403, 403, 429]);
    await api.close();
  });

  it('bound the guesses at a client’s secret, and leave other clients alone', async () => {
    const api = await serveApi(test.db);
    const [bank, merchant] = [await enter(api, 'bank'), await enter(api, 'merchant')];
    const guess = (clientId: string) =>
      fetch(`${api.url}/v1/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: 'sec_guess',
        }),
      });
    const answers = await Promise.all(Array.from({ length: 30 }, () => guess(bank.clientId)));
    const refused = answers.find(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThan(15);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(await refused?.json()).toMatchObject({ error: 'temporarily_unavailable' });
    expect((await guess(merchant.clientId)).status).toBe(401);
    await api.close();
  });

  describe('of token requests, by address', () => {
    it('count whom a trusted proxy names, each alone', async () => {
      expect(await bucketsOf('127.0.0.0/8', ['192.0.2.1', '192.0.2.2', '192.0.2.1'])).toBe(2);
      expect(await bucketsOf('127.0.0.1,10.0.0.0/8', ['2001:db8::1, 10.1.2.3', '2001:db8::2'])).toBe(1);
    });

    it('count who connects where that is no trusted proxy, whatever it claims', async () => {
      expect(await bucketsOf('', ['192.0.2.1', '192.0.2.2'])).toBe(1);
      expect(await bucketsOf('10.0.0.0/8', ['192.0.2.1', '192.0.2.2'])).toBe(1);
    });

    it('count what the trusted proxy itself saw, not what the client wrote before it', async () => {
      expect(await bucketsOf('127.0.0.1', ['198.51.100.1, 192.0.2.1', '198.51.100.2, 192.0.2.1'])).toBe(1);
    });

    it('count the proxy where it names no address', async () => {
      expect(await bucketsOf('127.0.0.1', ['unknown', '192.0.2.1:4711'])).toBe(1);
    });
  });
});
