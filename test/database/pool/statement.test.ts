import type { Executor } from '../../../src/database/pool/connection';
import { STATEMENTS, raw, sql } from '../../../src/database/pool/statement';
import { engineFacts } from '../../support/keyring';
import { databaseOfFile } from '../../support/database';

const test = databaseOfFile();

/** The statement as it goes to Postgres, which answers nothing here. */
async function sent(work: (db: Executor) => Promise<unknown>): Promise<{ text: string; values: unknown[] }> {
  let seen = { text: '', values: [] as unknown[] };
  const db: Executor = {
    ...STATEMENTS,
    ...engineFacts,
    query(text, values = []) {
      seen = { text, values };
      return Promise.resolve({ rows: [] });
    },
  };
  await work(db);
  return seen;
}

describe('a value in a statement', () => {
  it('is bound, and so is never read as SQL', async () => {
    const said = `'; DROP TABLE entities; --`;
    expect(await test.db.oneRow`SELECT ${said}::text AS said`).toEqual({ said });
  });

  it('may be a list, null or JSON', async () => {
    const found = await test.db.oneRow`
      SELECT ${['a', 'b']}::text[] AS list, ${null}::text AS nothing, ${'{"n": 1}'}::jsonb AS json`;
    expect(found).toEqual({ list: ['a', 'b'], nothing: null, json: { n: 1 } });
  });

  it('may stand where two types do', async () => {
    const n = '7';
    expect(await test.db.oneRow`SELECT ${n}::int AS number, ${n}::text AS text`).toEqual({
      number: 7,
      text: '7',
    });
  });

  it('is not left out by mistake: undefined fails before it reaches Postgres', async () => {
    await expect(test.db.row`SELECT ${undefined}::text`).rejects.toThrow('no value after: SELECT ');
  });
});

const above = (least: number) => sql`n > ${least}`;

describe('a part of a statement', () => {
  it('binds its values in their places, also within another part, and may be used again', async () => {
    const both = sql`${above(1)} AND n <> ${3}`;
    const found = await test.db.rows`
      SELECT n FROM generate_series(1, ${5}::int) AS n WHERE ${both} AND (${both}) AND n < ${5}`;
    expect(found).toEqual([{ n: 2 }, { n: 4 }]);
  });

  it('is text that somebody wrote out by raw', async () => {
    const { text, values } = await sent((db) => db.rows`SELECT ${raw('a::text, :b')} LIMIT ${3}`);
    expect({ text, values }).toEqual({ text: 'SELECT a::text, :b LIMIT $1', values: [3] });
  });
});

const find = (n: number) => sent((db) => db.row`SELECT ${n}::int WHERE ${sql`${n} > ${0}`}`);

it('one text stands for all values, so that a connection prepares the statement once', async () => {
  const [one, two] = [await find(1), await find(2)];
  expect(one.text).toBe('SELECT $1::int WHERE $2 > $3');
  expect(two).toEqual({ text: one.text, values: [2, 2, 0] });
});

it('a statement that always has a row fails without one', async () => {
  await expect(test.db.oneRow`SELECT WHERE false`).rejects.toThrow('had none');
  expect(await test.db.row`SELECT WHERE false`).toBeUndefined();
});
