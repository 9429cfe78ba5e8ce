import { row, rows } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring, type Keyring } from '../../src/database/keys/keyring';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { makeSchedule, standingApproval } from '../support/standing';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const LONG_AGO = '2001-01-01T00:00:00Z';

/** A row of a table again, under other keys and as of long ago; how old it is then, in seconds. */
async function ageOfForged(table: string, time: string, keys: Record<string, unknown>): Promise<number> {
  const forged = await row<{ age: number }>(
    test.db,
    `INSERT INTO ${table} SELECT (jsonb_populate_record(t, :changes::jsonb)).* FROM ${table} AS t LIMIT 1
     RETURNING extract(epoch FROM clock_timestamp() - ${time})::float8 AS age`,
    { changes: JSON.stringify({ ...keys, [time]: LONG_AGO }) },
  );
  if (!forged) throw new Error(`${table} is empty`);
  return forged.age;
}

async function young(...forged: Parameters<typeof ageOfForged>): Promise<boolean> {
  const age = await ageOfForged(...forged);
  return age >= 0 && age < 60;
}

async function anyDelivery(keyring: Keyring, entityId: string): Promise<string | undefined> {
  const [deliveryId] = await announce(test.db, keyring, [
    { entityId, webhookType: 'webhook.test', items: [{}] },
  ]);
  return deliveryId;
}

describe('the role that serves', () => {
  it('cannot write a past: when something was recorded is the database’s to say', async () => {
    const keyring = readKeyring(makeKeyring());
    const standing = await standingApproval(test.db, keyring);
    await makeSchedule(test.db, keyring, standing);
    const deliveryId = await anyDelivery(keyring, standing.bankId);
    await rows(
      test.db,
      `INSERT INTO webhook_attempts (delivery_id, n, duration_ms) VALUES (:deliveryId, 1, 1)`,
      {
        deliveryId,
      },
    );
    expect(await young('events', 'recorded_at', { id: 'evt_2', resource_id: 'thing' })).toBe(true);
    expect(await young('schedules', 'recorded_at', { id: 'sch_2' })).toBe(true);
    expect(await young('webhook_deliveries', 'created_at', { id: 'dlv_2', event_id: 'evt_2' })).toBe(true);
    expect(await young('webhook_attempts', 'at', { n: 2 })).toBe(true);
    expect(await young('entities', 'created_at', { id: 'bnk_2', type: 'bank' })).toBe(true);
  });

  it('has every time of record guarded like that, in each table that it may write to', async () => {
    const unguarded = await rows(
      test.db,
      `SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'recorded_at'
         AND has_table_privilege('assent_app', c.oid, 'INSERT')
         AND NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                         WHERE t.tgrelid = c.oid AND p.proname = 'set_record_time_recorded_at')`,
    );
    expect(unguarded).toEqual([]);
  });
});
