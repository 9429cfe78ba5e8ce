import { rows } from '../../src/database/connection';
import { newId } from '../../src/database/ids';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createCli } from '../support/cli';
import { createTestDatabase, type TestDatabase } from '../support/database';
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
    await rows(
      test.db,
      `WITH entry AS (
         INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day)
         VALUES ('charge', :id, '2026-01-31T12:00:00Z', '2026-01-31') RETURNING id)
       INSERT INTO ledger_postings (entry_id, n, party_id, account, direction, amount, currency)
       SELECT entry.id, n, party, account, direction, 1, 'NGN' FROM entry, (VALUES
         (1, :bankId, 'customer_bank', 'debit'), (2, :merchantId, 'merchant', 'credit')) AS p (n, party, account, direction)`,
      { id: newId('billingRequest'), bankId, merchantId },
    );
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

  it('refuses a month that is not over, or none', async () => {
    expect(await cli.run('period', 'close', '2999-01')).toMatchObject(said('2999-01 is not over'));
    expect(await cli.run('period', 'close', '2026-13')).toMatchObject(said('2026-13 is no month'));
    expect(await cli.run('period', 'close', 'january')).toMatchObject(said('january is no month'));
    expect(await cli.run('period', 'reopen', '2025-01', '--reason', 'x')).toMatchObject(
      said('2025-01 is not closed'),
    );
  });
});
