import { createCallerTurns } from '../../src/api/caller-turns';

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

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a caller with a thousand requests has a few in hand, and another’s does not wait for them', async () => {
  const turns = createCallerTurns(2);
  const [large, small] = [new Desk(), new Desk()];
  const all = Array.from({ length: 1_000 }, () => turns.take('large', large.work));
  void turns.take('small', small.work);
  await settled();
  expect([large.inHand, small.inHand]).toEqual([2, 1]);
  for (let ended = 0; ended < 1_000; ended++) {
    expect(large.inHand).toBeLessThanOrEqual(2);
    await large.endOne();
  }
  await Promise.all(all);
});

test('requests are served in the order in which they came', async () => {
  const turns = createCallerTurns(1);
  const served: number[] = [];
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  await Promise.all(
    numbers.map((n) =>
      turns.take('one', async () => {
        await settled();
        served.push(n);
      }),
    ),
  );
  expect(served).toEqual(numbers);
});

test('work that fails gives its place back', async () => {
  const turns = createCallerTurns(1);
  await expect(turns.take('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.take('one', () => Promise.resolve('yes'))).toBe('yes');
});

test('who waits too long is told to come again, and does not get a place later', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  const turns = createCallerTurns(1);
  const desk = new Desk();
  const first = turns.take('one', desk.work);
  const second = turns.take('one', desk.work).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(await second).toMatchObject({ code: 'unavailable' });
  await desk.endOne();
  await first;
  expect(desk.inHand).toBe(0);
  expect(await turns.take('one', () => Promise.resolve('free'))).toBe('free');
});
