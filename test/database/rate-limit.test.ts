import { row } from '../../src/database/connection';
import { deleteFullBuckets, takeToken } from '../../src/database/rate-limit';
import { createTestDatabase } from '../support/database';

let test: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

// One token in 1 000 s: none flows in while the test runs.
const slow = { perSecond: 0.001, burst: 5 };

/** Lets `seconds` pass for a bucket, by moving what it remembers into the past. */
async function pass(key: string, seconds: number) {
  await row(
    test.db,
    `UPDATE rate_limits SET full_at = full_at - :seconds * interval '1 second' WHERE key = :key`,
    { key, seconds },
  );
}

describe('a token bucket', () => {
  it('gives exactly its burst to callers that come all at once', async () => {
    const taken = await Promise.all(Array.from({ length: 40 }, () => takeToken(test.db, 'burst', slow)));
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(5);
    expect(
      taken.flatMap(({ admitted, remaining }) => (admitted ? [remaining] : [])).sort((a, b) => a - b),
    ).toEqual([0, 1, 2, 3, 4]);
  });

  it('says when there will be a token again, and then there is one and no more', async () => {
    for (let i = 0; i < 5; i++) await takeToken(test.db, 'wait', slow);
    const refused = await takeToken(test.db, 'wait', slow);
    expect(refused).toMatchObject({ admitted: false, remaining: 0 });
    expect(refused.retryAfterS).toBeGreaterThan(990);
    expect(refused.retryAfterS).toBeLessThanOrEqual(1000);
    await pass('wait', 1000);
    expect(await takeToken(test.db, 'wait', slow)).toMatchObject({ admitted: true, remaining: 0 });
    expect(await takeToken(test.db, 'wait', slow)).toMatchObject({ admitted: false });
  });

  it('is not emptied further by requests that it refuses', async () => {
    for (let i = 0; i < 25; i++) await takeToken(test.db, 'pushed', slow);
    await pass('pushed', 1000);
    expect(await takeToken(test.db, 'pushed', slow)).toMatchObject({ admitted: true });
  });

  it('never holds more than its burst, however long it rested', async () => {
    await takeToken(test.db, 'rested', slow);
    await pass('rested', 1_000_000);
    expect(await takeToken(test.db, 'rested', slow)).toMatchObject({ remaining: 4 });
  });

  it('works with a burst of one', async () => {
    const single = { perSecond: 0.001, burst: 1 };
    expect(await takeToken(test.db, 'single', single)).toMatchObject({ admitted: true, remaining: 0 });
    expect(await takeToken(test.db, 'single', single)).toMatchObject({ admitted: false });
  });

  it('is forgotten once full, and kept until then', async () => {
    await takeToken(test.db, 'kept', slow);
    await takeToken(test.db, 'full', slow);
    await pass('full', 1001);
    await deleteFullBuckets(test.db);
    const left = await row<{ keys: string[] }>(test.db, `SELECT array_agg(key) AS keys FROM rate_limits`);
    expect(left?.keys).toContain('kept');
    expect(left?.keys).not.toContain('full');
  });

  it('are forgotten in bounded steps, each of which says whether more are left', async () => {
    await row(
      test.db,
      `INSERT INTO rate_limits (key, full_at, asked_at, admitted)
       SELECT 'old ' || n, now() - interval '1 hour', now() - interval '1 hour', true FROM generate_series(1, 1001) n`,
    );
    expect(await deleteFullBuckets(test.db)).toBe(true);
    expect(await deleteFullBuckets(test.db)).toBe(false);
  });
});
