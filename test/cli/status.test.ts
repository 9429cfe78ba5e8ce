import { Client } from 'pg';
import { admitEntity } from '../../src/database/entity-control/control-entity';
import { announce } from '../../src/database/webhook/announce-webhooks';
import { addDays, calendarDay } from '../../src/domain/calendar';
import { createMetrics } from '../../src/process/metrics';
import { measureService } from '../../src/process/service-metrics';
import { createCli } from '../support/cli';
import { asSchemaLogin, databaseOfFile, unrecorded } from '../support/database';
import { eventually } from '../support/engine';
import { sendBankFile } from '../support/send-bank-file';
import { answerBill, charge } from '../support/settled';
import { standingApproval } from '../support/standing';
import { OPERATOR } from '../support/operator';
import { valueOf } from '../support/metrics';
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

it('tells of a webhook that is not attempted, and of an upload that stands still', async () => {
  const { out: before } = await cli.run('status');
  expect(before).toMatch(/^Webhooks +attempted in time\nUploads +none in hand$/m);
  const bankId = await test.db.transaction(async (trx) => {
    const bank = { type: 'bank', name: 'Bank', webhookUrl: 'https://bank.example/hooks' } as const;
    const { entityId = '' } = (await admitEntity(trx, OPERATOR, bank)) ?? {};
    await announce(trx, [
      { entityId, webhookType: 'webhook.test', items: [{ sequence: 1, text: 'It works' }] },
    ]);
    return entityId;
  });
  await unrecorded(
    test.url,
    `UPDATE webhook_deliveries SET created_at = created_at - interval '2 hours';
     INSERT INTO customer_batches (id, bank_id, total, status, created_at)
       VALUES ('bat_1', '${bankId}', 1, 'processing', clock_timestamp() - interval '3 hours')`,
  );
  const { out } = await cli.run('status');
  expect(out).toMatch(/^Webhooks +an attempt has been due for 72\d\d s$/m);
  expect(out).toMatch(/^Uploads +customer-migrations, the oldest for 108\d\d s$/m);
  expect(await told()).toMatchObject({ uploads: [{ kind: 'customer-migrations' }, { oldestAgeS: 0 }] });
  await unrecorded(test.url, 'DELETE FROM webhook_deliveries; DELETE FROM customer_batches');
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

it('names each bank and currency whose settlements no file reaches after BOOKINGS_LATE_DAYS, and counts them in a metric', async () => {
  const [silent, late, prompt] = [
    await standingApproval(test.db),
    await standingApproval(test.db),
    await standingApproval(test.db),
  ];
  const banks = [silent, late, prompt].map(({ bankId }) => bankId);
  for (const standing of [silent, late, late, prompt]) await charge(test.db, standing);
  const settled = async (daysAgo: number) => {
    const day = addDays(calendarDay(new Date(), 'Africa/Lagos'), -daysAgo);
    await asSchemaLogin(
      test.url,
      `UPDATE expected_bookings SET settlement_day = '${day}' WHERE bank_id IN ('${banks.join("','")}')`,
    );
    return day;
  };
  interface Told {
    bookingsUnreached: { bankId: string }[];
  }
  const unreached = async () =>
    (await told<Told>()).bookingsUnreached.filter(({ bankId }) => banks.includes(bankId));
  // At most seven business days of any week and holidays are not over by then.
  await settled(5);
  expect(await unreached()).toEqual([]);

  const day = await settled(30);
  const earlier = addDays(day, -1);
  const from = addDays(day, -10);
  await sendBankFile(test.db, late.bankId, [`any,${earlier},1,NGN,debit`, `other,${day},1,KES,debit`], {
    from,
  });
  await sendBankFile(test.db, prompt.bankId, [], { from, through: day });
  const ofBank = (bankId: string, bookings: number, reached: string | null) => ({
    bankId,
    name: 'Bank',
    currency: 'NGN',
    bookings,
    isMinimum: false,
    amount: bookings,
    since: day,
    reached,
  });
  const named = [ofBank(silent.bankId, 1, null), ofBank(late.bankId, 2, earlier)];
  expect(await unreached()).toEqual(named.toSorted((a, b) => (a.bankId < b.bankId ? -1 : 1)));
  const { out } = await cli.run('status');
  expect(out).toContain(
    `Bank (${silent.bankId}) has sent no file in NGN: 1 settlement since ${day} is not reached\n`,
  );
  expect(out).toContain(
    `Bank (${late.bankId}) has sent files in NGN up to ${earlier}: 2 settlements since ${day} are not reached\n`,
  );
  const registry = createMetrics();
  measureService(registry, test.db, 7);
  const measured = await registry.metrics();
  const valueAt = (bankId: string) =>
    valueOf(measured, `assent_bookings_unreached{bank="${bankId}",currency="NGN"}`);
  expect(banks.map(valueAt)).toEqual([1, 2, undefined]);

  await sendBankFile(test.db, late.bankId, [], { through: day });
  expect(await unreached()).toEqual([ofBank(silent.bankId, 1, null)]);
  // Settlements before the expectations begin are expected of no file.
  await sendBankFile(test.db, silent.bankId, [], { from: addDays(day, 1), through: addDays(day, 1) });
  expect(await unreached()).toEqual([]);
});

it('shows all the rest where one figure takes Postgres too long', async () => {
  const holder = new Client(test.url);
  await holder.connect();
  await holder.query('BEGIN; LOCK expected_bookings');
  const endWaiting = () =>
    eventually(async () => {
      const ended = await holder.query(
        `SELECT pg_cancel_backend(pid) FROM pg_locks WHERE relation = 'expected_bookings'::regclass AND NOT granted`,
      );
      return ended.rowCount === 1;
    });
  const asked = Promise.all([cli.run('status'), endWaiting()])
    .then(async ([{ out }]) => ({ out, json: (await Promise.all([told(), endWaiting()]))[0] }))
    .finally(() => holder.end());
  const { out, json } = await asked;
  expect(out).toMatch(/^Bank files +not known: Postgres took too long/m);
  expect(out).toMatch(/^Books +not verified yet/m);
  expect(json).toMatchObject({ bookingsUnreached: null, exceptions: { kinds: [{}, {}] } });
});
