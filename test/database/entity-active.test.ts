import { rows } from '../../src/database/pool/connection';
import { holdActive, setEntityStatus } from '../../src/database/entity/create-entity';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { eventually } from '../support/engine';
import { openTransaction, waitsForALock } from '../support/open-transaction';
import { standingApproval } from '../support/standing';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('an entity that is at work without a pause', () => {
  it('is disabled after the work in hand, and before any that comes later', async () => {
    const { db } = test;
    const { merchantId } = await standingApproval(db, readKeyring(makeKeyring()));
    const inHand = await openTransaction(db);
    expect(await holdActive(inHand.trx, merchantId)).toBe(true);
    const disabled = setEntityStatus(db, merchantId, 'disabled');
    await waitsForALock(db);
    let passed = false;
    const later = db.transaction(async (trx) => (passed = await holdActive(trx, merchantId)));
    await eventually(async () => passed || (await waiting()) === 2);
    await inHand.commit();
    await disabled;
    expect(await later).toBe(false);

    async function waiting(): Promise<number> {
      const found = await rows(
        db,
        `SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
         WHERE NOT l.granted AND a.datname = current_database()`,
      );
      return found.length;
    }
  });
});
