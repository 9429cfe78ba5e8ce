import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readConfig, type Config } from '../../../src/settings/config';
import { newClientSecret } from '../../../src/database/entity/client-credential';
import type { Database } from '../../../src/database/pool/connection';
import { newId } from '../../../src/database/identifier/new-id';
import { createTokenBuckets } from '../../../src/api/http/rate-limit';
import { enter, send, serveApi, type ServedApi } from '../../support/api';
import { databaseOfFile } from '../../support/database';
import { eventually } from '../../support/engine';

const test = databaseOfFile();

const ENDPOINT = '/v1/webhooks/endpoint';

/** A token flows in each 1 000 s: none while a test runs, however slow the machine is. */
const slow = (burst: number) => ({ perSecond: 0.001, burst });
const metered = (rates: Partial<Config>) => serveApi(test.db, { config: { ...readConfig({}), ...rates } });

const get = (api: ServedApi, token: string) =>
  send(api.url, 'GET', ENDPOINT, undefined, { authorization: `Bearer ${token}` });

/** The number of buckets, by address, that a client pays from which claims these addresses. */
async function bucketsOf(trustedProxies: string, claimed: string[]): Promise<number> {
  const api = await serveApi(test.db, { settings: { TRUSTED_PROXIES: trustedProxies } });
  const client = await enter(api, 'bank');
  const taken = () => test.db.rows`DELETE FROM rate_limits WHERE key LIKE 'tokenAddress:%' RETURNING key`;
  await taken();
  const answers = await Promise.all(
    claimed.map((address) => ask(api, client, { 'x-forwarded-for': address })),
  );
  await api.close();
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  return (await taken()).length;
}

/** Leaves nothing in a bucket, for longer than a test takes. */
async function leaveNothing(key: string): Promise<void> {
  const emptied = await test.db.rows`
    UPDATE rate_limits SET full_at = clock_timestamp() + interval '1 hour' WHERE key = ${key} RETURNING key`;
  expect(emptied).toHaveLength(1);
}

const ask = (
  api: ServedApi,
  { clientId, clientSecret }: { clientId: string; clientSecret: string },
  headers: Record<string, string> = {},
) =>
  fetch(`${api.url}/v1/oauth/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });

describe('the rate limits', () => {
  it('hold exactly over two processes, for each caller apart', async () => {
    const rates = { RATE_LIMIT_CALLER: slow(20) };
    const [one, two] = [await metered(rates), await metered(rates)];
    const [bank, merchant] = [await enter(one, 'bank'), await enter(one, 'merchant')];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => get(i % 2 === 0 ? one : two, bank.token)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
    expect(await get(two, merchant.token)).toMatchObject({ status: 200 });
    await Promise.all([one.close(), two.close()]);
  });

  it('admit no more where processes take tokens ahead, and lose no more than half of the burst', async () => {
    const rates = { RATE_LIMIT_CALLER: slow(100) };
    const [one, two] = [await metered(rates), await metered(rates)];
    const bank = await enter(one, 'bank');
    const statuses: number[] = [];
    for (let i = 0; i < 120; i++) statuses.push((await get(i % 3 === 0 ? two : one, bank.token)).status);
    const admitted = statuses.filter((status) => status === 200).length;
    expect(admitted).toBeLessThanOrEqual(100);
    expect(admitted).toBeGreaterThanOrEqual(50);
    expect(statuses.at(-1)).toBe(429);
    await Promise.all([one.close(), two.close()]);
  });

  it('tell in every answer what is left, and a refused caller when to come again', async () => {
    const api = await metered({ RATE_LIMIT_CALLER: slow(2) });
    const bank = await enter(api, 'bank');
    const headers = async () => {
      const { status, headers: given } = await bank.send('GET', ENDPOINT);
      return [status, given.get('ratelimit-policy'), given.get('ratelimit'), given.get('retry-after')];
    };
    const policy = '"caller";q=2;w=2000';
    const empty = expect.stringMatching(/^"caller";r=0;t=(19\d\d|2000)$/) as string;
    expect(await headers()).toEqual([200, policy, '"caller";r=1;t=1000', null]);
    expect(await headers()).toEqual([200, policy, empty, null]);
    expect(await headers()).toEqual([429, policy, empty, expect.stringMatching(/^(9\d\d|1000)$/)]);
    await api.close();
  });

  it('give a provider and its merchants ten times as much together, however many it makes', async () => {
    const api = await serveApi(test.db, { settings: { RATE_LIMIT_CALLER: '1/3' } });
    const provider = await enter(api, 'provider');
    const [one, two] = [
      await enter(api, 'merchant', { providerId: provider.entityId }),
      await enter(api, 'merchant', { providerId: provider.entityId }),
    ];
    const shared = `caller:owner:${provider.entityId}`;
    const fullAt = async () => test.db.rows`SELECT full_at FROM rate_limits WHERE key = ${shared}`;
    expect(await get(api, one.token)).toMatchObject({ status: 200 });
    // A refused call of a merchant takes nothing from the others.
    await leaveNothing(`caller:${one.entityId}`);
    const before = await fullAt();
    const alone = await get(api, one.token);
    expect([alone.status, alone.headers.get('ratelimit-policy')]).toEqual([429, '"caller";q=3;w=3']);
    expect(await fullAt()).toEqual(before);

    await leaveNothing(shared);
    const refused = await get(api, two.token);
    expect([refused.status, refused.headers.get('ratelimit-policy')]).toEqual([429, '"owner";q=30;w=3']);
    expect(await provider.send('GET', ENDPOINT)).toMatchObject({ status: 429 });
    const another = await enter(api, 'merchant');
    expect(await get(api, another.token)).toMatchObject({ status: 200 });

    await leaveNothing(`token:owner:${provider.entityId}`);
    expect((await ask(api, one)).status).toBe(429);
    expect((await ask(api, another)).status).toBe(200);
    await api.close();
  });

  it('count the identifiers of intents and bills, of all merchants of a provider together', async () => {
    const rates = { RATE_LIMIT_ITEMS: slow(150), RATE_LIMIT_UNKNOWN: slow(5000) };
    const [one, two] = [await metered(rates), await metered(rates)];
    const { entityId: providerId } = await enter(one, 'provider');
    const merchants = [
      await enter(one, 'merchant', { providerId }),
      await enter(two, 'merchant', { providerId }),
    ];
    const shared = { currency: 'NGN', description: 'Shoes' };
    const name = async (i: number) => {
      const ids = Array.from({ length: 10 }, (_, n) => `none-${i}-${n}`);
      const [path, body] =
        i % 4 < 2
          ? (['/v1/billing/intent', { lookupIDs: ids }] as const)
          : (['/v1/customer/bill', { paymentIDs: ids, amount: 1 }] as const);
      return merchants[i % 2]?.send('POST', path, { ...body, ...shared });
    };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => name(i)));
    const refused = answers.filter((answer) => answer?.status === 429);
    expect(answers.filter((answer) => answer?.status === 404)).toHaveLength(15);
    expect(refused).toHaveLength(5);
    expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"items";q=150;w=150000');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(9_000);

    const bank = await enter(one, 'bank');
    const bill = (count: number) =>
      bank.send('POST', '/v1/customer/bill', {
        lookupIDs: Array.from({ length: count }, (_, n) => `none-${n}`),
        payee: { lookupID: 'none' },
        amount: 1,
        ...shared,
      });
    expect(await bill(100)).toMatchObject({ status: 404 });
    // A call that does not fit takes nothing of what is left.
    expect(await bill(51)).toMatchObject({ status: 429 });
    expect(await bill(51)).toMatchObject({ status: 429 });
    expect(await bill(50)).toMatchObject({ status: 404 });
    await Promise.all([one.close(), two.close()]);
  });

  it('count also what is refused for another reason', async () => {
    const api = await metered({ RATE_LIMIT_MERCHANT_BATCH: slow(2) });
    const bank = await enter(api, 'bank');
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await bank.send('POST', '/v1/provider/merchants')).status);
    expect(statuses).toEqual([403, 403, 429]);
    await api.close();
  });

  it('bound the guesses at a client’s secret, but keep out neither its owner nor other clients', async () => {
    const api = await metered({ RATE_LIMIT_TOKEN: slow(10) });
    const [bank, merchant] = [await enter(api, 'bank'), await enter(api, 'merchant')];
    for (const [clientSecret, looked] of [
      ['sec_guess', 10],
      [newClientSecret(), 0],
    ] as const) {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => ask(api, { clientId: bank.clientId, clientSecret })),
      );
      const refused = answers.find(({ status }) => status === 429);
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(looked);
      expect(refused?.headers.get('ratelimit-policy')).toBe('"tokenGuess";q=10;w=10000');
      expect(refused?.headers.get('retry-after')).toMatch(/^(9\d\d|1000)$/);
      expect(await refused?.json()).toMatchObject({ error: 'temporarily_unavailable' });
    }
    expect((await ask(api, { ...merchant, clientSecret: newClientSecret() })).status).toBe(401);
    expect((await ask(api, bank)).status).toBe(200);
    // Text that cannot be an id is no client, whose guesses would count together.
    const nobody = await Promise.all(
      Array.from({ length: 30 }, (_, n) => ask(api, { clientId: `nobody-${n}`, clientSecret: 'sec_guess' })),
    );
    expect(new Set(nobody.map(({ status }) => status))).toEqual(new Set([401]));
    await api.close();
  });

  it('bound the guesses from one address, whatever clients they are for, and bodies that say nothing', async () => {
    const api = await metered({ RATE_LIMIT_FAILED_AUTH: slow(5) });
    const bank = await enter(api, 'bank');
    const guess = () => ask(api, { clientId: newId('client'), clientSecret: newClientSecret() });
    const statuses = [];
    for (let i = 0; i < 7; i++) statuses.push((await guess()).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    // A right secret is good from that address too.
    expect((await ask(api, bank)).status).toBe(200);
    const empty = await Promise.all(
      Array.from({ length: 30 }, () => fetch(`${api.url}/v1/oauth/token`, { method: 'POST' })),
    );
    expect(empty.map(({ status }) => status)).toContain(429);
    await api.close();
  });

  it('admit as many as the bucket has, though some were taken ahead while others asked', async () => {
    const buckets = createTokenBuckets(test.db);
    const take = () => buckets.take({ key: 'ahead', rate: slow(10) });
    await take();
    // A second call at once takes a token ahead; what comes meanwhile asks for single ones.
    const ahead = take();
    await Promise.resolve();
    const states = await Promise.all([ahead, ...Array.from({ length: 29 }, take)]);
    expect(states.filter(({ admitted }) => admitted)).toHaveLength(9);
  });

  it('bound how many tokens a client fetches, and that is all that its owner pays for', async () => {
    const api = await metered({ RATE_LIMIT_TOKEN: slow(10) });
    const bank = await enter(api, 'bank');
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(api, bank)));
    const refused = answers.find(({ status }) => status === 429);
    // The tenth is that which it has entered with.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
    expect(refused?.headers.get('ratelimit-policy')).toBe('"token";q=10;w=10000');
    expect(refused?.headers.get('retry-after')).toMatch(/^(9\d\d|1000)$/);
    await api.close();
  });

  it('look up one secret at a time, and all that wait for it together', async () => {
    const GUESSES = 200;
    let running = 0;
    let atOnce = 0;
    let lookUps = 0;
    let arrived = 0;
    const arrive = () => void (arrived += 1);
    subscribe('http.server.request.start', arrive);
    const db: Database = {
      ...test.db,
      async query(text, ...more) {
        const isLookUp = text.includes('FROM client_credentials');
        if (isLookUp) {
          lookUps += 1;
          atOnce = Math.max(atOnce, (running += 1));
          // The first takes until all are there, however slowly the machine sends them.
          if (lookUps === 1) await eventually(() => Promise.resolve(arrived === GUESSES));
        }
        try {
          return await test.db.query(text, ...more);
        } finally {
          if (isLookUp) running -= 1;
        }
      },
    };
    const api = await serveApi(db, { settings: { RATE_LIMIT_FAILED_AUTH: '1/1' } });
    const guess = () => ask(api, { clientId: newId('client'), clientSecret: newClientSecret() });
    const answers = await Promise.all(Array.from({ length: GUESSES }, guess));
    unsubscribe('http.server.request.start', arrive);
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(150);
    expect(atOnce).toBe(1);
    expect(lookUps).toBeLessThan(GUESSES);
    // Text without the form of an id or a secret is not looked up at all.
    lookUps = 0;
    await ask(api, { clientId: newId('client'), clientSecret: 'guess' });
    await ask(api, { clientId: 'guess', clientSecret: newClientSecret() });
    expect(lookUps).toBe(0);
    await api.close();
  });

  it.each([
    ['whom a trusted proxy names', '127.0.0.0/8', ['192.0.2.1', '192.0.2.2', '192.0.2.1'], 2],
    [
      'whom the first of two trusted names',
      '127.0.0.1,10.0.0.0/8',
      ['2001:db8::1, 10.1.2.3', '2001:db8::2'],
      1,
    ],
    ['who connects where no proxy is trusted', '', ['192.0.2.1', '192.0.2.2'], 1],
    ['who connects where that is no trusted proxy', '10.0.0.0/8', ['192.0.2.1', '192.0.2.2'], 1],
    [
      'what the proxy saw, not what the client wrote before it',
      '127.0.0.1',
      ['198.51.100.1, 192.0.2.1', '198.51.100.2, 192.0.2.1'],
      1,
    ],
    ['the proxy where it names no address', '127.0.0.1', ['unknown', '192.0.2.1:4711'], 1],
  ])('count token requests by address: %s', async (_, trusted, claimed, buckets) => {
    expect(await bucketsOf(trusted, claimed)).toBe(buckets);
  });
});
