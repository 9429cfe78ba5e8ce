import { EventEmitter, once } from 'node:events';
import { row, rows } from '../../src/database/connection';
import { createTestDatabase, type TestDatabase } from '../support/database';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const insert = (key: string) =>
  `INSERT INTO rate_limits (key, full_at, asked_at, taken) VALUES ('${key}', now(), now(), 1)`;
const exists = async (key: string) =>
  (await row(test.db, `SELECT FROM rate_limits WHERE key = :key`, { key })) !== undefined;

describe('a transaction', () => {
  it('is not taken for committed where the work went on after a statement that failed', async () => {
    const swallowed = test.db.transaction(async (trx) => {
      await rows(trx, insert('swallowed'));
      await rows(trx, 'SELECT 1 / 0').catch(() => undefined);
      return 'done';
    });
    await expect(swallowed).rejects.toThrow('rolled back');
    expect(await exists('swallowed')).toBe(false);
  });

  it('undoes statements that shared the round trip of one that failed', async () => {
    const together = test.db.transaction((trx) =>
      Promise.all([rows(trx, insert('before')), rows(trx, 'SELECT 1 / 0'), rows(trx, insert('after'))]),
    );
    await expect(together).rejects.toMatchObject({ code: '22012' });
    expect([await exists('before'), await exists('after')]).toEqual([false, false]);
  });

  it('fails with why its first statement failed, though a later one of the same round trip is heard first', async () => {
    /** As where the statement is some calls deep. */
    const deep = (work: Promise<unknown>, calls: number): Promise<unknown> =>
      calls === 0 ? work : deep(work, calls - 1).finally(() => undefined);
    const together = test.db.transaction((trx) =>
      Promise.all([deep(rows(trx, 'SELECT 1 / 0'), 10), rows(trx, insert('later'))]),
    );
    await expect(together).rejects.toMatchObject({ code: '22012' });
  });
});

it('what still runs of work that has failed changes nothing any more', async () => {
  const undone = new EventEmitter();
  let rest: Promise<unknown> = Promise.resolve();
  const failed = test.db.transaction((trx) => {
    rest = once(undone, 'over').then(() => rows(trx, insert('late')));
    return Promise.reject(new Error('refused'));
  });
  await expect(failed).rejects.toThrow('refused');
  undone.emit('over');
  await expect(rest).rejects.toThrow('the transaction is over');
  expect(await exists('late')).toBe(false);
});

describe('a statement', () => {
  it('runs as ever on a connection where preparing it has failed', async () => {
    const { db } = test;
    const often = `SELECT :n::int AS n`;
    for (let n = 0; n < 30; n++) expect(await row(db, often, { n })).toEqual({ n });
    // The outer one holds the connection that knows the statement, so the inner one's has to
    // prepare it.
    await db.transaction(async () => {
      const failed = db.transaction((trx) =>
        Promise.all([rows(trx, 'SELECT 1 / 0'), rows(trx, often, { n: 1 })]),
      );
      await expect(failed).rejects.toMatchObject({ code: '22012' });
    });
    const again = Array.from({ length: 30 }, (_, n) => row(db, often, { n }));
    expect(await Promise.all(again)).toEqual(Array.from({ length: 30 }, (_, n) => ({ n })));
  });
});
