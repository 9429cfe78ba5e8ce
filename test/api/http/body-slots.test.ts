import { EventEmitter, once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { DECODERS, DOWNLOADS } from '../../../src/api/http/slots';
import { apiOfFile, enter, type Party } from '../../support/api';
import { eventually } from '../../support/engine';
import { RawConnection, request } from '../../support/raw-http';

/** Bodies that fill a process: many at once that do not end, or whose calls wait for others. */

const gate = new EventEmitter();
let isOpen = true;
let waiting = 0;
const { api } = apiOfFile({
  settings: { RATE_LIMIT_MERCHANT_BATCH: '1000/1000' },
  limiter: {
    async take(_, handle) {
      waiting += 1;
      if (!isOpen) await once(gate, 'open');
      return handle();
    },
  },
});
let provider: Party;
let merchant: Party;
beforeAll(async () => {
  [provider, merchant] = await Promise.all([enter(api, 'provider'), enter(api, 'merchant')]);
});

const KIB = 1024;
const SLOTS = 10;
const LEFT_OUT = 5;
const isRefused = ({ received }: RawConnection) => received.includes('HTTP/1.1 429 ');

/** A JSON body of this length, which asks for nothing. */
const ofLength = (bytes: number) => '{}'.padEnd(bytes, ' ');
const FINISH = '/v1/webhooks/endpoint/rotate-secret/finish';
const MERCHANTS = '/v1/provider/merchants';
const statusOf = async (party: Party, path: string, bytes: number) =>
  (await party.send('POST', path, ofLength(bytes))).status;

/** Says that 64 KiB come, and sends less. */
async function begin(
  { token }: Party,
  path: string,
  body = ofLength(20 * KIB),
  more: readonly string[] = [],
): Promise<RawConnection> {
  const one = await RawConnection.to(api.url);
  const headers = [
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${64 * KIB}`,
    ...more,
  ];
  await one.send(request('POST', path, headers, body));
  return one;
}

describe.each([
  ['that is asked for', MERCHANTS],
  ['that nobody needs', FINISH],
])('a body %s', (_, path) => {
  it('that is large and does not end is one of a few of its caller', async () => {
    const begun = await Promise.all(Array.from({ length: SLOTS + LEFT_OUT }, () => begin(provider, path)));
    await eventually(() => Promise.resolve(begun.filter(isRefused).length === LEFT_OUT));
    expect(begun.find(isRefused)?.received).toMatch(/^Retry-After: 2\r$/m);
    expect(await statusOf(provider, path, 20 * KIB)).toBe(429);
    // It keeps out neither small ones, nor another caller's.
    expect(await statusOf(provider, path, 16 * KIB)).not.toBe(429);
    expect(await statusOf(merchant, FINISH, 20 * KIB)).not.toBe(429);
    begun.forEach((one) => one.close());
    await eventually(async () => (await statusOf(provider, path, 20 * KIB)) !== 429);
  });
});

/** The answers of calls that are under way at the same time, each with so large a body. */
async function atOnce(callers: Party[]): Promise<number[]> {
  isOpen = false;
  waiting = 0;
  const statuses: number[] = [];
  const sent = callers.map(async (one) => {
    statuses.push(await statusOf(one, FINISH, 200 * KIB));
  });
  await eventually(() => Promise.resolve(waiting + statuses.length === sent.length));
  isOpen = true;
  gate.emit('open');
  await Promise.all(sent);
  return statuses;
}

const isServed = (status: number) => status !== 429 && status < 500;

it('a large body that has arrived keeps its slot until its call is over, one of a few of its caller', async () => {
  const own = await atOnce(Array<Party>(20).fill(merchant));
  expect(own.filter(isServed)).toHaveLength(SLOTS);
  expect(own.filter((status) => status === 429)).toHaveLength(20 - SLOTS);
  expect(await statusOf(merchant, FINISH, 20 * KIB)).not.toBe(429);
  const owners = await Promise.all(Array.from({ length: 20 }, () => enter(api, 'merchant')));
  expect((await atOnce(owners)).filter(isServed)).toHaveLength(20);
});

it('a large body asks for a file that is sent for long, and keeps no slot of a body meanwhile', async () => {
  isOpen = false;
  waiting = 0;
  const wish = '{"format":"csv"}'.padEnd(20 * KIB, ' ');
  const files = Array.from({ length: DOWNLOADS.ofCaller }, () =>
    merchant.send('POST', '/v1/transaction-history/search', wish),
  );
  await eventually(() => Promise.resolve(waiting === files.length));
  gate.emit('open');
  // Each file waits for its first page.
  await eventually(() => Promise.resolve(waiting === 2 * files.length));
  expect((await atOnce(Array<Party>(SLOTS).fill(merchant))).filter(isServed)).toHaveLength(SLOTS);
  expect((await Promise.all(files)).map(({ status }) => status)).toEqual(files.map(() => 200));
});

it('a large body that comes too slowly is a 408, and its slot is another’s', async () => {
  const begun = await Promise.all(Array.from({ length: SLOTS }, () => begin(merchant, FINISH)));
  const dripping = setInterval(() => begun.forEach((one) => void one.send(' ')), 100);
  try {
    const ended = await Promise.all(begun.map((one) => one.answers(1)));
    expect(ended).toEqual(begun.map(() => [408]));
    expect(begun[0]?.received).toContain('The body comes at less than 32 KiB a second');
  } finally {
    clearInterval(dripping);
    begun.forEach((one) => one.close());
  }
  expect(isServed(await statusOf(merchant, FINISH, 20 * KIB))).toBe(true);
});

it('a compressed body, however small, takes one of a few decoders of its caller while it arrives', async () => {
  const compressed = () => begin(merchant, FINISH, '', ['Content-Encoding: gzip']);
  const begun = await Promise.all(Array.from({ length: DECODERS.ofCaller + 1 }, compressed));
  await eventually(() => Promise.resolve(begun.some(isRefused)));
  expect(begun.find(isRefused)?.received).toMatch(/^Retry-After: 1\r$/m);
  // Others have theirs, and a plain body needs none.
  expect(isServed(await statusOf(merchant, FINISH, 2))).toBe(true);
  const others = await begin(provider, FINISH, '', ['Content-Encoding: gzip']);
  begun.forEach((one) => one.close());
  const packed = () => merchant.send('POST', FINISH, gzipSync('{}'), { 'content-encoding': 'gzip' });
  await eventually(async () => isServed((await packed()).status));
  expect(others.statuses()).toEqual([]);
  others.close();
});
