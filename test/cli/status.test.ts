import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile } from '../support/database';
import { answerBill, charge } from '../support/settled';
import { standingApproval } from '../support/standing';
import { keys } from '../support/keyring';

const test = databaseOfFile();
// No Temporal is there, which is told, and keeps nothing else from being told.
const cli = createCli(test, keys, { TEMPORAL_ADDRESS: '127.0.0.1:1' });
const told = async <Output>() => JSON.parse((await cli.run('status', '--json')).out) as Output;

it('tells what has waited for Temporal, of calls before the rest, and exits with 1 where not ready', async () => {
  await test.db.rows`
    INSERT INTO outbox (kind, workflow_id, signal, rank)
    SELECT 'signal', 'recurring/sch_' || n, 'termsChanged', 1 FROM generate_series(1, 100) AS n`;
  await test.db.rows`
    INSERT INTO outbox (kind, workflow_id, start)
    VALUES ('start', 'billing-request/brq_1', '{"type": "billingRequest"}')`;
  await asSchemaLogin(test.url, `UPDATE outbox SET created_at = created_at - interval '2 minutes'`);
  const { code, out } = await cli.run('status');
  expect([code, out]).toEqual([1, expect.stringMatching(/^Service +temporal: does not answer/m)]);
  expect(out).toMatch(
    /1 message waits for Temporal, the oldest for \d{3} s; behind them 100 of webhooks and large changes, the oldest for \d{3} s/,
  );
});

it('counts exceptions by kind, hides no kind behind more of another, and says where it stopped to count', async () => {
  const standing = await standingApproval(test.db);
  const { id: chargeId } = await charge(test.db, standing);
  await answerBill(test.db, standing, chargeId, null);
  const found = await test.db.row<{ id: string }>`SELECT id FROM reconciliation_exceptions`;
  await cli.json('exceptions', 'take', found?.id ?? '');
  await asSchemaLogin(
    test.url,
    `UPDATE reconciliation_exceptions SET recorded_at = clock_timestamp() - interval '75 hours';
     INSERT INTO reconciliation_exceptions (id, kind, bank_id, amount, currency, direction, bank_transaction_id,
         booked_amount, booked_currency, opened_at, recorded_at)
       SELECT 'exc_many_' || n, 'unknown_here', bank_id, amount, currency, 'debit', 'many-' || n,
         amount, currency, opened_at, recorded_at - interval '10 days'
       FROM reconciliation_exceptions, generate_series(1, 10001) AS n`,
  );
  type Kind = Record<string, unknown>;
  const { exceptions } = await told<Record<'exceptions', Kind & { kinds: Kind[] }>>();
  const byKind = new Map(exceptions.kinds.map((one) => [one['kind'], one]));
  const contradicted = byKind.get('conflicting_answer');
  expect(contradicted).toMatchObject({ open: 0, investigating: 1, isMinimum: false });
  expect(Math.floor(Number(contradicted?.['oldestAgeS']) / 3_600)).toBe(75);
  expect(byKind.get('unknown_here')).toMatchObject({ open: 10_000, investigating: 0, isMinimum: true });
  expect(exceptions).toMatchObject({ open: 10_000, investigating: 1, isMinimum: true });

  const { out } = await cli.run('status');
  expect(out).toMatch(/^Exceptions +at least 10000 open, at least 1 investigating$/m);
  expect(out).toMatch(/unknown_here +│ +at least 10000 +│ +at least 0 /);
  expect(out).toMatch(/conflicting_answer +│ +0 +│ +1 +│ +3 d/);
});
