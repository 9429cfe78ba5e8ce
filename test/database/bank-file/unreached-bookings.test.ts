import { lateBookings } from '../../../src/database/bank-file/unreached-bookings';
import { addDays, calendarDay } from '../../../src/domain/calendar';
import { sendFile } from '../../support/bank-file';
import { asSchemaLogin, databaseOfFile } from '../../support/database';
import { postThen } from '../../support/ledger';
import { standingApproval } from '../../support/standing';

const test = databaseOfFile();

const daysAgo = (days: number) => addDays(calendarDay(new Date(), 'Africa/Lagos'), -days);

it('counts what no file reaches without reading what a file has passed and could not report', async () => {
  const standing = await standingApproval(test.db);
  const { bankId } = standing;
  const reached = daysAgo(30);
  const line = { id: 'any', direction: 'debit', amount: 1, day: reached } as const;
  await sendFile(test.db, bankId, [line], { from: daysAgo(60) });
  for (const currency of ['NGN', 'USD']) await postThen(test.db, daysAgo(40), standing, currency);
  await asSchemaLogin(
    test.url,
    `INSERT INTO expected_bookings (bank_id, identified_by, identifier, direction, amount, currency, settlement_day,
         billing_request_id)
       SELECT '${bankId}', 'bankTransactionId', n, 'debit', 100, CASE n WHEN 1 THEN 'USD' ELSE 'NGN' END,
         '${daysAgo(40)}', 'brq_' || n FROM generate_series(1, 20000) AS n;
     ANALYZE expected_bookings`,
  );
  const { late, read } = await test.db.transaction(async (trx) => {
    const found = await lateBookings(trx, 7);
    const counted = await trx.oneRow<{ read: number }>`
      SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables
      WHERE relname = 'expected_bookings'`;
    return { late: found, ...counted };
  });
  expect(late).toEqual([
    {
      bankId,
      name: 'Bank',
      currency: 'USD',
      bookings: 1,
      isMinimum: false,
      amount: 100n,
      since: daysAgo(40),
      reached: null,
    },
  ]);
  expect(read).toBeLessThan(100);
});
