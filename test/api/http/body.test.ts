import { PassThrough } from 'node:stream';
import { setInterval as every } from 'node:timers/promises';
import type { Request } from 'express';
import { bodyChunks, readBytes } from '../../../src/api/http/body';
import { JsonListReader } from '../../../src/api/http/json-list';
import { memoryKept } from '../../support/memory';

const requestOf = (body: PassThrough, headers = {}) => Object.assign(body, { headers }) as unknown as Request;

test('a file that only trickles is refused, however long it would go on', async () => {
  const body = new PassThrough();
  const given = new AbortController();
  const trickle = (async () => {
    for await (const _ of every(5, undefined, { signal: given.signal })) body.write('x');
  })().catch(() => undefined);
  const pace = { graceMs: 50, leastBytesPerS: 64 * 1024 };
  const read = async () => {
    for await (const _ of bodyChunks(requestOf(body), 1e6, pace));
  };
  await expect(read()).rejects.toMatchObject({
    code: 'request_too_slow',
    message: 'The body comes at less than 64 KiB a second',
  });
  given.abort();
  await trickle;
});

/** Each piece is read before the next one comes. */
const send = async (bodies: PassThrough[], bytes: number) => {
  for (let n = 0; n < bytes; n += 1) {
    for (const body of bodies) body.write(Buffer.of(0x78));
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** The cost of a body while it arrives, however it is written and in whatever pieces it comes. */
describe('a body under way costs no more than its bytes', () => {
  const READERS = 50;
  const BYTES = 4_000;
  /** Twice the bytes, as a buffer has that grows, and room for the rest of the process. */
  const BYTES_KEPT_MAX = 16_000;

  test.each([
    ['a list of objects', [Buffer.from(`{"customers":[${'0,'.repeat(BYTES / 2)}`)]],
    [
      'an object that comes byte by byte',
      Array.from(Buffer.from(`{"customers":[{"firstname":"${'x'.repeat(BYTES)}`), (byte) => Buffer.of(byte)),
    ],
  ])('%s', (_, pieces) => {
    const read = () => {
      const reader = new JsonListReader(32 * 1024);
      for (const piece of pieces) for (const object of reader.read(piece)) expect(object).toBeDefined();
      return reader;
    };
    // Compiled code is there from here on.
    read();
    const before = memoryKept();
    const readers = Array.from({ length: READERS }, read);
    expect((memoryKept() - before) / readers.length).toBeLessThan(BYTES_KEPT_MAX);
  });

  test('JSON that comes byte by byte', async () => {
    const begin = () => {
      const body = new PassThrough();
      return { body, whole: readBytes(requestOf(body, { 'transfer-encoding': 'chunked' }), 2 * BYTES) };
    };
    const first = begin();
    await send([first.body], 100);
    first.body.end();
    expect((await first.whole).toString()).toBe('x'.repeat(100));

    const before = memoryKept();
    const begun = Array.from({ length: READERS }, begin);
    await send(
      begun.map(({ body }) => body),
      BYTES,
    );
    const kept = memoryKept() - before;
    for (const { body } of begun) body.end();
    for (const { whole } of begun) expect(await whole).toHaveLength(BYTES);
    expect(kept / READERS).toBeLessThan(BYTES_KEPT_MAX);
  });
});
