import { openExceptions } from '../../../src/database/reconciliation-exception/open-exceptions';
import { createMetrics } from '../../../src/process/metrics';
import { measureService } from '../../../src/process/service-metrics';
import { databaseOfFile, unrecorded } from '../../support/database';
import { valueOf } from '../../support/metrics';
import { answerBill, bill } from '../../support/settled';
import { standingApproval, type Standing } from '../../support/standing';

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
beforeEach(async () => {
  standing = await standingApproval(db);
});

const charge = () => bill(db, standing);

const exceptionsOf = (id: string) =>
  db.rows`
  SELECT kind, state, bank_transaction_id AS "bankTransactionId" FROM reconciliation_exceptions
  WHERE billing_request_id = ${id} ORDER BY recorded_at`;

const open = (billingRequestId: string, kind: 'unanswered' | 'credit_undelivered') =>
  db.transaction((trx) => openExceptions(trx, 'network', [{ kind, billingRequestId, refundId: null }]));

/** The bank approves, by the id of another debit each time. */
const answer = (id: string, bankTransactionId: string) => answerBill(db, standing, id, bankTransactionId);

it('a bank that goes on contradicting itself fills no list: one exception, with a hundred answers beneath it', async () => {
  const { id } = await charge();
  await answer(id, `tx-${id}`);
  for (let n = 0; n < 103; n++) {
    expect(await answer(id, `again-${n}-${id}`)).toMatchObject({ agreed: false, status: 'successful' });
  }
  expect(await exceptionsOf(id)).toHaveLength(1);
  const [kept] = await db.rows`
    SELECT count(*)::int AS answers FROM exception_answers a
    JOIN reconciliation_exceptions x ON x.id = a.exception_id
    WHERE x.billing_request_id = ${id}`;
  expect(kept).toEqual({ answers: 100 });
});

it('many are opened at once: those that are new, each told once to both sides', async () => {
  const charges = [await charge(), await charge(), await charge()];
  await open(charges[1]?.id ?? '', 'unanswered');
  const cases = charges.map(({ id }) => ({
    kind: 'missing_at_bank' as const,
    billingRequestId: id,
    refundId: null,
    bankId: standing.bankId,
    bankTransactionId: `tx-${id}`,
    direction: 'debit' as const,
    amount: 100n,
    currency: 'NGN',
    bookedAmount: null,
    bookedCurrency: null,
    reference: null,
  }));

  const opened = await db.transaction((trx) => openExceptions(trx, 'bank', [...cases, ...cases]));

  expect([...opened.keys()]).toEqual([0, 2]);
  const kinds = await Promise.all(charges.map(({ id }) => exceptionsOf(id)));
  expect(kinds).toMatchObject([
    [{ kind: 'missing_at_bank', bankTransactionId: `tx-${charges[0]?.id}` }],
    [{ kind: 'unanswered' }],
    [{ kind: 'missing_at_bank' }],
  ]);
  const told = await db.rows`
    SELECT id, announced FROM reconciliation_exceptions WHERE id = ANY(${[...opened.values()]}) ORDER BY id`;
  expect(told).toEqual([...opened.values()].toSorted().map((id) => ({ id, announced: 1 })));
});

it('is counted by its kind in what every process tells its operators', async () => {
  const { id } = await charge();
  await open(id, 'credit_undelivered');
  const registry = createMetrics();
  measureService(registry, db, 7);
  const series = 'assent_exceptions_unresolved{kind="credit_undelivered"}';
  const before = Number(valueOf(await registry.metrics(), series));
  expect(before).toBeGreaterThan(0);
  const age = valueOf(
    await registry.metrics(),
    'assent_exceptions_oldest_age_seconds{kind="credit_undelivered"}',
  );
  expect(age).toBeGreaterThan(0);
  await unrecorded(
    database.url,
    `UPDATE reconciliation_exceptions SET state = 'resolved', resolution = 'no_difference', resolved_at = now()
     WHERE billing_request_id = '${id}'`,
  );
  const later = createMetrics();
  measureService(later, db, 7);
  expect(valueOf(await later.metrics(), series)).toBe(before - 1);
});
