import { createWebhookLimiter } from '../../src/activities/webhook-limiter';
import { BILLING, SCHEDULES, WEBHOOKS } from '../../src/worker/capacity';

const DEAD = { url: 'https://dead.example/hooks?token=1', entityId: 'bnk_dead', ownerId: 'bnk_dead' };
/** A merchant of one provider, with an origin of its own. */
const shop = (n: number) => ({
  url: `https://shop-${n}.example/`,
  entityId: `mch_of_${n}`,
  ownerId: 'prv_1',
});
/** One that answered at once the last time. */
const promptShop = (n: number) => ({ ...shop(n), prompt: true });
const merchantAt = (url: string, n: number) => ({ url, entityId: `mch_${n}`, ownerId: `mch_${n}` });

describe('the slots of a receiver', () => {
  it('are few for retries and free again after each of them', () => {
    const limiter = createWebhookLimiter(() => 0);
    const taken = Array.from({ length: 8 }, () => limiter.enter('retry', DEAD));
    expect(taken.every(Boolean)).toBe(true);
    expect(limiter.enter('retry', DEAD)).toBeUndefined();
    taken[0]?.leave();
    expect(limiter.enter('retry', DEAD)).toBeDefined();
  });

  it.each(['retry', 'first'] as const)(
    'at each %s are shared by all paths of its origin, and by no other origin',
    (kind) => {
      const limiter = createWebhookLimiter(() => 0);
      for (let i = 0; i < 25; i++) {
        expect(limiter.enter(kind, merchantAt(`https://dead.example/${i}`, i))).toBeDefined();
      }
      expect(limiter.enter(kind, merchantAt('https://dead.example/one-more', 25))).toBeUndefined();
      expect(limiter.enter(kind, merchantAt('https://dead.example:8443/', 25))).toBeDefined();
      expect(limiter.enter(kind, merchantAt('https://alive.example/', 26))).toBeDefined();
    },
  );

  it('are not all for an owner that asks for many: another has its own there', () => {
    const limiter = createWebhookLimiter(() => 0);
    const other = merchantAt(DEAD.url, 1);
    const taken = Array.from({ length: 40 }, () => limiter.enter('retry', other));
    expect(taken.filter(Boolean)).toHaveLength(8);
    expect(Array.from({ length: 9 }, () => limiter.enter('retry', DEAD)).filter(Boolean)).toHaveLength(8);
  });
});

describe('the slots of an owner', () => {
  it.each([
    ['retry', WEBHOOKS.maxConcurrentActivityTaskExecutions],
    ['first', SCHEDULES.maxConcurrentLocalActivityExecutions + BILLING.maxConcurrentLocalActivityExecutions],
  ] as const)('at each %s are a quarter of all at most, however many merchants it has', (kind, slots) => {
    const limiter = createWebhookLimiter(() => 0);
    let taken = 0;
    for (let round = 0; round < 100; round++) {
      for (let n = 0; n < 60; n++) if (limiter.enter(kind, promptShop(n))) taken++;
    }
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThanOrEqual(slots / 4);
    expect(
      limiter.enter(kind, { url: 'https://bank.example/', entityId: 'bnk_1', ownerId: 'bnk_1' }),
    ).toBeDefined();
  });

  it.each([
    ['60 silent siblings, each with an origin of its own', (i: number) => shop(i)],
    ['21 silent siblings on three origins', (i: number) => ({ ...shop(i % 21), url: shop(i % 3).url })],
    [
      'one that gives itself a new origin for each of its retries',
      (i: number) => ({ ...promptShop(0), url: `https://silent.example:${i + 1}/` }),
    ],
  ])('has some for receivers that answer, beside %s', (_, silent) => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 200; i++) limiter.enter('retry', silent(i));
    for (const healthy of [promptShop(100), promptShop(101)]) {
      const first = limiter.enter('retry', healthy);
      expect(first).toBeDefined();
      first?.leave();
      expect(limiter.enter('retry', healthy)).toBeDefined();
    }
  });

  it('that are kept for receivers that answer are not all for one that does so no more', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 60; i++) limiter.enter('retry', shop(i));
    for (let i = 0; i < 60; i++) limiter.enter('retry', promptShop(100));
    for (let i = 0; i < 60; i++) limiter.enter('retry', { ...promptShop(101), url: promptShop(100).url });
    expect(limiter.enter('retry', promptShop(102))).toBeDefined();
  });
});

/** Turns of 100 ms, in which much that is due has attempts of its own length. */
function play(limiter: ReturnType<typeof createWebhookLimiter>, clock: { now: number }) {
  const turns = new Map<number, (() => void)[]>();
  const at = (ms: number, act: () => void) => {
    const turn = Math.ceil(ms / 100) * 100;
    turns.set(turn, [...(turns.get(turn) ?? []), act]);
  };
  const send = (to: Parameters<typeof limiter.enter>[1], tookMs: number, done: () => void = () => {}) => {
    const slot = limiter.enter('retry', to);
    if (!slot) return at(clock.now + limiter.comeBackInMs(to, 10_000), () => send(to, tookMs, done));
    done();
    at(clock.now + tookMs, () => slot.leave());
  };
  return {
    at,
    send,
    until: (ms: number) => {
      for (; clock.now <= ms; clock.now += 100) {
        for (const act of turns.get(clock.now) ?? []) act();
        turns.delete(clock.now);
      }
    },
  };
}

describe('whoever finds no slot', () => {
  it('comes back later the more were sent away before, at the pace of the slots', () => {
    let now = 1_000_000;
    const limiter = createWebhookLimiter(() => now);
    for (let i = 0; i < 8; i++) limiter.enter('retry', DEAD);
    // 8 slots, 10 s each: one is free every 1.25 s.
    expect([1, 2, 3].map(() => limiter.comeBackInMs(DEAD, 10_000))).toEqual([1_250, 2_500, 3_750]);
    now += 3_750;
    expect(limiter.comeBackInMs(DEAD, 10_000)).toBe(1_250);
  });

  it('of an owner whose slots are all taken comes back at the pace of those', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 20; i++) limiter.enter('retry', shop(i));
    // 20 slots, 100 s each: one is free every 5 s, whichever merchant's it was.
    expect([30, 31, 32].map((n) => limiter.comeBackInMs(shop(n), 100_000))).toEqual([5_000, 10_000, 15_000]);
  });

  it.each([
    ['1 200 retries of 60 siblings', (i: number) => shop(i % 60)],
    [
      '1 200 retries of 21 siblings on three origins',
      (i: number) => ({ ...shop(i % 21), url: shop(i % 3).url }),
    ],
    [
      '1 200 retries of one that has a new origin each time',
      (i: number) => ({ ...shop(0), url: `https://silent.example:${i + 1}/` }),
    ],
  ])('gets in once its receiver is back, beside %s that are silent', (_, silent) => {
    const clock = { now: 0 };
    const { at, send, until } = play(
      createWebhookLimiter(() => clock.now),
      clock,
    );
    for (let i = 0; i < 1_200; i++) at((i * 79) % 10_000, () => send(silent(i), 10_000));
    for (const startedAt of [20_000, 80_000, 140_000, 200_000]) {
      until(startedAt);
      let inAt = Infinity;
      send(shop(1_000 + startedAt), 100, () => {
        inAt = clock.now;
      });
      until(startedAt + 60_000);
      expect(inAt - startedAt).toBeLessThanOrEqual(60_000);
    }
  });

  it('lengthens nobody else’s line by more than one slot, however much it has', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 20; i++) limiter.enter('retry', shop(i));
    for (let i = 0; i < 2_000; i++) {
      limiter.comeBackInMs({ ...shop(0), url: `https://silent.example:${i + 1}/` }, 100_000);
    }
    expect(limiter.comeBackInMs(shop(31), 100_000)).toBe(10_000);
  });

  it('is not kept waiting by another owner that has no slot left, and names its origin', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 60; i++) limiter.enter('retry', { ...shop(i), url: DEAD.url });
    for (let i = 0; i < 200; i++) limiter.comeBackInMs({ ...shop(i), url: DEAD.url }, 10_000);
    for (let i = 0; i < 8; i++) expect(limiter.enter('retry', DEAD)).toBeDefined();
    expect(limiter.comeBackInMs(DEAD, 10_000)).toBe(1_250);
  });

  it('gets in at once, were its origin named by another that has 50 webhooks a second sent there', () => {
    const clock = { now: 0 };
    const { at, send, until } = play(
      createWebhookLimiter(() => clock.now),
      clock,
    );
    const waitsMs: number[] = [];
    const other = merchantAt('https://dead.example/nothing', 1);
    for (let ms = 0; ms < 5 * 60_000; ms += 100) {
      at(ms, () => {
        for (let i = 0; i < 5; i++) {
          send(other, 200, () => {
            for (const againInMs of [5_000, 35_000, 155_000]) at(ms + againInMs, () => send(other, 200));
          });
        }
        if (ms % 1_000 === 0) send(DEAD, 200, () => waitsMs.push(clock.now - ms));
      });
    }
    until(5 * 60_000);
    expect(waitsMs).toHaveLength(300);
    expect(Math.max(...waitsMs)).toBe(0);
  });

  it.each([
    [25, 'an origin', 'owners name it', (i: number) => merchantAt(DEAD.url, i)],
    [20, 'an owner', 'merchants it has', shop],
  ])('is one of no more than the %i slots of %s, however many %s', (slots, _, __, nth) => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < slots; i++) limiter.enter('retry', nth(i));
    const waits = Array.from({ length: 3_000 }, (___, i) => limiter.comeBackInMs(nth(i % 200), 10_000));
    // Each slot of 10 s is free three times in half a minute.
    expect(waits.filter((wait) => wait <= 30_000).length).toBeLessThanOrEqual(3 * slots + 1);
  });

  it('waits a second at least and ten minutes at most', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 8; i++) limiter.enter('retry', DEAD);
    expect(limiter.comeBackInMs(DEAD, 100)).toBe(1_000);
    const waits = Array.from({ length: 1_000 }, () => limiter.comeBackInMs(DEAD, 10_000));
    expect(Math.max(...waits)).toBe(600_000);
  });
});
