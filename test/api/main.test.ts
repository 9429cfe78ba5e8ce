import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { makeKeyring } from '../../src/database/keys/keyring';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { freePort } from '../support/free-port';
import { programOf } from '../support/installation';

let test: TestDatabase;
let main: string;
beforeAll(async () => {
  main = await programOf('api');
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** Its database is not opened by another ring once one has been in use. */
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

/** A port, held until it is let go. */
async function takePort() {
  const server = createServer().listen(0);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, release: () => server.close() };
}

describe('the API process', () => {
  it.each(['PORT', 'METRICS_PORT'])(
    'ends with a word on what to do when its %s is taken',
    async (setting) => {
      const { port, release } = await takePort();
      const env = environment(await freePort(), { [setting]: String(port) });
      const ended = await new Promise<{ code: unknown; err: string }>((resolve) => {
        execFile(process.execPath, [main], { env }, (error, _out, err) =>
          resolve({ code: error?.code, err }),
        );
      });
      expect(ended).toEqual({
        code: 1,
        err: `${setting}: ${port} is taken. Stop what listens there, or set ${setting} or PORT_OFFSET to use another.\n`,
      });
      release();
    },
  );

  it('serves while Temporal is away, says so when asked, and ends on SIGTERM', async () => {
    const port = await freePort();
    const api = spawn(process.execPath, [main], { env: environment(port), stdio: 'ignore' });
    const ended = once(api, 'exit');
    const url = `http://127.0.0.1:${port}`;
    await eventually(async () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const ready = await fetch(`${url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ errors: [{ path: 'temporal', message: 'does not answer' }] });
    api.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it('answers a request that was on its way into a kept connection when the stop came', async () => {
    const port = await freePort();
    const api = spawn(process.execPath, [main], {
      env: environment(port),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(api, 'exit');
    const lines = createInterface(api.stdout)[Symbol.asyncIterator]();
    const logged = async (message: string) => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`ended without logging ${message}`);
        if ((JSON.parse(value) as { msg: string }).msg === message) return;
      }
    };
    await logged('API is ready');
    const kept = connect(port, '127.0.0.1');
    const request = 'GET /healthz HTTP/1.1\r\nHost: assent\r\n\r\n';
    kept.write(request);
    const [first] = (await once(kept, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 [^]*keep-alive/);
    api.kill('SIGTERM');
    await logged('API stops');
    kept.write(request);
    const [second] = (await once(kept, 'data')) as [Buffer];
    expect(second.toString()).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close/);
    expect(await ended).toEqual([0, null]);
  });
});
