import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createWebhookConnector,
  readHead,
  type WebhookConnector,
} from '../../src/activities/webhook-connector';
import { isPublicAddress } from '../../src/activities/webhook-address';
import { memoryKept } from '../support/memory';

const servers: Server[] = [];
const connectors: WebhookConnector[] = [];

afterEach(async () => {
  await Promise.all(connectors.splice(0).map((open) => open.close()));
  await Promise.all(
    servers.splice(0).map(
      (server) =>
        new Promise((resolve) => {
          server.close(resolve);
          server.closeAllConnections();
        }),
    ),
  );
});

/** A server on 127.0.0.1; `url` ends with its port. */
async function receiver(listener: RequestListener): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function connect(...args: Parameters<typeof createWebhookConnector>): WebhookConnector {
  const made = createWebhookConnector(...args);
  connectors.push(made);
  return made;
}

const send = (to: WebhookConnector, url: string, timeoutMs = 5_000) =>
  to.send({ url, headers: { 'content-type': 'application/json' }, body: '{"é":"€"}', timeoutMs });

const ok: RequestListener = (_, response) => {
  response.end('thanks');
};

const sandboxed = () => connect({ allowPrivate: true });

/** Refuses to look anything up: for addresses that are no names. */
const guarded = () =>
  connect({ allowPrivate: false, resolve: () => Promise.reject(new Error('no name is looked up')) });

describe('where only public addresses are allowed', () => {
  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://100.64.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://198.18.0.1/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fc00::1]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://[ff02::1]/',
  ])('nothing is sent to %s', async (url) => {
    expect(await send(guarded(), url)).toMatchObject({
      httpStatus: null,
      error: 'the address is not public',
    });
  });

  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:10.0.0.1', 'fd00::1'])(
    'nothing is sent to a name that resolves to %s, even beside a public address',
    async (address) => {
      const { url, requests } = await receiver(ok);
      const port = new URL(url).port;
      const family = address.includes(':') ? 6 : 4;
      for (const addresses of [
        [{ address, family }],
        [
          { address: '93.184.215.14', family: 4 },
          { address, family },
        ],
      ]) {
        const to = connect({ allowPrivate: false, resolve: () => Promise.resolve(addresses) });
        expect((await send(to, `https://rebound.example:${port}/`))?.error).toBe('the address is not public');
      }
      expect(requests).toEqual([]);
    },
  );

  it('nothing is sent without https', async () => {
    expect((await send(guarded(), 'http://93.184.215.14/'))?.error).toBe('only https is allowed');
    expect((await send(guarded(), 'ftp://93.184.215.14/'))?.error).toBe('only https is allowed');
    expect((await send(guarded(), 'not a url'))?.error).toBe('not a URL');
  });

  it.each(['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])('%s is allowed', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it('a name that is not found says so', async () => {
    const to = connect({
      allowPrivate: false,
      resolve: () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })),
    });
    expect((await send(to, 'https://bank.example/hooks'))?.error).toBe('host name not found');
  });
});

describe('a receiver where private addresses are allowed', () => {
  it('gets the exact bytes and the headers, and its answer is kept', async () => {
    let body = Buffer.alloc(0);
    const { url, requests } = await receiver((request, response) => {
      request.on('data', (chunk: Buffer) => {
        body = Buffer.concat([body, chunk]);
      });
      request.on('end', () => response.writeHead(202).end('thanks'));
    });
    expect(await send(sandboxed(), url)).toMatchObject({
      httpStatus: 202,
      error: null,
      responseHead: 'thanks',
    });
    expect(body).toEqual(Buffer.from('{"é":"€"}'));
    expect(requests[0]?.headers['content-type']).toBe('application/json');
  });

  it('is not followed to where it redirects', async () => {
    const elsewhere = await receiver(ok);
    const { url } = await receiver((_, response) => {
      response.writeHead(307, { location: elsewhere.url }).end();
    });
    expect(await send(sandboxed(), url)).toMatchObject({
      httpStatus: 307,
      error: 'HTTP 307: redirects are not followed',
    });
    expect(elsewhere.requests).toEqual([]);
  });

  it('that gives no answer is cut off at the time-out', async () => {
    const { url } = await receiver(() => undefined);
    expect(await send(sandboxed(), url, 100)).toMatchObject({
      httpStatus: null,
      error: 'no answer within 100 ms',
      reached: 'maybe',
    });
  });

  it('that never ends its answer has the message all the same', async () => {
    const { url } = await receiver((_, response) => {
      response.write('so far');
    });
    expect(await send(sandboxed(), url)).toMatchObject({
      httpStatus: 200,
      error: null,
      responseHead: 'so far',
    });
  });

  it('that is not there is told apart in words', async () => {
    const { url } = await receiver(ok);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    expect(await send(sandboxed(), url)).toMatchObject({ error: 'connection refused', reached: 'no' });
    const broken = await receiver((request) => request.socket.destroy());
    expect(await send(sandboxed(), broken.url)).toMatchObject({
      error: 'connection closed before the answer',
      reached: 'maybe',
    });
    expect(await send(guarded(), 'https://10.0.0.1/')).toMatchObject({ reached: 'no' });
  });
});

describe('whether a receiver may have the message', () => {
  it('is certain after an answer, whatever it says', async () => {
    for (const status of [200, 301, 410, 500]) {
      const { url } = await receiver((_, response) => {
        response.writeHead(status).end();
      });
      expect(await send(sandboxed(), url)).toMatchObject({ reached: 'yes', httpStatus: status });
    }
  });

  it('is unknown after silence on a connection that was kept from an attempt before', async () => {
    let answers = 0;
    const { url, requests } = await receiver((_, response) => {
      if (answers++ < 2) response.end('thanks');
    });
    const to = sandboxed();
    // One that follows at once may have a second connection, which is kept as well.
    expect(await send(to, url)).toMatchObject({ reached: 'yes' });
    expect(await send(to, url)).toMatchObject({ reached: 'yes' });
    expect(await send(to, url, 200)).toMatchObject({ reached: 'maybe' });
    expect(new Set(requests.map(({ socket }) => socket)).size).toBeLessThan(3);
  });
});

const begun = (to: WebhookConnector, url: string, begin: () => Promise<boolean>) =>
  to.send({ url, headers: {}, body: '{}', timeoutMs: 5_000, begin });

describe('what is asked before the first byte leaves', () => {
  it('keeps the request back where the answer is no', async () => {
    const { url, requests } = await receiver(ok);
    expect(await begun(sandboxed(), url, () => Promise.resolve(false))).toBeUndefined();
    expect(requests).toEqual([]);
  });

  it('is not asked where there is no connection', async () => {
    const { url } = await receiver(ok);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    let asked = 0;
    const outcome = await begun(sandboxed(), url, () => Promise.resolve(++asked > 0));
    expect(outcome).toMatchObject({ error: 'connection refused' });
    expect(asked).toBe(0);
  });

  it('throws what it throws, and nothing is sent', async () => {
    const { url, requests } = await receiver(ok);
    const outcome = begun(sandboxed(), url, () => Promise.reject(new Error('Postgres is away')));
    await expect(outcome).rejects.toThrow('Postgres is away');
    expect(requests).toEqual([]);
  });
});

describe('an answer without end', () => {
  it('is read for 64 KiB, of which 1 KiB is kept', async () => {
    let read = 0;
    async function* endless() {
      for (;;) {
        read++;
        yield await Promise.resolve(Buffer.alloc(1024, read === 1 ? 'a' : 'b'));
      }
    }
    expect(await readHead(endless())).toBe('a'.repeat(1024));
    expect(read).toBe(64);
  });

  it('keeps nothing of what its pieces arrived with', async () => {
    const arrivedBytes = 64 * 1024;
    const before = memoryKept();
    let kept = 0;
    async function* piecemeal() {
      for (let n = 0; n < 2_000; n += 1) {
        yield await Promise.resolve(Buffer.alloc(arrivedBytes, 'a').subarray(0, 1));
      }
      // Buffers are given back once the collection is over.
      memoryKept();
      kept = memoryKept() - before;
    }
    expect(await readHead(piecemeal())).toBe('a'.repeat(1024));
    expect(kept).toBeLessThan(100 * arrivedBytes);
  });
});
