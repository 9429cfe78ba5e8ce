import { randomBytes } from 'node:crypto';
import { migrateUp } from '../../src/database/migrate';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { PRODUCTION } from '../support/production-database';
import { charge } from '../support/settled';
import { standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

/** What is done to the database itself. */

const test = databaseOfFile();

it.each([
  ['no URL of the owner', undefined, /DATABASE_OWNER_URL is not set/],
  ['one login for both', 'postgres://a:b@127.0.0.1:1/c', /wants two logins/],
  ['another database', 'postgres://o:b@127.0.0.1:1/d', /another database/],
  ['no password', 'postgres://o@127.0.0.1:1/c', /a password of/],
  ['the role', 'postgres://assent_app:b@127.0.0.1:1/c', /nobody logs in as/],
])('"database logins" refuses %s', async (_, ownerUrl, words) => {
  const more = ownerUrl === undefined ? {} : { DATABASE_OWNER_URL: ownerUrl };
  const cli = createCli({ url: 'postgres://a:b@127.0.0.1:1/c' }, keys, more);
  expect((await cli.run('database', 'logins')).err).toMatch(words);
});

it('"database logins" makes logins that serve a production, that no other database of the server lets in, and whose passwords are not written down', async () => {
  const superuserUrl = Object.assign(new URL(test.url), { pathname: '/postgres' }).href;
  const names = ['a', 'b'].map((one) => `logins_${randomBytes(4).toString('hex')}_${one}`);
  const at = (database: string, of: string, login: 'owner' | 'login') =>
    Object.assign(new URL(test.url), {
      username: `${of}_${login}`,
      // Quoting must not matter.
      password: `${login}'s "secret" $1`,
      pathname: `/${database}`,
    }).href;
  try {
    for (const name of names) {
      const [url, ownerUrl] = [at(name, name, 'login'), at(name, name, 'owner')];
      const more = { ...PRODUCTION, DATABASE_OWNER_URL: ownerUrl };
      const cli = createCli({ url }, keys, more);
      const { out } = await cli.run('database', 'logins');
      expect(out).not.toContain('secret');
      // CREATE DATABASE goes alone.
      for (const line of out.trim().split('\n')) await asSchemaLogin(superuserUrl, line);
      await migrateUp(ownerUrl, 'production', 'Africa/Lagos');
      expect(await cli.json('entity', 'list')).toEqual({ entities: [] });
    }
    const [one = '', other = ''] = names;
    for (const login of ['login', 'owner'] as const)
      await expect(asSchemaLogin(at(one, other, login), 'SELECT FROM entities')).rejects.toThrow(
        /permission denied for database/,
      );
  } finally {
    for (const name of names) {
      await asSchemaLogin(superuserUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await asSchemaLogin(superuserUrl, `DROP ROLE IF EXISTS ${name}_owner, ${name}_login`);
    }
  }
});

it('"database copied" and "database restored" put right what a copy or a dump has brought along, on record', async () => {
  const cli = createCli(test, keys, { DATABASE_OWNER_URL: test.url });
  await charge(test.db, await standingApproval(test.db));
  const id = () => test.db.row`SELECT installation FROM temporal_state`;
  const before = await id();
  await cli.json('database', 'copied');
  expect(await id()).not.toEqual(before);
  const { webhooks } = await cli.json<{ webhooks: number }>('database', 'restored');
  expect(webhooks).toBeGreaterThan(0);
  expect(await test.db.rows`SELECT FROM webhook_deliveries WHERE created_xid <> '3'`).toEqual([]);
  const { events } = await cli.json<{ events: object[] }>('audit');
  expect(events.slice(-2)).toMatchObject([
    { action: 'database.copied' },
    { action: 'database.restored', after: { webhooks } },
  ]);
});
