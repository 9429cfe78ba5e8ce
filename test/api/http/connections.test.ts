import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { freePort } from '../../support/free-port';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { eventually } from '../../support/engine';
import { programOf } from '../../support/installation';
import { makeKeyring } from '../../../src/database/keys/keyring';

/* Many connections to an API process of its own, which nobody has to sign in for. */

/** More than twice what the process needs; of its default a flood would take some minutes. */
const HEAP = '--max-old-space-size=256';

let test: TestDatabase;
let api: ChildProcess;
let port: number;
const open: Socket[] = [];
beforeAll(async () => {
  test = await createTestDatabase();
  port = await freePort();
  api = spawn(process.execPath, [HEAP, await programOf('api')], {
    env: {
      ...process.env,
      DATABASE_URL: test.url,
      ASSENT_MODE: 'sandbox',
      ASSENT_KEYS: makeKeyring(),
      // Nothing answers there.
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      PORT: String(port),
      METRICS_PORT: '0',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await eventually(() => statusFrom('127.0.0.1').then((status) => status === 200));
});
afterEach(() => open.splice(0).forEach((socket) => socket.destroy()));
afterAll(async () => {
  api.kill('SIGKILL');
  await test.drop();
});

const GET_NOTHING = 'GET /x HTTP/1.1\r\n\r\n';

/** A connection of that address, once it is there. What becomes of it later is its own affair. */
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

async function statusFrom(address: string): Promise<number | undefined> {
  const answer = await from(address)
    .then((socket) =>
      said(socket, 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', /\r\n\r\n/),
    )
    .catch(() => '');
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
  return status === undefined ? undefined : Number(status);
}

it('450 connections that each send 1 000 requests ahead leave the process where it is', async () => {
  const sockets = await manyFrom('127.0.0.1', 450);
  const answers = await Promise.all(
    sockets.map((socket) => said(socket, GET_NOTHING.repeat(1_000), /Connection: close/)),
  );
  expect(answers.every((answer) => answer.startsWith('HTTP/1.1 400'))).toBe(true);
  expect(await statusFrom('127.0.0.1')).toBe(200);
  expect(api.exitCode).toBeNull();
  expect(api.signalCode).toBeNull();
});

it('4 100 silent connections of one address keep neither others out nor its own next one', async () => {
  await manyFrom('127.0.0.1', 4_100);
  expect(await statusFrom('127.0.0.2')).toBe(200);
  expect(await statusFrom('127.0.0.1')).toBe(200);
});

it('what an address has too much of in use is a 429; once one of them ends, its next one is served', async () => {
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
  await eventually(() => statusFrom('127.0.0.1').then((status) => status === 200));
});
