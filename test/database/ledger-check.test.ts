import { applyDecision } from '../../src/database/agreement/decision';
import { newId } from '../../src/database/ids';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { foldBalances } from '../../src/database/ledger/balance';
import { compareLedger } from '../../src/database/ledger/check';
import { postEntries } from '../../src/database/ledger/entry';
import { chargeEntry } from '../../src/domain/books/ledger';
import { faultWords } from '../../src/domain/words/verify-words';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { letMidnightPass } from '../support/midnight';
import { charge, returnedRefund, settleOfEachKind } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';

const keyring = readKeyring(makeKeyring());

let database: TestDatabase;
let standing: Standing;
let made: Awaited<ReturnType<typeof settleOfEachKind>>;
beforeEach(async () => {
  await letMidnightPass();
  database = await createTestDatabase();
  standing = await standingApproval(database.db, keyring);
  made = await settleOfEachKind(database.db, keyring, standing);
});
afterEach(() => database.drop());

/** What is found to differ, in one line each. */
async function differences(): Promise<string[]> {
  const found: string[] = [];
  for await (const compared of compareLedger(database.db, {
    from: null,
    to: null,
    timeZone: 'Africa/Lagos',
  })) {
    found.push(...compared.differences.map((one) => `${compared.check}: ${one.id}: ${faultWords(one)}`));
  }
  return found;
}

/** By the owner of the tables, who can take triggers away. */
const tamper = (sql: string) => asOwner(database.url, `SET session_replication_role = replica; ${sql}`);

const entry = (resourceId: string, kind = 'charge') =>
  `(SELECT id FROM ledger_entries WHERE resource_id = '${resourceId}' AND kind = '${kind}')`;

/** What the owner of the tables can have done to every entry that is posted from now on. */
const shiftDays = (shift: string) =>
  asOwner(
    database.url,
    `CREATE OR REPLACE FUNCTION shift_days() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN ${shift}; RETURN NEW; END $$;
     CREATE OR REPLACE TRIGGER shift_days BEFORE INSERT ON ledger_entries
       FOR EACH ROW EXECUTE FUNCTION shift_days()`,
  );

/** A charge that there is no row of, whose day is long over. */
const postLate = () =>
  database.db.transaction((trx) =>
    postEntries(trx, 'Africa/Lagos', [
      chargeEntry(
        { resourceId: newId('billingRequest'), settledAt: new Date('2026-01-31T12:00:00+01:00') },
        {
          amount: 1n,
          currency: 'NGN',
          bankId: standing.bankId,
          payee: { merchantId: standing.merchantId },
        },
      ),
    ]),
  );

const daysThatDiffer = async () => (await differences()).filter((one) => one.includes('is posted to'));

describe('the ledger', () => {
  it('agrees with charges, refunds, limits and balances of every kind, folded or not', async () => {
    expect(await differences()).toEqual([]);
    await foldBalances(database.db);
    expect(await differences()).toEqual([]);
    const counts = new Map<string, number>();
    for await (const { check, checked } of compareLedger(database.db, {
      from: null,
      to: null,
      timeZone: 'Africa/Lagos',
    })) {
      counts.set(check, (counts.get(check) ?? 0) + checked);
    }
    expect(Object.fromEntries(counts)).toMatchObject({
      charges: 8,
      refunds: 3,
      reversals: 1,
      agreements: 2,
      entries: 10,
    });
    expect(counts.get('balances')).toBeGreaterThanOrEqual(4);
  });

  it('says which return of a refund it lacks, has too much, or has otherwise', async () => {
    const { reference } = await charge(database.db, keyring, standing);
    const refundId = await returnedRefund(database.db, keyring, standing, reference, 0.4);
    expect(await differences()).toEqual([]);
    const returned = `(SELECT return_transaction_id FROM refunds WHERE id = '${refundId}')`;
    const posted = `(SELECT id FROM ledger_entries WHERE resource_id = ${returned})`;

    await tamper(`UPDATE ledger_postings SET amount = 39 WHERE entry_id = ${posted}`);
    expect(await differences()).toContain(
      `refunds: ${refundId}: its row says that there is a refund_return, and the ledger has another or none`,
    );
    await tamper(`UPDATE ledger_postings SET amount = 40 WHERE entry_id = ${posted};
      UPDATE refunds SET status = 'completed', returned_at = NULL, returned_by = NULL, return_reference = NULL,
        return_transaction_id = NULL WHERE id = '${refundId}'`);
    expect(await differences()).toEqual([
      expect.stringMatching(/^charges: brq_\w+: refunded_amount is 0, and its refunds .* are 40$/),
      expect.stringMatching(/^entries: \d+: the entry is a refund_return of txn_\w+, which there is not$/),
    ]);
  });

  it('agrees with an agreement whose currency was changed, and back', async () => {
    for (const currency of ['USD', 'NGN']) {
      const terms = { currency, dailyLimit: null, monthlyLimit: null };
      await database.db.transaction((trx) =>
        applyDecision(
          trx,
          keyring,
          standing.agreementId,
          { decision: 'approve_recurring', blocked: false, terms },
          'bank',
        ),
      );
      expect(await differences()).toEqual([]);
    }
  });

  it('says which write-off it lacks, and which is none', async () => {
    const { writtenOffId } = made;
    const writtenOff = `(SELECT e.id FROM ledger_entries e JOIN reconciliation_exceptions x ON x.id = e.resource_id
      WHERE e.kind = 'write_off' AND x.billing_request_id = '${writtenOffId}')`;
    await tamper(`UPDATE ledger_postings SET account = 'merchant', party_id = '${standing.merchantId}'
      WHERE entry_id = ${writtenOff} AND account = 'customer_bank'`);
    expect((await differences())[0]).toMatch(/^entries: \d+: the entry is no write-off of exc_\w+$/);
    await tamper(`DELETE FROM ledger_postings WHERE entry_id = ${writtenOff};
      DELETE FROM ledger_entries WHERE id = ${writtenOff}`);
    expect(await differences()).toContain(
      `charges: ${writtenOffId}: it is written off, and of 100 the ledger has written off 0`,
    );
  });

  it('says which charge it lacks', async () => {
    const { chargeId } = made;
    await tamper(
      `DELETE FROM ledger_postings WHERE entry_id = ${entry(chargeId)}; DELETE FROM ledger_entries WHERE id = ${entry(chargeId)}`,
    );
    expect(await differences()).toEqual([
      `charges: ${chargeId}: its row says that there is a charge, and the ledger has another or none`,
      expect.stringMatching(
        `agreements: ${standing.agreementId}: spent_day_total of .* is 500, and its charges in the ledger with the pending ones are 400`,
      ),
      expect.stringMatching(
        `agreements: ${standing.agreementId}: spent_month_total of .* is 500, and its charges in the ledger with the pending ones are 400`,
      ),
      expect.stringMatching(
        `balances: customer_bank of ${standing.bankId} in NGN by charge on .*: the balance has 6 postings, debits of 900 and credits of 0, and the ledger 5, 800 and 0`,
      ),
      expect.stringMatching(
        `balances: merchant of ${standing.merchantId} in NGN by charge on .*: the balance has 4 postings, debits of 0 and credits of 400, and the ledger 3, 0 and 300`,
      ),
    ]);
  });

  it('says which entry is of another day than its moment, whatever its balance says', async () => {
    await shiftDays('NEW.settlement_day := NEW.settlement_day - 1');
    await charge(database.db, keyring, standing);
    expect(await differences()).toEqual([
      expect.stringMatching(/^entries: \d+: the entry is of [\d-]+, and its moment, .*, is of [\d-]+$/),
    ]);
  });

  it.each([
    ['NEW.settlement_day := NEW.settlement_day - 2', ''],
    ['NEW.settlement_day := NEW.settlement_day + 1', `UPDATE deployment SET mode = 'production'`],
  ])('says which late entry was not posted to the day that it was by then: %s', async (shift, before) => {
    await tamper(before);
    await postLate();
    expect(await daysThatDiffer()).toEqual([]);
    await shiftDays(shift);
    await postLate();
    expect(await daysThatDiffer()).toEqual([
      expect.stringMatching(
        /the entry belongs to 2026-01-31 and was written at .*, and is posted to [\d-]+, which it was not then$/,
      ),
    ]);
  });

  it.each([
    [
      'a charge’s amount in its row',
      () => `UPDATE billing_requests SET amount = 101 WHERE id = '${made.chargeId}'`,
      () => [
        `charges: ${made.chargeId}: its row says that there is a charge, and the ledger has another or none`,
      ],
    ],
    [
      'a charge’s end in its row',
      () =>
        `UPDATE billing_requests SET status = 'declined', decline_reason = 'x', bank_transaction_id = NULL,
           counted_day = NULL, counted_month = NULL, refunded_amount = 0 WHERE id = '${made.chargeId}'`,
      () => [
        `charges: ${made.chargeId}: the ledger has a charge that its row does not say`,
        expect.stringContaining('spent_day_total'),
        expect.stringContaining('spent_month_total'),
      ],
    ],
    [
      'when a charge was settled',
      () =>
        `UPDATE billing_requests SET closed_at = closed_at - interval '1 hour' WHERE id = '${made.chargeId}'`,
      () => [
        `charges: ${made.chargeId}: its row says that there is a charge, and the ledger has another or none`,
      ],
    ],
    [
      'what of a charge was refunded',
      () => `UPDATE billing_requests SET refunded_amount = 10 WHERE id = '${made.chargeId}'`,
      () => [
        `charges: ${made.chargeId}: refunded_amount is 10, and its refunds in the ledger with the pending ones are 40`,
      ],
    ],
    [
      'whether a payee’s bank was told',
      () => `UPDATE billing_requests SET credit_settled = false WHERE id = '${made.paymentId}'`,
      () => [`charges: ${made.paymentId}: the ledger has a credit that its row does not say`],
    ],
    [
      'how much of a charge was reversed',
      () => `UPDATE billing_requests SET reversed_amount = 0 WHERE id = '${made.reversedId}'`,
      () => [`charges: ${made.reversedId}: reversed_amount is 0, and its reversals in the ledger are 100`],
    ],
    [
      'a reversal’s amount, and how an exception was resolved',
      () => `UPDATE reversals SET amount = 1; UPDATE reconciliation_exceptions SET resolution = 'confirmed'`,
      () => [
        expect.stringMatching(/^reversals: txn_\w+: the ledger has another reversal or none$/),
        expect.stringMatching(/^entries: \d+: the entry is a write_off of exc_\w+, which there is not$/),
      ],
    ],
    [
      'a refund’s end in its row',
      () =>
        `UPDATE refunds SET status = 'rejected', bank_transaction_id = NULL WHERE id = '${made.refundId}'`,
      () => [`refunds: ${made.refundId}: the ledger has a refund that its row does not say`],
    ],
    [
      'what a customer has spent today',
      () => `UPDATE agreements SET spent_day_total = 0 WHERE id = '${standing.agreementId}'`,
      () => [expect.stringMatching(/^agreements: agr_\w+: spent_day_total of .* is 0, .* are 500$/)],
    ],
    [
      'whom a posting is for',
      () =>
        `UPDATE ledger_postings SET party_id = 'mch_thief' WHERE entry_id = ${entry(made.refundId, 'refund')} AND n = 1`,
      () => [
        `refunds: ${made.refundId}: its row says that there is a refund, and the ledger has another or none`,
        expect.stringMatching(
          /^balances: merchant of mch_\w+ in NGN by refund on .*has 1 postings, debits of 30.* and the ledger 0, 0 and 0$/,
        ),
        expect.stringMatching(
          /^balances: merchant of mch_thief in NGN by refund on .*has 0 postings.* and the ledger 1, 30 and 0$/,
        ),
      ],
    ],
    [
      'a posting away',
      () => `DELETE FROM ledger_postings WHERE entry_id = ${entry(made.paymentId, 'credit')} AND n = 1`,
      () => [
        `charges: ${made.paymentId}: its row says that there is a credit, and the ledger has another or none`,
        expect.stringMatching(/^entries: \d+: the entry does not balance: 250 NGN are left over$/),
        expect.stringMatching(
          /^balances: in_transit of bnk_\w+ .*by credit on .*has 1 postings, debits of 250.* and the ledger 0, 0 and 0$/,
        ),
      ],
    ],
    [
      'all postings of an entry away, and of what it was',
      () =>
        `DELETE FROM ledger_postings WHERE entry_id = ${entry(made.chargeId)};
         UPDATE ledger_entries SET resource_id = 'brq_gone' WHERE id = ${entry(made.chargeId)}`,
      () =>
        expect.arrayContaining([
          expect.stringMatching(/^entries: \d+: the entry has no postings$/),
          expect.stringMatching(/^entries: \d+: the entry is a charge of brq_gone, which there is not$/),
        ]) as string[],
    ],
    [
      'a balance',
      () =>
        `UPDATE ledger_folded_balances SET credits = credits + 1 WHERE account = 'merchant' AND kind = 'charge'`,
      () => [
        expect.stringMatching(
          /^balances: merchant of mch_\w+ in NGN by charge on .*credits of 401, and the ledger 4, 0 and 400$/,
        ),
      ],
    ],
    [
      'how many postings a balance has',
      () =>
        `UPDATE ledger_folded_balances SET count = count + 1 WHERE account = 'merchant' AND kind = 'charge'`,
      () => [
        expect.stringMatching(
          /^balances: merchant of mch_\w+ .*has 5 postings, .* and the ledger 4, 0 and 400$/,
        ),
      ],
    ],
    [
      'a balance away',
      () => `DELETE FROM ledger_folded_balances WHERE account = 'payee_bank'`,
      () => [
        expect.stringMatching(
          /^balances: payee_bank of bnk_\w+ .*credits of 0, and the ledger 1, 0 and 250$/,
        ),
      ],
    ],
  ])('shows who changes %s', async (_, change, expected) => {
    await foldBalances(database.db);
    await tamper(change());
    expect(await differences()).toEqual(expected());
  });
});
