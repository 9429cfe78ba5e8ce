import { createCallerLimiter } from '../../../src/api/http/places';

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

/** A process with so many connections that each owner has this many places. */
const withPlaces = (places: number) => createCallerLimiter(4 * places);
const merchant = (entityId: string, providerId?: string) =>
  ({ entityId, role: 'merchant', providerId }) as const;
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a caller with a thousand requests has a few in hand, and another’s does not wait for them', async () => {
  const limiter = withPlaces(2);
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

test.each([
  [3, 1],
  [4, 1],
  [7, 1],
  [8, 2],
  [50, 12],
])('of %i connections an owner has %i at most', async (connections, most) => {
  const limiter = createCallerLimiter(connections);
  const desk = new Desk();
  const all = Array.from({ length: 50 }, () => limiter.take({ entityId: 'bank', role: 'bank' }, desk.work));
  await settled();
  expect(desk.inHand).toBe(most);
  for (let ended = 0; ended < 50; ended++) await desk.endOne();
  await Promise.all(all);
});

test('a provider and all its merchants have together what a merchant of its own has', async () => {
  const limiter = withPlaces(2);
  const [provided, independent] = [new Desk(), new Desk()];
  const all = Array.from({ length: 8 }, (_, n) => limiter.take(merchant(`m${n}`, 'provider'), provided.work));
  all.push(limiter.take({ entityId: 'provider', role: 'provider' }, provided.work));
  all.push(limiter.take(merchant('independent'), independent.work));
  await settled();
  expect([provided.inHand, independent.inHand]).toEqual([2, 1]);
  for (let ended = 0; ended < 9; ended++) await provided.endOne();
  await independent.endOne();
  await Promise.all(all);
});

test('merchants of one provider take turns: one with a hundred requests is behind one with two', async () => {
  const limiter = withPlaces(1);
  const served: string[] = [];
  const send = (entityId: string) =>
    limiter.take(merchant(entityId, 'provider'), async () => {
      await settled();
      served.push(entityId);
    });
  const greedy = Array.from({ length: 100 }, () => send('greedy'));
  await Promise.all([send('modest'), send('modest')]);
  expect(served.filter((one) => one === 'greedy').length).toBeLessThanOrEqual(3);
  await Promise.all(greedy);
});

test('requests are served in the order in which they came', async () => {
  const limiter = withPlaces(1);
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
  const limiter = withPlaces(1);
  await expect(limiter.take(merchant('one'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await limiter.take(merchant('one'), () => Promise.resolve('yes'))).toBe('yes');
});

test('who waits too long is told to come again, and does not get a place later', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const limiter = withPlaces(1);
  const desk = new Desk();
  const first = limiter.take(merchant('one'), desk.work);
  const second = limiter.take(merchant('one'), desk.work).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(await second).toMatchObject({ code: 'rate_limited' });
  await desk.endOne();
  await first;
  expect(desk.inHand).toBe(0);
  expect(await limiter.take(merchant('one'), () => Promise.resolve('free'))).toBe('free');
});
