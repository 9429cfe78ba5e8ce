import knex from 'knex';
import { openDatabase } from '../../../src/database/pool/connection';
import { enter, send, serveApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('while Postgres is away', () => {
  it('every request is a 503 that says when to come again, within five seconds', async () => {
    const away = openDatabase('postgres://nobody@127.0.0.1:1/none', 2);
    const known = await serveApi(test.db);
    const { token, clientId, clientSecret } = await enter(known, 'bank');
    const api = await serveApi(away);
    const answered = await send(api.url, 'GET', '/v1/webhooks/endpoint', undefined, {
      authorization: `Bearer ${token}`,
    });
    expect(answered).toMatchObject({ status: 503, body: { statusCode: 503, success: false } });
    expect(answered.headers.get('retry-after')).toBe('2');
    const refused = await fetch(`${api.url}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      }),
    });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
    await Promise.all([api.close(), known.close(), away.destroy()]);
  });
});

describe('a fault of ours', () => {
  it('is a 500 that tells nothing but the request id, and a log line that tells the cause', async () => {
    const api = await serveApi(test.db);
    const bank = await enter(api, 'bank');
    const url = new URL(test.url);
    const owner = knex({ client: 'pg', connection: String(url), pool: { min: 0, max: 1 } });
    await owner.raw('ALTER TABLE webhook_endpoints RENAME TO gone');
    const answered = await bank.send('GET', '/v1/webhooks/endpoint', undefined, {
      'x-request-id': 'fault-1',
    });
    expect(answered).toMatchObject({
      status: 500,
      body: {
        statusCode: 500,
        success: false,
        code: 'internal',
        message: 'Something went wrong on our side. If it lasts, report the request id fault-1',
      },
    });
    expect(api.log).toContainEqual(
      expect.objectContaining({
        requestId: 'fault-1',
        msg: 'request failed',
        err: expect.objectContaining({ code: '42P01' }) as object,
      }),
    );
    await owner.raw('ALTER TABLE gone RENAME TO webhook_endpoints');
    await Promise.all([api.close(), owner.destroy()]);
  });
});

describe('readiness', () => {
  it('is a 503 that names what is missing', async () => {
    const problem = { path: 'temporal', message: 'does not answer' };
    const api = await serveApi(test.db, { readiness: () => Promise.resolve([problem]) });
    const answered = await send(api.url, 'GET', '/readyz');
    expect(answered).toMatchObject({
      status: 503,
      body: {
        success: false,
        message: 'Not ready: temporal: does not answer',
        data: { mode: 'sandbox' },
        errors: [problem],
      },
    });
    expect(await send(api.url, 'GET', '/healthz')).toMatchObject({ status: 200 });
    // The answer to a question, and no fault of this process.
    expect(api.log).toContainEqual(expect.objectContaining({ route: '/readyz', status: 503, level: 30 }));
    await api.close();
  });

  it('is a 200 when nothing is', async () => {
    const api = await serveApi(test.db);
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 200,
      body: { message: 'ready', data: { mode: 'sandbox' } },
    });
    await api.close();
  });
});
