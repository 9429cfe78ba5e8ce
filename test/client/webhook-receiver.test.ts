import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { webhookHandler, webhookMiddleware, type WebhookEvent, type WebhookRequest } from '@assent/client';
import { standardWebhookSignature } from '../../src/domain/webhook/webhook-signature';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const body = JSON.stringify({ webhookType: 'webhook.test', data: [{ sequence: 1, text: 'ok' }] });

let server: Server | undefined;
let seen: WebhookEvent[];

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

async function send(
  url: string,
  text = body,
  headers: Record<string, string> = {},
): Promise<[number, string]> {
  const sentAtS = Math.floor(Date.now() / 1000);
  const answer = await fetch(url, {
    method: 'POST',
    body: text,
    headers: {
      'content-type': 'application/json',
      'webhook-id': 'dlv_1',
      'webhook-timestamp': String(sentAtS),
      'webhook-signature': standardWebhookSignature([secret], 'dlv_1', sentAtS, text),
      ...headers,
    },
  });
  return [answer.status, await answer.text()];
}

beforeEach(() => {
  seen = [];
});

afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
});

/** Each way to build a receiver, with what it does with an event. */
const receivers: [string, (receive: (event: WebhookEvent) => void) => RequestListener][] = [
  ['plain Node', (receive) => webhookHandler({ secret, maxBytes: 1000 }, receive)],
  [
    'Express',
    (receive) => {
      const app = express();
      app.post('/webhooks', webhookMiddleware({ secret, maxBytes: 1000 }), (request, response) => {
        receive((request as unknown as WebhookRequest).webhook);
        response.sendStatus(200);
      });
      return app;
    },
  ],
  [
    'Express, with the body read as bytes before',
    (receive) => {
      const app = express();
      app.use(express.raw({ type: '*/*', limit: 1000 }));
      app.post('/webhooks', webhookMiddleware({ secret }), (request, response) => {
        receive((request as unknown as WebhookRequest).webhook);
        response.sendStatus(200);
      });
      return app;
    },
  ],
];

describe.each(receivers)('a receiver in %s', (_name, listener) => {
  test('hands on what is genuine, and answers 200', async () => {
    const url = await serve(listener((event) => seen.push(event)));
    expect((await send(url))[0]).toBe(200);
    expect(seen).toMatchObject([{ type: 'webhook.test', deliveryId: 'dlv_1' }]);
  });

  test('answers 401 to a forgery, and hands on nothing', async () => {
    const url = await serve(listener((event) => seen.push(event)));
    const [status, text] = await send(url, body, { 'webhook-id': 'dlv_2' });
    expect([status, text]).toEqual([401, 'no signature is made with this secret over this body']);
    expect(seen).toEqual([]);
  });

  test('reads no more than it has to of what is too large', async () => {
    const url = await serve(listener((event) => seen.push(event)));
    expect((await send(url, 'x'.repeat(1001)))[0]).toBe(413);
    expect((await send(url))[0]).toBe(200);
  });
});

test('where the work fails, the network is told to come again, and its receiver why', async () => {
  const told: unknown[] = [];
  const onError = (error: unknown) => told.push(error);
  const handler = webhookHandler({ secret, onError }, () => Promise.reject(new Error('the disk is full')));
  expect(await send(await serve(handler))).toEqual([500, 'not received']);
  expect(told).toMatchObject([{ message: 'the disk is full' }]);
});

test('what is no POST is a 405', async () => {
  const url = await serve(webhookHandler({ secret }, () => undefined));
  expect((await fetch(url)).status).toBe(405);
});

test('a body that was parsed before is an error that says what to do, not a forgery', async () => {
  const app = express();
  const told: unknown[] = [];
  app.use(express.json());
  app.post('/webhooks', webhookMiddleware({ secret }));
  app.use(((error, _request, response, _next) => {
    told.push(error);
    response.sendStatus(500);
  }) as express.ErrorRequestHandler);
  const url = await serve(app);
  expect((await send(url))[0]).toBe(500);
  expect(String(told[0])).toContain('put this before express.json()');
});

test('a secret that is none stops the receiver from being made', () => {
  expect(() => webhookHandler({ secret: 'oops' }, () => undefined)).toThrow(TypeError);
  expect(() => webhookMiddleware({ secret: [] })).toThrow(TypeError);
});
