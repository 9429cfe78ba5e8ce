import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client, type Connection, type FieldDef } from 'pg';
import { databaseOfFile } from '../support/database';
import type { Statement } from './read-statements';

const test = databaseOfFile();

/** Types of Postgres by the types that pg makes of their values. */
const KINDS: Record<string, string[]> = {
  bool: ['boolean'],
  int2: ['number'],
  int4: ['number'],
  float8: ['number'],
  int8: ['bigint'],
  bytea: ['Buffer'],
  // An infinite moment is a number.
  timestamptz: ['Date', 'number'],
  date: ['Date'],
  json: ['json', 'string', 'number', 'boolean', 'json[]', 'string[]', 'number[]'],
  jsonb: ['json', 'string', 'number', 'boolean', 'json[]', 'string[]', 'number[]'],
};
const kindsOf = (type: string): string[] =>
  type.startsWith('_') ? kindsOf(type.slice(1)).map((kind) => `${kind}[]`) : (KINDS[type] ?? ['string']);

/** Their texts are made of what a search or a table says at run time; tests of their own run them. */
const MADE_AT_RUN_TIME = [
  'src/database/customer/list-customers.ts:',
  'src/database/key-rotation/re-encrypt.ts:',
  'src/database/ledger/search-transactions.ts:',
  'src/database/ledger/total-transactions.ts:',
  'src/database/reconcile/open-work.ts:',
];

const isChecked = (what: string) => !MADE_AT_RUN_TIME.some((file) => what.startsWith(file));

/** Has Postgres parse a statement, without running it. */
class Described {
  fields: FieldDef[] = [];
  private settle: { resolve: (fields: FieldDef[]) => void; reject: (error: Error) => void };
  readonly done: Promise<FieldDef[]>;
  constructor(private readonly text: string) {
    let settle: Described['settle'] | undefined;
    this.done = new Promise((resolve, reject) => (settle = { resolve, reject }));
    this.settle = settle as unknown as Described['settle'];
  }
  submit(connection: Connection): void {
    connection.parse({ text: this.text, name: '', types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }
  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.fields = fields;
  }
  handleError(error: Error): void {
    this.settle.reject(error);
  }
  handleReadyForQuery(): void {
    this.settle.resolve(this.fields);
  }
}

it('every statement is one that the schema understands, and returns what its row type says', async () => {
  const args = ['--import', 'tsx', path.join(__dirname, 'read-statements.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 100_000_000 });
  const statements = JSON.parse(stdout) as Statement[];
  const client = new Client({ connectionString: test.url });
  await client.connect();
  const { rows: types } = await client.query<{ oid: number; name: string }>(
    'SELECT oid::int, typname AS name FROM pg_type',
  );
  const nameOf = new Map(types.map(({ oid, name }) => [oid, name]));
  const wrong: string[] = [];
  for (const { at, texts, members } of statements)
    for (const text of texts) {
      const fields = await client.query(new Described(text)).done.catch((error: Error) => error);
      if (fields instanceof Error) {
        wrong.push(`${at}: ${fields.message} in ${text}`);
        continue;
      }
      const columns = new Map(
        fields.map(({ name, dataTypeID }) => [
          name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
          nameOf.get(dataTypeID) ?? '',
        ]),
      );
      for (const { name, optional, types: wanted } of members) {
        const type = columns.get(name);
        if (type === undefined) {
          if (!optional) wrong.push(`${at}: no column for ${name}`);
        } else if (!wanted.every((kind) => ['any', 'unknown', ...kindsOf(type)].includes(kind)))
          wrong.push(`${at}: ${name} is ${type}, not ${wanted.join(' | ')}`);
      }
    }
  await client.end();
  const unread = statements.flatMap(({ at, texts }) =>
    texts.length === 0 ? [`${at}: its text is not known`] : [],
  );
  expect([...new Set([...unread, ...wrong])].filter(isChecked)).toEqual([]);
  expect(statements.length).toBeGreaterThan(300);
}, 120_000);
