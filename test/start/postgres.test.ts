import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { preparePostgres } from '../../src/start/postgres';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'assent-kept-'));
  // As root, Postgres runs as a user of its own, who must get through to its data.
  chmodSync(folder, 0o711);
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, content = ''): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), content);
}

const prepare = () => preparePostgres(folder, 1, () => undefined).then(() => 'made', String);
const WHAT_TO_DO = 'backup, or set DATABASE_URL .*; or, if all of it may be lost, remove .* and start afresh';

test.each([
  [['keys'], '/postgres and .*/postgres-logins.json is gone'],
  [['temporal.db', 'postgres-logins.json'], '/postgres is gone'],
  [['postgres/PG_VERSION'], '/postgres-logins.json is gone'],
])('of a lost database nothing is made anew beside what is left of it: %j', async (left, gone) => {
  for (const name of left) put(name);
  const before = readdirSync(folder);
  await expect(prepare()).resolves.toMatch(new RegExp(`${gone}. .* every entity, .*${WHAT_TO_DO}`));
  expect(readdirSync(folder)).toEqual(before);
});

test('is made where there is nothing of it yet, also after a start that was cut off', async () => {
  put('assent.log');
  put('postgres.new/base/1');
  await expect(prepare()).resolves.toBe('made');
  expect(readdirSync(folder)).toEqual(['assent.log', 'postgres', 'postgres-logins.json']);
});

test.each(['{"postgres":"abc"', ''])(
  'whose passwords were damaged (%j) is not started, and the file is named',
  async (text) => {
    put('postgres/PG_VERSION', '18');
    put('postgres-logins.json', text);
    await expect(prepare()).resolves.toMatch(
      new RegExp(`postgres-logins.json is damaged .*its passwords.*${WHAT_TO_DO}`),
    );
  },
);
