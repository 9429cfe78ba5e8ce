import { createWebhookLimiter } from '../../src/activities/webhook-limiter';
import { SCHEDULES, WEBHOOKS } from '../../src/worker/capacity';

const DEAD = { url: 'https://dead.example/hooks?token=1', entityId: 'bnk_dead', ownerId: 'bnk_dead' };
/** Of one provider, each with an origin of its own. */
const shop = (n: number) => ({
  url: `https://shop-${n}.example/`,
  entityId: `mch_of_${n}`,
  ownerId: 'prv_1',
});
const merchantAt = (url: string, n: number) => ({ url, entityId: `mch_${n}`, ownerId: `mch_${n}` });

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
    for (let i = 0; i < 11; i++) limiter.enter('retry', merchantAt(`https://dead.example/${i}`, i));
    expect(limiter.enter('retry', merchantAt('https://dead.example/one-more', 11))).toBeUndefined();
    expect(limiter.enter('retry', merchantAt('https://dead.example:8443/', 11))).toBeDefined();
    expect(limiter.enter('retry', merchantAt('https://alive.example/', 12))).toBeDefined();
  });

  it('are not all for an owner that asks for many: another has several, and the first none of them', () => {
    const limiter = createWebhookLimiter(() => 0);
    const other = merchantAt(DEAD.url, 1);
    const taken = Array.from({ length: 40 }, () => limiter.enter('retry', other));
    expect(taken.filter(Boolean)).toHaveLength(8);
    const own = Array.from({ length: 8 }, () => limiter.enter('retry', DEAD));
    expect(own.filter(Boolean)).toHaveLength(3);
    own[0]?.leave();
    expect(limiter.enter('retry', other)).toBeUndefined();
    expect(limiter.enter('retry', DEAD)).toBeDefined();
    // A third takes the next that is free.
    taken[0]?.leave();
    expect(limiter.enter('retry', merchantAt(DEAD.url, 2))).toBeDefined();
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
    expect(
      limiter.enter(kind, { url: 'https://bank.example/', entityId: 'bnk_1', ownerId: 'bnk_1' }),
    ).toBeDefined();
  });

  it('are a quarter of the retries, and free again after each of them', () => {
    const limiter = createWebhookLimiter(() => 0);
    const taken = Array.from({ length: 26 }, (_, n) => limiter.enter('retry', shop(n)));
    expect(taken.filter(Boolean)).toHaveLength(25);
    taken[0]?.leave();
    expect(limiter.enter('retry', shop(30))).toBeDefined();
    expect(limiter.enter('retry', shop(31))).toBeUndefined();
  });

  it('are not all for a few silent origins: one that holds none gets in beside them', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 40; i++) limiter.enter('retry', shop(i % 4));
    expect(limiter.enter('retry', shop(0))).toBeUndefined();
    expect(limiter.enter('retry', shop(4))).toBeDefined();
  });

  it('are several for a healthy origin beside silent ones that take all they can', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 60; i++) limiter.enter('retry', shop(i % 3));
    const healthy = Array.from({ length: 8 }, () => limiter.enter('retry', shop(3)));
    expect(healthy.filter(Boolean)).toHaveLength(5);
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

  it.each([4, 28])('among %i silent origins of its owner is not told to wait in their line', (silent) => {
    let now = 0;
    const limiter = createWebhookLimiter(() => now);
    // Retries of silent origins, each of which holds its place for 10 s and comes again later.
    const due = Array.from({ length: 2_000 }, (_, i) => ({ at: (i * 79) % 10_000, to: shop(i % silent) }));
    const held: { until: number; leave: () => void }[] = [];
    const passUntil = (until: number) => {
      for (; now <= until; now += 100) {
        for (const one of held.filter((each) => each.until === now)) one.leave();
        for (const one of due.filter(({ at }) => at <= now)) {
          const place = limiter.enter('retry', one.to);
          if (place) held.push({ until: now + 10_000, leave: () => place.leave() });
          one.at = now + (place ? 600_000 : limiter.comeBackInMs(one.to, 10_000));
        }
      }
    };
    for (let round = 1; round <= 20; round++) {
      passUntil(round * 30_000);
      const arrivedAt = now;
      let place = limiter.enter('retry', shop(100));
      for (let returns = 0; !place && returns < 5; returns++) {
        passUntil(now + limiter.comeBackInMs(shop(100), 10_000));
        place = limiter.enter('retry', shop(100));
      }
      expect(place).toBeDefined();
      expect(now - arrivedAt).toBeLessThan(5_000);
      place?.leave();
    }
  });

  it('gets in at its return, were all places taken by siblings with 2 000 more behind them', () => {
    let now = 0;
    const limiter = createWebhookLimiter(() => now);
    const places = Array.from({ length: 25 }, (_, i) => limiter.enter('retry', shop(i)));
    expect(limiter.enter('retry', shop(30))).toBeUndefined();
    for (let i = 0; i < 2_000; i++) limiter.comeBackInMs(shop(i % 25), 10_000);
    now += limiter.comeBackInMs(shop(30), 10_000);
    expect(now).toBeLessThanOrEqual(2_000);
    places[0]?.leave();
    // One that has some already does not take it away.
    expect(limiter.enter('retry', shop(1))).toBeUndefined();
    expect(limiter.enter('retry', shop(30))).toBeDefined();
  });

  it('gets in beside a sibling that gives itself a new origin for each of its retries', () => {
    const limiter = createWebhookLimiter(() => 0);
    let port = 0;
    const hostile = () => ({ ...shop(0), url: `https://silent.example:${(port += 1)}/` });
    for (let i = 0; i < 60; i++) limiter.enter('retry', hostile());
    expect(limiter.enter('retry', shop(1))).toBeDefined();
  });

  it('gets several places beside many siblings that share a few silent origins', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 60; i++) limiter.enter('retry', { ...shop(i), url: shop(i % 3).url });
    const healthy = Array.from({ length: 8 }, () => limiter.enter('retry', shop(100)));
    expect(healthy.filter(Boolean)).toHaveLength(5);
  });

  it('is not kept waiting by a sibling that names its origin, and has much to deliver', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 25; i++) limiter.enter('retry', shop(i));
    for (let i = 0; i < 200; i++) limiter.comeBackInMs({ ...shop(30), url: shop(31).url }, 10_000);
    expect(limiter.comeBackInMs(shop(31), 10_000)).toBeLessThan(20_000);
  });

  it('is not kept waiting by another owner that has no place left, and names its origin', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 25; i++) limiter.enter('retry', shop(i));
    for (let i = 0; i < 200; i++) limiter.comeBackInMs({ ...shop(0), url: DEAD.url }, 10_000);
    for (let i = 0; i < 8; i++) limiter.enter('retry', DEAD);
    expect(limiter.comeBackInMs(DEAD, 10_000)).toBe(1_250);
  });

  it('gets in at once, were its origin named by another that has 50 webhooks a second sent there', () => {
    let now = 0;
    const limiter = createWebhookLimiter(() => now);
    const turns = new Map<number, (() => void)[]>();
    const at = (ms: number, act: () => void) => {
      const turn = Math.ceil(ms / 100) * 100;
      const acts = turns.get(turn);
      if (acts) acts.push(act);
      else turns.set(turn, [act]);
    };
    const waitsMs: number[] = [];
    const send = (to: typeof DEAD, done: () => void) => {
      const place = limiter.enter('retry', to);
      if (!place) return at(now + limiter.comeBackInMs(to, 10_000), () => send(to, done));
      done();
      at(now + 200, () => place.leave());
    };
    const other = merchantAt('https://dead.example/nothing', 1);
    for (; now < 15 * 60_000; now += 100) {
      const startedAt = now;
      for (let i = 0; i < 5; i++) {
        send(other, () => {
          for (const againInMs of [5_000, 35_000, 155_000])
            at(startedAt + againInMs, () => send(other, () => {}));
        });
      }
      if (now % 1_000 === 0) send(DEAD, () => waitsMs.push(now - startedAt));
      for (const act of turns.get(now) ?? []) act();
      turns.delete(now);
    }
    expect(waitsMs).toHaveLength(900);
    expect(Math.max(...waitsMs)).toBe(0);
  });

  it('is not kept waiting by another that waits for many at its origin', () => {
    const limiter = createWebhookLimiter(() => 0);
    const other = merchantAt(DEAD.url, 1);
    for (let i = 0; i < 200; i++) limiter.comeBackInMs(other, 10_000);
    expect(limiter.comeBackInMs(DEAD, 10_000)).toBe(2_500);
    // What else it has comes as the places do, however many it has.
    expect(limiter.comeBackInMs(DEAD, 10_000)).toBe(5_000);
  });

  it('is one of no more than an origin has places, however many owners name it', () => {
    const limiter = createWebhookLimiter(() => 0);
    const waits = Array.from({ length: 3_000 }, (_, i) =>
      limiter.comeBackInMs(merchantAt(DEAD.url, i % 200), 10_000),
    );
    // 8 places of 10 s: 24 are free in half a minute.
    expect(waits.filter((wait) => wait <= 30_000).length).toBeLessThanOrEqual(24);
  });

  it('is one of no more than there are places, however many origins have none', () => {
    const limiter = createWebhookLimiter(() => 0);
    for (let i = 0; i < 25; i++) limiter.enter('retry', shop(i));
    const waits = Array.from({ length: 3_000 }, (_, i) =>
      limiter.comeBackInMs(shop(100 + (i % 200)), 10_000),
    );
    // 25 places of 10 s: 75 are free in half a minute.
    expect(waits.filter((wait) => wait <= 30_000).length).toBeLessThanOrEqual(76);
  });

  it('waits a second at least and ten minutes at most', () => {
    const limiter = createWebhookLimiter(() => 0);
    limiter.enter('retry', DEAD);
    expect(limiter.comeBackInMs(DEAD, 100)).toBe(1_000);
    const waits = Array.from({ length: 1_000 }, () => limiter.comeBackInMs(DEAD, 10_000));
    expect(Math.max(...waits)).toBe(600_000);
  });
});
