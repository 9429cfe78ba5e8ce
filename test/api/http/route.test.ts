import { apiOfFile, enter, send, type Party } from '../../support/api';

// Many requests of one caller in a moment; the limits have tests of their own.
const { api } = apiOfFile({ settings: { RATE_LIMIT_MERCHANT_BATCH: '1000/1000' } });
let provider: Party;
let bank: Party;
let merchant: Party;
beforeAll(async () => {
  [provider, bank, merchant] = [
    await enter(api, 'provider'),
    await enter(api, 'bank'),
    await enter(api, 'merchant'),
  ];
});

const MERCHANTS = '/v1/provider/merchants';

const trust = (merchantId: string, trustLevel = 'trusted') =>
  provider.send('PATCH', '/v1/provider/merchant/trust', { merchantId, trustLevel });

const huge = `{"x":"${'x'.repeat(256 * 1024)}"}`;

describe('the order of refusals', () => {
  it('asks who calls before it looks at anything', async () => {
    const answered = await send(api.url, 'POST', MERCHANTS, huge, { 'content-type': 'text/plain' });
    expect(answered).toMatchObject({ status: 401, body: { statusCode: 401, success: false } });
    expect(answered.headers.get('www-authenticate')).toBe('Bearer realm="assent"');
    const refused = await send(api.url, 'POST', MERCHANTS, {}, { authorization: 'Bearer ended' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="assent", error="invalid_token"');
  });

  it('refuses the role, the media type, the size and the content in this order', async () => {
    const text = { 'content-type': 'text/plain' };
    expect(await bank.send('POST', MERCHANTS, huge, text)).toMatchObject({ status: 403 });
    expect(await provider.send('POST', MERCHANTS, huge, text)).toMatchObject({ status: 415 });
    expect(await provider.send('POST', MERCHANTS, huge)).toMatchObject({ status: 413 });
    expect(await provider.send('POST', MERCHANTS, '{')).toMatchObject({ status: 400 });
  });

  it('names what is for another role before what else is wrong, and all of it at once', async () => {
    const bill = { amount: 0, currency: 'NGN', description: 'Shoes' };
    const history = '/v1/transaction-history';
    const table: [Party, string, string, object | undefined, string[]][] = [
      [
        bank,
        'POST',
        '/v1/customer/bill',
        { ...bill, paymentIDs: ['x'], metadata: {} },
        ['paymentIDs is for merchants', 'metadata is for merchants', 'lookupIDs is required'],
      ],
      [
        merchant,
        'POST',
        '/v1/customer/bill',
        { ...bill, payee: { lookupID: 'x' } },
        ['payee is for banks', 'amount must be more than 0'],
      ],
      [
        merchant,
        'GET',
        `${history}?limit=0&bankTransactionId=x`,
        undefined,
        ['query.bankTransactionId is for banks', 'query.limit must be at least 1'],
      ],
      [
        bank,
        'GET',
        `${history}?limit=0&metadata.orderId=x`,
        undefined,
        ['query.metadata is for merchants and providers', 'query.limit must be at least 1'],
      ],
      [
        provider,
        'POST',
        `${history}/search`,
        { limit: 0, side: 'payer' },
        ['side is for banks', 'limit must be at least 1'],
      ],
      [
        bank,
        'GET',
        '/v1/statements?date=x&merchantId=mch_00000000000000000000000000',
        undefined,
        ['query.merchantId is for merchants and providers', 'query.date must be a day, as in 2026-01-31'],
      ],
    ];
    for (const [caller, method, path, body, first] of table) {
      const answered = await caller.send(method, path, body);
      const told = answered.body.errors?.map((one) => `${one.path} ${one.message}`) ?? [];
      expect([answered.status, ...told.slice(0, first.length)]).toEqual([400, ...first]);
      expect(new Set(answered.body.errors?.map((one) => one.path)).size).toBe(told.length);
    }
  });

  it('refuses what is malformed before it looks for the thing', async () => {
    const nobodys = 'mch_00000000000000000000000000';
    expect(await trust(nobodys, 'x')).toMatchObject({ status: 400 });
    expect(await trust(nobodys)).toMatchObject({ status: 404 });
    expect(await trust('x')).toMatchObject({ status: 404 });
    // An id with what no text may hold is malformed: it could not even be looked for.
    expect(await trust('mch_\u0000')).toMatchObject({ status: 400 });
  });
});

const ofSize = (bytes: number) => `{"x":"${'x'.repeat(bytes - 8)}"}`;

describe('a body', () => {
  it.each([
    ['application/json', 400],
    ['application/json; charset=utf-8', 400],
    ['application/json;charset="UTF-8"', 400],
    ['Application/JSON', 400],
    ['application/json; charset=latin1', 415],
    ['application/jsonp', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/vnd.api+json', 415],
  ])('of the type %s, without what is required, is a %i', async (type, status) => {
    const answered = await provider.send('POST', MERCHANTS, '{}', { 'content-type': type });
    expect(answered.status).toBe(status);
    if (status === 400) expect(answered.body.errors).toEqual([{ path: 'merchants', message: 'is required' }]);
  });

  it('that is missing is a 400 that says so', async () => {
    expect(await provider.send('POST', MERCHANTS)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'body', message: 'is required' }] },
    });
  });

  it('of exactly 256 KiB is read, one byte more is not', async () => {
    expect(await provider.send('POST', MERCHANTS, ofSize(256 * 1024))).toMatchObject({ status: 400 });
    expect(await provider.send('POST', MERCHANTS, ofSize(256 * 1024 + 1))).toMatchObject({ status: 413 });
  });

  it('has every problem named at once, those of the query string too', async () => {
    const merchants = [{ name: '', email: 'x', clientRef: 'a', wrong: 1 }, 7];
    const answered = await provider.send('POST', `${MERCHANTS}?page=1`, { merchants, more: 1 });
    expect(answered).toMatchObject({ status: 400, body: { statusCode: 400, success: false } });
    expect(answered.body.errors).toEqual([
      { path: 'merchants[0].name', message: 'must not be empty' },
      { path: 'merchants[0].email', message: 'must be an e-mail address' },
      { path: 'merchants[0].wrong', message: 'is not a known field' },
      { path: 'merchants[1]', message: 'must be an object' },
      { path: 'more', message: 'is not a known field' },
      { path: 'query.page', message: 'is not a known parameter' },
    ]);
    expect(answered.body.message).toBe(
      'The request is not valid: merchants[0].name must not be empty (and 5 more, see errors)',
    );
  });
});

describe('the query string', () => {
  const BANKS = '/v1/customer/banks';

  it('may name a parameter once', async () => {
    const { body } = await merchant.send('GET', `${BANKS}?email=a@b.co&email=c@d.co`);
    expect(body.errors).toEqual([{ path: 'query.email', message: 'may be given only once' }]);
  });

  it.each([
    ['email=a%zz@b.co', 'query.email'],
    ['email=%ff', 'query.email'],
    ['email=a@b.co%', 'query.email'],
    ['%zz=1', 'query.%zz'],
    ['email=a@b.co&&%c3', 'query.%c3'],
  ])('is percent-encoded UTF-8: %s is not, and is told so', async (query, path) => {
    expect(await merchant.send('GET', `${BANKS}?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path, message: 'is not percent-encoded UTF-8' }] },
    });
  });

  it('may hold what is encoded', async () => {
    for (const query of ['email=%C3%A9%40b.co', 'email=a%2Bb@b.co', 'email=a+b%26c@b.co']) {
      const { body } = await merchant.send('GET', `${BANKS}?${query}`);
      expect(JSON.stringify(body)).not.toContain('percent');
    }
  });
});

describe('what is not there', () => {
  it.each([
    ['GET', '/v1/nothing'],
    ['GET', '/V1/WEBHOOKS/ENDPOINT'],
    ['GET', '/v1/webhooks/endpoint/'],
    ['GET', '/v1/%ff'],
  ])('%s %s is a 404 envelope', async (method, path) => {
    expect(await provider.send(method, path)).toMatchObject({
      status: 404,
      body: {
        statusCode: 404,
        success: false,
        message: expect.stringContaining('no such endpoint') as string,
      },
    });
  });
});

describe('a path with a method that it has not', () => {
  it.each([
    ['DELETE', '/v1/webhooks/endpoint', 'GET, HEAD, PUT'],
    ['GET', '/v1/provider/merchants', 'POST'],
    ['OPTIONS', '/v1/provider/merchants', 'POST'],
    ['PUT', '/v1/refunds/rfd_00000000000000000000000000', 'GET, HEAD'],
    // And not those of `/v1/billing/recurring/:scheduleId`, which would take it for an id.
    ['GET', '/v1/billing/recurring/create', 'POST'],
    ['POST', '/v1/billing/recurring', 'GET, HEAD'],
    ['GET', '/v1/oauth/token', 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
    ['POST', '/docs', 'GET, HEAD'],
  ])('%s %s is a 405 that names those it has, whoever asks', async (method, path, allowed) => {
    const refused = { status: 405, body: { statusCode: 405, success: false } };
    for (const answered of [await provider.send(method, path), await send(api.url, method, path)]) {
      expect(answered).toMatchObject(refused);
      expect(answered.headers.get('allow')).toBe(allowed);
    }
  });

  it('is looked at before the body, however large', async () => {
    expect(await provider.send('PUT', MERCHANTS, huge)).toMatchObject({ status: 405 });
  });

  it('answers HEAD where there is GET, without a body', async () => {
    const answered = await fetch(`${api.url}/docs`, { method: 'HEAD' });
    expect([answered.status, await answered.text()]).toEqual([200, '']);
  });
});

describe('every answer', () => {
  it('carries the request id that came with it, if it is sane, or one of its own', async () => {
    const given = await provider.send('GET', '/v1/webhooks/endpoint', undefined, {
      'x-request-id': 'order-66.a_B',
    });
    expect(given.headers.get('x-request-id')).toBe('order-66.a_B');
    for (const bad of ['with space', 'order-66/a', '"quoted"', 'x'.repeat(129)]) {
      const made = await provider.send('GET', '/v1/nothing', undefined, { 'x-request-id': bad });
      expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('says what is left of a limit: the caller’s, or of failed requests from the address', async () => {
    const asked = [
      ['GET', '/healthz', 200, 'failedAuth'],
      ['GET', '/openapi.json', 200, 'failedAuth'],
      ['GET', '/.well-known/jwks.json', 200, 'failedAuth'],
      ['GET', '/v1/nothing', 404, 'failedAuth'],
      ['DELETE', MERCHANTS, 405, 'failedAuth'],
      ['GET', '/v1/refunds', 401, 'failedAuth'],
    ] as const;
    for (const [method, path, status, limit] of asked) {
      const answered = await send(api.url, method, path);
      expect([path, answered.status]).toEqual([path, status]);
      expect(answered.headers.get('ratelimit-policy')).toBe(`"${limit}";q=100;w=10`);
      expect(answered.headers.get('ratelimit')).toMatch(new RegExp(`^"${limit}";r=\\d+;t=\\d+$`));
    }
    const known = await provider.send('POST', MERCHANTS, '{');
    expect([known.status, known.headers.get('ratelimit-policy')]).toEqual([
      400,
      '"merchantBatch";q=1000;w=1',
    ]);
  });

  it('may not be stored by any cache, nor be taken for another type, nor be shown in a frame', async () => {
    const { headers } = await provider.send('GET', '/v1/webhooks/endpoint');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
    expect(headers.get('x-powered-by')).toBeNull();
  });
});
