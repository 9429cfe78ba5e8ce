import { PassThrough } from 'node:stream';
import type { Request } from 'express';
import { readBytes } from '../../../src/api/http/body';
import { JsonListReader } from '../../../src/api/http/json-list';
import { memoryKept } from '../../support/memory';

/** What a body costs while it arrives, however it is written and in whatever pieces it comes. */

const READERS = 50;
const BYTES = 16_000;
/** Twice the bytes, as a buffer has that grows, and room for what a process has besides. */
const BYTES_KEPT_MAX = 40_000;

/** What each of so many readers keeps of these pieces. */
function keptOf(pieces: Buffer[]): number {
  const read = () => {
    const reader = new JsonListReader(32 * 1024);
    for (const piece of pieces) for (const object of reader.read(piece)) expect(object).toBeDefined();
    return reader;
  };
  // What is compiled and kept for good is there from here on.
  read();
  const before = memoryKept();
  const readers = Array.from({ length: READERS }, read);
  const kept = memoryKept() - before;
  expect(readers).toHaveLength(READERS);
  return kept / READERS;
}

const singly = (text: string) => Array.from(Buffer.from(text), (byte) => Buffer.of(byte));

test('a list of objects keeps no more of its frame than its bytes', () => {
  expect(keptOf([Buffer.from(`{"customers":[${'0,'.repeat(BYTES / 2)}`)])).toBeLessThan(BYTES_KEPT_MAX);
});

test('an object that comes byte by byte costs no more than its bytes', () => {
  expect(keptOf(singly(`{"customers":[{"firstname":"${'x'.repeat(BYTES)}`))).toBeLessThan(BYTES_KEPT_MAX);
});

/** Each piece is read before the next one comes. */
async function send(bodies: PassThrough[], bytes: number) {
  for (let n = 0; n < bytes; n += 1) {
    for (const body of bodies) body.write(Buffer.of(0x78));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a JSON body that comes byte by byte costs no more than its bytes', async () => {
  const headers = { 'transfer-encoding': 'chunked' };
  const begin = () => {
    const body = new PassThrough();
    const whole = readBytes(Object.assign(body, { headers }) as unknown as Request, 2 * BYTES);
    return { body, whole };
  };
  const first = begin();
  await send([first.body], 100);
  first.body.end();
  expect((await first.whole).toString()).toBe('x'.repeat(100));

  const before = memoryKept();
  const begun = Array.from({ length: 50 }, begin);
  await send(
    begun.map(({ body }) => body),
    BYTES,
  );
  const kept = memoryKept() - before;
  for (const { body } of begun) body.end();
  for (const { whole } of begun) expect(await whole).toHaveLength(BYTES);
  expect(kept / begun.length).toBeLessThan(BYTES_KEPT_MAX);
});
