import type { Socket } from 'node:net';
import { createEntity } from '../../../src/database/entity/create-entity';
import { ApiProcess, said } from '../../support/api-process';
import { createTestDatabase, type TestDatabase } from '../../support/database';

/**
 * An API as a process of its own, and as many connections as it has, for the test file that imports
 * this.
 */

export let api: ApiProcess;
let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterEach(() => api.closeConnections());
afterAll(async () => {
  await api.kill();
  await test.drop();
});

/** @param options of Node */
export async function startApi(options: string[] = [], settings: Record<string, string> = {}): Promise<void> {
  api = await ApiProcess.started(test.url, options, settings);
}

/** As many as leave the process none. */
const ALL = 4_000;

export const head = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n');
const FORM = 'Content-Type: application/x-www-form-urlencoded';
const JSON_TYPE = 'Content-Type: application/json';
const TOKEN = '/v1/oauth/token';

const writeAll = (sockets: Socket[], bytes: string) => {
  for (const socket of sockets) socket.resume().write(bytes);
};

/** A client whose body comes in a packet of its own, as many send it. */
export async function tokenFor(address: string): Promise<string> {
  const made = await test.db.transaction((trx) => createEntity(trx, { type: 'bank', name: 'A bank' }));
  const body = `grant_type=client_credentials&client_id=${made?.clientId}&client_secret=${made?.clientSecret}`;
  const socket = await api.from(address);
  const begin = head('POST', TOKEN, FORM, 'Expect: 100-continue', `Content-Length: ${body.length}`);
  await said(socket, begin, /^HTTP\/1\.1 100/);
  return said(socket, body, /\}$/);
}

/** @param addresses of the attackers */
export function withstandsFloods(settings: Record<string, string>, addresses: string[]): void {
  /** More than twice what the process needs; a flood takes minutes to fill the default. */
  const HEAP = '--max-old-space-size=256';
  beforeAll(() => startApi([HEAP], settings));
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
}
