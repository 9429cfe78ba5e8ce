import { EventEmitter, once } from 'node:events';
import { row, rows, type Executor } from '../../../src/database/pool/connection';
import { databaseOfFile } from '../../support/database';

const test = databaseOfFile();

const insert = (key: string) =>
  `INSERT INTO rate_limits (key, full_at, asked_at, taken) VALUES ('${key}', now(), now(), 1)`;
const exists = async (key: string) =>
  (await row(test.db, `SELECT FROM rate_limits WHERE key = :key`, { key })) !== undefined;

/** How Postgres plans this statement. */
const mode = (db: Executor, plan?: 'custom plan') =>
  row(db, `SELECT current_setting('plan_cache_mode') AS mode WHERE :n::int > 0`, { n: 1 }, plan);

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
  it('has one plan for all values where it runs often, and else one for its own, also after a failure', async () => {
    const { db } = test;
    for (let n = 0; n < 20; n++) expect(await mode(db)).toEqual({ mode: 'force_custom_plan' });
    expect(await mode(db)).toEqual({ mode: 'force_generic_plan' });
    expect(await mode(db, 'custom plan')).toEqual({ mode: 'force_custom_plan' });
    await db.transaction(async (trx) => {
      const failed = db.transaction((other) => row(other, 'SELECT 1 / :n::int', { n: 0 }, 'custom plan'));
      await expect(failed).rejects.toMatchObject({ code: '22012' });
      expect(await mode(trx)).toEqual({ mode: 'force_generic_plan' });
      expect(await mode(db)).toEqual({ mode: 'force_generic_plan' });
    });
  });

  it('has its plan also after a thousand others that ran once, as lists whose filters somebody varies', async () => {
    const often = `SELECT current_setting('plan_cache_mode') AS mode WHERE :often::int > 0`;
    for (let n = 0; n < 1_000; n++) await row(test.db, `SELECT :n::int AS n${n}`, { n });
    for (let n = 0; n < 20; n++) await row(test.db, often, { often: 1 });
    expect(await row(test.db, often, { often: 1 })).toEqual({ mode: 'force_generic_plan' });
  });

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
