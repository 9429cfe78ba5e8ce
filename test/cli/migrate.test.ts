import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { schemaMigrated } from '../../src/cli/migrate';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { migrateUp } from '../../src/database/migrate';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile, emptySchema } from '../support/database';
import { servers } from '../support/servers';

const test = databaseOfFile();

it('has Temporal start reconcile and sweep each minute, chain every five, and verify each night, and says what it applied', async () => {
  const { temporalAddress: TEMPORAL_ADDRESS } = await servers();
  const TEMPORAL_NAMESPACE = `migrate-${randomUUID()}`;
  const more = { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE };
  expect(await createCli(test, makeKeyring(), more).run('migrate', '--create-namespace')).toEqual({
    code: 0,
    out: 'The schema is up to date\n',
    err: '',
  });
  const connection = await Connection.connect({ address: TEMPORAL_ADDRESS });
  const { schedule } = new Client({ connection, namespace: TEMPORAL_NAMESPACE });
  for (const [id, minutes] of [
    ['reconcile', 1],
    ['sweep', 1],
    ['chain', 5],
    ['verify', 24 * 60],
  ] as const) {
    expect(await schedule.getHandle(id).describe()).toMatchObject({
      spec: { intervals: [{ every: minutes * 60_000 }] },
      action: { type: 'startWorkflow', workflowType: id },
      state: { paused: false },
    });
  }
  await connection.close();
});

/** `assent migrate --wait`, for a process that is rolled out together with its migrations. */

it('keeps a process from a database that nobody has migrated, and lets it go on once somebody has', async () => {
  await emptySchema(test.url);
  await expect(schemaMigrated(test.url, 0)).rejects.toThrow(/^The schema is not ready after 0 s: /);
  const end = schemaMigrated(test.url);
  const begun: string[] = [];
  const applied = await migrateUp(test.url, 'sandbox', 'Africa/Lagos', undefined, ({ name, number, of }) =>
    begun.push(`${number} of ${of}: ${name}`),
  );
  await end;
  // Whoever looks on is told of each before it runs.
  expect(begun).toEqual(applied.map((name, i) => `${i + 1} of ${applied.length}: ${name}`));
});

it('keeps a new version from the schema of the one before it, whose columns it would miss', async () => {
  await asSchemaLogin(
    test.url,
    `CREATE TABLE kept AS SELECT * FROM knex_migrations WHERE name = (SELECT max(name) FROM knex_migrations);
     DELETE FROM knex_migrations WHERE name IN (SELECT name FROM kept)`,
  );
  await expect(schemaMigrated(test.url, 0)).rejects.toThrow(
    /: it lacks 1 migration, \d{4}_\w+ first: run "assent migrate"$/,
  );
  await asSchemaLogin(test.url, 'INSERT INTO knex_migrations SELECT * FROM kept; DROP TABLE kept');
  await schemaMigrated(test.url, 0);
});

it('lets an older version onto a newer schema, so that a version can be rolled back', async () => {
  const later = `'9999_of_a_later_version'`;
  await asSchemaLogin(
    test.url,
    `INSERT INTO knex_migrations (name, batch, migration_time) VALUES (${later}, 99, now())`,
  );
  await expect(schemaMigrated(test.url, 0)).resolves.toBeUndefined();
  await asSchemaLogin(test.url, `DELETE FROM knex_migrations WHERE name = ${later}`);
});

it('does not wait for a login to be let in that never will be', async () => {
  const url = new URL(test.url);
  url.pathname = '/never_made';
  await expect(schemaMigrated(url.href)).rejects.toThrow(/never_made/);
});
