import { Client } from 'pg';
import { rotateKey } from '../../../src/database/keys/signing-key';
import { makeKeyring, readKeyring } from '../../../src/database/keyring/keyring';
import { reencrypt } from '../../../src/database/key-rotation/re-encrypt';
import { openDatabase } from '../../../src/database/pool/connection';
import { recordAuditEvent } from '../../../src/database/record/audit-event';
import { chainBooks, chainDifferences } from '../../support/books';
import { databaseOfFile } from '../../support/database';
import { eventually } from '../../support/engine';
import { OPERATOR } from '../../support/operator';
import { charge } from '../../support/settled';
import { standingApproval, type Standing } from '../../support/standing';
import { engineFacts, keyed, keys } from '../../support/keyring';

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
beforeAll(async () => {
  standing = await standingApproval(db);
});

const act = () =>
  db.transaction((trx) =>
    recordAuditEvent(trx, OPERATOR, { action: 'entity.enabled', entityId: standing.merchantId }),
  );
const found = () => chainDifferences(db);

describe('the chains', () => {
  it('come to the last row, are signed once, and are right', async () => {
    await charge(db, standing);
    await act();
    await chainBooks(db);
    expect(await chainBooks(db)).toBe(0);
    expect(await found()).toEqual([]);
    const counts = await db.row`
      SELECT (SELECT count(*) FROM ledger_entries) = (SELECT count(*) FROM ledger_chain) AS ledger,
      (SELECT count(*) FROM events) = (SELECT count(*) FROM event_chain) AS events,
      (SELECT count(*) FROM audit_events) = (SELECT count(*) FROM audit_chain) AS acts,
      (SELECT count(*)::int FROM chain_heads) AS heads`;
    expect(counts).toEqual({ ledger: true, events: true, acts: true, heads: 1 });
  });

  it('get each row once where several workers add to them', async () => {
    await charge(db, standing);
    const chained = await Promise.all([1, 2, 3].map(() => chainBooks(db)));
    expect(chained.reduce((sum, one) => sum + one, 0)).toBe(3);
    expect(await found()).toEqual([]);
  });

  it('get a row that commits late in the run after it, however much was chained meanwhile', async () => {
    const late = new Client(database.url);
    await late.connect();
    await late.query('BEGIN');
    await late.query(`INSERT INTO audit_events (actor, action) VALUES ('operator:late', 'entity.enabled')`);
    // More rows come after it than a run looks through again without a reason.
    await db.query(
      `INSERT INTO audit_events (actor, action) SELECT 'operator:busy', 'entity.enabled' FROM generate_series(1, 3000)`,
    );
    for (let i = 0; i < 3; i++) await chainBooks(db);
    await late.query('COMMIT');
    await late.end();
    expect(await chainBooks(db)).toBe(1);
    // Runs begin after settled rows once all transactions of the server that were open have ended.
    await eventually(async () => {
      await chainBooks(db);
      const progress = await db.row<{
        after: string;
      }>`SELECT after FROM chain_progress WHERE stream = 'audit'`;
      return Number(progress?.after) > 1_000;
    });
    expect(await found()).toEqual([]);
  });

  it('stay right when keys are rotated and values encrypted again, and need no old key', async () => {
    await rotateKey(db, OPERATOR, 'chain_keys');
    await chainBooks(db);
    const newer = readKeyring(`${makeKeyring()},${keys}`);
    const owner = openDatabase(database.url, 2, engineFacts, { role: 'none' });
    await reencrypt(keyed(owner, newer), OPERATOR, () => undefined).finally(() => owner.destroy());
    expect(await chainDifferences(keyed(db, newer))).toEqual([]);
    expect(await db.rows`SELECT kid FROM chain_keys`).toHaveLength(2);
  });
});
