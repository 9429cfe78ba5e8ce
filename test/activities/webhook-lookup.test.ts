import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWebhookConnector } from '../../src/activities/webhook-connector';
import { createNameLookups } from '../../src/activities/webhook-lookup';
import { startDnsServer, type DnsAnswer } from '../support/dns-server';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(ended.splice(0).map((end) => end()));
});

async function dns(names: Record<string, DnsAnswer>) {
  const started = await startDnsServer(names);
  ended.push(started.stop);
  return started;
}

const asker = (entityId = 'bnk_1', withinMs = 5_000) => ({ entityId, signal: AbortSignal.timeout(withinMs) });

/** A host name beyond the 4 that fit into the threads of getaddrinfo. */
const deadNames = Array.from({ length: 12 }, (_, n) => `dead${n}.test`);

describe('a look-up', () => {
  it('gives the addresses of both families, the older one first', async () => {
    const { server } = await dns({ 'bank.test': { 4: '192.0.2.7', 6: '2001:db8:0:0:0:0:0:7' } });
    const resolve = createNameLookups({ servers: [server] });
    expect(await resolve('bank.test', asker())).toEqual([
      { address: '192.0.2.7', family: 4 },
      { address: '2001:db8::7', family: 6 },
    ]);
  });

  it('says of a name that does not exist, and of one without addresses, that it is not found', async () => {
    const { server } = await dns({ 'gone.test': 'no such name', 'empty.test': {} });
    const resolve = createNameLookups({ servers: [server] });
    await expect(resolve('gone.test', asker())).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolve('empty.test', asker())).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('ends with the time of who asks, where no server answers', async () => {
    const { server } = await dns({});
    const resolve = createNameLookups({ servers: [server] });
    await expect(resolve('dead.test', asker('bnk_1', 100))).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('asks no server for localhost, nor for what the hosts file has', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'assent-hosts-'));
    ended.push(() => rm(directory, { recursive: true }));
    const hostsFile = join(directory, 'hosts');
    await writeFile(hostsFile, '# ours\n10.9.8.7\tbank.internal  Bank # and\nfd00::7 bank.internal\n');
    const { server, asked } = await dns({});
    const resolve = createNameLookups({ servers: [server], hostsFile });

    const loopback = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
    expect(await resolve('localhost', asker())).toEqual(loopback);
    expect(await resolve('bank.localhost', asker())).toEqual(loopback);
    expect(await resolve('bank', asker())).toEqual([{ address: '10.9.8.7', family: 4 }]);
    expect(await resolve('bank.internal', asker())).toEqual([
      { address: '10.9.8.7', family: 4 },
      { address: 'fd00::7', family: 6 },
    ]);
    expect(asked).toEqual([]);
  });

  it('is shared by all who ask for the same name meanwhile', async () => {
    const { server, asked } = await dns({ 'bank.test': { 4: '192.0.2.7' } });
    const resolve = createNameLookups({ servers: [server] });
    await Promise.all(Array.from({ length: 20 }, (_, n) => resolve('bank.test', asker(`mch_${n}`))));
    expect(asked.filter((one) => one === 'A bank.test')).toHaveLength(1);
  });

  it('of one who has left goes on for the others', async () => {
    const { server } = await dns({});
    const resolve = createNameLookups({ servers: [server] });
    const [first, second] = [asker('bnk_1', 50), asker('bnk_2', 150)];
    const both = await Promise.allSettled([resolve('dead.test', first), resolve('dead.test', second)]);
    expect(both.map((one) => one.status === 'rejected' && (one.reason as unknown))).toEqual([
      first.signal.reason,
      second.signal.reason,
    ]);
  });

  it('is refused to an entity whose two others still wait, and to nobody else', async () => {
    const { server } = await dns({ 'bank.test': { 4: '192.0.2.7' } });
    const resolve = createNameLookups({ servers: [server] });
    const waiting = deadNames.slice(0, 2).map((name) => resolve(name, asker('mch_1', 300)));
    const over = Promise.allSettled(waiting);
    await expect(resolve('bank.test', asker('mch_1'))).rejects.toMatchObject({ code: 'TOO_MANY_LOOKUPS' });
    expect(await resolve('bank.test', asker('mch_2'))).toHaveLength(1);
    await over;
    expect(await resolve('bank.test', asker('mch_1'))).toHaveLength(1);
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
    const { server } = await dns({ 'alive.test': { 4: '127.0.0.1' } });
    const connector = createWebhookConnector(
      { allowPrivate: true },
      createNameLookups({ servers: [server] }),
    );
    ended.push(() => connector.close());
    const post = (name: string, entityId: string, timeoutMs: number) =>
      connector.send(`http://${name}:${(received.address() as AddressInfo).port}/`, {}, '{}', {
        entityId,
        timeoutMs,
      });

    let deadEnded = 0;
    const dead = deadNames.map(async (name) => {
      const outcome = await post(name, `mch_${name}`, 1_500);
      deadEnded++;
      return outcome;
    });
    expect(await post('alive.test', 'mch_alive', 1_500)).toMatchObject({ httpStatus: 200 });
    expect(deadEnded).toBe(0);
    for (const outcome of await Promise.all(dead)) {
      expect(outcome).toMatchObject({ error: 'no answer within 1500 ms', reached: 'no' });
    }
  });
});

describe('a handshake that never ends', () => {
  it('ends with its attempt, and leaves no connection behind', async () => {
    const sockets: Socket[] = [];
    const silent = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      sockets.push(socket);
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    ended.push(() => silent.close());
    const connector = createWebhookConnector({ allowPrivate: true });
    ended.push(() => connector.close());

    const { port } = silent.address() as AddressInfo;
    const connected = once(silent, 'connection');
    const attempt = connector.send(`https://127.0.0.1:${port}/`, {}, '{}', {
      entityId: 'bnk_1',
      timeoutMs: 300,
    });
    await connected;
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
    expect(await attempt).toMatchObject({ error: 'no answer within 300 ms' });
    await closed;
    // A connection would be given up by undici alone after 10 s.
  }, 8_000);
});
