import { knex } from 'knex';
import { Client } from 'pg';
import { down, up } from '../../migrations/0086_statement_form';
import { digestOf } from '../../src/api/billing/statement';
import { compareStatements } from '../../src/database/ledger/statement-check';
import { rows, type Database } from '../../src/database/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { readDigest, readFinality } from '../../src/database/ledger/statement';
import { STATEMENT_FORM } from '../../src/domain/books/statement';
import { createCli } from '../support/cli';
import { filesOf } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { postThen } from '../support/ledger';
import { charge } from '../support/settled';
import { standingApproval } from '../support/standing';

const keys = makeKeyring();
const keyring = readKeyring(keys);

let test: TestDatabase;
let cli: ReturnType<typeof createCli>;
beforeAll(async () => {
  test = await createTestDatabase();
  cli = createCli({ url: test.url, keys });
});
afterAll(() => test.drop());

const digests = () => rows(test.db, 'SELECT FROM statement_digests');
const said = (message: string) => ({ code: 1, out: '', err: expect.stringContaining(message) as string });

describe('assent period', () => {
  it('closes a month that is over, keeps its statements, and reopens it with a reason', async () => {
    const { bankId, merchantId } = await standingApproval(test.db, keyring);
    await postThen(test.db, '2026-01-31', { bankId, merchantId });
    // Of the bank, the merchant and its provider.
    const closed = { period: '2026-01', state: 'closed', changed: true, statements: 3 };
    expect(await cli.json('period', 'close', '2026-01')).toEqual(closed);
    expect(await digests()).toHaveLength(3);
    expect(await cli.run('period', 'close', '2026-01')).toMatchObject({
      code: 0,
      out: '2026-01 is closed already: 3 statements kept by their SHA-256\n',
    });
    expect(await digests()).toHaveLength(3);

    expect(await cli.run('period', 'reopen', '2026-01')).toMatchObject(said('--reason'));
    expect(await cli.json('period', 'reopen', '2026-01', '--reason', 'TICKET-7')).toEqual({
      period: '2026-01',
      state: 'reopened',
      changed: true,
    });
    const { events } = await cli.json<{ events: object[] }>('audit');
    expect(events).toMatchObject([
      { action: 'period.closed', after: { month: '2026-01' } },
      { action: 'period.reopened', reason: 'TICKET-7', after: { month: '2026-01', reopenings: 1 } },
    ]);
  });

  it('keeps no SHA-256 of a file that is corrected while a close still works them out', async () => {
    const { bankId, merchantId } = await standingApproval(test.db, keyring);
    await postThen(test.db, '2025-12-30', { bankId, merchantId });
    const holder = new Client(test.url);
    await holder.connect();
    await holder.query('BEGIN; LOCK statement_digests');
    const closing = cli.run('period', 'close', '2025-12');
    await eventually(async () => {
      const waits = `SELECT FROM pg_locks WHERE relation = 'statement_digests'::regclass AND NOT granted`;
      return (await rows(test.db, waits)).length > 0;
    });
    await cli.json('period', 'reopen', '2025-12', '--reason', 'TICKET-8');
    await holder.query('COMMIT');
    await holder.end();
    expect(await closing).toMatchObject(said('2025-12 was reopened meanwhile'));

    await postThen(test.db, '2025-12-30', { bankId, merchantId });
    await cli.json('period', 'close', '2025-12');
    const of = {
      party: { entityId: merchantId, role: 'merchant' as const },
      date: '2025-12-30',
      currency: 'NGN',
    };
    const { edition } = await readFinality(test.db, 'Africa/Lagos', of);
    expect(await readDigest(test.db, of, edition)).toBe(await digestOf(test.db, of));
  });

  it('refuses a month that is not over, or none', async () => {
    expect(await cli.run('period', 'close', '2999-01')).toMatchObject(said('2999-01 is not over'));
    expect(await cli.run('period', 'close', '2026-13')).toMatchObject(said('2026-13 is no month'));
    expect(await cli.run('period', 'close', 'january')).toMatchObject(said('january is no month'));
    expect(await cli.run('period', 'reopen', '2026-05', '--reason', 'x')).toMatchObject(
      said('2026-05 is not closed'),
    );
  });
});

/** What `books verify` says of statements. */
async function comparedOf(db: Database, days: { from: string | null; to: string | null } = ALL) {
  const found = { checked: 0, differences: 0, notCompared: 0 };
  for await (const one of compareStatements(filesOf(db), { ...days, timeZone: 'Africa/Lagos' })) {
    found.checked += one.checked;
    found.differences += one.differences.length;
    found.notCompared += one.notCompared?.count ?? 0;
  }
  return found;
}
const ALL = { from: null, to: null };

describe('the files of a closed month', () => {
  let own: TestDatabase;
  beforeEach(async () => {
    own = await createTestDatabase();
  });
  afterEach(() => own.drop());

  it('are frozen: verify makes them once more, those of each edition until the next', async () => {
    const operator = createCli({ url: own.url, keys });
    const standing = await standingApproval(own.db, keyring);
    const statements = async () => {
      const november = { from: '2025-11-01', to: '2025-11-30' };
      const { checked, differences } = await comparedOf(own.db, november);
      return { checked, differences };
    };
    const chargedThen = async () => {
      const { id } = await charge(own.db, keyring, standing);
      const then = '2025-11-15T12:00:00Z';
      await asOwner(
        own.url,
        `SET session_replication_role = replica;
         UPDATE billing_requests SET closed_at = '${then}', created_at = '${then}' WHERE id = '${id}';
         UPDATE ledger_entries SET settled_at = '${then}', settlement_day = '${then}' WHERE resource_id = '${id}';
         UPDATE ledger_balance_changes SET day = '${then}' WHERE party_id IN ('${standing.bankId}', '${standing.merchantId}')`,
      );
      return id;
    };
    const id = await chargedThen();
    await operator.json('period', 'close', '2025-11');
    expect(await statements()).toEqual({ checked: 3, differences: 0 });
    await operator.json('period', 'reopen', '2025-11', '--reason', 'TICKET-9');
    await chargedThen();
    expect(await statements()).toEqual({ checked: 0, differences: 0 });
    await operator.json('period', 'close', '2025-11');
    expect(await statements()).toEqual({ checked: 3, differences: 0 });
    await asOwner(own.url, `UPDATE billing_requests SET description = 'Hats' WHERE id = '${id}'`);
    // Of the bank, the merchant and its provider.
    expect(await statements()).toEqual({ checked: 3, differences: 3 });
  });

  it.each([
    ['an earlier', STATEMENT_FORM - 1],
    // Of a release that was taken back.
    ['a later', STATEMENT_FORM + 1],
  ])('are not wrong where they are kept of %s form, and are kept of this one once more', async (_, form) => {
    const operator = createCli({ url: own.url, keys });
    await postThen(own.db, '2026-01-31', await standingApproval(own.db, keyring));
    const closed = { state: 'closed', statements: 3 };
    expect(await operator.json('period', 'close', '2026-01')).toMatchObject(closed);
    expect(await comparedOf(own.db)).toEqual({ checked: 3, differences: 0, notCompared: 0 });
    await asOwner(
      own.url,
      `SET session_replication_role = replica;
       UPDATE statement_digests SET form = ${form}, sha256 = repeat('0', 64)`,
    );
    expect(await comparedOf(own.db)).toEqual({ checked: 0, differences: 0, notCompared: 3 });

    expect(await operator.json('period', 'close', '2026-01')).toMatchObject(closed);
    expect(await comparedOf(own.db)).toEqual({ checked: 3, differences: 0, notCompared: 0 });
    const kept = await rows(own.db, 'SELECT form FROM statement_digests WHERE form = :form', { form });
    expect(kept).toHaveLength(3);
  });

  it('are kept of the form that a version without forms makes, where migrations go back to it', async () => {
    const { merchantId } = await standingApproval(own.db, keyring);
    const kept = [
      ['2026-01-01', 1, 'a'],
      ['2026-01-01', 2, 'b'],
      ['2026-01-01', 3, 'c'],
      ['2026-01-02', 1, 'd'],
      ['2026-01-02', 3, 'e'],
      ['2026-01-03', 3, 'f'],
    ] as const;
    for (const [day, form, digit] of kept) {
      await rows(
        own.db,
        `INSERT INTO statement_digests (party_id, day, currency, form, sha256)
         VALUES (:merchantId, :day, 'NGN', :form, repeat(:digit, 64))`,
        { merchantId, day, form, digit },
      );
    }
    const owner = knex({ client: 'pg', connection: own.url, pool: { min: 0, max: 1 } });
    try {
      await down(owner);
      const left = `SELECT day::text, left(sha256, 1) AS digit FROM statement_digests ORDER BY day`;
      expect(await rows(own.db, left, {}, 'anew')).toEqual([
        { day: '2026-01-01', digit: 'b' },
        { day: '2026-01-02', digit: 'd' },
      ]);
      await expect(owner.raw('DELETE FROM statement_digests')).rejects.toThrow('append-only');
      await up(owner);
    } finally {
      await owner.destroy();
    }
    expect(await comparedOf(own.db)).toMatchObject({ notCompared: 2 });
  });
});
