import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rows } from '../../src/database/pool/connection';
import { createTestDatabase, type TestDatabase } from '../support/database';

/** docs/retention.md is what an auditor is given: it has all that there is, and nothing else. */

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** Of each line of the table, its tables and how long they are kept. */
const lines = [
  ...readFileSync(join(__dirname, '../../docs/retention.md'), 'utf8').matchAll(
    /^\| [^|]+ \| (`[^|]+`) +\| ([^|]+) \| ([^|]+) \|$/gm,
  ),
].map(([, tables = '', kept = '', by = '']) => ({
  tables: [...tables.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  isForGood: kept.startsWith('for good') && by.startsWith('nobody'),
}));

const named = new Set(lines.flatMap(({ tables }) => tables));

it('says of each table of the schema how long it is kept, and of no other', async () => {
  const found = await rows<{ name: string }>(
    test.db,
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  expect([...named].toSorted()).toEqual(found.map(({ name }) => name));
});

it('calls for good what no process can delete, and nothing else', async () => {
  const found = await rows<{ name: string }>(
    test.db,
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'public' AND has_table_privilege('assent_app', format('%I.%I', schemaname, tablename), 'DELETE')`,
  );
  const deletable = new Set(found.map(({ name }) => name));
  // Of receipts a trigger keeps those that are for good; a key of the ring is its owner's to take
  // away.
  const apart = ['webhook_receipts', 'encryption_keys'];
  const wrong = lines.flatMap(({ tables, isForGood }) =>
    tables.filter((name) => !apart.includes(name) && deletable.has(name) === isForGood),
  );
  expect(wrong).toEqual([]);
});
