import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { AssentClient, AssentError, type ClientOptions } from '@assent/client';
import { FAILURE_CODES, FAILURES } from '../../src/domain/failures';
import { REAL, type Surroundings } from '../../packages/client/src/attempts';

/** A network that answers by script. */
interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}
type Reply = (heard: ReceivedRequest, response: ServerResponse) => void;

const SECRET = 'cs_the-secret-of-this-client';
let server: Server;
let heard: ReceivedRequest[];
let tokensMade: number;
let replies: Reply[];
let tokenReply: Reply;
let waits: number[];
let clock: number;

const calls = () => heard.filter(({ url }) => !url.startsWith('/v1/oauth'));
const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (_heard, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-7', ...headers })
      .end(JSON.stringify(body));
const envelope = (data: unknown) => ({ statusCode: 200, success: true, message: 'ok', data });
const refused = (statusCode: number) => {
  const code = FAILURE_CODES.find((one) => FAILURES[one].status === statusCode);
  return { statusCode, success: false, code, message: 'it may not be' };
};
const ok = json(200, envelope({ now: 'now' }));

const surroundings = (): Surroundings => ({
  ...REAL,
  now: () => clock,
  random: () => 0.5,
  wait: async (ms) => {
    waits.push(ms);
    clock += ms;
  },
});

const client = (options: Partial<ClientOptions> = {}) =>
  new AssentClient(
    {
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      clientId: 'client-1',
      clientSecret: SECRET,
      ...options,
    },
    surroundings(),
  );

async function failureOf(work: Promise<unknown>): Promise<AssentError> {
  const error = await work.then(
    () => undefined,
    (one: unknown) => one,
  );
  expect(error).toBeInstanceOf(AssentError);
  return error as AssentError;
}

beforeEach(async () => {
  [heard, replies, waits, tokensMade, clock] = [[], [], [], 0, 1_800_000_000_000];
  tokenReply = (one, response) => {
    tokensMade += 1;
    json(200, { access_token: `token-${tokensMade}`, token_type: 'Bearer', expires_in: 3600 })(one, response);
  };
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const one = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      heard.push(one);
      const reply = one.url.startsWith('/v1/oauth') ? tokenReply : (replies.shift() ?? ok);
      reply(one, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

describe('the access token', () => {
  test('is fetched once for calls that begin together, and kept', async () => {
    const assent = client();
    await Promise.all([assent.call('getClock'), assent.call('getClock'), assent.call('getClock')]);
    await assent.call('getClock');
    expect(tokensMade).toBe(1);
    expect(calls().map(({ headers }) => headers.authorization)).toEqual(Array(4).fill('Bearer token-1'));
  });

  test('is renewed before it expires', async () => {
    const assent = client();
    await assent.call('getClock');
    clock += 3_569_000;
    await assent.call('getClock');
    clock += 2_000;
    await assent.call('getClock');
    expect(calls().map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-1',
      'Bearer token-2',
    ]);
  });

  test('that is refused is renewed once, by all who were refused together', async () => {
    const assent = client();
    replies = [json(401, refused(401)), json(401, refused(401)), ok, ok];
    await Promise.all([assent.call('getClock'), assent.call('getClock')]);
    expect(tokensMade).toBe(2);
  });

  test('that came meanwhile is not given up for a late refusal of the one before', async () => {
    let refuseTheOther: (() => void) | undefined;
    replies = [
      json(401, refused(401)),
      (one, response) => (refuseTheOther = () => json(401, refused(401))(one, response)),
      (one, response) => {
        ok(one, response);
        refuseTheOther?.();
      },
      ok,
    ];
    const assent = client();
    await Promise.all([assent.call('getClock'), assent.call('getClock')]);
    expect(tokensMade).toBe(2);
  });

  test('that is refused anew is the answer, and not asked for without end', async () => {
    replies = [json(401, refused(401)), json(401, refused(401))];
    expect(await failureOf(client().call('getClock'))).toMatchObject({
      code: 'unauthenticated',
      status: 401,
    });
    expect(tokensMade).toBe(2);
  });

  test('is not to be had with a wrong secret, and the error does not tell the secret', async () => {
    tokenReply = json(401, { error: 'invalid_client', error_description: SECRET });
    const error = await failureOf(client().call('getClock'));
    expect(error).toMatchObject({ code: 'invalid_client', status: 401, requestId: 'req-7' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
  });

  test('has the scopes that are asked for, and is not to be had with others', async () => {
    await client({ scope: 'read bill' }).call('getClock');
    expect(new URLSearchParams(heard[0]?.body).get('scope')).toBe('read bill');
    tokenReply = json(400, {
      error: 'invalid_scope',
      error_description: 'The scopes of this client are: read',
    });
    const error = await failureOf(client({ scope: 'refund' }).call('getClock'));
    expect(error).toMatchObject({ code: 'invalid_scope', status: 400 });
  });

  test('is not asked for at another address that the network names', async () => {
    let followed = 0;
    const elsewhere = createServer((_request, response) => {
      followed += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    tokenReply = (_one, response) => void response.writeHead(307, { location }).end();
    expect((await failureOf(client().call('getClock'))).code).toBe('unexpected_answer');
    elsewhere.close();
    expect(followed).toBe(0);
  });
});

describe('a call', () => {
  const bill = { body: { paymentIDs: ['p'], amount: 1, currency: 'NGN', description: 'd' } };

  test('that creates keeps one key over its tries, so that a lost answer charges nobody twice', async () => {
    replies = [
      (_one, response) => void response.destroy(),
      json(503, refused(503)),
      json(409, refused(409), { 'retry-after': '1' }),
      json(201, []),
    ];
    await client().call('billCustomers', bill);
    await client().call('billCustomers', bill);
    const keys = calls().map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(5);
    expect(new Set(keys.slice(0, 4)).size).toBe(1);
    expect(keys[4]).not.toBe(keys[0]);
    expect(keys[0]).toMatch(/^[\x21-\x7e]{1,255}$/);
  });

  test('says what it was given, though its caller fills the same object for the next call meanwhile', async () => {
    const assent = client();
    replies = [json(503, refused(503))];
    const body = { ...bill.body };
    const pending = ['first', 'second'].map((paymentID) => {
      body.paymentIDs = [paymentID];
      return assent.call('billCustomers', { body });
    });
    await Promise.all(pending);
    const said = new Map(calls().map((one) => [one.headers['idempotency-key'], one.body]));
    const billed = [...said.values()].map((one) => (JSON.parse(one) as typeof body).paymentIDs);
    expect(calls()).toHaveLength(3);
    expect(billed).toEqual([['first'], ['second']]);
  });

  test('that cannot be said is refused by what is wrong with it, and never tried', async () => {
    const impossible = { ...bill.body, metadata: { n: 1n } } as unknown as typeof bill.body;
    await expect(client().call('billCustomers', { body: impossible })).rejects.toThrow(/BigInt/);
    const line = { ...bill, idempotencyKey: 'order\n7' };
    await expect(client().call('billCustomers', line)).rejects.toThrow(TypeError);
    expect(calls()).toEqual([]);
  });

  test('uses the key that it is given, and sends none where none is taken', async () => {
    await client().call('billCustomers', { ...bill, idempotencyKey: 'order-7' });
    await client().call('getClock');
    expect(calls().map(({ headers }) => headers['idempotency-key'])).toEqual(['order-7', undefined]);
  });

  test('waits as long as it is told to, in seconds or until a date, and a little beyond', async () => {
    const date = new Date(clock + 10_000).toUTCString();
    replies = [
      json(429, refused(429), { 'retry-after': '3' }),
      json(503, refused(503), { 'retry-after': date }),
      ok,
    ];
    await client().call('getClock');
    expect(waits).toEqual([3_125, 6_875 + 250]);
  });

  test('waits longer from try to try where it is told nothing', async () => {
    replies = Array<Reply>(5).fill(json(503, refused(503)));
    await client().call('getClock');
    expect(waits).toEqual([125, 250, 500, 1_000, 2_000]);
  });

  test('is given up after so many tries, or where it would have to wait too long', async () => {
    replies = Array<Reply>(9).fill(json(503, refused(503)));
    expect(await failureOf(client({ tries: 3 }).call('getClock'))).toMatchObject({
      code: 'unavailable',
      status: 503,
    });
    expect(calls()).toHaveLength(3);
    replies = [json(429, refused(429), { 'retry-after': '61' })];
    waits = [];
    expect((await failureOf(client().call('getClock'))).code).toBe('rate_limited');
    expect(waits).toEqual([]);
  });

  test('that nobody answers is tried again, and then says so', async () => {
    const assent = client({ tries: 2 });
    await assent.call('getClock');
    heard = [];
    replies = Array<Reply>(2).fill(() => undefined);
    const error = await failureOf(assent.call('billCustomers', { ...bill, timeoutMs: 500 }));
    expect(error).toMatchObject({ code: 'timeout', status: undefined });
    expect(error.idempotencyKey).toBe(calls()[0]?.headers['idempotency-key']);
    expect(calls()).toHaveLength(2);
  });

  test('can be called off by its caller, and is not tried again then', async () => {
    const stop = new AbortController();
    replies = [() => stop.abort(new Error('enough'))];
    expect((await failureOf(client().call('getClock', { signal: stop.signal }))).code).toBe('aborted');
    expect(calls()).toHaveLength(1);
  });

  test('where there is no network tells why', async () => {
    const assent = client({ tries: 1 });
    server.closeAllConnections();
    server.close();
    const error = await failureOf(assent.call('getClock'));
    expect(error.code).toBe('unreachable');
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  test('goes to the network alone, wherever its answer points', async () => {
    replies = [(_one, response) => void response.writeHead(307, { location: '/v1/elsewhere' }).end()];
    expect((await failureOf(client().call('getClock'))).code).toBe('unexpected_answer');
    expect(calls().map(({ url }) => url)).toEqual(['/v1/sandbox/clock']);
  });

  test('that is refused says what is wrong with it, and by which request', async () => {
    const problems = [{ path: 'amount', message: 'must be more than 0' }];
    replies = [json(400, { ...refused(400), errors: problems, data: { status: 'open' } })];
    const error = await failureOf(client().call('billCustomers', bill));
    expect(error).toMatchObject({
      code: 'invalid_request',
      status: 400,
      requestId: 'req-7',
      problems,
      data: { status: 'open' },
      message: 'POST /v1/customer/bill: it may not be (400)',
    });
  });

  test('that a proxy answers in place of the network is no answer of the network', async () => {
    replies = [(_one, response) => void response.writeHead(200).end('<html>'), json(418, '')];
    expect((await failureOf(client().call('getClock'))).code).toBe('unexpected_answer');
    expect((await failureOf(client().call('getClock'))).code).toBe('unexpected_answer');
  });

  test('has its path filled in, and no id leads to another path', async () => {
    await client().call('getRefund', { path: { refundId: 'a/b?c' } });
    expect(calls()[0]?.url).toBe('/v1/refunds/a%2Fb%3Fc');
    for (const refundId of ['', '.', '..']) {
      await expect(client().call('getRefund', { path: { refundId } })).rejects.toThrow('refundId');
    }
    expect(calls()).toHaveLength(1);
  });

  test('shows neither secret nor token nor what was asked, however it is looked at', async () => {
    const assent = client();
    replies = [json(404, refused(404))];
    const error = await failureOf(assent.call('findBanks', { query: { email: 'ada@example.com' } }));
    const shown = [assent, error, error.stack].map(
      (one) => `${inspect(one, { depth: 9, showHidden: true })} ${JSON.stringify(one)}`,
    );
    for (const hidden of [SECRET, 'token-1', 'ada@example.com']) expect(shown.join()).not.toContain(hidden);
  });
});

test('an address with a user in it, or none at all, is refused without being repeated', () => {
  for (const baseUrl of ['http://user:pass@127.0.0.1', 'ftp://x', 'nothing']) {
    expect(() => client({ baseUrl })).toThrow(/^baseUrl (must not name a user|is not an http or https URL)$/);
  }
});

const page = (items: string, entries: unknown[], total: number, more: object = {}) =>
  json(200, envelope({ [items]: entries, total, page: 1, limit: 100, ...more }));

async function refundIds(most: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { refundId } of client().each('listRefunds', { query: { status: 'pending' } })) {
    ids.push(refundId);
    if (ids.length === most) break;
  }
  return ids;
}

describe('a list', () => {
  test('is read page after page, oldest first, as far as it is asked for', async () => {
    replies = [
      page('refunds', [{ refundId: 'a' }], 201),
      page('refunds', [{ refundId: 'b' }], 201),
      page('refunds', [{ refundId: 'c' }], 201),
    ];
    expect(await refundIds(9)).toEqual(['a', 'b', 'c']);
    expect(calls().map(({ url }) => url)).toEqual(
      [1, 2, 3].map((n) => `/v1/refunds?limit=100&sortOrder=asc&status=pending&page=${n}`),
    );
    heard = [];
    replies = [page('refunds', [{ refundId: 'a' }, { refundId: 'b' }], 201)];
    expect(await refundIds(1)).toEqual(['a']);
    expect(calls()).toHaveLength(1);
  });

  test('of events goes on after the last, until there is none', async () => {
    replies = [page('events', [{ eventId: 'e1' }, { eventId: 'e2' }], 0), page('events', [], 0)];
    const ids: string[] = [];
    for await (const { eventId } of client().each('listEvents', { query: { after: 'e0' } }))
      ids.push(eventId);
    expect(ids).toEqual(['e1', 'e2']);
    expect(calls().map(({ url }) => url)).toEqual([
      '/v1/events?limit=100&after=e0',
      '/v1/events?limit=100&after=e2',
    ]);
  });

  test('that comes whole is asked for once', async () => {
    replies = [json(200, envelope({ banks: [{ bankId: 'x' }, { bankId: 'y' }] }))];
    const ids: string[] = [];
    for await (const { bankId } of client().each('findBanks', { query: { email: 'a@b.c' } }))
      ids.push(bankId);
    expect([ids, calls().length]).toEqual([['x', 'y'], 1]);
  });

  test('that is longer than its pages reach ends with an error, not as if it were whole', async () => {
    replies = [page('refunds', [{ refundId: 'a' }], 100, { totalIsMinimum: true })];
    expect((await failureOf(refundIds(9))).code).toBe('list_too_long');
  });
});

describe('a file', () => {
  test('is handed on as it comes', async () => {
    replies = [
      (_one, response) => void response.writeHead(200, { 'content-type': 'text/csv' }).end('a,b\r\n'),
    ];
    const file = await client().download('listTransactions');
    expect(await text(file)).toBe('a,b\r\n');
    expect(calls()[0]?.headers.accept).toBe('text/csv');
  });

  test('that is cut off ends with an error', async () => {
    replies = [
      (_one, response) => {
        response.writeHead(200, { 'content-type': 'text/csv' });
        response.write('a,b\r\n', () => response.destroy());
      },
    ];
    await expect(
      client()
        .download('listTransactions')
        .then((file) => text(file)),
    ).rejects.toThrow('terminated');
  });

  test('is sent as it is', async () => {
    replies = [json(202, envelope({}))];
    await client().call('sendBankStatement', { body: new Blob(['x,y\n']), contentType: 'text/csv' });
    expect(calls()[0]).toMatchObject({ body: 'x,y\n', headers: { 'content-type': 'text/csv' } });
  });
});
