import { deleteFullBuckets, takeTokens, type BucketRate } from '../../../src/database/call/rate-limit';
import { databaseOfFile } from '../../support/database';

const test = databaseOfFile();

// One token in 1 000 s: none flows in while the test runs.
const slow = { perSecond: 0.001, burst: 5 };

async function takeToken(key: string, rate: BucketRate) {
  const [state] = await takeTokens(test.db, [{ key, rate }]);
  if (!state) throw new Error('no state came back');
  return state;
}

/** Lets `seconds` pass for a bucket, by moving what it remembers into the past. */
async function pass(key: string, seconds: number) {
  await test.db.row`
    UPDATE rate_limits SET full_at = full_at - ${seconds} * interval '1 second' WHERE key = ${key}`;
}

describe('a token bucket', () => {
  it('gives no more to wishes of one statement, and tells each what was left at its turn', async () => {
    const wishes = Array.from({ length: 8 }, (_, i) => ({
      key: i % 4 === 3 ? 'other' : 'mixed',
      rate: slow,
    }));
    const first = await takeTokens(test.db, wishes);
    expect(first.map(({ admitted, remaining }) => (admitted ? remaining : 'refused'))).toEqual([
      4,
      3,
      2,
      4,
      1,
      0,
      'refused',
      3,
    ]);
    expect(first[0]?.retryAfterS).toBe(0);
    expect(first[6]?.retryAfterS).toBeGreaterThan(990);
    const second = await takeTokens(test.db, wishes);
    expect(second.map(({ admitted }) => admitted)).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
      false,
      true,
    ]);
  });

  it('gives a wish of several all or nothing, and keeps what no wish gets', async () => {
    const wish = { key: 'several', rate: slow };
    const [three, two, one] = await takeTokens(test.db, [
      { ...wish, count: 3 },
      { ...wish, count: 2 },
      { ...wish, count: 1 },
    ]);
    expect([three?.admitted, two?.admitted, one?.admitted]).toEqual([false, true, true]);
    // Two are left, and one flows in each 1 000 s.
    expect(three).toMatchObject({ remaining: 2 });
    expect(three?.retryAfterS).toBeGreaterThan(990);
    expect(three?.retryAfterS).toBeLessThanOrEqual(1000);
    expect(await takeTokens(test.db, [{ ...wish, count: 3 }])).toMatchObject([
      { admitted: false, remaining: 2 },
    ]);
    expect(await takeTokens(test.db, [{ ...wish, count: 2 }])).toMatchObject([
      { admitted: true, remaining: 0 },
    ]);
  });

  it('gives many wishes of several at once no more than it holds', async () => {
    const roomy = { perSecond: 0.001, burst: 1000 };
    const statements = Array.from({ length: 40 }, () =>
      takeTokens(
        test.db,
        [90, 70, 30].map((count) => ({ key: 'many', rate: roomy, count })),
      ),
    );
    const taken = (await Promise.all(statements)).flatMap((states) =>
      states.map(({ admitted }, i) => (admitted ? [90, 70, 30][i] : 0)),
    );
    const sum = taken.reduce<number>((total, count) => total + (count ?? 0), 0);
    expect(sum).toBeLessThanOrEqual(1000);
    const [rest] = await takeTokens(test.db, [{ key: 'many', rate: roomy, readOnly: true }]);
    expect(rest?.remaining).toBe(1000 - sum);
  });

  it('is paid beside another only by what that one has let through', async () => {
    const also = { key: 'owner', rate: { perSecond: 0.001, burst: 7 } };
    const wishes = (key: string) => Array.from({ length: 6 }, () => ({ key, rate: slow, also }));
    const [first, second] = await Promise.all([
      takeTokens(test.db, wishes('owned by it')),
      takeTokens(test.db, wishes('owned as well')),
    ]);
    const outcomes = [...first, ...second].map((state) => `${state.admitted} ${state.also?.admitted}`);
    expect(outcomes.toSorted()).toEqual([
      ...Array.from({ length: 2 }, () => 'false undefined'),
      ...Array.from({ length: 3 }, () => 'true false'),
      ...Array.from({ length: 7 }, () => 'true true'),
    ]);
  });

  it('does not deadlock where many statements want tokens of the same buckets in other orders', async () => {
    const keys = Array.from({ length: 20 }, (_, i) => `crossed ${i}`);
    const statements = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? keys : keys.toReversed()));
    const roomy = { perSecond: 0.001, burst: 30 };
    const taken = await Promise.all(
      statements.map((some) =>
        takeTokens(
          test.db,
          some.map((key) => ({ key, rate: roomy })),
        ),
      ),
    );
    expect(taken.flat().every(({ admitted }) => admitted)).toBe(true);
    expect(await takeToken('crossed 7', roomy)).toMatchObject({ admitted: false });
  });

  it('says when there will be a token again, and then there is one and no more', async () => {
    for (let i = 0; i < 5; i++) await takeToken('wait', slow);
    const refused = await takeToken('wait', slow);
    expect(refused).toMatchObject({ admitted: false, remaining: 0 });
    expect(refused.retryAfterS).toBeGreaterThan(990);
    expect(refused.retryAfterS).toBeLessThanOrEqual(1000);
    // Requests that it refuses do not empty it further.
    for (let i = 0; i < 20; i++) await takeToken('wait', slow);
    await pass('wait', 1000);
    expect(await takeToken('wait', slow)).toMatchObject({ admitted: true, remaining: 0 });
    expect(await takeToken('wait', slow)).toMatchObject({ admitted: false });
    // It never holds more than its burst, however long it rested.
    await pass('wait', 1_000_000);
    expect(await takeToken('wait', slow)).toMatchObject({ remaining: 4 });
  });

  it('is forgotten once full, and kept until then', async () => {
    await takeToken('kept', slow);
    await takeToken('full', slow);
    await pass('full', 1001);
    await deleteFullBuckets(test.db);
    const left = await test.db.row<{ keys: string[] }>`SELECT array_agg(key) AS keys FROM rate_limits`;
    expect(left?.keys).toContain('kept');
    expect(left?.keys).not.toContain('full');
  });

  it('are forgotten in bounded steps, each of which says whether more are left', async () => {
    await test.db.row`
      INSERT INTO rate_limits (key, full_at, asked_at, taken)
      SELECT 'old ' || n, now() - interval '1 hour', now() - interval '1 hour', 1
      FROM generate_series(1, 1001) n`;
    expect(await deleteFullBuckets(test.db)).toBe(true);
    expect(await deleteFullBuckets(test.db)).toBe(false);
  });
});
