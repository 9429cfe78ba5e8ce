import { Command } from 'commander';
import { anyRing } from '../../src/cli/engine';
import { onEngine } from '../../src/cli/command';
import { explained } from '../../src/cli/explain';
import { CommitLost } from '../../src/database/pool/availability';
import { makeKeyring } from '../../src/database/keyring/keyring';
import { createCli } from '../support/cli';
import { startExpiredPostgres } from '../support/expired-postgres';
import { startRefusingPostgres } from '../support/refusing-postgres';

const before = { ...process.env };
beforeAll(() =>
  Object.assign(process.env, {
    ASSENT_MODE: 'sandbox',
    DATABASE_URL: 'postgresql://assent@127.0.0.1:1/assent',
    ASSENT_KEYS: makeKeyring(),
  }),
);
afterAll(() => {
  process.env = before;
});

/** What is said where the work of a command fails by it, and where anything else does. */
async function said(error: Error): Promise<string[]> {
  const command = onEngine(() => Promise.reject(error), anyRing);
  const failed: unknown = await command(new Command()).catch((one: unknown) => one);
  return [explained(failed), explained(error)];
}

/** Whoever starts a Postgres that runs, or looks for another URL, mends nothing. */
describe('a command whose database answers', () => {
  it.each([
    ['53300', 'sorry, too many clients already'],
    ['57014', 'canceling statement due to statement timeout'],
    ['57P03', 'the database system is starting up'],
    ['40P01', 'deadlock detected'],
    ['25006', 'cannot execute INSERT in a read-only transaction'],
  ])('says what keeps it from its work: %s, %s', async (code, message) => {
    for (const line of await said(Object.assign(new Error(message), { code }))) {
      expect(line).toContain(`the database cannot do this now: ${message} (${code})`);
      expect(line).not.toMatch(/does not answer|start it/i);
    }
  });

  it('says of a commit that was lost that the act may stand', async () => {
    for (const line of await said(new CommitLost(new Error('Connection terminated')))) {
      expect(line).toContain('may have been done. Look before you repeat it.');
    }
  });

  it('says so too where it is let in by none of the connections, as the doctor does', async () => {
    const postgres = await startRefusingPostgres('53300', 'sorry, too many clients already');
    const cli = createCli(postgres, makeKeyring());
    const [migrate, list, doctor] = await Promise.all([
      cli.run('migrate'),
      cli.run('entity', 'list'),
      cli.run('doctor'),
    ]);
    postgres.stop();
    for (const told of [migrate.err, list.err, doctor.out]) {
      expect(told).toContain('the database cannot do this now: sorry, too many clients already');
    }
  });
});

test('a command and the doctor say of an expired certificate that it is one', async () => {
  const postgres = await startExpiredPostgres();
  const cli = createCli(postgres, makeKeyring());
  const [list, doctor] = await Promise.all([cli.run('entity', 'list'), cli.run('doctor')]);
  postgres.stop();
  for (const told of [list.err, doctor.out]) {
    expect(told).toMatch(/over TLS, CERT_HAS_EXPIRED \(certificate has expired\): correct its certificate/);
    expect(told).not.toContain('    at ');
  }
});

test.each([['migrate'], ['keys', 'reseal']])(
  '%s %s as an owner whose password is wrong names the setting',
  async (...words) => {
    const postgres = await startRefusingPostgres(
      '28P01',
      'password authentication failed for user "assent_owner"',
    );
    const more = { DATABASE_OWNER_URL: postgres.url };
    const cli = createCli({ url: process.env['DATABASE_URL'] ?? '' }, makeKeyring(), more);
    const { code, err } = await cli.run(...words);
    postgres.stop();
    expect(code).toBe(1);
    expect(err).toMatch(/^assent: DATABASE_OWNER_URL: Postgres does not let us in \(password auth.*\)\.$/m);
    expect(err).not.toContain('assent_app');
  },
);
