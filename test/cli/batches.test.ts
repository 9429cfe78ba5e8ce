import { makeKeyring } from '../../src/database/keyring/keyring';
import { createCli } from '../support/cli';
import { createTestDatabase } from '../support/database';
import { standingApproval } from '../support/standing';

it('"batches fail" gives a batch up once, on record', async () => {
  const keys = makeKeyring();
  const test = await createTestDatabase();
  const cli = createCli(test, keys, { DATABASE_OWNER_URL: test.url });
  const { bankId } = await standingApproval(test.db);
  await test.db.rows`
    INSERT INTO customer_batches (id, bank_id, total, status) VALUES ('bat_1', ${bankId}, 600, 'processing')`;
  expect(await cli.json('batches', 'fail', 'bat_1', '--reason', 'ticket 9')).toEqual({
    batchId: 'bat_1',
    status: 'failed',
  });
  expect(await cli.run('batches', 'fail', 'bat_1')).toMatchObject({ code: 1 });
  const { events } = await cli.json<{ events: object[] }>('audit');
  expect(events.slice(-1)).toMatchObject([{ action: 'batch.failed', reason: 'ticket 9', entityId: bankId }]);
  await test.drop();
});
