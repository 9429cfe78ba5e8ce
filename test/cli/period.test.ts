import { Client } from 'pg';
import { digestOf } from '../../src/files/statement-file';
import { rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { readDigest, readFinality } from '../../src/database/ledger/read-statement';
import { createCli } from '../support/cli';
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

/** As if more had moved than is hashed while somebody waits. */
const makeLong = (url = test.url) => asOwner(url, 'UPDATE ledger_balance_changes SET count = 10001');
const digests = () => rows(test.db, 'SELECT FROM statement_digests');
const said = (message: string) => ({ code: 1, out: '', err: expect.stringContaining(message) as string });

describe('assent period', () => {
  it('closes a month that is over, keeps its long statements, and reopens it with a reason', async () => {
    const { bankId, merchantId } = await standingApproval(test.db, keyring);
    await postThen(test.db, '2026-01-30', { bankId, merchantId });
    await makeLong();
    // Not this one: it is made when it is asked for.
    await postThen(test.db, '2026-01-31', { bankId, merchantId });
    // Of the bank, the merchant and its provider.
    const closed = { period: '2026-01', state: 'closed', changed: true, statements: 3 };
    expect(await cli.json('period', 'close', '2026-01')).toEqual(closed);
    expect(await digests()).toHaveLength(3);
    expect(await cli.run('period', 'close', '2026-01')).toMatchObject({
      code: 0,
      out: '2026-01 is closed already: 3 statements of more than 10000 lines kept by SHA-256\n',
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

  it('leaves a month open whose close was interrupted before its long statements were kept', async () => {
    const { bankId, merchantId } = await standingApproval(test.db, keyring);
    await postThen(test.db, '2025-12-30', { bankId, merchantId });
    await makeLong();
    const holder = new Client(test.url);
    await holder.connect();
    await holder.query('BEGIN; LOCK statement_digests');
    const closing = cli.run('period', 'close', '2025-12');
    await eventually(async () => {
      const ended = await holder.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'statement_digests'::regclass AND NOT granted`,
      );
      return ended.rowCount === 1;
    });
    expect(await closing).toMatchObject({ code: 1 });
    await holder.query('COMMIT');
    await holder.end();
    expect(await rows(test.db, `SELECT FROM ledger_periods WHERE month = '2025-12-01'`)).toEqual([]);

    expect(await cli.json('period', 'close', '2025-12')).toMatchObject({ changed: true, statements: 3 });
    const party = { entityId: merchantId, role: 'merchant' as const };
    const of = { party, date: '2025-12-30', currency: 'NGN' };
    const { edition } = await readFinality(test.db, 'Africa/Lagos', of.date, party);
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

describe('the files of a closed month', () => {
  let own: TestDatabase;
  beforeEach(async () => {
    own = await createTestDatabase();
  });
  afterEach(() => own.drop());

  it('are kept by their SHA-256, and once more by that of what they became when it was reopened', async () => {
    const operator = createCli({ url: own.url, keys });
    const standing = await standingApproval(own.db, keyring);
    const { bankId, merchantId, providerId } = standing;
    const parties = { bank: bankId, merchant: merchantId, provider: providerId };
    const files = () =>
      Promise.all(
        (['bank', 'merchant', 'provider'] as const).map(async (role) => {
          const party = { entityId: parties[role], role };
          const of = { party, date: '2025-11-15', currency: 'NGN' };
          const { edition } = await readFinality(own.db, 'Africa/Lagos', of.date, party);
          return { kept: await readDigest(own.db, of, edition), made: await digestOf(own.db, of) };
        }),
      );
    const chargedThen = async () => {
      const { id } = await charge(own.db, keyring, standing);
      const then = '2025-11-15T12:00:00Z';
      await asOwner(
        own.url,
        `SET session_replication_role = replica;
         UPDATE billing_requests SET closed_at = '${then}', created_at = '${then}' WHERE id = '${id}';
         UPDATE ledger_entries SET settled_at = '${then}', settlement_day = '${then}' WHERE resource_id = '${id}';
         UPDATE ledger_balance_changes SET day = '${then}' WHERE party_id IN ('${bankId}', '${merchantId}')`,
      );
    };
    await chargedThen();
    await makeLong(own.url);
    await operator.json('period', 'close', '2025-11');
    const first = await files();
    for (const { kept, made } of first) expect(kept).toBe(made);

    await operator.json('period', 'reopen', '2025-11', '--reason', 'TICKET-9');
    await chargedThen();
    for (const { kept } of await files()) expect(kept).toBeUndefined();

    await operator.json('period', 'close', '2025-11');
    for (const [n, { kept, made }] of (await files()).entries()) {
      expect(kept).toBe(made);
      expect(kept).not.toBe(first[n]?.kept);
    }
  });
});
