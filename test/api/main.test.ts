import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { createEntity } from '../../src/database/entity/create-entity';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { freePort, freePorts } from '../support/free-port';
import { programOf } from '../support/installation';
import { readMetrics, valueOf } from '../support/metrics';

/* The API as a process of its own. */

let test: TestDatabase;
let main: string;
beforeAll(async () => {
  main = await programOf('api');
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** The same for all processes: a database takes no second keyring. */
const keys = makeKeyring();

const environment = (port: number, more: Record<string, string> = {}) => ({
  ...process.env,
  ASSENT_MODE: 'sandbox',
  DATABASE_URL: test.url,
  ASSENT_KEYS: keys,
  // Nothing answers there.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  PORT: String(port),
  METRICS_PORT: '0',
  ...more,
});

const isAlive = (port: number) =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

/** A process that is up, and the text of its log. */
async function startApi(options: string[], env: NodeJS.ProcessEnv) {
  const api: ChildProcess = spawn(process.execPath, [...options, main], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  api.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await eventually(() => isAlive(Number(env['PORT'])));
  return { api, log: () => text };
}

it('an API whose port is taken ends with a word on what to do', async () => {
  const held = createServer().listen(0);
  await once(held, 'listening');
  const { port } = held.address() as AddressInfo;
  const ends = await Promise.all(
    ['PORT', 'METRICS_PORT'].map(async (setting) => {
      const env = environment(await freePort(), { [setting]: String(port) });
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

/** The answer to `bytes`, until the other side hangs up or has said enough. */
async function said(socket: Socket, bytes: string, enough: RegExp): Promise<string> {
  let received = '';
  const over = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (enough.test(received)) resolve();
    });
    socket.once('close', () => resolve());
  });
  socket.write(bytes);
  await over;
  return received;
}

describe('an API', () => {
  /** More than twice what the process needs; a flood takes minutes to fill the default. */
  const HEAP = '--max-old-space-size=256';
  let port: number;
  let api: ChildProcess;
  let log: () => string;
  const open: Socket[] = [];
  beforeAll(async () => {
    port = await freePort();
    ({ api, log } = await startApi([HEAP], environment(port)));
  });
  afterEach(() => open.splice(0).forEach((socket) => socket.destroy()));
  afterAll(() => void api.kill('SIGKILL'));

  /** A connection of that address, once it is there; its later end is no error. */
  async function from(address: string): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port, localAddress: address, noDelay: true });
    open.push(socket);
    await once(socket, 'connect');
    return socket.on('error', () => undefined);
  }

  async function manyFrom(address: string, count: number): Promise<Socket[]> {
    const made: Socket[] = [];
    while (made.length < count) {
      const some = Math.min(100, count - made.length);
      made.push(...(await Promise.all(Array.from({ length: some }, () => from(address)))));
    }
    return made;
  }

  async function statusFrom(address: string): Promise<number> {
    const answer = await from(address)
      .then((socket) =>
        said(socket, 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', /\r\n\r\n/),
      )
      .catch(() => '');
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
  }

  it('serves while Temporal is away, and says so when asked', async () => {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ errors: [{ path: 'temporal', message: 'does not answer' }] });
  });

  it('is as it was after 450 connections have each sent 1 000 requests ahead', async () => {
    const sockets = await manyFrom('127.0.0.1', 450);
    const ahead = 'GET /x HTTP/1.1\r\n\r\n'.repeat(1_000);
    const answers = await Promise.all(sockets.map((socket) => said(socket, ahead, /Connection: close/)));
    expect(answers.every((answer) => answer.startsWith('HTTP/1.1 400'))).toBe(true);
    expect(await statusFrom('127.0.0.1')).toBe(200);
    expect([api.exitCode, api.signalCode]).toEqual([null, null]);
  });

  it('lets 4 100 silent connections of one address keep out neither others nor its own next one', async () => {
    await manyFrom('127.0.0.1', 4_100);
    expect(await statusFrom('127.0.0.2')).toBe(200);
    expect(await statusFrom('127.0.0.1')).toBe(200);
  });

  it('answers an address that has too much in use with a 429, until one of its calls ends', async () => {
    const bodies = await manyFrom('127.0.0.1', 1_000);
    const begin =
      'POST /v1/oauth/token HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n';
    // A body that says nothing for ten seconds is given up.
    const talking = setInterval(() => bodies.forEach((socket) => socket.write('x')), 1_000);
    await Promise.all(bodies.map((socket) => said(socket, begin, /^HTTP\/1.1 100/)));
    expect(await statusFrom('127.0.0.1')).toBe(429);
    expect(await statusFrom('127.0.0.2')).toBe(200);
    clearInterval(talking);
    bodies.pop()?.destroy();
    await eventually(async () => (await statusFrom('127.0.0.1')) === 200);
  });

  it('answers a request that was on its way into a kept connection when the stop came, and ends', async () => {
    const request = 'GET /healthz HTTP/1.1\r\nHost: assent\r\n\r\n';
    const kept = await from('127.0.0.1');
    expect(await said(kept, request, /alive/)).toMatch(/^HTTP\/1\.1 200 [^]*keep-alive/);
    const ended = once(api, 'exit');
    api.kill('SIGTERM');
    await eventually(() => Promise.resolve(log().includes('API stops')));
    expect(await said(kept, request, /alive/)).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close/);
    expect(await ended).toEqual([0, null]);
  });
});

/* `faults.cjs` puts faults into the process that nobody would write. */
describe('an uncaught error', () => {
  let api: ChildProcess;
  let log: () => string;
  let url: string;
  let metricsPort: number;
  beforeAll(async () => {
    const [port = 0, metrics = 0] = await freePorts(2);
    [url, metricsPort] = [`http://127.0.0.1:${port}`, metrics];
    const faults = ['--require', join(__dirname, '../support/faults.cjs')];
    ({ api, log } = await startApi(faults, environment(port, { METRICS_PORT: String(metrics) })));
  });
  afterAll(() => void api.kill('SIGKILL'));

  async function tokenOfBank(): Promise<string> {
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
    return ((await answered.json()) as { access_token: string }).access_token;
  }

  const linesOf = (text: string) =>
    log()
      .split('\n')
      .filter((line) => line.includes(text))
      .map((line) => JSON.parse(line) as Record<string, unknown> & { err: Record<string, unknown> });

  it('fails the request that it belongs to, and is logged and counted', async () => {
    const failed = await fetch(`${url}/v1/bank/customers`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenOfBank()}`,
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
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('of no request lets the process drain, and end with an exit code, to be started again', async () => {
    const ended = once(api, 'exit');
    api.kill('SIGUSR2');
    expect(await ended).toEqual([1, null]);
    expect(linesOf('thrown beside all requests')).toMatchObject([{ level: 60, kind: 'exception' }]);
    expect(log()).toContain('API stops');
  });
});
