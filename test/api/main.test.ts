import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createEntity } from '../../src/database/entity/create-entity';
import { ApiProcess, environmentOf, said } from '../support/api-process';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { freePort } from '../support/free-port';
import { programOf } from '../support/installation';
import { readMetrics, valueOf } from '../support/metrics';

/* The API as a process of its own. */

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('an API whose port is taken ends with a word on what to do', async () => {
  const main = await programOf('api');
  const held = createServer().listen(0);
  await once(held, 'listening');
  const { port } = held.address() as AddressInfo;
  const ends = await Promise.all(
    ['PORT', 'METRICS_PORT'].map(async (setting) => {
      const env = environmentOf(test.url, await freePort(), { [setting]: String(port) });
      return new Promise<unknown[]>((resolve) => {
        execFile(process.execPath, [main], { env }, (error, _out, err) => resolve([error?.code, err]));
      });
    }),
  );
  held.close();
  expect(ends).toEqual(
    ['PORT', 'METRICS_PORT'].map((setting) => [
      1,
      `${setting}: ${port} is taken. Stop what listens there, or set ${setting} or PORT_OFFSET to use another.\n`,
    ]),
  );
});

describe('an API', () => {
  let api: ApiProcess;
  beforeAll(async () => {
    api = await ApiProcess.started(test.url);
  });
  afterAll(async () => {
    api.closeConnections();
    await api.kill();
  });

  it('serves while Temporal is away, and says so when asked', async () => {
    const ready = await fetch(`${api.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ errors: [{ path: 'temporal', message: 'does not answer' }] });
  });

  it('answers a request that was on its way into a kept connection when the stop came, and ends', async () => {
    const request = 'GET /healthz HTTP/1.1\r\nHost: assent\r\n\r\n';
    const kept = await api.from('127.0.0.1');
    expect(await said(kept, request, /alive/)).toMatch(/^HTTP\/1\.1 200 [^]*keep-alive/);
    api.signal('SIGTERM');
    await eventually(() => Promise.resolve(api.output.includes('API stops')));
    expect(await said(kept, request, /alive/)).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close/);
    expect(await api.ended()).toBe(0);
  });
});

/* `faults.cjs` puts faults into the process that nobody would write. */
describe('an uncaught error', () => {
  let api: ApiProcess;
  beforeAll(async () => {
    api = await ApiProcess.started(test.url, ['--require', join(__dirname, '../support/faults.cjs')]);
  });
  afterAll(() => api.kill());

  async function tokenOfBank(): Promise<string> {
    const made = await test.db.transaction((trx) => createEntity(trx, { type: 'bank', name: 'A bank' }));
    const answered = await fetch(`${api.url}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: made?.clientId ?? '',
        client_secret: made?.clientSecret ?? '',
      }),
    });
    return ((await answered.json()) as { access_token: string }).access_token;
  }

  const linesOf = (text: string) =>
    api.output
      .split('\n')
      .filter((line) => line.includes(text))
      .map((line) => JSON.parse(line) as Record<string, unknown> & { err: Record<string, unknown> });

  it('fails the request that it belongs to, and is logged and counted', async () => {
    const failed = await fetch(`${api.url}/v1/bank/customers`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenOfBank()}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'x-request-id': 'the-one',
      },
      body: 'x'.repeat(100_000),
    });
    expect(failed.status).toBe(500);
    expect(await failed.json()).toEqual({
      statusCode: 500,
      success: false,
      code: 'internal',
      message: 'Something went wrong on our side. If it lasts, report the request id the-one',
    });
    await eventually(() => Promise.resolve(linesOf('thrown beside a request').length === 1));
    for (const [text, kind] of [
      ['thrown beside a request', 'exception'],
      ['rejected beside a request', 'rejection'],
    ] as const) {
      expect(linesOf(text)).toMatchObject([
        { kind, err: { stack: expect.stringContaining('faults.cjs') as string } },
      ]);
      const counted = valueOf(
        await readMetrics(api.metricsPort),
        `assent_uncaught_errors_total{kind="${kind}"}`,
      );
      expect(counted).toBe(1);
    }
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
  });

  it('of no request lets the process drain, and end with an exit code, to be started again', async () => {
    api.signal('SIGUSR2');
    expect(await api.ended()).toBe(1);
    expect(linesOf('thrown beside all requests')).toMatchObject([{ level: 60, kind: 'exception' }]);
    expect(api.output).toContain('API stops');
  });
});
