import { PassThrough } from 'node:stream';
import { setInterval as every } from 'node:timers/promises';
import type { Request } from 'express';
import { bodyChunks } from '../../../src/api/http/body';

test('a file that only trickles is refused, however long it would go on', async () => {
  const body = new PassThrough();
  const given = new AbortController();
  const trickle = (async () => {
    for await (const _ of every(5, undefined, { signal: given.signal })) body.write('x');
  })().catch(() => undefined);
  const pace = { graceMs: 50, leastBytesPerS: 64 * 1024 };
  const read = async () => {
    for await (const _ of bodyChunks(Object.assign(body, { headers: {} }) as unknown as Request, 1e6, pace));
  };
  await expect(read()).rejects.toMatchObject({
    code: 'request_too_slow',
    message: 'The body comes at less than 64 KiB a second',
  });
  given.abort();
  await trickle;
});
