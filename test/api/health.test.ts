import { askedOnce } from '../../src/api/health';
import { send, serveApi } from '../support/api';
import { createTestDatabase } from '../support/database';

describe('the readiness probe', () => {
  it('is a 200 when nothing is missing, a 503 that names what is, and a process lives either way', async () => {
    const test = await createTestDatabase();
    const problems: { path: string; message: string }[] = [];
    const api = await serveApi(test.db, { readiness: () => Promise.resolve(problems) });
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 200,
      body: { message: 'ready', data: { mode: 'sandbox' } },
    });
    problems.push({ path: 'temporal', message: 'does not answer' });
    expect(await send(api.url, 'GET', '/readyz')).toMatchObject({
      status: 503,
      body: { success: false, message: 'Not ready: temporal: does not answer', errors: problems },
    });
    expect(await send(api.url, 'GET', '/healthz')).toMatchObject({ status: 200 });
    // The answer to a question, and no fault of this process.
    expect(api.log).toContainEqual(expect.objectContaining({ route: '/readyz', status: 503, level: 30 }));
    await api.close();
    await test.drop();
  });

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
    expect([await probe(), asked]).toEqual([1, 1]);
    clock = 6_000;
    const later = probe();
    answers[1]?.(2);
    expect([await later, asked]).toEqual([2, 2]);
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
