import { apiOfFile, enter, send, type Party } from '../../support/api';
import { RawConnection, request } from '../../support/raw-http';

const { api } = apiOfFile({
  settings: { RATE_LIMIT_CALLER: '10000/10000', RATE_LIMIT_FAILED_AUTH: '10000/10000' },
});
let bank: Party;
let merchant: Party;
const open: RawConnection[] = [];
beforeAll(async () => {
  [bank, merchant] = await Promise.all([enter(api, 'bank'), enter(api, 'merchant')]);
});
afterEach(() => open.splice(0).forEach((connection) => connection.close()));

const connection = async () => {
  const one = await RawConnection.to(api.url);
  open.push(one);
  return one;
};

const CUSTOMERS = '/v1/bank/customers';
const HEALTH = request('GET', '/healthz');
const bearer = ({ token }: Party) => `Authorization: Bearer ${token}`;
const json = (length: number) => ['Content-Type: application/json', `Content-Length: ${length}`];

/** Timers of this process, in which the API is served. */
const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

const INHERITED = ['constructor', '__proto__', 'toString'];

describe('names that every object has', () => {
  it.each(INHERITED)('%s is no content encoding, no field and no parameter', async (name) => {
    for (const [party, path] of [
      [bank, CUSTOMERS],
      [merchant, '/v1/billing/intent'],
    ] as const) {
      const encoded = await party.send('POST', path, '{}', { 'content-encoding': name });
      expect(encoded.status).toBe(415);
    }
    const byQuery = await merchant.send('GET', `/v1/refunds?${name}=1`);
    expect(byQuery).toMatchObject({ status: 400, body: { errors: [{ path: `query.${name}` }] } });
    const byBody = await bank.send('POST', '/v1/devices', `{"fingerprint":"0123456789abcdef","${name}":1}`);
    expect(byBody).toMatchObject({ status: 400, body: { errors: [{ path: name }] } });
  });
});

describe('before it is known who sends a request, its body', () => {
  it.each([
    ['/v1/oauth/token', 'gzip'],
    ['/v1/oauth/token', 'br'],
    ['/console/session', 'gzip'],
    ['/console/session', 'br'],
  ])('is decompressed by nothing: on %s %s is a 415', async (path, encoding) => {
    const headers = { 'content-encoding': encoding, 'sec-fetch-site': 'same-origin' };
    const { status, body } = await send(api.url, 'POST', path, '{}', headers);
    expect(status).toBe(415);
    expect(JSON.stringify(body)).toContain('The body must be plain: send it without Content-Encoding');
    expect((await send(api.url, 'POST', CUSTOMERS, '{}', headers)).status).toBe(401);
  });

  it('makes room for the next where too many of an address crawl, and its sender is told', async () => {
    const crawling = Array.from({ length: 101 }, async () => {
      const one = await connection();
      await one.send(request('POST', '/v1/oauth/token', json(100), '{'));
      return one;
    });
    const all = await Promise.all(crawling);
    await Promise.race(all.map((one) => one.answers(1)));
    const told = all.filter((one) => one.statuses().length > 0);
    expect(told.map((one) => one.statuses())).toEqual([[429]]);
    expect(told[0]?.received).toMatch(/^Retry-After: 1\r$/m);
    expect(told[0]?.received).toContain(
      '{"error":"temporarily_unavailable","error_description":"Too many bodies of your address',
    );
    await enter(api, 'merchant');
  });
});

describe('headers', () => {
  it('of more than 16 KiB are a 431 in the envelope, and end the connection', async () => {
    const one = await connection();
    await one.send(request('GET', '/healthz', [`Accept: ${'a'.repeat(20_000)}`]));
    expect(await one.answers(1)).toEqual([431]);
    expect(one.received).toContain(
      '{"statusCode":431,"success":false,"code":"headers_too_large","message":"Request line and headers',
    );
    expect(one.received).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m);
    await one.closed();
  });

  it('beyond the hundredth are refused, and not dropped', async () => {
    const many = Array.from({ length: 120 }, (_, n) => `X-${n}: 1`);
    const one = await connection();
    await one.send(request('GET', '/healthz', many));
    await one.send(request('GET', '/healthz', many.slice(0, 90)));
    expect(await one.answers(2)).toEqual([431, 200]);
    expect(one.received).toContain('at most 100 headers');
  });

  it('that must be one and are two are refused: the second counts as much as the first', async () => {
    const one = await connection();
    await one.send(request('GET', '/v1/refunds', [bearer(merchant), 'Authorization: Bearer x']));
    await one.send(request('GET', '/healthz', ['Host: elsewhere']));
    await one.send('GET /healthz HTTP/1.1\r\n\r\n');
    expect(await one.answers(3)).toEqual([401, 400, 400]);
  });

  it('that ask for a part, or for what has changed, get the whole answer', async () => {
    const asked = ['If-None-Match: *', 'If-Match: "x"', 'Range: bytes=9999999-', 'Expect: nothing'];
    for (const path of ['/healthz', '/docs/search.json']) {
      const one = await connection();
      await one.send(request('GET', path, asked));
      expect(await one.answers(1)).toEqual([200]);
    }
  });

  it('of a media type as long as can be sent cost no more than their reading', async () => {
    // A regular expression that goes quadratic takes a third of a second for 15 000 blanks.
    const blanks = ' '.repeat(13_000);
    const one = await connection();
    for (const type of [`application/json${blanks}x`, `application/json;${blanks}charset=utf-8x`]) {
      await one.send(
        request('POST', CUSTOMERS, [bearer(bank), `Content-Type: ${type}`, 'Content-Length: 2'], '{}'),
      );
    }
    expect(await one.answers(2)).toEqual([415, 415]);
  });
});

describe('what is no request', () => {
  it.each([
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['two lengths', request('POST', CUSTOMERS, ['Content-Length: 2', 'Content-Length: 3'], '{}'), 400],
    [
      'a length and chunks',
      request('POST', CUSTOMERS, ['Content-Length: 2', 'Transfer-Encoding: chunked'], '{}'),
      400,
    ],
    ['a header without a name', request('GET', '/healthz', [': x']), 400],
    ['a target that is no URL', request('GET', 'http://['), 400],
  ])('%s: it is told so in the envelope', async (_, bytes, status) => {
    const one = await connection();
    await one.send(Buffer.from(bytes, 'latin1'));
    expect(await one.answers(1)).toEqual([status]);
    expect(one.received).toContain('"success":false');
    const [, requestId] = /^X-Request-Id: ([0-9a-f-]{36})\r$/m.exec(one.received) ?? [];
    expect(api.log).toContainEqual(expect.objectContaining({ requestId, status, msg: 'request' }));
    await one.closed();
  });
});

it('a request may name what it wants by a whole URL, as one that was meant for a proxy does', async () => {
  const one = await connection();
  await one.send(request('GET', 'http://x/healthz'));
  await one.send(request('GET', 'HTTPS://x/v1/refunds?page=1', [bearer(merchant)]));
  await one.send(request('GET', 'http://x?y', [bearer(merchant)]));
  expect(await one.answers(3)).toEqual([200, 200, 302]);
});

describe('a request that is refused before its body was read', () => {
  it.each([
    ['without a token', () => json(200_000), 'x', 401],
    ['for its media type', () => [bearer(bank), 'Content-Length: 200000'], 'x', 415],
    ['for its brackets', () => [bearer(bank), ...json(200_000)], '[', 400],
    ['for its encoding', () => [bearer(bank), ...json(200_000), 'Content-Encoding: x'], 'x', 415],
    ['for its compression', () => [bearer(bank), ...json(200_000), 'Content-Encoding: gzip'], 'x', 400],
  ])('%s, leaves its connection to the next', async (_, headers, byte, status) => {
    const one = await connection();
    await one.send(request('POST', CUSTOMERS, headers(), byte.repeat(200_000)));
    await one.send(HEALTH);
    expect(await one.answers(2)).toEqual([status, 200]);
  });

  it.each([
    ['/v1/billing/intent', 413],
    ['/v1/oauth/token', 413],
    ['/v1/nothing', 404],
    ['/healthz', 405],
  ])('on %s leaves its connection to the next', async (path, status) => {
    const one = await connection();
    await one.send(request('POST', path, [bearer(merchant), ...json(400_000)], '{'.repeat(400_000)));
    await one.send(HEALTH);
    expect(await one.answers(2)).toEqual([status, 200]);
  });

  it.each([CUSTOMERS, '/v1/devices', '/v1/oauth/token'])(
    'on %s is answered while it goes on: its caller need not come to an end first',
    async (path) => {
      const one = await connection();
      const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
      await one.send(request('POST', path, [bearer(bank), ...headers]));
      const chunk = `10000\r\n${'['.repeat(0x10000)}\r\n`;
      for (let n = 0; n < 8; n++) await one.send(chunk);
      const [status] = await one.answers(1);
      expect([400, 413]).toContain(status);
      await one.send('0\r\n\r\n');
      await one.send(HEALTH);
      expect(await one.answers(2)).toEqual([status, 200]);
    },
  );

  it('tells its caller why, also on a connection that ends with it', async () => {
    for (let n = 0; n < 10; n++) {
      const one = await connection();
      await one.send(request('POST', CUSTOMERS, ['Connection: close', ...json(4_000_000)]));
      const chunk = Buffer.alloc(1_000_000);
      for (let sent = 0; sent < 4; sent++) await one.send(chunk);
      await one.closed();
      expect(one.statuses()).toEqual([401]);
      expect(one.wasReset).toBe(false);
    }
  });

  it('that its caller leaves halfway costs nothing from then on', async () => {
    const before = timers();
    for (let n = 0; n < 50; n++) {
      const one = await connection();
      await one.send(request('POST', CUSTOMERS, json(1_000), 'x'));
      expect(await one.answers(1)).toEqual([401]);
      one.close();
    }
    expect(await send(api.url, 'GET', '/healthz')).toMatchObject({ status: 200 });
    expect(timers() - before).toBeLessThan(25);
  });

  it('is cut off where it goes on for longer than any body', async () => {
    const one = await connection();
    await one.send(request('POST', '/v1/nothing', json(1_000_000_000)));
    expect(await one.answers(1)).toEqual([404]);
    const chunk = Buffer.alloc(1024 * 1024);
    let sent = 0;
    while (!one.hungUp && sent < 500) {
      await Promise.race([one.send(chunk), one.closed()]);
      sent++;
    }
    await one.closed();
    expect(sent).toBeLessThan(500);
  });
});

it('a batch of five million numbers is a 400', async () => {
  const body = `{"customers":[${'1,'.repeat(4_999_999)}1]}`;
  const one = await connection();
  await one.send(request('POST', CUSTOMERS, [bearer(bank), ...json(body.length)], body));
  await one.send(HEALTH);
  expect(await one.answers(2)).toEqual([400, 200]);
});

describe('requests sent ahead on one connection', () => {
  it('are answered in order, and others are served in between', async () => {
    const [greedy, modest] = await Promise.all([connection(), connection()]);
    const order: string[] = [];
    const all = greedy.answers(11).then(() => order.push('eleven'));
    await Promise.all([greedy.send(HEALTH.repeat(11)), modest.send(HEALTH)]);
    await modest.answers(1).then(() => order.push('one'));
    await all;
    expect(order).toEqual(['one', 'eleven']);
    expect(greedy.statuses()).toEqual(Array(11).fill(200));
    expect(greedy.received).not.toContain('Connection: close');
  });

  it.each([12, 20_000])(
    'are ten beside the one in hand: of %i the first eleven are answered, and their connection ends',
    async (count) => {
      const one = await connection();
      await one.send(HEALTH.repeat(count));
      await one.closed();
      expect(one.statuses()).toEqual(Array(11).fill(200));
      expect(one.received.match(/Connection: close/g)).toHaveLength(1);
      expect(await send(api.url, 'GET', '/healthz')).toMatchObject({ status: 200 });
    },
  );

  it('leave a connection as it is where they come ten at a time', async () => {
    const one = await connection();
    for (let n = 1; n <= 20; n++) {
      await one.send(HEALTH.repeat(10));
      expect(await one.answers(10 * n)).toHaveLength(10 * n);
    }
    expect(new Set(one.statuses())).toEqual(new Set([200]));
  });
});
