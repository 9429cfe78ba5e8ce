import { EventEmitter, once } from 'node:events';
import type { Executor } from '../../../src/database/pool/connection';
import { customPlan, raw } from '../../../src/database/pool/statement';
import { databaseOfFile } from '../../support/database';

const test = databaseOfFile();

const insert = (db: Executor, key: string) =>
  db.rows`
  INSERT INTO rate_limits (key, full_at, asked_at, taken) VALUES (${key}, now(), now(), 1)`;
const exists = async (key: string) =>
  (await test.db.row`SELECT FROM rate_limits WHERE key = ${key}`) !== undefined;

/** How Postgres plans this statement. */
const mode = (db: Executor) => db.row`SELECT current_setting('plan_cache_mode') AS mode WHERE ${1}::int > 0`;

const often = () => test.db.row`SELECT current_setting('plan_cache_mode') AS mode WHERE ${1}::int >= 1`;
const number = (on: Executor, n: number) => on.row`SELECT ${n}::int AS n`;

describe('a transaction', () => {
  it('is not taken for committed where the work went on after a statement that failed', async () => {
    const swallowed = test.db.transaction(async (trx) => {
      await insert(trx, 'swallowed');
      await trx.rows`SELECT 1 / 0`.catch(() => undefined);
      return 'done';
    });
    await expect(swallowed).rejects.toThrow('rolled back');
    expect(await exists('swallowed')).toBe(false);
  });

  it('undoes statements that shared the round trip of one that failed', async () => {
    const together = test.db.transaction((trx) =>
      Promise.all([insert(trx, 'before'), trx.rows`SELECT 1 / 0`, insert(trx, 'after')]),
    );
    await expect(together).rejects.toMatchObject({ code: '22012' });
    expect([await exists('before'), await exists('after')]).toEqual([false, false]);
  });

  it('fails with why its first statement failed, though a later one of the same round trip is heard first', async () => {
    /** As where the statement is some calls deep. */
    const deep = (work: Promise<unknown>, calls: number): Promise<unknown> =>
      calls === 0 ? work : deep(work, calls - 1).finally(() => undefined);
    const together = test.db.transaction((trx) =>
      Promise.all([deep(trx.rows`SELECT 1 / 0`, 10), insert(trx, 'later')]),
    );
    await expect(together).rejects.toMatchObject({ code: '22012' });
  });
});

it('what still runs of work that has failed changes nothing any more', async () => {
  const undone = new EventEmitter();
  let rest: Promise<unknown> = Promise.resolve();
  const failed = test.db.transaction((trx) => {
    rest = once(undone, 'over').then(() => insert(trx, 'late'));
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
    expect(await mode(customPlan(db))).toEqual({ mode: 'force_custom_plan' });
    await db.transaction(async (trx) => {
      const failed = db.transaction((other) => customPlan(other).row`SELECT 1 / ${0}::int`);
      await expect(failed).rejects.toMatchObject({ code: '22012' });
      expect(await mode(trx)).toEqual({ mode: 'force_generic_plan' });
      expect(await mode(db)).toEqual({ mode: 'force_generic_plan' });
    });
  });

  it('has its plan also after a thousand others that ran once, as lists whose filters somebody varies', async () => {
    for (let n = 0; n < 1_000; n++) await test.db.row`SELECT ${n}::int AS n${raw(n)}`;
    for (let n = 0; n < 20; n++) await often();
    expect(await often()).toEqual({ mode: 'force_generic_plan' });
  });

  it('runs as ever on a connection where preparing it has failed', async () => {
    const { db } = test;
    for (let n = 0; n < 30; n++) expect(await number(db, n)).toEqual({ n });
    // The outer one holds the connection that knows the statement, so the inner one's has to
    // prepare it.
    await db.transaction(async () => {
      const failed = db.transaction((trx) => Promise.all([trx.rows`SELECT 1 / 0`, number(trx, 1)]));
      await expect(failed).rejects.toMatchObject({ code: '22012' });
    });
    const again = Array.from({ length: 30 }, (_, n) => number(db, n));
    expect(await Promise.all(again)).toEqual(Array.from({ length: 30 }, (_, n) => ({ n })));
  });
});
