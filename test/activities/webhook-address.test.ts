import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { dnsResolve } from '../../src/activities/webhook-address';
import { createWebhookConnector } from '../../src/activities/webhook-connector';
import { startDnsServer, type DnsAnswer } from '../support/dns-server';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(ended.splice(0).map((end) => end()));
});

async function dns(names: Record<string, DnsAnswer>) {
  const started = await startDnsServer(names);
  ended.push(started.stop);
  return dnsResolve([started.server]);
}

const posted = { headers: {}, body: '{}' };

/** A host name beyond the 4 that fit into the threads of getaddrinfo. */
const deadNames = Array.from({ length: 12 }, (_, n) => `dead${n}.test`);

describe('a look-up', () => {
  it('gives the addresses of both families, the older one first', async () => {
    const resolve = await dns({ 'bank.test': { 4: '192.0.2.7', 6: '2001:db8:0:0:0:0:0:7' } });
    expect(await resolve('bank.test')).toEqual([
      { address: '192.0.2.7', family: 4 },
      { address: '2001:db8::7', family: 6 },
    ]);
  });

  it('says of a name that does not exist, and of one without addresses, that it is not found', async () => {
    const resolve = await dns({ 'gone.test': 'no such name', 'empty.test': {} });
    await expect(resolve('gone.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolve('empty.test')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });
});

describe('names that no server answers', () => {
  it('hold up no other receiver, however many they are', async () => {
    const received = createServer((_, response) => response.end('thanks')).listen(0, '127.0.0.1');
    await once(received, 'listening');
    ended.push(() => {
      received.closeAllConnections();
      received.close();
    });
    const resolve = await dns({ 'alive.test': { 4: '127.0.0.1' } });
    const connector = createWebhookConnector({ allowPrivate: true, resolve });
    ended.push(() => connector.close());
    const post = (name: string, timeoutMs: number) =>
      connector.send({
        ...posted,
        url: `http://${name}:${(received.address() as AddressInfo).port}/`,
        timeoutMs,
      });

    let deadEnded = 0;
    const dead = deadNames.map(async (name) => {
      const outcome = await post(name, 1_500);
      deadEnded++;
      return outcome;
    });
    expect(await post('alive.test', 1_500)).toMatchObject({ httpStatus: 200 });
    expect(deadEnded).toBe(0);
    for (const outcome of await Promise.all(dead)) {
      expect(outcome).toMatchObject({ error: 'no answer within 1500 ms', reached: 'no' });
    }
  });
});

describe('a handshake that never ends', () => {
  it.each([
    ['the attempt', 300, 900, 'no answer within 300 ms'],
    ['connecting', 20_000, 300, 'connection timed out'],
  ])('is over at the limit of %s, whichever comes first', async (_, timeoutMs, connectMs, error) => {
    const server = createTcpServer((socket) => socket.on('error', () => undefined).resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ended.push(() => server.close());
    const connector = createWebhookConnector({ allowPrivate: true, connectMs });
    ended.push(() => connector.close());
    const connected = once(server, 'connection') as Promise<[Socket]>;
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const attempt = connector.send({ ...posted, url, timeoutMs });
    const [socket] = await connected;
    const closed = once(socket, 'close');
    expect(await attempt).toMatchObject({ error, reached: 'no' });
    await closed;
  });
});

it('connections are kept for the next webhooks, and closed once nothing more comes, whatever is offered', async () => {
  const sockets = new Set<Socket>();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    sockets.add(request.socket);
    response.end('thanks');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ended.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const connector = createWebhookConnector({ allowPrivate: true });
  ended.push(() => connector.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (let n = 0; n < 10; n++) await connector.send({ ...posted, url, timeoutMs: 5_000 });
  // One that follows at once may have a second.
  expect(sockets.size).toBeLessThanOrEqual(2);
  await Promise.all([...sockets].map((socket) => once(socket, 'close')));
}, 20_000);
