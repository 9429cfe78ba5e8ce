import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setInterval as every } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Request } from 'express';
import { bodyChunks, readBytes } from '../../../src/api/http/body';
import { JsonListReader } from '../../../src/api/http/json-list';
import { memoryKept } from '../../support/memory';

/** Of a caller who is known. */
const requestOf = (body: PassThrough, headers = {}) =>
  Object.assign(body, { headers, caller: { entityId: 'bnk_1', role: 'bank' } }) as unknown as Request;
/** Before it is known who sends it. */
const anonymous = (body: PassThrough, headers = {}) =>
  Object.assign(body, { headers, socket: { remoteAddress: '127.0.0.1' } }) as unknown as Request;
const readAll = async (...of: Parameters<typeof bodyChunks>) => {
  for await (const _ of bodyChunks(...of));
};

test('a file that only trickles is refused, however long it would go on', async () => {
  const body = new PassThrough();
  const given = new AbortController();
  const trickle = (async () => {
    for await (const _ of every(5, undefined, { signal: given.signal })) body.write('x');
  })().catch(() => undefined);
  const pace = { graceMs: 50, leastBytesPerS: 64 * 1024 };
  await expect(readAll(requestOf(body), 1e6, pace)).rejects.toMatchObject({
    code: 'request_too_slow',
    message: 'The body comes at less than 64 KiB a second',
  });
  given.abort();
  await trickle;
});

/** A stream of gzip that says nothing, for as long as it goes on: blocks of no bytes. */
const EMPTY_BLOCKS = {
  begin: gzipSync('').subarray(0, 10),
  piece: Buffer.alloc(5_000, Buffer.of(0, 0, 0, 0xff, 0xff)),
};
const GZIP = { 'content-encoding': 'gzip' };

test('a compressed body that gives nothing out is refused at its limit, as it came', async () => {
  const body = new PassThrough();
  const over = readAll(requestOf(body, GZIP), 64_000).catch((error: unknown) => error);
  const reading = { isOver: false };
  void over.then(() => (reading.isOver = true));
  body.write(EMPTY_BLOCKS.begin);
  let sent = 0;
  for (; !reading.isOver && sent < 1e6; sent += EMPTY_BLOCKS.piece.length) {
    if (!body.write(EMPTY_BLOCKS.piece)) await Promise.race([once(body, 'drain'), over]);
  }
  expect(await over).toMatchObject({ code: 'body_too_large' });
  // Three streams hold up to 64 KiB each.
  expect(sent).toBeLessThan(300_000);
});

test('a compressed body has to arrive at the pace, however much comes out of it', async () => {
  const bomb = gzipSync(Buffer.alloc(100e6));
  const body = new PassThrough();
  const given = new AbortController();
  let at = 0;
  const trickle = (async () => {
    for await (const _ of every(5, undefined, { signal: given.signal })) {
      body.write(bomb.subarray(at, (at += 10)));
    }
  })().catch(() => undefined);
  const pace = { graceMs: 50, leastBytesPerS: 64 * 1024 };
  await expect(readAll(requestOf(body, GZIP), 1e9, pace)).rejects.toMatchObject({ code: 'request_too_slow' });
  expect(at).toBeLessThan(bomb.length / 2);
  given.abort();
  await trickle;
});

describe('a body of a caller who is not known', () => {
  afterEach(() => jest.useRealTimers());

  test.each(['gzip', 'deflate', 'br', 'zstd'])(
    'with the encoding %s is refused, and decoded by nothing',
    async (encoding) => {
      let made = 0;
      const hook = createHook({ init: (_id, type) => void (made += Number(type === 'ZLIB')) }).enable();
      const headers = { 'content-encoding': encoding };
      await expect(readBytes(anonymous(new PassThrough(), headers), 100)).rejects.toMatchObject({
        code: 'unsupported_media_type',
        message: 'The body must be plain: send it without Content-Encoding',
      });
      hook.disable();
      expect(made).toBe(0);
    },
  );

  test('has five seconds, whatever it says meanwhile', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const body = new PassThrough();
    const over = readBytes(anonymous(body), 4_096).catch((error: unknown) => error);
    for (let s = 0; s <= 5; s++) {
      body.write('x');
      await jest.advanceTimersByTimeAsync(1_000);
    }
    expect(await over).toMatchObject({ code: 'request_too_slow' });
  });
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
  const BYTES_KEPT_MAX = 20_000;

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
