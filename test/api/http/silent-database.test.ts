import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createCallerLimiter } from '../../../src/api/http/slots';
import { ANSWER_WITHIN_MS, READY_WITHIN_MS } from '../../../src/api/http/deadline';
import { openDatabase, type PooledDatabase } from '../../../src/database/pool/connection';
import { databaseProblems } from '../../../src/temporal/readiness';
import { enter, send, serveApi, tokenOf, type Party, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { engineFacts } from '../../support/keyring';

/*
 * A Postgres that stands still while its connections are warm: it takes everything and answers
 * nothing, as a frozen process or a lost network does. A proxy before the real one holds its tongue
 * for it.
 */

let test: TestDatabase;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let db: PooledDatabase;
let api: ServedApi;
let merchant: Party;
beforeAll(async () => {
  test = await createTestDatabase();
  proxy = await startProxy(test.url);
  db = openDatabase(proxy.url, 4, engineFacts, { answerWithinMs: ANSWER_WITHIN_MS });
  api = await serveApi(db, {
    limiter: createCallerLimiter(4),
    readiness: () => databaseProblems(db.until(performance.now() + READY_WITHIN_MS)),
  });
  merchant = await enter(api, 'merchant');
});
afterAll(async () => {
  proxy.thaw();
  await api.close();
  await db.destroy();
  proxy.close();
  await test.drop();
});

async function startProxy(target: string) {
  const url = new URL(target);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => void to.write(chunk));
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (frozen) from.pause();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

it('every request is a 503 that is logged, also those that wait for their turn, and all goes on after the thaw', async () => {
  expect(await merchant.send('GET', '/v1/refunds')).toMatchObject({ status: 200 });
  const grant = {
    grant_type: 'client_credentials',
    client_id: merchant.clientId,
    client_secret: merchant.clientSecret,
  };
  proxy.freeze();
  const [bills, reads, tokens, ready] = await Promise.all([
    Promise.all(
      Array.from({ length: 5 }, () =>
        merchant.send('POST', '/v1/devices', { fingerprint: '0123456789abcdef' }),
      ),
    ),
    Promise.all(Array.from({ length: 5 }, () => merchant.send('GET', '/v1/transaction-history'))),
    // The second and the third wait for the look-up of the first to end, and then for one of their
    // own.
    Promise.all(Array.from({ length: 3 }, () => send(api.url, 'POST', '/v1/oauth/token', grant))),
    fetch(`${api.url}/readyz`),
  ]);
  for (const answered of [...bills, ...reads]) {
    expect(answered).toMatchObject({ status: 503, body: { success: false } });
    expect(answered.headers.get('retry-after')).toBe('2');
  }
  expect([...tokens, ready].map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  expect(api.log).toContainEqual(expect.objectContaining({ level: 50, msg: 'request failed' }));
  // None of them waited for another's limit as well.
  const slowest = Math.max(...api.log.map(({ responseTime }) => Number(responseTime ?? 0)));
  expect(slowest).toBeLessThan(2 * ANSWER_WITHIN_MS);
  proxy.thaw();
  expect(await tokenOf(api, merchant)).toBeDefined();
  expect(await merchant.send('GET', '/v1/refunds')).toMatchObject({ status: 200 });
});

it('a transaction under way is undone, and its connection given up', async () => {
  const key = 'silent';
  const insert = `INSERT INTO rate_limits (key, full_at, asked_at, taken) VALUES ('${key}', now(), now(), 1)`;
  const stuck = db.until(performance.now() + 500).transaction(async (trx) => {
    await trx.query(insert);
    proxy.freeze();
    await trx.query('SELECT 1');
  });
  await expect(stuck).rejects.toMatchObject({ name: 'DatabaseSilent' });
  proxy.thaw();
  const { rows } = await db.query(`SELECT FROM rate_limits WHERE key = '${key}'`);
  expect(rows).toEqual([]);
});
