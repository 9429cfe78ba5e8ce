import { randomUUID } from 'node:crypto';
import { ApiClient } from '../test/parties/client';
import { Operator, type Identity } from '../test/parties/operator';
import { onDatabase } from '../src/database/pool/one-connection';
import { say, type Stops } from '../scripts/command';
import { engineEnvironment } from '../test/launch/settings';
import { startEngine, type BenchEngine } from './engine';

/** An engine with one bank that has one customer, and a merchant. */
export interface Business {
  engine: BenchEngine;
  operator: Operator;
  bank: Identity;
  merchant: Identity;
  bankApi: ApiClient;
}

export async function openBusiness(
  settings: Record<string, string>,
  signal: AbortSignal,
  stops: Stops,
): Promise<Business> {
  const environment = engineEnvironment(settings);
  const engine = await startEngine(environment, { apis: 1, workers: 1 }, say, signal);
  stops.push(() => engine.stop());
  const operator = new Operator(engine.folder, environment);
  const bank = await operator.createEntity('bank', 'Bank');
  const merchant = await operator.createEntity('merchant', 'Merchant');
  const bankApi = new ApiClient([engine.apiUrl], bank);
  const { status } = await bankApi.post('/v1/bank/customers', { customers: [PERSON] }, randomUUID());
  if (status !== 201) throw new Error(`no customer was made: ${status}`);
  return { engine, operator, bank, merchant, bankApi };
}

const PERSON = {
  clientRef: 'c1',
  firstname: 'Ada',
  lastname: 'Obi',
  accountName: 'OBI ADA',
  email: 'ada@example.com',
  country: 'NG',
  accountNumber: '0123456789',
};

/** In kobo. */
const AMOUNT = 10_000;

/**
 * Charges as they would be after as many of business, straight in the tables, with the entries of
 * those that were paid.
 *
 * @param from SQL of the moment of the first; the others follow evenly until `to`
 */
export async function insertCharges(
  { engine, bank, merchant }: Pick<Business, 'engine' | 'bank' | 'merchant'>,
  { count, status, from, to }: { count: number; status: 'successful' | 'declined'; from: string; to: string },
): Promise<void> {
  say(`${count} charges …`);
  await onDatabase(engine.ownerUrl, async (client) => {
    const [bankId, merchantId] = [bank, merchant].map(({ entityId }) => client.escapeLiteral(entityId));
    await client.query(
      `INSERT INTO billing_requests (id, reference, batch_id, merchant_id, customer_id, bank_id,
         lookup_id, amount, currency, description, approval_required, status, closed_by, bank_transaction_id,
         decline_reason, expires_at, closed_at, workflow_id, created_at)
       SELECT 'brq_' || lpad(n::text, 26, '0'), 'R' || lpad(n::text, 20, '0'),
         'bat_' || lpad(n::text, 26, '0'), ${merchantId}, c.id, c.bank_id, c.lookup_id, ${AMOUNT}, 'NGN',
         'Subscription, gold plan', true, $1, 'bank',
         CASE $1 WHEN 'successful' THEN 'FT' || n END, CASE $1 WHEN 'declined' THEN 'insufficient_funds' END, at, at,
         'billing-request/' || n, at
       FROM (SELECT id, bank_id, lookup_id FROM customers WHERE bank_id = ${bankId} ORDER BY id LIMIT 1) AS c,
         (SELECT ${from} AS first, ${to} AS last) AS span, generate_series(0, ${count} - 1) AS n,
         LATERAL (SELECT first + (last - first) * (n::float8 / ${count}) AS at) AS one`,
      [status],
    );
    // Triggers for each entry would take longer than all that is measured.
    await client.query(`
      ALTER TABLE ledger_entries DISABLE TRIGGER USER;
      BEGIN;
      INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day, commit_id)
        SELECT 'charge', id, closed_at, (closed_at AT TIME ZONE 'Africa/Lagos')::date, md5(id)::uuid
        FROM billing_requests WHERE status = 'successful';
      INSERT INTO ledger_postings (entry_id, n, party_id, account, currency, direction, amount)
        SELECT e.id, side.n, side.party, side.account, 'NGN', side.direction, ${AMOUNT}
        FROM ledger_entries e, LATERAL (VALUES
          (1, ${bankId}, 'customer_bank', 'debit'), (2, ${merchantId}, 'merchant', 'credit'))
          AS side (n, party, account, direction);
      COMMIT;
      ALTER TABLE ledger_entries ENABLE TRIGGER USER`);
    // As the workflow `sweep` does each minute.
    await client.query('SELECT fold_ledger_balances($1)', [2 * count]);
    await client.query('VACUUM ANALYZE');
  });
}
