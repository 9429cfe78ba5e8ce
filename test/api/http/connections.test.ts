import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createApiServer } from '../../../src/api/http/server';
import type { Caller } from '../../../src/api/http/caller';
import { SCOPES } from '../../../src/domain/scope';
import { RawConnection, request } from '../../support/raw-http';

/* Which connection goes when another comes, of a server whose application never ends a call. */

/** All that the server takes, and all of one address. */
const ALL = 4_000;
const OF_ADDRESS = 1_000;
const OPENED_AT_ONCE = 100;

const application: RequestListener = (req, res) => {
  const { authorization: entityId } = req.headers;
  const caller: Caller | undefined = entityId ? { entityId, role: 'bank', scopes: SCOPES } : undefined;
  Object.assign(req, { caller });
  if (req.url === '/answered') res.end('x');
  // More than the system takes in for a connection.
  else if (req.url === '/unread') res.end(LARGE);
};
const LARGE = Buffer.alloc(12 * 1024 * 1024);
const largeTo = (owner: string) => request('GET', '/unread', [`Authorization: ${owner}`]);

const open: RawConnection[] = [];
const servers: ReturnType<typeof createApiServer>[] = [];
afterEach(async () => {
  open.splice(0).forEach((one) => one.close());
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

async function serve(TRUSTED_PROXIES: string[]) {
  const server = createApiServer(application, { info: () => undefined }, { TRUSTED_PROXIES });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const got = { requests: 0 };
  server.on('request', () => void (got.requests += 1));

  /** A connection with its end at the server, which has got what it says. */
  async function begin(bytes: string, isRead = true) {
    const expected = got.requests + Number(bytes !== '');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = await RawConnection.to(url);
    open.push(client);
    if (!isRead) client.pause();
    const [socket] = await accepted;
    await client.send(bytes);
    while (got.requests < expected) await once(server, 'request');
    return { client, socket };
  }

  async function beginMany(count: number, bytes: string) {
    const expected = got.requests + count;
    for (let n = 0; n < count; n += OPENED_AT_ONCE) {
      const some = Array.from({ length: Math.min(OPENED_AT_ONCE, count - n) }, async () => {
        const client = await RawConnection.to(url);
        open.push(client);
        await client.send(bytes);
      });
      await Promise.all(some);
    }
    while (got.requests < expected) await once(server, 'request');
  }

  return { begin, beginMany };
}

const KNOWN = 'Authorization: Bearer x';
const BODY = 'Content-Length: 1000000';
const IN_HAND = request('GET', '/');
const OF_KNOWN = request('GET', '/', [KNOWN]);

it('a connection that waits for a body goes first, then one that reads or says nothing, a known call never', async () => {
  const { begin, beginMany } = await serve(['127.0.0.1']);
  await beginMany(ALL - 9, OF_KNOWN);
  const silent = await begin('');
  const inHand = await begin(IN_HAND);
  const largeBody = await begin(request('POST', '/', [KNOWN, BODY]));
  await largeBody.client.send('x'.repeat(20_000));
  while (largeBody.socket.bytesRead < 20_000) await once(largeBody.socket, 'data');
  const known = await begin(request('POST', '/', [KNOWN, BODY], 'x'));
  const unread = await begin(request('GET', '/unread'), false);
  const rest = await begin(request('POST', '/answered', [KNOWN, BODY], 'x'));
  const anonymous = await begin(request('POST', '/', [BODY], 'x'.repeat(20_000)));
  const refused = await begin(request('POST', '/answered', [BODY]));
  const again = await begin(request('GET', '/answered'));
  await again.client.answers(1);

  const order = [anonymous, refused, known, unread, rest, silent, again, inHand, largeBody];
  const gone = () => order.filter(({ socket }) => socket.destroyed);
  for (let n = 1; n <= order.length; n++) {
    const room = await begin(OF_KNOWN);
    expect(gone().map((one) => order.indexOf(one))).toEqual(order.slice(0, n).map((_, at) => at));
    expect(room.socket.destroyed).toBe(false);
  }
  expect((await begin('')).socket.destroyed).toBe(true);
});

it('an address with too much in hand gets a 429, and its bodies that crawl make room for its next call', async () => {
  const { begin, beginMany } = await serve([]);
  await beginMany(OF_ADDRESS - 1, IN_HAND);
  const crawling = await begin(request('POST', '/', [BODY], 'x'));
  const last = await begin(IN_HAND);
  expect(crawling.socket.destroyed).toBe(true);
  const refused = await begin('');
  await refused.client.send(IN_HAND);
  expect(await refused.client.answers(1)).toEqual([429]);
  expect(refused.client.received).toMatch(/^Retry-After: 1\r$/m);
  await refused.client.closed();
  last.client.close();
  await once(last.socket, 'close');
  const after = await begin(request('GET', '/answered'));
  expect(await after.client.answers(1)).toEqual([200]);
});

it('a connection that comes has the bytes of a few others counted, however many bodies crawl', async () => {
  const { begin, beginMany } = await serve([]);
  let counted = 0;
  servers.at(-1)?.on('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'bytesRead', { get: () => (counted += 1) });
  });
  await beginMany(OF_ADDRESS, request('POST', '/', [KNOWN, BODY], 'x'));
  counted = 0;
  const { socket } = await begin('');
  expect(socket.destroyed).toBe(false);
  expect(counted).toBeLessThan(10);
});

it('responses that nobody reads go at 64 MiB, first of an owner with a quarter, then the longest unread', async () => {
  const { begin } = await serve([]);
  const unreadBy = (owner: string) => begin(largeTo(owner), false);
  for (let n = 0; n < 5; n++) {
    const { socket } = await begin(largeTo('one'));
    while (socket.writableLength > 0) await once(socket, 'drain');
  }
  const one = await unreadBy('one');
  const greedy = await unreadBy('greedy');
  const all = [one, greedy, await unreadBy('greedy'), await unreadBy('two'), await unreadBy('three')];
  const gone = () => all.map(({ socket }, at) => (socket.destroyed ? at : -1)).filter((at) => at >= 0);
  // A page that is in memory once, however many do not read it.
  for (let n = 0; n < 6; n++) all.push(await begin(request('GET', '/unread'), false));
  expect(gone()).toEqual([]);
  all.push(await unreadBy('four'));
  expect(gone()).toEqual([1]);
  all.push(await unreadBy('five'));
  expect(gone()).toEqual([0, 1]);
});
