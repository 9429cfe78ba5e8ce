import { consoleRoutes, routes } from '../../../src/api/app';
import { createApp } from '../../../src/api/create-app';
import type { Route } from '../../../src/api/http/route';
import { openDatabase } from '../../../src/database/pool/connection';
import { claimKey } from '../../../src/database/call/idempotency';
import { ROLES, type Role } from '../../../src/domain/entity';
import { apiOfFile, enter, send, serveApi, type Answered, type Party } from '../../support/api';
import { openTransaction } from '../../support/open-transaction';
import { namesIn } from '../../support/schema-names';
import { servers } from '../../support/servers';
import { engineFacts } from '../../support/keyring';

/**
 * The refusals that are the same at every endpoint, and the bounds of every list. The cases are
 * read off the table of routes, so that an endpoint that is added later is tried too.
 * `isolation.test.ts` has other tenants' things.
 */

const { api, database } = apiOfFile({
  settings: {
    RATE_LIMIT_CALLER: '5000/5000',
    RATE_LIMIT_LOOKUP: '5000/5000',
    RATE_LIMIT_MERCHANT_BATCH: '5000/5000',
  },
});
let callers: Record<Role, Party>;
beforeAll(async () => {
  callers = await enterAll();
});

async function enterAll(): Promise<Record<Role, Party>> {
  const [bank, merchant, provider] = await Promise.all(
    (['bank', 'merchant', 'provider'] as const).map((role) => enter(api, role)),
  );
  if (!bank || !merchant || !provider) throw new Error('not all are there');
  return { bank, merchant, provider };
}

/** Well formed, and nobody's. */
const NOBODYS = {
  customerId: 'cus_00000000000000000000000000',
  billingRequestId: 'brq_00000000000000000000000000',
  scheduleId: 'sch_00000000000000000000000000',
  deliveryId: 'dlv_00000000000000000000000000',
  deviceId: `dev_${'A'.repeat(60)}`,
  lookupID: 'quiet-river-seven-lamps-11',
  paymentID: 'bm9ib2R5cw',
};
const MONEY = { amount: 10, currency: 'NGN' };

/**
 * A valid body of each route that takes idempotency keys with one, and what makes another body of
 * it.
 */
const BODIES: Record<string, [body: object, other: object]> = {
  'post /v1/bank/customers': [{ customers: [{ clientRef: 'c1' }] }, { customers: [{ clientRef: 'c2' }] }],
  'post /v1/devices': [{ fingerprint: 'x'.repeat(16) }, { fingerprint: 'y'.repeat(16) }],
  'post /v1/bank/customer/device/link': [
    { customerId: NOBODYS.customerId, phrase: NOBODYS.lookupID, deviceId: NOBODYS.deviceId },
    { phrase: 'quiet-river-seven-lamps-12' },
  ],
  'post /v1/bank/customer/device/unlink': [
    { customerId: NOBODYS.customerId, phrase: NOBODYS.lookupID, deviceId: NOBODYS.deviceId },
    { phrase: 'quiet-river-seven-lamps-12' },
  ],
  'post /v1/provider/merchants': [
    { merchants: [{ name: 'M', email: 'm@example.com', clientRef: 'm1' }] },
    { merchants: [{ name: 'M', email: 'm@example.com', clientRef: 'm2' }] },
  ],
  'post /v1/billing/intent': [
    { lookupIDs: [NOBODYS.lookupID], currency: 'NGN', description: 'Gold plan' },
    { description: 'Silver plan' },
  ],
  'post /v1/customer/bill': [
    { paymentIDs: [NOBODYS.paymentID], ...MONEY, description: 'Shoes' },
    { amount: 20 },
  ],
  'post /v1/billing/recurring/create': [
    { customerId: NOBODYS.customerId, paymentID: NOBODYS.paymentID, ...MONEY, frequency: 'monthly' },
    { frequency: 'yearly' },
  ],
  'patch /v1/billing/recurring/:scheduleId': [{ amount: 10 }, { amount: 20 }],
  'post /v1/refunds/initiate': [{ reference: 'NOBODYS' }, { amount: 20 }],
  'post /v1/sandbox/clock/advance': [{ by: 'P1D', jump: true }, { by: 'P2D' }],
};

type Sent = { body?: unknown; query?: string; headers?: Record<string, string> };

/** Every route that is meant, called by the first role that may. */
async function onEvery(
  which: (one: Route) => unknown,
  sent: (route: Route, key: string, caller: Party) => Sent,
  as: Record<Role, Party> = callers,
): Promise<Record<string, Answered>> {
  const answers: Record<string, Answered> = {};
  for (const one of routes(api.deps)) {
    if (!which(one)) continue;
    const [role] = one.options.roles;
    if (role === undefined) throw new Error(`${one.path} is for nobody`);
    const key = `${one.method} ${one.path}`;
    const { body, query = '', headers } = sent(one, key, as[role]);
    answers[key] = await as[role].send(one.method.toUpperCase(), pathOf(one) + query, body, headers);
  }
  return answers;
}

const pathOf = ({ path }: Route) =>
  path
    .replace(':deliveryId', NOBODYS.deliveryId)
    .replace(':billingRequestId', NOBODYS.billingRequestId)
    .replace(':scheduleId', NOBODYS.scheduleId)
    .replaceAll(/:\w+/g, 'x');

const any = () => true;
/** Uploads of files have their own tests. */
const takesJson = ({ method, options }: Route) =>
  method !== 'get' && 'application/json' in (options.longBody?.types ?? { 'application/json': true });
const needsBody = ({ options: { body, longBody } }: Route) => body ?? longBody;
const needsNone = (one: Route) => takesJson(one) && !needsBody(one);
const keyed = (one: Route) => one.options.idempotent && takesJson(one);

/** The endpoints that answered otherwise. */
const others = (answers: Record<string, Answered>, status: number, said: RegExp) => {
  expect(Object.keys(answers)).not.toEqual([]);
  return Object.entries(answers)
    .filter(([, answered]) => answered.status !== status || !said.test(answered.body.message))
    .map(([key, { status: got, body }]) => `${key}: ${got} ${body.message}`);
};

describe('every endpoint', () => {
  it('is open to the roles that it names, to no other, and to nobody without a token', async () => {
    const wrong: string[] = [];
    for (const one of routes(api.deps)) {
      const method = one.method.toUpperCase();
      const without = await send(api.url, method, pathOf(one));
      if (without.status !== 401) wrong.push(`nobody ${method} ${one.path}: ${without.status}`);
      for (const role of ROLES) {
        // No body and unknown ids: a caller that is let in gets a 400, 404 or 200.
        const { status } = await callers[role].send(method, pathOf(one));
        if ((status === 403) === one.options.roles.includes(role) || status === 401) {
          wrong.push(`${role} ${method} ${one.path}: ${status}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses a role that may not call it before anything that it sends', async () => {
    const json = { 'content-type': 'application/json' };
    const sendings: [what: string, query: string, body?: string, headers?: Record<string, string>][] = [
      ['an unknown parameter', '?surprise=1'],
      ['a parameter that is not encoded', '?surprise=%zz'],
      ['a broken body', '', '{', json],
      ['a body of another type', '', 'a;b', { 'content-type': 'text/plain' }],
      ['a body of an unknown encoding', '', '{}', { ...json, 'content-encoding': 'x' }],
      ['a body that is too large', '', `{"x":"${'x'.repeat(256 * 1024)}"}`, json],
      ['a body with an unknown field', '', '{"surprise":1}', json],
      ['an idempotency key that is too long', '', '{}', { ...json, 'idempotency-key': 'k'.repeat(256) }],
    ];
    const wrong: string[] = [];
    for (const one of routes(api.deps)) {
      for (const role of ROLES.filter((other) => !one.options.roles.includes(other))) {
        for (const [what, query, body, headers] of sendings) {
          if (one.method === 'get' && body !== undefined) continue;
          const method = one.method.toUpperCase();
          const { status } = await callers[role].send(method, pathOf(one) + query, body, headers);
          if (status !== 403) wrong.push(`${role} ${method} ${one.path}, ${what}: ${status}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('asks for a token, but for those that let a caller in, tell a probe, or show what anybody may see', () => {
    const table = routes(api.deps);
    const inTable = new Set<string>([...table, ...consoleRoutes(table)].map(({ path }) => path));
    const layers = createApp(api.deps).router.stack as { route?: { path: string } }[];
    const served = layers.flatMap(({ route }) => (route ? [route.path] : []));
    expect(served.filter((path) => !inTable.has(path))).toEqual([
      '/',
      '/healthz',
      '/readyz',
      '/.well-known/jwks.json',
      '/v1/oauth/token',
      '/console/session',
      '/console/sign-in',
      '/console/passkey-options',
      '/openapi.json',
      '/docs',
      '/docs/{*page}',
      '/console',
      '/console/',
      '/pages/:file',
    ]);
  });

  it('refuses a field or a parameter that it does not know, by its name', async () => {
    const answers = await onEvery(any, (one) =>
      takesJson(one)
        ? { body: { ...(one.options.longBody && { customers: [{}] }), surprise: 1 } }
        : { query: '?surprise=1' },
    );
    const unnamed = Object.entries(answers)
      .filter(([, { body }]) => !body.errors?.some(({ path }) => /^(query\.)?surprise$/.test(path)))
      .map(([key, { status, body }]) => `${key}: ${status} ${body.message}`);
    expect(unnamed).toEqual([]);
  });

  it('refuses a body that is no object', async () => {
    for (const body of ['null', '[]']) {
      const answers = await onEvery(takesJson, () => ({ body }));
      expect(others(answers, 400, /body must be an object/)).toEqual([]);
    }
  });

  it('that needs no body takes an empty object for none, as the same request under one key', async () => {
    const headers = { 'idempotency-key': 'empty' };
    const without = await onEvery(needsNone, () => ({ headers }));
    const empty = await onEvery(needsNone, () => ({ headers, body: {} }));
    const told = (answers: typeof empty) => Object.entries(answers).map(([key, { body }]) => [key, body]);
    expect(told(empty)).toEqual(told(without));
    expect(told(empty)).not.toEqual([]);
  });

  it('refuses a body that is no JSON by its type, and one that is too large', async () => {
    const text = await onEvery(takesJson, () => ({ body: '{}', headers: { 'content-type': 'text/plain' } }));
    expect(others(text, 415, /send Content-Type: application\/json/)).toEqual([]);

    const large = await onEvery(takesJson, ({ options }) => ({
      body: `{"x":"${'x'.repeat(options.longBody?.limitBytes ?? 256 * 1024)}"}`,
    }));
    expect(others(large, 413, /The body may have at most (256|16384) KiB/)).toEqual([]);
  });

  it('tells its caller of a body that stops arriving, and waits for no more of it', async () => {
    const taking = routes(api.deps).filter(takesJson);
    const stopped = await Promise.all(
      taking.map(async (one): Promise<[string, Answered]> => {
        const { token } = callers[one.options.roles[0] ?? 'bank'];
        const answered = await halfSent(one.method.toUpperCase(), pathOf(one), token);
        return [`${one.method} ${one.path}`, answered];
      }),
    );
    expect(others(Object.fromEntries(stopped), 408, /Nothing of the body arrived for 10 seconds/)).toEqual(
      [],
    );
    for (const [, { headers }] of stopped) expect(headers.get('connection')).toBe('close');
    expect(await halfSent('POST', '/v1/oauth/token')).toMatchObject({
      status: 408,
      body: { error: 'invalid_request' },
    });
  });

  it('that takes idempotency keys refuses a key with another body, or while its first request runs', async () => {
    const headers = { 'idempotency-key': 'reused' };
    await onEvery(keyed, (_, key) => ({ body: BODIES[key]?.[0], headers }));
    const reused = await onEvery(
      (one) => keyed(one) && needsBody(one),
      (_, key) => ({ body: { ...BODIES[key]?.[0], ...BODIES[key]?.[1] }, headers }),
    );
    expect(others(reused, 422, /was used with another body/)).toEqual([]);

    const first = await openTransaction(database.db);
    for (const one of routes(api.deps).filter(keyed)) {
      const callerId = callers[one.options.roles[0] ?? 'bank'].entityId;
      const request = { callerId, path: pathOf(one), key: 'running', bodyIndexes: [Buffer.of()] as [Buffer] };
      expect(await claimKey(first.trx, request)).toEqual({ outcome: 'new' });
    }
    const running = await onEvery(keyed, (_, key) => ({
      body: BODIES[key]?.[0],
      headers: { 'idempotency-key': 'running' },
    }));
    await first.rollback();
    expect(others(running, 409, /The first request with this Idempotency-Key still runs/)).toEqual([]);
    expect(new Set(Object.values(running).map(({ headers: given }) => given.get('retry-after')))).toEqual(
      new Set(['1']),
    );
  });

  it('refuses a request of too many headers, before it asks for a token', async () => {
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-header-${n}`, 'a']));
    const answers = await onEvery(any, () => ({ headers }));
    for (const path of ['/healthz', '/readyz', '/.well-known/jwks.json', '/openapi.json'])
      answers[path] = await send(api.url, 'GET', path, undefined, headers);
    answers['token'] = await send(api.url, 'POST', '/v1/oauth/token', undefined, headers);
    expect(others(answers, 431, /at most 100 headers/)).toEqual([]);
  });

  it('refuses a caller whose bucket is empty, whatever it sends', async () => {
    // Filled once, and the next drop comes in a quarter of an hour.
    const slow = { perSecond: 0.001, burst: 1 };
    const metered = await serveApi(database.db, {
      config: {
        ...api.deps.config,
        RATE_LIMIT_CALLER: slow,
        RATE_LIMIT_ANSWER: slow,
        RATE_LIMIT_LOOKUP: slow,
        RATE_LIMIT_MERCHANT_BATCH: slow,
      },
    });
    const at = (party: Party): Party => ({
      ...party,
      send: (method, path, body, headers) =>
        send(metered.url, method, path, body, { authorization: `Bearer ${party.token}`, ...headers }),
    });
    const fresh = await enterAll();
    const spent = { bank: at(fresh.bank), merchant: at(fresh.merchant), provider: at(fresh.provider) };
    await onEvery(any, () => ({}), spent);
    const answers = await onEvery(any, () => ({}), spent);
    await metered.close();
    expect(others(answers, 429, /Too many requests/)).toEqual([]);
  });

  it('accepts nothing while Postgres is away, and says when to come again', async () => {
    const { answers, token } = await onDatabase('postgres://nobody@127.0.0.1:1/none');
    expect(others(answers, 503, /nothing was accepted/)).toEqual([]);
    const hints = Object.values(answers).map(({ headers }) => headers.get('retry-after'));
    expect(new Set(hints)).toEqual(new Set(['2']));
    expect(token).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  });

  it('says nothing of a fault of ours but the request id, by which the log tells the cause', async () => {
    // No table of ours is there, so every statement fails.
    const { answers, token, log } = await onDatabase(`${(await servers()).postgres}/postgres`);
    const fault = 'Something went wrong on our side. If it lasts, report the request id its-id';
    expect(others(answers, 500, new RegExp(`^${fault}$`))).toEqual([]);
    expect(Object.values(answers).map(({ body }) => Object.keys(body))).toEqual(
      Object.values(answers).map(() => ['statusCode', 'success', 'code', 'message']),
    );
    expect(token.status).toBe(500);
    expect(token.body).toEqual({
      error: 'server_error',
      error_description: 'Something went wrong on our side; request id its-id',
    });
    expect(log).toContainEqual(
      expect.objectContaining({
        requestId: 'its-id',
        msg: 'request failed',
        err: expect.objectContaining({ code: '42P01' }) as object,
      }),
    );
  });
});

/** The lists, each with the names of its parameters and a caller that may ask for it. */
const lists = () =>
  routes(api.deps).flatMap(({ method, path, options }) => {
    const names = namesIn(options.query);
    const role = ROLES.find((one) => options.roles.includes(one)) ?? 'bank';
    return method === 'get' && names.includes('limit') ? [{ path, names, caller: callers[role] }] : [];
  });

const BEYOND: [name: string, value: string][] = [
  ['page', '0'],
  ['page', '-1'],
  ['page', '1.5'],
  ['page', '100001'],
  ['limit', '0'],
  ['limit', '101'],
  ['limit', 'all'],
  ['sortBy', 'password'],
  ['sortBy', ''],
  ['sortOrder', 'sideways'],
  ['search', ''],
  ['search', 'x'.repeat(300)],
  ['colour', 'blue'],
];

const WITHIN: [name: string, value: string][] = [
  ['page', '1'],
  ['page', '100000'],
  ['limit', '1'],
  ['limit', '100'],
  ['sortOrder', 'asc'],
  ['sortOrder', 'desc'],
  ['search', 'x'.repeat(200)],
];

const ask = ({ path, caller }: ReturnType<typeof lists>[number], ...asked: [string, string][]) =>
  caller.send('GET', `${path}?${new URLSearchParams(asked).toString()}`);

describe('every list', () => {
  it('takes all of paging and sorting, but for the feed, which goes on after an event', () => {
    expect(lists().length).toBeGreaterThan(7);
    const wanting = lists().filter(
      ({ names }) => !['page', 'limit', 'sortBy', 'sortOrder'].every((name) => names.includes(name)),
    );
    expect(wanting.map(({ path }) => path)).toEqual(['/v1/events']);
  });

  it('refuses what is out of bounds, by its name', async () => {
    const wrong: string[] = [];
    for (const list of lists()) {
      for (const [name, value] of BEYOND) {
        const { status, body } = await ask(list, [name, value]);
        const paths = String(body.errors?.map((problem) => problem.path));
        if (status !== 400 || paths !== `query.${name}`)
          wrong.push(`${list.path} ${name}=${value}: ${status} ${paths}`);
      }
      const twice = await ask(list, ['limit', '1'], ['limit', '2']);
      if (twice.status !== 400) wrong.push(`${list.path} with two limits: ${twice.status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('takes what is within bounds', async () => {
    const wrong: string[] = [];
    for (const list of lists()) {
      for (const [name, value] of WITHIN.filter(([known]) => list.names.includes(known))) {
        const { status } = await ask(list, [name, value]);
        if (status !== 200) wrong.push(`${list.path} ${name}=${value}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses a field that cannot be sorted by with those that can, and each of these sorts', async () => {
    for (const list of lists().filter(({ names }) => names.includes('sortBy'))) {
      const { body } = await ask(list, ['sortBy', 'password']);
      const fields =
        /^must be (?:one of )?(.+)$/.exec(body.errors?.[0]?.message ?? '')?.[1]?.split(', ') ?? [];
      expect(fields).not.toEqual([]);
      for (const field of fields) expect((await ask(list, ['sortBy', field])).status).toBe(200);
    }
  });
});

/** Sends the beginning of a body, and nothing more. */
async function halfSent(method: string, path: string, token = ''): Promise<Answered> {
  const answered = await fetch(api.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: new ReadableStream({ start: (body) => body.enqueue(Buffer.from('{"customers":[{')) }),
    duplex: 'half',
  });
  const { status, headers } = answered;
  return { status, headers, body: (await answered.json()) as Answered['body'] };
}

/** The answers of every endpoint that asks a database, where the API has another one. */
async function onDatabase(url: string) {
  const db = openDatabase(url, 2, engineFacts);
  const served = await serveApi(db);
  const headers = { 'x-request-id': 'its-id' };
  const answers: Record<string, Answered> = {};
  for (const one of routes(api.deps)) {
    const authorization = `Bearer ${callers[one.options.roles[0] ?? 'bank'].token}`;
    const asked = { authorization, ...headers };
    const method = one.method.toUpperCase();
    answers[`${one.method} ${one.path}`] = await send(served.url, method, pathOf(one), undefined, asked);
  }
  answers['jwks'] = await send(served.url, 'GET', '/.well-known/jwks.json', undefined, headers);
  const { clientId, clientSecret } = callers.bank;
  const client = { client_id: clientId, client_secret: clientSecret };
  const grant = { grant_type: 'client_credentials', ...client };
  const token = await send(served.url, 'POST', '/v1/oauth/token', grant, headers);
  await Promise.all([served.close(), db.destroy()]);
  return { answers, token, log: served.log };
}
