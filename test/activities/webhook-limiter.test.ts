import { createWebhookLimiter } from '../../src/activities/webhook-limiter';

const DEAD = 'https://dead.example/hooks?token=1';

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
    for (let i = 0; i < 8; i++) limiter.enter('retry', `https://dead.example/merchant-${i}`);
    expect(limiter.enter('retry', 'https://dead.example/one-more')).toBeUndefined();
    expect(limiter.enter('retry', 'https://dead.example:8443/')).toBeDefined();
    expect(limiter.enter('retry', 'https://alive.example/')).toBeDefined();
  });

  it('for first attempts are not taken up by its retries', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 8; i++) limiter.enter('retry', DEAD);
    for (let i = 0; i < 64; i++) expect(limiter.enter('first', DEAD)).toBeDefined();
    expect(limiter.enter('first', DEAD)).toBeUndefined();
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

  it('waits a second at least and ten minutes at most', () => {
    const limiter = createWebhookLimiter(() => 0);
    limiter.enter('retry', DEAD);
    expect(limiter.comeBackInMs(DEAD, 100)).toBe(1_000);
    const waits = Array.from({ length: 1_000 }, () => limiter.comeBackInMs(DEAD, 10_000));
    expect(Math.max(...waits)).toBe(600_000);
  });
});
