import { randomBytes } from 'node:crypto';
import { migrateUp } from '../../src/database/migrate';
import { makeKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';

/** What is done to the database itself. */

const keys = makeKeyring();

let test: TestDatabase;
beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test.drop());

/** "database logins" with these settings; nothing has to answer there. */
const logins = (more: Record<string, string>) =>
  createCli({ url: 'postgres://a:b@127.0.0.1:1/c', keys, more }).run('database', 'logins');

it('"database logins" wants the two URLs that it makes logins of', async () => {
  expect((await logins({})).err).toMatch(/DATABASE_OWNER_URL is not set/);
  expect((await logins({ DATABASE_OWNER_URL: 'postgres://a:b@127.0.0.1:1/c' })).err).toMatch(
    /wants two logins/,
  );
  expect((await logins({ DATABASE_OWNER_URL: 'postgres://o:b@127.0.0.1:1/d' })).err).toMatch(
    /another database/,
  );
  expect((await logins({ DATABASE_OWNER_URL: 'postgres://o@127.0.0.1:1/c' })).err).toMatch(/a password of/);
  expect((await logins({ DATABASE_OWNER_URL: 'postgres://assent_app:b@127.0.0.1:1/c' })).err).toMatch(
    /nobody logs in as/,
  );
});

const lookAt = (url: string) => asOwner(url, 'SELECT FROM entities');

it('"database logins" makes logins that no other database of the server lets in', async () => {
  const superuserUrl = Object.assign(new URL(test.url), { pathname: '/postgres' }).href;
  const names = ['a', 'b'].map((one) => `logins_${randomBytes(4).toString('hex')}_${one}`);
  const at = (database: string, of: string, login: 'owner' | 'login') =>
    Object.assign(new URL(test.url), {
      username: `${of}_${login}`,
      password: login,
      pathname: `/${database}`,
    }).href;
  try {
    for (const name of names) {
      const [url, ownerUrl] = [at(name, name, 'login'), at(name, name, 'owner')];
      const printed = await createCli({ url, keys, more: { DATABASE_OWNER_URL: ownerUrl } }).run(
        'database',
        'logins',
      );
      // CREATE DATABASE goes alone.
      for (const line of printed.out.trim().split('\n')) await asOwner(superuserUrl, line);
      await migrateUp(ownerUrl, 'production', 'Africa/Lagos');
      await lookAt(url);
    }
    const [one = '', other = ''] = names;
    for (const login of ['login', 'owner'] as const)
      await expect(lookAt(at(one, other, login))).rejects.toThrow(/permission denied for database/);
  } finally {
    for (const name of names) {
      await asOwner(superuserUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await asOwner(superuserUrl, `DROP ROLE IF EXISTS ${name}_owner, ${name}_login`);
    }
  }
});
