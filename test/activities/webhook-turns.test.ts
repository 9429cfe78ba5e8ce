import { createWebhookTurns } from '../../src/activities/webhook-turns';

const DEAD = 'https://dead.example/hooks?token=1';

describe('the places of a receiver', () => {
  it('are few for retries and free again after each of them', () => {
    const turns = createWebhookTurns(() => 0);
    const taken = Array.from({ length: 8 }, () => turns.enter('retry', DEAD));
    expect(taken.every(Boolean)).toBe(true);
    expect(turns.enter('retry', DEAD)).toBeUndefined();
    taken[0]?.leave();
    expect(turns.enter('retry', DEAD)).toBeDefined();
  });

  it('are shared by all paths of its origin, and by no other origin', () => {
    const turns = createWebhookTurns(() => 0);
    for (let i = 0; i < 8; i++) turns.enter('retry', `https://dead.example/merchant-${i}`);
    expect(turns.enter('retry', 'https://dead.example/one-more')).toBeUndefined();
    expect(turns.enter('retry', 'https://dead.example:8443/')).toBeDefined();
    expect(turns.enter('retry', 'https://alive.example/')).toBeDefined();
  });

  it('for first attempts are not taken up by its retries', () => {
    const turns = createWebhookTurns(() => 0);
    for (let i = 0; i < 8; i++) turns.enter('retry', DEAD);
    for (let i = 0; i < 64; i++) expect(turns.enter('first', DEAD)).toBeDefined();
    expect(turns.enter('first', DEAD)).toBeUndefined();
  });
});

describe('whoever finds no place', () => {
  it('comes back later the more were sent away before, at the pace of the places', () => {
    let now = 1_000_000;
    const turns = createWebhookTurns(() => now);
    turns.enter('retry', DEAD);
    // 8 places, 10 s each: one is free every 1.25 s.
    expect([1, 2, 3].map(() => turns.comeBackInMs(DEAD, 10_000))).toEqual([1_250, 2_500, 3_750]);
    now += 3_750;
    expect(turns.comeBackInMs(DEAD, 10_000)).toBe(1_250);
  });

  it('waits a second at least and ten minutes at most', () => {
    const turns = createWebhookTurns(() => 0);
    turns.enter('retry', DEAD);
    expect(turns.comeBackInMs(DEAD, 100)).toBe(1_000);
    const waits = Array.from({ length: 1_000 }, () => turns.comeBackInMs(DEAD, 10_000));
    expect(Math.max(...waits)).toBe(600_000);
  });
});
