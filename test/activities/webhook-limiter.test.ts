import { createWebhookLimiter } from '../../src/activities/webhook-limiter';
import { SCHEDULES, WEBHOOKS } from '../../src/worker/capacity';

const DEAD = { url: 'https://dead.example/hooks?token=1', ownerId: 'bnk_dead' };
/** Of one provider, each with an origin of its own. */
const shop = (n: number) => ({ url: `https://shop-${n}.example/`, ownerId: 'prv_1' });
const merchantAt = (url: string, n: number) => ({ url, ownerId: `mch_${n}` });

describe('the places of a receiver', () => {
  it('are few for retries and free again after each of them', () => {
    const limiter = createWebhookLimiter(() => 0);
    const taken = Array.from({ length: 8 }, () => limiter.enter('retry', DEAD));
    expect(taken.every(Boolean)).toBe(true);
    expect(limiter.enter('retry', DEAD)).toBeUndefined();
    taken[0]?.leave();
    expect(limiter.enter('retry', DEAD)).toBeDefined();
  });

  it('are shared by all paths of its origin, and by no other origin', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 8; i++) limiter.enter('retry', merchantAt(`https://dead.example/${i}`, i));
    expect(limiter.enter('retry', merchantAt('https://dead.example/one-more', 8))).toBeUndefined();
    expect(limiter.enter('retry', merchantAt('https://dead.example:8443/', 8))).toBeDefined();
    expect(limiter.enter('retry', merchantAt('https://alive.example/', 9))).toBeDefined();
  });

  it('for first attempts are not taken up by its retries', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 8; i++) limiter.enter('retry', DEAD);
    for (let i = 0; i < 64; i++) expect(limiter.enter('first', merchantAt(DEAD.url, i))).toBeDefined();
    expect(limiter.enter('first', merchantAt(DEAD.url, 64))).toBeUndefined();
  });
});

describe('the places of an owner', () => {
  it.each([
    ['retry', WEBHOOKS.maxConcurrentActivityTaskExecutions],
    ['first', SCHEDULES.maxConcurrentLocalActivityExecutions],
  ] as const)('at each %s leave others some, however many origins of its are silent', (kind, slots) => {
    const limiter = createWebhookLimiter(() => 0);
    let taken = 0;
    for (let round = 0; round < 100; round++) {
      for (let n = 0; n < 20; n++) if (limiter.enter(kind, shop(n))) taken++;
    }
    expect(slots - taken).toBeGreaterThanOrEqual(10);
    expect(limiter.enter(kind, { url: 'https://bank.example/', ownerId: 'bnk_1' })).toBeDefined();
  });

  it('are a quarter of the retries, and free again after each of them', () => {
    const limiter = createWebhookLimiter(() => 0);
    const taken = Array.from({ length: 26 }, (_, n) => limiter.enter('retry', shop(n)));
    expect(taken.filter(Boolean)).toHaveLength(25);
    taken[0]?.leave();
    expect(limiter.enter('retry', shop(30))).toBeDefined();
    expect(limiter.enter('retry', shop(31))).toBeUndefined();
  });
});

describe('whoever finds no place', () => {
  it('comes back later the more were sent away before, at the pace of the places', () => {
    let now = 1_000_000;
    const limiter = createWebhookLimiter(() => now);
    limiter.enter('retry', DEAD);
    // 8 places, 10 s each: one is free every 1.25 s.
    expect([1, 2, 3].map(() => limiter.comeBackInMs(DEAD, 10_000))).toEqual([1_250, 2_500, 3_750]);
    now += 3_750;
    expect(limiter.comeBackInMs(DEAD, 10_000)).toBe(1_250);
  });

  it('of an owner whose places are all taken comes back at the pace of those', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 25; i++) limiter.enter('retry', shop(i));
    // 25 places, 100 s each: one is free every 4 s, whichever merchant's it was.
    expect([30, 31, 32].map((n) => limiter.comeBackInMs(shop(n), 100_000))).toEqual([4_000, 8_000, 12_000]);
  });

  it('waits a second at least and ten minutes at most', () => {
    const limiter = createWebhookLimiter(() => 0);
    limiter.enter('retry', DEAD);
    expect(limiter.comeBackInMs(DEAD, 100)).toBe(1_000);
    const waits = Array.from({ length: 1_000 }, () => limiter.comeBackInMs(DEAD, 10_000));
    expect(Math.max(...waits)).toBe(600_000);
  });
});
