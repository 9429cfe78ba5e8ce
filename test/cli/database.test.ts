import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { openDatabase, row, rows } from '../../src/database/connection';
import { migrateUp } from '../../src/database/migrate';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { makeSchedule, standingApproval } from '../support/standing';

/** What is done to the database itself. */

const keys = makeKeyring();

let test: TestDatabase;
beforeEach(async () => {
  test = await createTestDatabase();
});
afterEach(() => test.drop());

/** With no connection of ours, as all processes are stopped. */
async function alone(): Promise<void> {
  await asOwner(
    test.url,
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

const cli = (timeZone = 'Africa/Lagos') =>
  createCli({ url: test.url, keys, more: { DATABASE_OWNER_URL: test.url, NETWORK_TIMEZONE: timeZone } });

async function zone(): Promise<string | undefined> {
  const client = new Client(test.url);
  await client.connect();
  const found = await client.query<{ zone: string }>('SELECT time_zone AS zone FROM deployment');
  await client.end();
  return found.rows[0]?.zone;
}

const correct = (to: string) => cli().run('database', 'zone', to, '--reason', 'ticket 3');

describe('"database zone"', () => {
  it('corrects the zone in which days begin, and leaves who, why and from what', async () => {
    await alone();
    // By the settings of who has noticed: they are wrong one way or the other.
    expect(
      await cli('Europe/Berlin').run('database', 'zone', 'Europe/Berlin', '--reason', 'ticket 3'),
    ).toMatchObject({
      code: 0,
      out: expect.stringMatching(/set NETWORK_TIMEZONE=Europe\/Berlin for every process/) as string,
    });
    expect((await cli().run('entity', 'list')).err).toMatch(/NETWORK_TIMEZONE: is Africa\/Lagos, but/);
    expect(
      await row(
        test.db,
        `SELECT action, reason, before->>'timeZone' AS before, after->>'timeZone' AS after FROM audit_events
         WHERE action = 'time_zone.corrected'`,
      ),
    ).toEqual({
      action: 'time_zone.corrected',
      reason: 'ticket 3',
      before: 'Africa/Lagos',
      after: 'Europe/Berlin',
    });
    await alone();
    expect(await cli('Europe/Berlin').json('database', 'zone', 'Europe/Berlin', '--reason', 'again')).toEqual(
      {
        timeZone: 'Europe/Berlin',
        changed: false,
      },
    );
  });

  it.each([
    ['Lagos', /no IANA time zone/],
    ['+01:00', /no IANA time zone/],
    ['CET', /the clocks of CET show .* but .* by Postgres/],
  ])('takes no %s', async (to, words) => {
    await alone();
    expect(await correct(to)).toMatchObject({ code: 1, err: expect.stringMatching(words) as string });
    expect(await zone()).toBe('Africa/Lagos');
  });

  it.each(['', '?application_name=api'])(
    'is refused while a process goes by the old one, of a URL with "%s"',
    async (parameters) => {
      await alone();
      const running = openDatabase(`${test.url}${parameters}`, 1);
      await row(running, 'SELECT 1');
      expect(await correct('Europe/Berlin')).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /\(sessions: 1, of \w+ first\).* stop every API, worker and command first/,
        ) as string,
      });
      expect(await zone()).toBe('Africa/Lagos');
      await running.destroy();
    },
  );

  it('is not refused for who only watches over the database', async () => {
    await alone();
    const { pathname } = new URL(test.url);
    await asOwner(test.url, `CREATE ROLE "watch_${pathname.slice(1)}" LOGIN PASSWORD 'w' IN ROLE pg_monitor`);
    const url = Object.assign(new URL(test.url), { username: `watch_${pathname.slice(1)}`, password: 'w' });
    const watch = new Client(url.href);
    await watch.connect();
    expect(await correct('Europe/Berlin')).toMatchObject({ code: 0 });
    await watch.end();
    await asOwner(test.url, `DROP ROLE "watch_${pathname.slice(1)}"`);
  });

  it('moves no due date that merchant and bank have been told', async () => {
    const standing = await standingApproval(test.db, readKeyring(keys));
    // Ten in the morning of Lagos, which is an hour earlier in a summer of Berlin.
    const [first, second, yearly] = await Promise.all(
      Array.from({ length: 3 }, () => makeSchedule(test.db, readKeyring(keys), standing)),
    );
    await asOwner(
      test.url,
      `UPDATE schedules SET start_at = '2026-01-15T09:00:00Z', every = 6, next_n = 3, next_due_at = '2027-07-15T09:00:00Z';
       UPDATE schedules SET every = 12, next_n = 1, next_due_at = '2027-01-15T09:00:00Z' WHERE id = '${yearly}'`,
    );
    await alone();
    const { code, err } = await correct('Europe/Berlin');
    expect({ code, err }).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /2 live schedules would fall due at another moment .* at 2027-07-15T08:00:00.000Z, and was to at 2027-07-15T09:00:00.000Z.* cancel them/,
      ) as string,
    });
    expect([first, second].some((id) => err.includes(`first ${id} at`))).toBe(true);
    expect(await zone()).toBe('Africa/Lagos');

    // Told by the clocks of Berlin, by processes that had this zone while the record has another.
    await rows(test.db, `UPDATE schedules SET next_due_at = '2027-07-15T08:00:00Z' WHERE id = ANY(:told)`, {
      told: [first, second],
    });
    await alone();
    expect(await correct('Europe/Berlin')).toMatchObject({ code: 0 });
  });

  it('begins no day again whose statements are final, by whichever clock', async () => {
    const { merchantId } = await standingApproval(test.db, readKeyring(keys));
    // It is noon in Lagos by that clock, and the day before in Honolulu until eleven.
    await rows(
      test.db,
      `UPDATE entities SET clock_offset =
         (((clock_timestamp() AT TIME ZONE 'Africa/Lagos')::date + 2)::timestamp + '10 hours') AT TIME ZONE 'Africa/Lagos' - clock_timestamp()
       WHERE id = :merchantId`,
      { merchantId },
    );
    await alone();
    expect(await correct('Pacific/Honolulu')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is over in Africa\/Lagos|would go on in Pacific\/Honolulu/) as string,
    });
    expect(await zone()).toBe('Africa/Lagos');
  });
});

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
