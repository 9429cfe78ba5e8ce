import { Client } from 'pg';
import { digestOf } from '../../src/files/statement-file';
import { readDigest, readFinality } from '../../src/database/ledger/read-statement';
import { keepResult } from '../../src/database/verify/nightly-result';
import { onDay } from '../../src/domain/books/statement';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile, unrecorded } from '../support/database';
import { eventually } from '../support/engine';
import { postThen } from '../support/ledger';
import { waitsForALock } from '../support/open-transaction';
import { answerBill, charge } from '../support/settled';
import { standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
const cli = createCli(test, keys);

/** The last result of `books verify`. */
const verified = (differences: number) => keepResult(test.db, { compared: {}, differences, found: [] }, null);

/** As if more had moved than is hashed while somebody waits. */
const makeLong = () => asSchemaLogin(test.url, 'UPDATE ledger_balance_changes SET count = 10001');
const said = (message: string) => ({ code: 1, out: '', err: expect.stringContaining(message) as string });

/** The SHA-256 that is kept of a party's statement, and that of the statement as it is now. */
async function digestsOf(party: { entityId: string; role: 'bank' | 'merchant' | 'provider' }, date: string) {
  const of = { party, days: onDay(date), currency: 'NGN' };
  const { edition } = await readFinality(test.db, of.days, party);
  return { kept: await readDigest(test.db, of, edition), made: await digestOf(test.db, of) };
}

/** Runs a close, and the work once the close waits to read the lines of a long statement. */
async function whileHashing(month: string, work: () => Promise<unknown>) {
  const holder = new Client(test.url);
  await holder.connect();
  try {
    await holder.query('BEGIN; LOCK refunds');
    const closing = cli.run('period', 'close', month);
    await waitsForALock(test.db);
    await work();
    await holder.query('COMMIT');
    return await closing;
  } finally {
    await holder.end();
  }
}

it('writes in no transaction while it hashes, for which every feed would wait, also where the month was reopened', async () => {
  const { bankId, merchantId } = await standingApproval(test.db);
  await postThen(test.db, '2025-10-31', { bankId, merchantId });
  await makeLong();
  await verified(0);
  const hashing: unknown[] = [];
  const look = async () =>
    hashing.push(
      ...(await test.db.rows`
        SELECT backend_xid FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE relation = 'refunds'::regclass AND NOT granted`),
    );
  expect(await whileHashing('2025-10', look)).toMatchObject({ code: 0 });
  await cli.json('period', 'reopen', '2025-10', '--reason', 'TICKET-8');
  await postThen(test.db, '2025-10-31', { bankId, merchantId });
  await verified(0);
  expect(await whileHashing('2025-10', look)).toMatchObject({ code: 0 });
  expect(hashing).toEqual([{ backendXid: null }, { backendXid: null }]);
  const { kept, made } = await digestsOf({ entityId: merchantId, role: 'merchant' }, '2025-10-31');
  expect(kept).toBe(made);
});

it('refuses a reopened month that took a correction while it was hashed', async () => {
  const { bankId, merchantId } = await standingApproval(test.db);
  await postThen(test.db, '2025-11-30', { bankId, merchantId });
  await makeLong();
  await verified(0);
  await cli.json('period', 'close', '2025-11');
  await cli.json('period', 'reopen', '2025-11', '--reason', 'TICKET-9');
  const corrected = await whileHashing('2025-11', async () => {
    await postThen(test.db, '2025-11-30', { bankId, merchantId });
    await verified(0);
  });
  expect(corrected).toMatchObject(
    said('2025-11 has changed while its statements were hashed: close it again.'),
  );
  await cli.json('period', 'close', '2025-11');
  const { kept, made } = await digestsOf({ entityId: merchantId, role: 'merchant' }, '2025-11-30');
  expect(kept).toBe(made);
});

it('leaves a month open whose close was interrupted before its long statements were kept', async () => {
  const { bankId, merchantId } = await standingApproval(test.db);
  await postThen(test.db, '2025-12-30', { bankId, merchantId });
  await makeLong();
  await verified(0);
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
  expect(await test.db.rows`SELECT FROM ledger_periods WHERE month = '2025-12-01'`).toEqual([]);

  expect(await cli.json('period', 'close', '2025-12')).toMatchObject({ changed: true, statements: 6 });
  const { kept, made } = await digestsOf({ entityId: merchantId, role: 'merchant' }, '2025-12-30');
  expect(kept).toBe(made);
});

it('closes a month that is over, keeps its long statements, and keeps them once more after it was reopened and corrected', async () => {
  const standing = await standingApproval(test.db);
  const { bankId, merchantId, providerId } = standing;
  const files = () =>
    Promise.all([
      digestsOf({ entityId: bankId, role: 'bank' }, '2026-01-15'),
      digestsOf({ entityId: merchantId, role: 'merchant' }, '2026-01-15'),
      digestsOf({ entityId: providerId, role: 'provider' }, '2026-01-15'),
    ]);
  const chargedThen = async () => {
    const { id } = await charge(test.db, standing);
    const then = '2026-01-15T12:00:00Z';
    await asSchemaLogin(
      test.url,
      `SET session_replication_role = replica;
       UPDATE billing_requests SET closed_at = '${then}', created_at = '${then}' WHERE id = '${id}';
       UPDATE ledger_entries SET settled_at = '${then}', settlement_day = '${then}' WHERE resource_id = '${id}';
       UPDATE ledger_balance_changes SET day = '${then}' WHERE party_id IN ('${bankId}', '${merchantId}')`,
    );
  };
  await chargedThen();
  await makeLong();
  // This one is short: it is made when it is asked for. The month is as long as its longest day.
  await postThen(test.db, '2026-01-31', { bankId, merchantId });
  await verified(0);
  const closed = { period: '2026-01', state: 'closed', changed: true, statements: 6 };
  expect(await cli.json('period', 'close', '2026-01')).toMatchObject(closed);
  expect(await cli.run('period', 'close', '2026-01')).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /^2026-01 is closed already: 6 statements of more than 10000 lines kept by SHA-256\n/,
    ) as string,
  });
  expect(await test.db.rows`SELECT FROM statement_digests WHERE first_day >= '2026-01-01'`).toHaveLength(6);
  const first = await files();
  for (const { kept, made } of first) expect(kept).toBe(made);

  expect(await cli.run('period', 'reopen', '2026-01')).toMatchObject(said('--reason'));
  expect(await cli.json('period', 'reopen', '2026-01', '--reason', 'TICKET-7')).toEqual({
    period: '2026-01',
    state: 'reopened',
    changed: true,
  });
  await chargedThen();
  for (const { kept } of await files()) expect(kept).toBeUndefined();

  // The comparison that vouched for the month has not seen the correction.
  const again = await cli.run('period', 'close', '2026-01');
  expect(again).toMatchObject(said('and the month has changed until 20'));
  await verified(0);
  await cli.json('period', 'close', '2026-01');
  for (const [n, { kept, made }] of (await files()).entries()) {
    expect(kept).toBe(made);
    expect(kept).not.toBe(first[n]?.kept);
  }
  const { events } = await cli.json<{ events: object[] }>('audit');
  expect(events.slice(-3)).toMatchObject([
    { action: 'period.closed', after: { month: '2026-01' } },
    { action: 'period.reopened', reason: 'TICKET-7', after: { month: '2026-01', reopenings: 1 } },
    { action: 'period.closed' },
  ]);
});

it('prints what moved in the month, what is open and what no file reaches, and when the books were compared', async () => {
  const standing = await standingApproval(test.db);
  const { bankId } = standing;
  await postThen(test.db, '2026-04-29', standing);
  await postThen(test.db, '2026-04-30', standing);
  await postThen(test.db, '2026-04-30', standing, 'JPY');
  await postThen(test.db, '2026-05-01', standing);
  const denied = await charge(test.db, standing);
  await answerBill(test.db, standing, denied.id, null);
  await asSchemaLogin(
    test.url,
    `UPDATE expected_bookings SET settlement_day = '2026-04-30' WHERE bank_id = '${bankId}'`,
  );
  await verified(0);
  expect(await cli.json<object>('period', 'close', '2026-04')).toMatchObject({
    changed: true,
    totals: [
      { currency: 'JPY', kind: 'charge', count: 1, amount: 1 },
      { currency: 'NGN', kind: 'charge', count: 2, amount: 0.02 },
    ],
    exceptionsOpen: [{ kind: 'conflicting_answer', currency: 'NGN', count: 1, amount: 1 }],
    bookingsUnreached: expect.arrayContaining([
      {
        bankId,
        name: 'Bank',
        currency: 'NGN',
        bookings: 1,
        isMinimum: false,
        amount: 1,
        since: '2026-04-30',
        reached: null,
      },
    ]) as object[],
    books: { differences: 0, verifiedAt: expect.stringMatching(/^20/) as string },
  });
  const { out } = await cli.run('period', 'close', '2026-04');
  expect(out).toMatch(/charges +│ 2 +│ NGN 0\.02/);
  expect(out).toMatch(/conflicting_answer +│ 1 +│ NGN 1\.00/);
  expect(out).toMatch(/\nBooks: right, as of 20/);
  expect(out.endsWith((await cli.run('period', 'show', '2026-04')).out)).toBe(true);
});

it('refuses a month while the books differ or were never compared, unless told why', async () => {
  await postThen(test.db, '2026-05-31', await standingApproval(test.db));
  await verified(3);
  const close = (...more: string[]) => cli.run('period', 'close', '2026-05', ...more);
  const isOpen = async () =>
    (await test.db.rows`SELECT FROM ledger_periods WHERE month = '2026-05-01'`).length === 0;
  expect(await close()).toMatchObject(said('The last "books verify" found 3 differences'));
  await asSchemaLogin(test.url, 'UPDATE books_verified SET differences = NULL');
  expect(await close()).toMatchObject(said('The books were never compared'));
  await verified(3);
  expect(await close('--despite-differences')).toMatchObject(said('--despite-differences needs --reason'));
  expect(await isOpen()).toBe(true);

  const told = await close('--despite-differences', '--reason', 'TICKET-3');
  expect(told).toMatchObject({ code: 0, out: expect.stringMatching(/Books: 3 differences/) as string });
  expect(await isOpen()).toBe(false);
  const { events } = await cli.json<{ events: object[] }>('audit');
  expect(events.at(-1)).toMatchObject({
    action: 'period.closed',
    reason: 'TICKET-3',
    after: { month: '2026-05', despite: { differences: 3 } },
  });
});

it('refuses a month that "books verify" has not seen to its end, unless told why', async () => {
  await postThen(test.db, '2026-06-29', await standingApproval(test.db));
  await unrecorded(
    test.url,
    `UPDATE ledger_entries SET recorded_at = '2026-06-29' WHERE settlement_day >= '2026-06-01'`,
  );
  await verified(0);
  // The month ends at midnight in Lagos.
  const verifiedAt = (moment: string) =>
    asSchemaLogin(test.url, `UPDATE books_verified SET verified_at = '${moment}'`);
  await verifiedAt('2026-06-30T22:59:59.999Z');
  const close = (...more: string[]) => cli.run('period', 'close', '2026-06', ...more);
  expect(await close()).toMatchObject(
    said(
      'The last "books verify" ended at 2026-06-30T22:59:59.999Z, and the month has changed until 2026-06-30T23:00:00.000Z: run "assent books verify"',
    ),
  );
  expect(await close('--despite-differences', '--reason', 'TICKET-4')).toMatchObject({ code: 0 });
  const { events } = await cli.json<{ events: object[] }>('audit');
  expect(events.at(-1)).toMatchObject({
    after: { month: '2026-06', despite: { differences: 0, verifiedAt: '2026-06-30T22:59:59.999Z' } },
  });
  await cli.json('period', 'reopen', '2026-06', '--reason', 'TICKET-5');
  await verifiedAt('2026-06-30T23:00:00Z');
  expect(await close()).toMatchObject({ code: 0 });
});

it.each([
  ['close 2999-01', '2999-01 is not over'],
  ['close 2026-13', '2026-13 is no month'],
  ['close january', 'january is no month'],
  ['reopen 2026-07 --reason x', '2026-07 is not closed'],
])('refuses %s', async (words, message) => {
  expect(await cli.run('period', ...words.split(' '))).toMatchObject(said(message));
});
