import { postEntries } from '../../../src/database/ledger/post-entries';
import { closePeriod, reopenPeriod } from '../../../src/database/ledger/close-period';
import { readFinality } from '../../../src/database/ledger/read-statement';
import { onDay } from '../../../src/domain/books/statement';
import { asSchemaLogin, databaseOfFile } from '../../support/database';
import { letMidnightPass } from '../../support/midnight';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import { anyCharge, postThen } from '../../support/ledger';
import { OPERATOR } from '../../support/operator';
import { standingApproval, type Standing } from '../../support/standing';

/** The close of a month, and what comes after it. */

const timeZone = 'Africa/Lagos';

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
beforeAll(async () => {
  standing = await standingApproval(db);
});
beforeEach(letMidnightPass);
afterEach(() =>
  asSchemaLogin(
    database.url,
    `SET session_replication_role = replica;
     DELETE FROM ledger_periods; DELETE FROM ledger_postings; DELETE FROM ledger_entries;
     DELETE FROM audit_events WHERE action LIKE 'period.%'; UPDATE entities SET clock_offset = '0'`,
  ),
);

const close = (month: string) => db.transaction((trx) => closePeriod(trx, OPERATOR, month));
const reopen = (month: string) => db.transaction((trx) => reopenPeriod(trx, OPERATOR, month));

const chargeOf = (day: string) => anyCharge(standing, new Date(`${day}T12:00:00+01:00`));

async function post(day: string): Promise<string> {
  const entry = chargeOf(day);
  await db.transaction((trx) => postEntries(trx, [entry]));
  return entry.resourceId;
}

const bookedTo = async (resourceId: string) =>
  db.row`
  SELECT settlement_day::text AS day, belongs_to::text AS "belongsTo" FROM ledger_entries
  WHERE resource_id = ${resourceId}`;
const today = async () =>
  (await db.row<{ day: string }>`SELECT (clock_timestamp() AT TIME ZONE ${timeZone})::date::text AS day`)
    ?.day ?? '';
const finality = (date: string) => readFinality(db, onDay(date), { entityId: standing.bankId, role: 'bank' });
const acts = async () =>
  (
    await db.rows<{ act: string }>`
  SELECT action || ' ' || (after->>'month') AS act FROM audit_events WHERE action LIKE 'period.%' ORDER BY id`
  ).map(({ act }) => act);

const triggerOf = async () =>
  (
    await db.row<{ made: string }>`
  SELECT pg_get_triggerdef(oid) AS made FROM pg_trigger WHERE tgname = 'ledger_entries_closed'`
  )?.made ?? '';
const replaceTrigger = (made: string) =>
  asSchemaLogin(database.url, `DROP TRIGGER ledger_entries_closed ON ledger_entries; ${made}`);

describe('a closed month', () => {
  it.each(['2026-02-01T00:00:00+01:00', '2026-02-01T00:00:00+14:00', '2026-02-02T12:00:00Z'])(
    'takes nothing for its last day in the first days after it, either: %s',
    async (at) => {
      // As if it were this moment for whatever refuses entries of closed months.
      const made = await triggerOf();
      await replaceTrigger(made.replace('clock_timestamp()', `'${at}'::timestamptz`));
      await close('2026-01-01');
      await expect(postThen(db, '2026-01-31', standing)).rejects.toThrow('the month of 2026-01-31 is closed');
      await postThen(db, '2026-02-01', standing);
      await reopen('2026-01-01');
      await postThen(db, '2026-01-31', standing);
      await replaceTrigger(made);
    },
  );

  it('takes nothing more: what belongs to it goes to today, and says so', async () => {
    await postThen(db, '2026-01-31', standing);
    expect(await close('2026-01-01')).toBe(true);
    expect(await close('2026-01-01')).toBe(false);
    expect(await bookedTo(await post('2026-01-31'))).toEqual({ day: await today(), belongsTo: '2026-01-31' });
    // Nor by any other way.
    await expect(postThen(db, '2026-01-31', standing)).rejects.toThrow('the month of 2026-01-31 is closed');
    expect(await finality('2026-01-31')).toMatchObject({ final: true, edition: 0 });
    expect(await acts()).toEqual(['period.closed 2026-01']);
  });

  it('that is reopened takes what belongs to it until it is closed again, and neither it nor what opens with its balance is final meanwhile', async () => {
    await close('2026-01-01');
    await reopen('2026-01-01');
    expect(await finality('2026-01-31')).toMatchObject({ final: false, edition: 1 });
    expect(await finality('2026-02-01')).toMatchObject({ final: false, edition: 0 });
    expect(await finality('2025-12-31')).toMatchObject({ final: true, edition: 0 });
    expect(await bookedTo(await post('2026-01-31'))).toEqual({ day: '2026-01-31', belongsTo: null });
    expect(await bookedTo(await post('2026-02-01'))).toEqual({ day: await today(), belongsTo: '2026-02-01' });
    expect(await close('2026-01-01')).toBe(true);
    expect(await finality('2026-01-31')).toMatchObject({ final: true, edition: 1 });
    expect(await finality('2026-02-01')).toMatchObject({ final: true, edition: 0 });
    expect(await bookedTo(await post('2026-01-31'))).toMatchObject({ belongsTo: '2026-01-31' });
    expect(await acts()).toEqual([
      'period.closed 2026-01',
      'period.reopened 2026-01',
      'period.closed 2026-01',
    ]);
  });

  it('is one that is over in real time, whatever a test clock says', async () => {
    const month = `${(await today()).slice(0, 7)}-01`;
    await db.rows`UPDATE entities SET clock_offset = '2 years'`;
    await expect(close(month)).rejects.toThrow(`${month.slice(0, 7)} is not over: close it later.`);
    await expect(reopen(month)).rejects.toThrow('is not closed');
    expect(await acts()).toEqual([]);
  });

  it('follows those before it, and is reopened before them', async () => {
    await postThen(db, '2026-01-31', standing);
    await expect(close('2026-03-01')).rejects.toThrow('2026-01 is open: close it before 2026-03.');
    await close('2026-01-01');
    // Nothing was ever posted to February.
    expect(await close('2026-03-01')).toBe(true);
    await expect(reopen('2026-01-01')).rejects.toThrow('2026-03 is closed: reopen it first.');
    await reopen('2026-03-01');
    await reopen('2026-01-01');
    await expect(close('2026-03-01')).rejects.toThrow('2026-01 is open');
  });
});

describe('the close of a month', () => {
  it('is refused while what has read its clock in that month is not committed', async () => {
    const settling = await openTransaction(db);
    await settling.trx.rows`
      SELECT pg_advisory_xact_lock_shared(settling_biller('mch_1'),
        settling_quarter('2026-01-31T23:59:59+01:00'))`;
    await expect(close('2026-01-01')).rejects.toThrow(
      'a charge of 2026-01 is still being settled: try again.',
    );
    await settling.commit();
    expect(await close('2026-01-01')).toBe(true);
  });

  it('has a correction that is under way, or turns it away: never both, never neither', async () => {
    await close('2026-01-01');
    await reopen('2026-01-01');
    const correcting = await openTransaction(db);
    const first = chargeOf('2026-01-31');
    await postEntries(correcting.trx, [first]);
    const closing = close('2026-01-01');
    await waitsForALock(db);
    await correcting.commit();
    expect(await closing).toBe(true);
    expect(await bookedTo(first.resourceId)).toEqual({ day: '2026-01-31', belongsTo: null });

    await reopen('2026-01-01');
    const closer = await openTransaction(db);
    await closePeriod(closer.trx, OPERATOR, '2026-01-01');
    const late = post('2026-01-31');
    await waitsForALock(db);
    await closer.commit();
    expect(await bookedTo(await late)).toEqual({ day: await today(), belongsTo: '2026-01-31' });
  });
});
