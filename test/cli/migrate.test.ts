import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { schemaMigrated } from '../../src/cli/awaited-schema';
import { makeKeyring } from '../../src/database/keys/keyring';
import { migrateUp } from '../../src/database/migrate';
import { createCli } from '../support/cli';
import { asOwner, databaseOfFile, emptySchema } from '../support/database';
import { eventually } from '../support/engine';
import { servers } from '../support/servers';

const test = databaseOfFile();

it('has Temporal start reconcile each minute, chain every five, and verify each night, and says what it applied', async () => {
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

/** Waits, and tells what it says meanwhile. */
function waiting(withinMs?: number) {
  const said: string[] = [];
  const state = { ended: false, said };
  const end = schemaMigrated(test.url, (line) => said.push(line), withinMs).then(() => {
    state.ended = true;
  });
  return { state, end };
}

it('keeps a process from a database that nobody has migrated, and lets it go on once somebody has', async () => {
  await emptySchema(test.url);
  const { state, end } = waiting();
  await eventually(() => Promise.resolve(state.said.length > 0));
  expect(state).toEqual({ ended: false, said: ['the database has no schema yet'] });
  const begun: string[] = [];
  const applied = await migrateUp(test.url, 'sandbox', 'Africa/Lagos', undefined, ({ name, number, of }) =>
    begun.push(`${number} of ${of}: ${name}`),
  );
  await end;
  // Whoever looks on is told of each before it runs.
  expect(begun).toEqual(applied.map((name, i) => `${i + 1} of ${applied.length}: ${name}`));
});

it('keeps a new version from the schema of the one before it, whose columns it would miss', async () => {
  await asOwner(
    test.url,
    `CREATE TABLE kept AS SELECT * FROM knex_migrations WHERE name = (SELECT max(name) FROM knex_migrations);
     DELETE FROM knex_migrations WHERE name IN (SELECT name FROM kept)`,
  );
  await expect(waiting(0).end).rejects.toThrow(
    /^the schema lacks 1 migration, \d{4}_\w+ first, for 0 s: run "assent migrate"$/,
  );
  await asOwner(test.url, 'INSERT INTO knex_migrations SELECT * FROM kept; DROP TABLE kept');
  await waiting(0).end;
});

it('lets an older version onto a newer schema, so that a version can be rolled back', async () => {
  const later = `'9999_of_a_later_version'`;
  await asOwner(
    test.url,
    `INSERT INTO knex_migrations (name, batch, migration_time) VALUES (${later}, 99, now())`,
  );
  const { state, end } = waiting(0);
  await end;
  expect(state).toEqual({ ended: true, said: [] });
  await asOwner(test.url, `DELETE FROM knex_migrations WHERE name = ${later}`);
});

it('does not wait for a login to be let in that never will be', async () => {
  const url = new URL(test.url);
  url.pathname = '/never_made';
  await expect(schemaMigrated(url.href, () => undefined)).rejects.toMatchObject({ code: '3D000' });
});
