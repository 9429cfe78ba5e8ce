import type { Socket } from 'node:net';
import { createEntity } from '../../src/database/entity/create-entity';
import { ApiProcess, said } from '../support/api-process';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { readMetrics, valueOf } from '../support/metrics';

/* An API as a process of its own, and as many connections as it has, or more. */

let test: TestDatabase;
let api: ApiProcess;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterEach(() => api.closeConnections());
afterAll(async () => {
  await api.kill();
  await test.drop();
});

/** As many as leave the process none. */
const ALL = 4_000;
/** More than wait to be accepted where a server does not say how many. */
const CROWD = 900;
const MIB = 1024 * 1024;
/** Each has more to come than the system takes in: a document of most of a megabyte, many times. */
const UNREAD = 150;
const AHEAD = 11;
const UNREAD_MAX_MIB = 0.3;

const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n');
const FORM = 'Content-Type: application/x-www-form-urlencoded';
const JSON_TYPE = 'Content-Type: application/json';
const TOKEN = '/v1/oauth/token';

const writeAll = (sockets: Socket[], bytes: string) => {
  for (const socket of sockets) socket.resume().write(bytes);
};

/** A client whose body comes in a packet of its own, as many send it. */
async function tokenFor(address: string): Promise<string> {
  const made = await test.db.transaction((trx) => createEntity(trx, { type: 'bank', name: 'A bank' }));
  const body = `grant_type=client_credentials&client_id=${made?.clientId}&client_secret=${made?.clientSecret}`;
  const socket = await api.from(address);
  const begin = head('POST', TOKEN, FORM, 'Expect: 100-continue', `Content-Length: ${body.length}`);
  await said(socket, begin, /^HTTP\/1\.1 100/);
  return said(socket, body, /\}$/);
}

const residentMiB = async () =>
  (valueOf(await readMetrics(api.metricsPort), 'process_resident_memory_bytes') ?? 0) / MIB;

describe.each([
  ['whose callers connect', {}, ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14']],
  ['behind a balancer', { TRUSTED_PROXIES: '127.0.0.1' }, ['127.0.0.1']],
])('an API %s', (_, settings, addresses) => {
  /** More than twice what the process needs; a flood takes minutes to fill the default. */
  const HEAP = '--max-old-space-size=256';
  beforeAll(async () => {
    api = await ApiProcess.started(test.url, [HEAP], settings);
  });
  afterAll(() => api.kill());

  const fill = async () => {
    const each = Array.from(addresses, (address) => api.manyFrom(address, ALL / addresses.length));
    return (await Promise.all(each)).flat();
  };
  /** The attackers' own next connections, too. */
  const expectRoom = async () => {
    for (const address of ['127.0.0.1', ...addresses]) expect(await api.statusFrom(address)).toBe(200);
    expect(await tokenFor('127.0.0.1')).toContain('"access_token"');
  };

  it.each([
    ['without a token', head('POST', TOKEN, FORM, 'Content-Length: 4000')],
    ['that are refused before', head('POST', '/v1/refunds/initiate', JSON_TYPE, 'Content-Length: 4000')],
  ])('lets 4 000 bodies %s that crawl keep out neither others nor its own probe', async (_body, begin) => {
    const sockets = await fill();
    writeAll(sockets, begin);
    const talking = setInterval(() => writeAll(sockets, 'x'), 1_000);
    try {
      await expectRoom();
    } finally {
      clearInterval(talking);
    }
  });
});

it('many responses that nobody reads are in memory once', async () => {
  api = await ApiProcess.started(test.url);
  try {
    await (await fetch(`${api.url}/openapi.json`)).text();
    const before = await residentMiB();
    const unread = await api.manyFrom('127.0.0.1', UNREAD);
    for (const socket of unread) socket.pause().write(head('GET', '/openapi.json').repeat(AHEAD));
    await tokenFor('127.0.0.2');
    expect((await residentMiB()) - before).toBeLessThan(UNREAD * UNREAD_MAX_MIB);
  } finally {
    await api.kill();
  }
});

it('a crowd that comes while the process is busy has its turn afterwards, each at its first try', async () => {
  api = await ApiProcess.started(test.url);
  api.freeze();
  // The system takes them in for the process.
  await api.manyFrom('127.0.0.11', CROWD);
  api.thaw();
  expect(await api.statusFrom('127.0.0.1')).toBe(200);
});
