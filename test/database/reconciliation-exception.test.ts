import {
  answerBillingRequest,
  closeExpiredRequests,
} from '../../src/database/billing-request/settle-billing-request';
import { row, rows, type Database } from '../../src/database/pool/connection';
import { changeStatus } from '../../src/database/entity-control/control-entity';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { openCases } from '../../src/database/reconciliation-exception/open-exceptions';
import { readTransaction } from '../../src/database/ledger/list-transactions';
import { readConfig, recurringRules } from '../../src/settings/config';
import { resolveException } from '../../src/database/resolution/resolve-exception';
import { createMetrics } from '../../src/process/metrics';
import { measureService } from '../../src/process/service-metrics';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { valueOf } from '../support/metrics';
import { OPERATOR } from '../support/operator';
import { bill, type Billed } from '../support/settled';
import { runSchedule } from '../support/schedule';
import { answerCharges, makeSchedule, moveClock, standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());

let database: TestDatabase;
let db: Database;
let standing: Standing;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());
beforeEach(async () => {
  standing = await standingApproval(db, keyring);
});

/** A charge of 1 naira under the standing approval, which its bank has been reached with. */
async function charge(): Promise<Billed> {
  const billed = await bill(db, keyring, standing);
  await rows(
    db,
    `UPDATE webhook_deliveries SET status = 'delivered', finished_at = now(), sent = 1
     WHERE id = (SELECT bank_delivery_id FROM billing_requests WHERE id = :id)`,
    { id: billed.id },
  );
  return billed;
}

const exceptionsOf = (id: string) =>
  rows(
    db,
    `SELECT kind, state, amount::bigint, currency::text, bank_transaction_id AS "bankTransactionId", sequence
     FROM reconciliation_exceptions WHERE billing_request_id = :id ORDER BY recorded_at`,
    { id },
  );

const open = (billingRequestId: string, kind: 'unanswered' | 'credit_undelivered') =>
  db.transaction((trx) => openCases(trx, keyring, 'network', [{ kind, billingRequestId, refundId: null }]));

type Outcome = Parameters<typeof answerBillingRequest>[5];

const answerWith = (id: string, outcome: Outcome) =>
  db.transaction((trx) =>
    answerBillingRequest(trx, keyring, 'Africa/Lagos', standing.bankId, id, outcome, {}),
  );

const answer = (id: string, bankTransactionId: string) =>
  answerWith(id, { outcome: 'approved', bankTransactionId, action: null });

async function timeLine(reference: string) {
  const { events } = await readTransaction(
    db,
    { entityId: standing.merchantId, role: 'merchant' },
    reference,
  );
  return events.map(({ type, kind }) => (kind === null ? type : `${type} ${kind}`));
}

describe('a charge that its bank left unanswered', () => {
  let id: string;
  let reference: string;
  beforeEach(async () => {
    ({ id, reference } = await charge());
    await moveClock(db, standing.merchantId, '2 days');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id]));
  });

  it('is one exception with the answer that came too late, and both are on the time line', async () => {
    await answer(id, `late-${id}`);
    await answer(id, `late-${id}`);

    expect(await exceptionsOf(id)).toEqual([
      {
        kind: 'unanswered',
        state: 'open',
        amount: 100n,
        currency: 'NGN',
        bankTransactionId: `late-${id}`,
        sequence: 2,
      },
    ]);
    expect(await timeLine(reference)).toEqual([
      'billing_request.accepted',
      'billing_request.declined',
      'exception.opened unanswered',
      'exception.updated late_answer',
    ]);
  });

  it('stays the one exception, whoever finds it unanswered again', async () => {
    await answer(id, `late-${id}`);
    await open(id, 'unanswered');

    expect(await exceptionsOf(id)).toHaveLength(1);
  });
});

it('a bank that goes on contradicting itself fills no list: one exception, with a hundred answers beneath it', async () => {
  const { id } = await charge();
  await answer(id, `tx-${id}`);
  for (let n = 0; n < 103; n++) {
    expect(await answer(id, `again-${n}-${id}`)).toMatchObject({ agreed: false, status: 'successful' });
  }
  expect(await exceptionsOf(id)).toHaveLength(1);
  const [kept] = await rows(
    db,
    `SELECT count(*)::int AS answers FROM exception_answers a JOIN reconciliation_exceptions x ON x.id = a.exception_id
     WHERE x.billing_request_id = :id`,
    { id },
  );
  expect(kept).toEqual({ answers: 100 });
});

it('a credit that was never delivered is one exception, however often it is looked at', async () => {
  const { id, reference } = await charge();
  for (let round = 0; round < 3; round++) await open(id, 'credit_undelivered');

  expect(await exceptionsOf(id)).toMatchObject([{ kind: 'credit_undelivered', state: 'open' }]);
  expect(await timeLine(reference)).toEqual([
    'billing_request.accepted',
    'exception.opened credit_undelivered',
  ]);
});

it('many are opened at once: those that are new, each told once to both sides', async () => {
  const charges = [await charge(), await charge(), await charge()];
  await open(charges[1]?.id ?? '', 'unanswered');
  const cases = charges.map(({ id }) => ({
    kind: 'missing_at_bank' as const,
    billingRequestId: id,
    refundId: null,
    booking: {
      bankId: standing.bankId,
      bankTransactionId: `tx-${id}`,
      direction: 'debit' as const,
      amount: 100n,
      currency: 'NGN',
      bookedAmount: null,
      bookedCurrency: null,
      reference: null,
    },
  }));

  const opened = await db.transaction((trx) => openCases(trx, keyring, 'bank', [...cases, ...cases]));

  expect([...opened.keys()]).toEqual([0, 2]);
  const kinds = await Promise.all(charges.map(({ id }) => exceptionsOf(id)));
  expect(kinds).toMatchObject([
    [{ kind: 'missing_at_bank', bankTransactionId: `tx-${charges[0]?.id}` }],
    [{ kind: 'unanswered' }],
    [{ kind: 'missing_at_bank' }],
  ]);
  const told = await rows(
    db,
    `SELECT id, told FROM reconciliation_exceptions WHERE id = ANY(:ids) ORDER BY id`,
    {
      ids: [...opened.values()],
    },
  );
  expect(told).toEqual([...opened.values()].toSorted().map((id) => ({ id, told: 1 })));
});

it('is counted by its kind in what every process tells its operators', async () => {
  const { id } = await charge();
  await open(id, 'credit_undelivered');
  const registry = createMetrics();
  measureService(registry, db);
  const series = 'assent_exceptions_unresolved{kind="credit_undelivered"}';
  const before = valueOf(await registry.metrics(), series) ?? 0;
  expect(before).toBeGreaterThan(0);
  const age = valueOf(
    await registry.metrics(),
    'assent_exceptions_oldest_age_seconds{kind="credit_undelivered"}',
  );
  expect(age).toBeGreaterThan(0);
  await rows(
    db,
    `UPDATE reconciliation_exceptions SET state = 'resolved', resolution = 'no_difference', resolved_at = now()
     WHERE billing_request_id = :id`,
    { id },
  );
  const later = createMetrics();
  measureService(later, db);
  expect(valueOf(await later.metrics(), series) ?? 0).toBe(before - 1);
});

const statusOf = (id: string) =>
  row(db, `SELECT status, decline_reason AS reason FROM billing_requests WHERE id = :id`, { id });
const turn = (status: 'active' | 'disabled') =>
  db.transaction((trx) => changeStatus(trx, keyring, OPERATOR, standing.bankId, status));

it('a debit that the operator has written off is not taken a second time by the retry', async () => {
  const rules = { ...recurringRules(readConfig({})), dueRate: 1_000 };
  const scheduleId = await makeSchedule(db, keyring, standing, { frequency: 'monthly' });
  const run = () => runSchedule(db, keyring, rules, scheduleId);
  await run();
  await answerCharges(db, keyring, standing, 'insufficient_funds');
  await run();
  const charges = () =>
    rows<{ id: string }>(db, `SELECT id FROM billing_requests WHERE schedule_id = :scheduleId`, {
      scheduleId,
    });
  const [{ id } = { id: '' }] = await charges();
  await answer(id, `late-${id}`);
  const doubtful = await row<{ id: string }>(
    db,
    `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :id`,
    { id },
  );
  await db.transaction((trx) =>
    resolveException(trx, keyring, 'Africa/Lagos', { cause: 'operator', note: null }, doubtful?.id ?? '', {
      resolution: 'written_off',
      bankTransactionId: null,
    }),
  );
  await moveClock(db, standing.merchantId, '2 days');
  await run();
  expect(await charges()).toEqual([{ id }]);
});

describe('what a bank was asked before it was disabled', () => {
  it('stays open to the end of its window, and no longer', async () => {
    const { id } = await charge();
    await turn('disabled');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id]));
    expect(await statusOf(id)).toEqual({ status: 'pending', reason: null });
    await moveClock(db, standing.merchantId, '2 days');
    await db.transaction((trx) => closeExpiredRequests(trx, keyring, [id]));
    expect(await statusOf(id)).toEqual({ status: 'declined', reason: 'expired' });
  });

  it('is answered by it once it is enabled, within that window', async () => {
    const { id } = await charge();
    await turn('disabled');
    await turn('active');
    await answer(id, `tx-${id}`);
    expect(await statusOf(id)).toEqual({ status: 'successful', reason: null });
  });
});
