import { ApiClient } from '../../examples/demo/api-client';
import { startScriptedNetwork, type Reply } from '../support/scripted-network';

let stop: (() => void) | undefined;
afterEach(() => stop?.());

async function clientOf(reply: (nth: number) => Reply) {
  const network = await startScriptedNetwork((_, nth) => reply(nth));
  stop = network.stop;
  return { network, client: new ApiClient(network.url, { clientId: 'cli_1', clientSecret: 'secret' }) };
}

const OK: Reply = { status: 200, body: { success: true } };

test('one token serves many calls', async () => {
  const { network, client } = await clientOf(() => OK);

  await client.get('/v1/a', { page: 2 });
  await client.put('/v1/b', { url: 'x' });

  expect(network.asked.map(({ route, headers }) => [route, headers['authorization']])).toEqual([
    ['GET /v1/a?page=2', 'Bearer token-1'],
    ['PUT /v1/b', 'Bearer token-1'],
  ]);
  expect(network.tokens()).toBe(1);
});

test('many calls at once ask for one token between them', async () => {
  const { network, client } = await clientOf(() => OK);

  await Promise.all(Array.from({ length: 20 }, () => client.get('/v1/a')));

  expect(network.asked).toHaveLength(20);
  expect(network.tokens()).toBe(1);
});

test('told to come back later, it does so, and no earlier', async () => {
  const { network, client } = await clientOf((nth) =>
    nth === 1 ? { status: 429, headers: { 'retry-after': '1' } } : OK,
  );

  const before = Date.now();
  const answer = await client.post('/v1/a', {});

  expect(answer.status).toBe(200);
  expect(network.asked).toHaveLength(2);
  expect(Date.now() - before).toBeGreaterThanOrEqual(990);
});

test('a refusal is handed on at once', async () => {
  const { network, client } = await clientOf(() => ({ status: 409, body: { success: false } }));

  expect(await client.answer('/v1/a', {})).toMatchObject({ status: 409, body: { success: false } });
  expect(network.asked).toHaveLength(1);
});

describe('when nobody knows whether a call was heard', () => {
  const unsure: [string, Reply][] = [
    ['a broken connection', 'close'],
    ['a 503', { status: 503, headers: { 'retry-after': '0' } }],
  ];

  test.each(unsure)('after %s a creation without a key is not repeated', async (_, reply) => {
    const { network, client } = await clientOf(() => reply);

    await client.post('/v1/a', {}).catch(() => undefined);

    expect(network.asked).toHaveLength(1);
  });

  test.each(unsure)('after %s it is repeated with its own key', async (_, reply) => {
    const { network, client } = await clientOf((nth) => (nth === 1 ? reply : OK));

    expect(await client.post('/v1/a', { b: 1 }, 'key-1')).toMatchObject({ status: 200 });
    expect(network.asked.map(({ body, headers }) => [body, headers['idempotency-key']])).toEqual([
      [{ b: 1 }, 'key-1'],
      [{ b: 1 }, 'key-1'],
    ]);
  });

  test.each(unsure)("after %s a bank's answer is repeated", async (_, reply) => {
    const { network, client } = await clientOf((nth) => (nth === 1 ? reply : OK));

    expect(await client.answer('/v1/a', {})).toMatchObject({ status: 200 });
    expect(network.asked).toHaveLength(2);
  });

  test('a network that stays away ends in its own last word', async () => {
    const { network, client } = await clientOf(() => ({ status: 503, headers: { 'retry-after': '0' } }));

    expect(await client.get('/v1/a')).toMatchObject({ status: 503 });
    expect(network.asked).toHaveLength(8);
  });
});
