import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePorts } from '../../support/free-port';
import { createEntity } from '../../../src/database/entity/create-entity';
import { makeKeyring, readKeyring } from '../../../src/database/keys/keyring';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { programOf } from '../../support/installation';
import { readMetrics, valueOf } from '../../support/metrics';

/*
 * What nobody catches, in a process of its own: `faults.cjs` puts faults into it that nobody would
 * write.
 */

let test: TestDatabase;
let api: ChildProcess;
let url: string;
let metricsPort: number;
let log = '';
const keys = makeKeyring();
beforeAll(async () => {
  test = await createTestDatabase();
  const [port = 0, metrics = 0] = await freePorts(2);
  url = `http://127.0.0.1:${port}`;
  metricsPort = metrics;
  const command = ['--require', join(__dirname, '../../support/faults.cjs'), await programOf('api')];
  api = spawn(process.execPath, command, {
    env: {
      ...process.env,
      DATABASE_URL: test.url,
      ASSENT_MODE: 'sandbox',
      ASSENT_KEYS: keys,
      // Nothing answers there.
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      PORT: String(port),
      METRICS_PORT: String(metrics),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  api.stdout?.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await eventually(isAlive);
});
afterAll(async () => {
  api.kill('SIGKILL');
  await test.drop();
});

const isAlive = () =>
  fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

async function enterBank(): Promise<string> {
  const made = await test.db.transaction((trx) =>
    createEntity(trx, readKeyring(keys), { type: 'bank', name: 'A bank' }),
  );
  const answered = await fetch(`${url}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: made?.clientId ?? '',
      client_secret: made?.clientSecret ?? '',
    }),
  });
  const { access_token: token } = (await answered.json()) as { access_token: string };
  return token;
}

const linesOf = (text: string) =>
  log
    .split('\n')
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line) as Record<string, unknown> & { err: Record<string, unknown> });

it('what nobody catches fails the request it belongs to, and is logged and counted', async () => {
  const token = await enterBank();
  const failed = await fetch(`${url}/v1/bank/customers`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-encoding': 'br',
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
    const counted = valueOf(await readMetrics(metricsPort), `assent_uncaught_errors_total{kind="${kind}"}`);
    expect(counted).toBe(1);
  }
  expect(await isAlive()).toBe(true);
});

it('where it belongs to none the process drains and ends with an exit code, to be started anew', async () => {
  const ended = once(api, 'exit');
  api.kill('SIGUSR2');
  expect(await ended).toEqual([1, null]);
  expect(linesOf('thrown beside all requests')).toMatchObject([{ level: 60, kind: 'exception' }]);
  expect(log).toContain('API stops');
});
