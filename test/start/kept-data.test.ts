import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readEngineFile } from '../../src/start/engine-file';
import { requireSoundTemporal, requireWholePostgres } from '../../src/start/kept-data';
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

describe('the data of Postgres', () => {
  test.each([['keys'], ['temporal.db'], ['keys', 'temporal.db']])(
    'that is gone is not made anew beside what is left of it: %s %s',
    (...left) => {
      for (const name of left) put(name);
      expect(() => requireWholePostgres(folder)).toThrow(
        new RegExp(
          `postgres is gone, .*${left.at(-1)} of the same engine .* backup, or set DATABASE_URL .*remove`,
        ),
      );
    },
  );

  test('is made where there is nothing of it yet, also after a start that was cut off', () => {
    put('assent.log');
    put('postgres-logins.json', '{}');
    put('postgres.new/base/1');
    expect(() => requireWholePostgres(folder)).not.toThrow();
  });

  test.each([
    [['postgres/PG_VERSION'], 'global/pg_control is missing'],
    [['postgres/global/pg_control'], 'PG_VERSION is missing'],
    [['postgres/base/1'], 'PG_VERSION and global/pg_control are missing'],
  ])('that lost a file is named with it, and left as it is: %j', (left, words) => {
    for (const name of left) put(name);
    expect(() => requireWholePostgres(folder)).toThrow(
      `postgres is damaged: ${words}. It holds every entity`,
    );
  });

  test.each(['{"postgres":"abc"', '{"postgres":"abc"}', 'null', ''])(
    'whose passwords were damaged (%j) is not started, and the file is named',
    async (text) => {
      put('postgres/PG_VERSION', '18');
      put('postgres/global/pg_control');
      put('postgres-logins.json', text);
      const problem = await preparePostgres(folder, 1, () => undefined).catch(String);
      expect(problem).toMatch(
        /postgres-logins.json is damaged\. It has the passwords .*backup.*remove the folder/,
      );
    },
  );
});

describe('the data of Temporal', () => {
  test('that is no SQLite file is named, with what may be removed and what is lost by it', () => {
    put('temporal.db', 'not a database, but of some length');
    expect(() => requireSoundTemporal(folder)).toThrow(
      /temporal.db is damaged: it is no SQLite file\..*remove it, with .*-wal and .*-shm: .*from Postgres/,
    );
  });

  test('that is sound, empty or not there yet is used', () => {
    expect(() => requireSoundTemporal(folder)).not.toThrow();
    put('temporal.db');
    expect(() => requireSoundTemporal(folder)).not.toThrow();
    put('temporal.db', 'SQLite format 3\0and more');
    expect(() => requireSoundTemporal(folder)).not.toThrow();
  });
});

describe('the file that tells where the engine is', () => {
  test.each(['{"pid":', '{}', 'null', ''])('is named where it was damaged: %j', (text) => {
    put('engine.json', text);
    expect(() => readEngineFile(folder)).toThrow(
      /engine.json is damaged\. Nothing is lost by it: stop the engine/,
    );
  });

  test('is none where no engine runs', () => {
    expect(readEngineFile(folder)).toBeUndefined();
  });
});
