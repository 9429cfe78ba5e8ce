import { createHash } from 'node:crypto';
import { openAgreements } from '../../../src/database/agreement/agreement';
import { applyDecision } from '../../../src/database/decision/apply-decision';
import { acceptBankFile, stagePage } from '../../../src/database/bank-file/receive-bank-file';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { newId } from '../../../src/database/identifier/new-id';
import { answerBillingRequest } from '../../../src/database/billing-request/settle-billing-request';
import { OperatorError } from '../../../src/domain/failures';
import type { Role } from '../../../src/domain/entity';
import { openBookingCase, workOnFile } from '../../support/bank-file';
import { asSchemaLogin } from '../../support/database';
import { openTransaction } from '../../support/open-transaction';
import { person } from '../../support/person';
import { bill, charge, refund, resolveAsOperator } from '../../support/settled';
import { ROLES, shareApi, type Parties } from '../../support/shared-api';
import type { Standing } from '../../support/standing';
import { dayOf, linesOf } from '../../support/statements';

/**
 * A night of charges, refunds and banks' files, while all ask for the day that ends: from the first
 * answer on that says that it is final, each gets the same again and again.
 */

const timeZone = 'Africa/Lagos';

const served = shareApi();
let parties: Parties;
beforeAll(async () => {
  await setClock();
  parties = await served.parties();
});

/**
 * From now on all clocks of the network are so far ahead that it is a quarter to midnight: nobody
 * gets there before it is meant to pass, however slow the machine is.
 */
async function setClock(): Promise<void> {
  const aQuarterToMidnight = `(date_trunc('day', clock_timestamp() AT TIME ZONE '${timeZone}') + interval '2 days' - interval '15 minutes')
    AT TIME ZONE '${timeZone}' - clock_timestamp()`;
  await asSchemaLogin(
    served.database.url,
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
  asSchemaLogin(served.database.url, `UPDATE network_clock SET ahead = ahead + interval '16 minutes'`);

/** Another customer of the bank, who has approved the same merchant. */
async function anotherCustomer(): Promise<Standing> {
  const { bankId, merchantId } = parties;
  return served.db.transaction(async (trx) => {
    const { customers } = await onboardBatch(trx, bankId, [{ person: person() }]);
    const customerId = customers[0]?.customerId ?? '';
    const [agreement] = await openAgreements(trx, merchantId, [{ customerId, bankId }], 'NGN');
    const agreementId = agreement?.id ?? '';
    const approved = { decision: 'approve_recurring', blocked: false } as const;
    await applyDecision(trx, agreementId, approved);
    return { ...parties, customerId, agreementId };
  });
}

/** A file of the bank, and all that follows of it. */
async function sendFile(lines: { id: string; amount: bigint }[], day: string): Promise<void> {
  const statementId = newId('statement');
  const read = lines.map(({ id, amount }, n) => ({
    line: n + 2,
    bankTransactionId: id,
    bookingDate: day,
    bookedOn: day,
    amount,
    currency: 'NGN',
    direction: 'debit' as const,
    reference: null,
    isReversal: false,
  }));
  await stagePage(served.db, statementId, 0, read);
  await served.db.transaction((trx) =>
    acceptBankFile(
      trx,
      parties.bankId,
      {
        statementId,
        sha256: createHash('sha256').update(statementId).digest(),
        lines: lines.length,
        isStaged: true,
        begins: day,
        reaches: { NGN: day },
        from: null,
        through: null,
      },
      1_000,
    ),
  );
  await workOnFile(served.db, statementId);
}

/** By another's file, which did not have the charge yet. */
function unlessHeld(error: unknown): void {
  if (!(error instanceof OperatorError)) throw error;
}

/** Moves money, opens and resolves exceptions, again and again until it is told to end. */
async function goOn(isOver: () => boolean): Promise<number> {
  const { db } = served;
  let rounds = 0;
  for (; !isOver(); rounds++) {
    const [first, second] = [await charge(db, parties), await charge(db, parties)];
    await refund(db, parties, first.reference, 0.2, 'completed').catch(unlessHeld);
    // A booking that the file lacks is missing, a line too much is unknown.
    await sendFile(
      [
        { id: `tx-${first.id}`, amount: 100n },
        { id: `tx-${second.id}`, amount: rounds % 2 === 0 ? 90n : 100n },
        { id: `nobody-${rounds}`, amount: 5n },
      ],
      await dayOf(db, parties.bankId),
    );
    const [open] = await db.rows<{ id: string }>`
      SELECT id FROM reconciliation_exceptions WHERE state <> 'resolved' AND kind = 'missing_at_bank'
      ORDER BY id LIMIT 1`;
    if (open) await resolveAsOperator(db, open.id, 'no_difference');
  }
  return rounds;
}

test('what is final is the same, byte for byte, whenever it is asked for while charges run', async () => {
  const { db } = served;
  const day = await dayOf(db, parties.bankId);
  const answers: Record<Role, { final: boolean; json: string; file: string }[]> = {
    bank: [],
    merchant: [],
    provider: [],
  };
  const ask = () =>
    Promise.all(
      ROLES.map(async (role) => {
        const json = await parties[role].read(`/v1/statements?date=${day}`);
        const file = await parties[role].file(`/v1/statements/${day}.csv`);
        answers[role].push({ final: json['final'] === true, json: JSON.stringify(json), file });
      }),
    );
  // These lock rows that no other test transaction waits for.
  const other = await anotherCustomer();
  const known = await charge(db, other);
  await sendFile([{ id: `tx-${known.id}`, amount: 100n }], day);
  const { id, reference } = await bill(db, other);
  let isOver = false;
  const traffic = [1, 2].map(() => goOn(() => isOver));
  for (let n = 0; n < 3; n++) await ask();

  // A charge and a page of a bank's file that read their clocks before midnight, and commit after.
  const settling = await openTransaction(db);
  await answerBillingRequest(settling.trx, parties.bankId, id, {
    outcome: 'approved',
    bankTransactionId: `tx-${id}`,
    action: null,
  });
  const judging = await openTransaction(db);
  await openBookingCase(judging.trx, {
    kind: 'amount_differs',
    billingRequestId: known.id,
    refundId: null,
    bankId: parties.bankId,
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
    // The file had changed before it was final.
    expect(new Set(answers[role].map((one) => one.file)).size).toBeGreaterThan(1);
  }
  expect(Math.min(...rounds)).toBeGreaterThan(1);
});
