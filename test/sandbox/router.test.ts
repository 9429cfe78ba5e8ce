import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler } from 'express';
import { Failure, FAILURES } from '../../src/domain/failures';
import { sandboxHandlers } from '../../src/api/pages/sandbox';
import { sandboxRouter } from '../../packages/sandbox/src/router';
import { Sandbox } from '../../packages/sandbox/src/sandbox';

const party = (name: string) => ({
  entityId: `mch_${name}`,
  name,
  clientId: 'cli_1',
  clientSecret: 'sec_1',
  webhookSecret: `whsec_${Buffer.alloc(32).toString('base64')}`,
});

const sandbox = new Sandbox(
  { apiUrl: 'http://127.0.0.1:9', shop: party('shop'), bank: party('bank') },
  'Africa/Lagos',
  { warn: () => undefined },
);
/** As the API answers what its routes refuse; what is no refusal is a fault of ours. */
const refused: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
  const known = error instanceof Failure;
  res.status(known ? FAILURES[error.code].status : 500).json(known ? error.code : 'fault');
};
const server = express()
  .use('/sandbox', sandboxHandlers({ url: sandbox.cast.apiUrl, routes: sandboxRouter(sandbox) }), refused)
  .listen(0, '127.0.0.1');
const port = () => (server.address() as AddressInfo).port;

beforeAll(() => server.listening || once(server, 'listening'));
afterAll(async () => {
  sandbox.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function send(path: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const sent = request({ port: port(), path: `/sandbox${path}`, method: 'POST', headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await answer.toArray()).toString();
  return { status: answer.statusCode, text };
}

test('what anybody sends in place of the network is shown as it came, and read by nothing', async () => {
  // Laid out for reading it would be a thousand times as long.
  const deep = '['.repeat(1_000) + '0,'.repeat(100_000) + '0' + ']'.repeat(1_000);

  expect(await send('/webhooks/shop', deep)).toMatchObject({ status: 401 });

  const [shown] = sandbox.wire.all.slice(-1);
  expect(shown?.body.startsWith('['.repeat(1_000) + '0,0,')).toBe(true);
  expect(shown?.body.length).toBeLessThan(8_100);
  expect(shown?.curl).toBe('');
});

/** Its beginning is there, and nothing is read of what follows. */
async function openStream() {
  const asked = request({ port: port(), path: '/sandbox/events' }).end();
  asked.on('error', () => undefined);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  return answer;
}

test('however many hold a stream and read nothing, the page that is opened next has its own', async () => {
  const oldest = await openStream();
  const letGo = new Promise((resolve) => oldest.resume().once('close', resolve));
  const silent = await Promise.all(Array.from({ length: 49 }, openStream));
  const page = await openStream();
  expect(page.statusCode).toBe(200);
  const [first] = (await once(page, 'data')) as [Buffer];
  expect(first.toString()).toContain('event: all');
  await letGo;
  for (const one of [...silent, page]) one.destroy();
});

const ownPage = () => ({ origin: `http://localhost:${port()}`, 'content-type': 'application/json' });
const packed = { 'content-encoding': 'gzip' };

/** Each is refused, and none is a fault of ours. */
test.each<[string, string, string | Buffer, () => Record<string, string>, number]>([
  ['a webhook that is too large', '/webhooks/bank', Buffer.alloc(3 * 1024 * 1024), () => ({}), 413],
  ['a webhook that is compressed', '/webhooks/bank', 'x', () => packed, 415],
  ['a webhook that is not signed', '/webhooks/bank', '{"by":"P1D"}', () => ({}), 401],
  ['a button’s call that is compressed', '/acts/ask', 'x', () => ({ ...ownPage(), ...packed }), 415],
  ['a button’s call that is no JSON', '/acts/advance', '{"by":', ownPage, 400],
  [
    'a button’s call of another type',
    '/acts/advance',
    '{}',
    () => ({ ...ownPage(), 'content-type': 'a/b' }),
    415,
  ],
  ['a step that no button has', '/acts/advance', '{"by":"P1000Y"}', ownPage, 400],
  ['a button that there is not', '/acts/constructor', '{}', ownPage, 404],
  [
    'another site’s call',
    '/acts/advance',
    '{}',
    () => ({ ...ownPage(), 'sec-fetch-site': 'cross-site' }),
    403,
  ],
  ['a neighbour’s call', '/acts/advance', '{}', () => ({ ...ownPage(), 'sec-fetch-site': 'same-site' }), 403],
  [
    'a call from another origin',
    '/acts/advance',
    '{}',
    () => ({ ...ownPage(), origin: 'https://a.example' }),
    403,
  ],
  ['a call from nowhere', '/acts/advance', '{}', () => ({ 'content-type': 'application/json' }), 403],
])('%s is refused', async (_, path, body, headers, status) => {
  expect(await send(path, body, headers())).toMatchObject({ status });
});

test('stream and stories are read by no site that has its name lead here, nor by one in another tab', async () => {
  for (const headers of [{ host: 'shop.example.com' }, { 'sec-fetch-site': 'cross-site' }]) {
    for (const path of ['/sandbox/events', '/sandbox/stories/A']) {
      const asked = request({ port: port(), path, headers }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      expect(answer.statusCode).toBe(403);
    }
  }
});

test('a button’s call whose body does not end is refused, and not read for ever', async () => {
  const sent = request({ port: port(), path: '/sandbox/acts/ask', method: 'POST', headers: ownPage() });
  sent.on('error', () => undefined).write(Buffer.alloc(64 * 1024, '['));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  expect(Buffer.concat(await answer.toArray()).toString()).toBe('"body_too_large"');
  sent.destroy();
});
