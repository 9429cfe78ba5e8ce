import { createCallerLimiter } from '../../../src/api/http/caller-limiter';

afterEach(() => jest.useRealTimers());

/** Work that goes on until it is ended; says how much of it is in hand. */
class Desk {
  inHand = 0;
  private readonly ends: (() => void)[] = [];

  readonly work = async () => {
    this.inHand += 1;
    await new Promise<void>((resolve) => this.ends.push(resolve));
    this.inHand -= 1;
  };

  async endOne(): Promise<void> {
    this.ends.shift()?.();
    await settled();
  }
}

const each = (places: number) => ({ bank: places, merchant: places, provider: places });
const merchant = (entityId: string) => ({ entityId, role: 'merchant' }) as const;
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a caller with a thousand requests has a few in hand, and another’s does not wait for them', async () => {
  const limiter = createCallerLimiter(each(2));
  const [large, small] = [new Desk(), new Desk()];
  const all = Array.from({ length: 1_000 }, () => limiter.take(merchant('large'), large.work));
  void limiter.take(merchant('small'), small.work);
  await settled();
  expect([large.inHand, small.inHand]).toEqual([2, 1]);
  for (let ended = 0; ended < 1_000; ended++) {
    expect(large.inHand).toBeLessThanOrEqual(2);
    await large.endOne();
  }
  await Promise.all(all);
});

test('a bank, which answers for all merchants, has more in hand than a merchant', async () => {
  const limiter = createCallerLimiter({ bank: 4, merchant: 2, provider: 2 });
  const [bank, large] = [new Desk(), new Desk()];
  const all = Array.from({ length: 8 }, () => [
    limiter.take({ entityId: 'bank', role: 'bank' }, bank.work),
    limiter.take(merchant('large'), large.work),
  ]).flat();
  await settled();
  expect([bank.inHand, large.inHand]).toEqual([4, 2]);
  for (let ended = 0; ended < 8; ended++) await Promise.all([bank.endOne(), large.endOne()]);
  await Promise.all(all);
});

test('requests are served in the order in which they came', async () => {
  const limiter = createCallerLimiter(each(1));
  const served: number[] = [];
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  await Promise.all(
    numbers.map((n) =>
      limiter.take(merchant('one'), async () => {
        await settled();
        served.push(n);
      }),
    ),
  );
  expect(served).toEqual(numbers);
});

test('work that fails gives its place back', async () => {
  const limiter = createCallerLimiter(each(1));
  await expect(limiter.take(merchant('one'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await limiter.take(merchant('one'), () => Promise.resolve('yes'))).toBe('yes');
});

test('who waits too long is told to come again, and does not get a place later', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const limiter = createCallerLimiter(each(1));
  const desk = new Desk();
  const first = limiter.take(merchant('one'), desk.work);
  const second = limiter.take(merchant('one'), desk.work).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(await second).toMatchObject({ code: 'unavailable' });
  await desk.endOne();
  await first;
  expect(desk.inHand).toBe(0);
  expect(await limiter.take(merchant('one'), () => Promise.resolve('free'))).toBe('free');
});
