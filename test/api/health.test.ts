import { askedOnce } from '../../src/api/health';

describe('the readiness probe, which anybody may ask', () => {
  it('asks the servers behind it once, however many ask it, and again a moment later', async () => {
    let clock = 0;
    let asked = 0;
    const answers: ((answer: number) => void)[] = [];
    const probe = askedOnce(
      () => {
        asked += 1;
        return new Promise<number>((resolve) => answers.push(resolve));
      },
      1_000,
      () => clock,
    );
    const crowd = Array.from({ length: 500 }, () => probe());
    clock = 5_000;
    crowd.push(probe());
    answers[0]?.(1);
    expect(new Set(await Promise.all(crowd))).toEqual(new Set([1]));
    expect(await probe()).toBe(1);
    expect(asked).toBe(1);
    clock = 6_000;
    const later = probe();
    answers[1]?.(2);
    expect(await later).toBe(2);
    expect(asked).toBe(2);
  });

  it('asks again after a question that failed', async () => {
    let clock = 0;
    let asked = 0;
    const probe = askedOnce(
      () => Promise.reject(new Error(`question ${(asked += 1)}`)),
      1_000,
      () => clock,
    );
    await expect(probe()).rejects.toThrow('question 1');
    clock = 1_000;
    await expect(probe()).rejects.toThrow('question 2');
  });
});
