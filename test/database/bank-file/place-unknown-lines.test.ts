import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { calendarDay } from '../../../src/domain/calendar';
import { sendFile } from '../../support/bank-file';
import { databaseOfFile, unrecorded } from '../../support/database';
import { answerBill, bill } from '../../support/settled';
import { standingApproval } from '../../support/standing';

const test = databaseOfFile();

it('an answer that settles nothing reads none of the many lines that are unknown here beside its own', async () => {
  const standing = await standingApproval(test.db);
  const { bankId } = standing;
  const { id, reference } = await bill(test.db, standing);
  await answerBill(test.db, standing, id, 'A');
  const line = { direction: 'debit', amount: 100, day: calendarDay(new Date(), 'Africa/Lagos') } as const;
  const lines = ['A', 'B'].map((debit) => ({ id: debit, reference, ...line }));
  await sendFile(test.db, bankId, [...lines, { id: 'C', ...line }]);
  const states = () =>
    test.db.rows`
      SELECT bank_transaction_id AS id, state FROM reconciliation_exceptions WHERE id NOT LIKE 'exc_many%' ORDER BY 1`;
  expect(await states()).toEqual([
    { id: 'B', state: 'open' },
    { id: 'C', state: 'open' },
  ]);
  await unrecorded(
    test.url,
    `INSERT INTO reconciliation_exceptions (id, kind, amount, currency, bank_transaction_id, reference, opened_at,
         bank_id, direction, booked_amount, booked_currency, booked_on, first_reported_in, reported_in)
       SELECT 'exc_many_' || n, 'unknown_here', 100, 'NGN', 'many-' || n, 'REF-' || n, clock_timestamp(), '${bankId}',
         'debit', 100, 'NGN', booked_on, reported_in, reported_in
       FROM reconciliation_exceptions, generate_series(1, 5000) AS n WHERE bank_transaction_id = 'C';
     ANALYZE reconciliation_exceptions`,
  );
  const { read } = await test.db.transaction(async (trx) => {
    const approved = { outcome: 'approved', bankTransactionId: 'C', action: null } as const;
    await answerBillingRequest(trx, bankId, id, approved);
    return trx.oneRow<{ read: number }>`
      SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables
      WHERE relname = 'reconciliation_exceptions'`;
  });
  // The line of its own is told of the charge from now on.
  expect(await states()).toEqual([
    { id: 'B', state: 'open' },
    { id: 'C', state: 'resolved' },
  ]);
  expect(read).toBeLessThan(500);
});
