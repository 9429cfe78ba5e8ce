import { createHash } from 'node:crypto';
import { openAgreements } from '../../../src/database/agreement/agreement';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { acceptStatement, stagePage } from '../../../src/database/bank-file/receive-bank-file';
import { rows, type Database } from '../../../src/database/pool/connection';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { newId } from '../../../src/database/identifier/new-id';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { calendarDay } from '../../../src/domain/calendar';
import { OperatorError } from '../../../src/domain/failures';
import { ROLES, type Role } from '../../../src/domain/entity';
import { openBookingCase, workOnFile } from '../../support/bank-file';
import { serveApi, type ServedApi } from '../../support/api';
import { asOwner, createTestDatabase, type TestDatabase } from '../../support/database';
import { openTransaction } from '../../support/open-transaction';
import { bill, charge, refund } from '../../support/settled';
import { standingApproval, type Standing } from '../../support/standing';
import { asking, linesOf } from '../../support/statements';

/**
 * A night of charges, refunds and banks' files, while all ask for the day that ends: from the first
 * answer on that says that it is final, each gets the same again and again.
 */

const timeZone = 'Africa/Lagos';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  await setClock();
  api = await serveApi(db, { settings: { RATE_LIMIT_TOKEN_ADDRESS: '999/999' } });
  standing = await standingApproval(db, api.deps.ring);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

/**
 * From now on all clocks of the network are so far ahead that it is a quarter to midnight: nobody
 * gets there before it is meant to pass, however slow the machine is.
 */
async function setClock(): Promise<void> {
  const aQuarterToMidnight = `(date_trunc('day', clock_timestamp() AT TIME ZONE '${timeZone}') + interval '2 days' - interval '15 minutes')
    AT TIME ZONE '${timeZone}' - clock_timestamp()`;
  await asOwner(
    database.url,
    `CREATE TABLE network_clock AS SELECT ${aQuarterToMidnight} AS ahead;
     GRANT SELECT ON network_clock TO assent_app;
     DO $do$ DECLARE clock regprocedure; BEGIN
       FOREACH clock IN ARRAY ARRAY['business_now(text)', 'may_settle_before(timestamptz, text)']::regprocedure[] LOOP
         EXECUTE regexp_replace(pg_get_functiondef(clock), '(clock|statement)_timestamp\\(\\)',
           '(\\1_timestamp() + (SELECT ahead FROM network_clock))', 'g');
       END LOOP;
     END $do$`,
  );
}

const midnightPasses = () =>
  asOwner(database.url, `UPDATE network_clock SET ahead = ahead + interval '16 minutes'`);

async function today(): Promise<string> {
  const [found] = await rows<{ now: Date }>(db, 'SELECT business_now(:bankId) AS now', {
    bankId: standing.bankId,
  });
  return calendarDay(found?.now ?? new Date(0), timeZone);
}

/** Another customer of the bank, who has approved the same merchant. */
async function anotherCustomer(): Promise<Standing> {
  const { ring } = api.deps;
  const { bankId, merchantId } = standing;
  const name = { firstname: 'Obi', lastname: 'Eze', accountName: 'Obi Eze', email: 'obi@example.test' };
  const person = { ...name, clientRef: 'c2', country: 'NG', accountNumber: '0123456790' };
  return db.transaction(async (trx) => {
    const { customers } = await onboardBatch(trx, ring, bankId, [{ person }]);
    const customerId = customers[0]?.customerId ?? '';
    const [agreement] = await openAgreements(trx, ring, merchantId, [{ id: customerId, bankId }], 'NGN');
    const agreementId = agreement?.id ?? '';
    const approved = { decision: 'approve_recurring', blocked: false } as const;
    await applyDecision(trx, ring, agreementId, approved, 'bank');
    return { ...standing, customerId, agreementId };
  });
}

/** A file of the bank, and all that follows of it. */
async function sendFile(lines: { id: string; amount: bigint }[], day: string): Promise<void> {
  const statementId = newId('statement');
  const read = lines.map(({ id, amount }, n) => ({
    line: n + 2,
    bankTransactionId: id,
    bookingDate: day,
    amount,
    currency: 'NGN',
    direction: 'debit' as const,
    reference: null,
  }));
  await stagePage(db, statementId, 0, read);
  await db.transaction((trx) =>
    acceptStatement(
      trx,
      standing.bankId,
      {
        statementId,
        sha256: createHash('sha256').update(statementId).digest(),
        lines: lines.length,
        begins: day,
        reaches: { NGN: day },
        from: null,
        through: null,
      },
      { linesPerDay: 1_000, timeZone },
    ),
  );
  await workOnFile(db, api.deps.ring, statementId);
}

/** By another's file, which did not have the charge yet. */
function unlessHeld(error: unknown): void {
  if (!(error instanceof OperatorError)) throw error;
}

/** What moves money, and opens and resolves exceptions, again and again until it is told to end. */
async function goOn(isOver: () => boolean): Promise<number> {
  const ring = api.deps.ring;
  let rounds = 0;
  for (; !isOver(); rounds++) {
    const [first, second] = [await charge(db, ring, standing), await charge(db, ring, standing)];
    await refund(db, ring, standing, first.reference, 0.2, 'completed').catch(unlessHeld);
    // What the file does not have is missing, and what it has too much is unknown.
    await sendFile(
      [
        { id: `tx-${first.id}`, amount: 100n },
        { id: `tx-${second.id}`, amount: rounds % 2 === 0 ? 90n : 100n },
        { id: `nobody-${rounds}`, amount: 5n },
      ],
      await today(),
    );
    const [open] = await rows<{ id: string }>(
      db,
      `SELECT id FROM reconciliation_exceptions WHERE state <> 'resolved' AND kind = 'missing_at_bank' ORDER BY id LIMIT 1`,
    );
    if (open) {
      const finding = { resolution: 'no_difference', bankTransactionId: null } as const;
      const by = { cause: 'operator', note: null } as const;
      await db.transaction((trx) => resolveException(trx, ring, timeZone, by, open.id, finding));
    }
  }
  return rounds;
}

test('what is final is the same, byte for byte, whenever it is asked for while charges run', async () => {
  const { ring } = api.deps;
  const day = await today();
  const parties = await Promise.all(
    ROLES.map(async (role) => ({ role, asks: await asking(api, standing, role) })),
  );
  const answers: Record<Role, { final: boolean; json: string; file: string }[]> = {
    bank: [],
    merchant: [],
    provider: [],
  };
  const ask = () =>
    Promise.all(
      parties.map(async ({ role, asks }) => {
        const json = await asks.statement(day);
        const file = await asks.file(`/v1/statements/${day}.csv`);
        answers[role].push({ final: json['final'] === true, json: JSON.stringify(json), file });
      }),
    );
  // Nobody else waits for what these have locked.
  const other = await anotherCustomer();
  const known = await charge(db, ring, other);
  await sendFile([{ id: `tx-${known.id}`, amount: 100n }], day);
  const { id, reference } = await bill(db, ring, other);
  let isOver = false;
  const traffic = [1, 2].map(() => goOn(() => isOver));
  for (let n = 0; n < 3; n++) await ask();

  // A charge and a page of a bank's file that read their clocks before midnight, and commit after.
  const settling = await openTransaction(db);
  await answerBillingRequest(
    settling.trx,
    ring,
    timeZone,
    standing.bankId,
    id,
    { outcome: 'approved', bankTransactionId: `tx-${id}`, action: null },
    {},
  );
  const judging = await openTransaction(db);
  await openBookingCase(judging.trx, ring, {
    kind: 'amount_differs',
    billingRequestId: known.id,
    refundId: null,
    bankId: standing.bankId,
    bankTransactionId: `tx-${known.id}`,
    direction: 'debit',
    amount: 100n,
    currency: 'NGN',
    bookedAmount: 70n,
    bookedCurrency: 'NGN',
    reference: null,
  });
  await midnightPasses();
  for (let n = 0; n < 3; n++) await ask();
  await settling.commit();
  await ask();
  await judging.commit();
  const before = answers.merchant.length;
  const lastOnes = () => ROLES.flatMap((role) => answers[role].slice(-8));
  do await ask();
  while (!lastOnes().every(({ final }) => final));
  isOver = true;
  const rounds = await Promise.all(traffic);
  await ask();

  for (const role of ROLES) {
    const first = answers[role].findIndex(({ final }) => final);
    // Not while anything was under way.
    expect(first).toBeGreaterThanOrEqual(before);
    const final = answers[role].slice(first);
    expect(new Set(final.map(({ json }) => json)).size).toBe(1);
    expect(new Set(final.map(({ file }) => file)).size).toBe(1);
    const [{ json, file } = { json: '{}', file: '' }] = final;
    const told = JSON.parse(json) as { sha256: string; exceptionsOpen: number };
    expect(told.sha256).toBe(createHash('sha256').update(file).digest('hex'));
    expect(told.exceptionsOpen).toBeGreaterThan(0);
    expect(linesOf(file).some((line) => line.includes(reference))).toBe(true);
    // What came before was not the end of it.
    expect(new Set(answers[role].map((one) => one.file)).size).toBeGreaterThan(1);
  }
  expect(Math.min(...rounds)).toBeGreaterThan(1);
});
