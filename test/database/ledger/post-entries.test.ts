import { openDatabase, type Executor } from '../../../src/database/pool/connection';
import { newId } from '../../../src/database/identifier/new-id';
import { foldBalances } from '../../../src/database/ledger/fold-balances';
import { postEntries } from '../../../src/database/ledger/post-entries';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import { entryOf as entryOfMovement, type LedgerEntry, type Posting } from '../../../src/domain/books/ledger';
import { databaseOfFile } from '../../support/database';
import { anyCharge as chargeOfNoRow, balancesOf, postingsOf, unequalBalances } from '../../support/ledger';
import { openTransaction } from '../../support/open-transaction';
import {
  answerBill,
  bill as billUnder,
  charge as chargeUnder,
  payAnother,
  refund as refundOf,
  settleCredit,
  resolveAsOperator,
} from '../../support/settled';
import { moveClock, standingApproval, type Standing } from '../../support/standing';
import { engineFacts } from '../../support/keyring';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';

const database = databaseOfFile();
const { db } = database;
let standing: Standing;
beforeEach(async () => {
  standing = await standingApproval(db);
});

const bill = () => billUnder(db, standing);
const charge = () => chargeUnder(db, standing);
const answer = (id: string, bankTransactionId: string | null) =>
  answerBill(db, standing, id, bankTransactionId);
const refund = (reference: string, amount: number, action?: 'completed' | 'rejected') =>
  refundOf(db, standing, reference, amount, action);

/** The postings of a charge of the standing approval. */
const charged = () => [
  `charge: -100 NGN customer_bank of ${standing.bankId}`,
  `charge: +100 NGN merchant of ${standing.merchantId}`,
];

const entryOf = (id: string) =>
  db.row<{ settledAt: Date; day: string; closedAt: Date; young: boolean }>`
  SELECT e.settled_at AS "settledAt", e.settlement_day::text AS day, b.closed_at AS "closedAt",
    clock_timestamp() - e.recorded_at < '1 minute' AS young
  FROM ledger_entries e JOIN billing_requests b ON b.id = e.resource_id
  WHERE e.resource_id = ${id} AND e.kind = 'charge'`;

describe('a charge', () => {
  it('that its bank approves is owed to the merchant by that bank, as of the moment it was settled', async () => {
    await moveClock(db, standing.merchantId, '3 months');
    const { id } = await charge();

    expect(await postingsOf(db, id)).toEqual(charged());
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 100n });
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: -100n });
    const entry = await entryOf(id);
    expect(entry?.settledAt).toEqual(entry?.closedAt);
    // When it was written down is real time, whatever the merchant's clock says.
    expect(entry?.young).toBe(true);
  });

  it('that its bank declines, or never answers, moves nothing', async () => {
    const [declined, silent] = [await bill(), await bill()];
    await answer(declined.id, null);
    await moveClock(db, standing.merchantId, '2 days');
    await db.transaction((trx) => closeExpiredRequests(trx, [silent.id]));
    await answer(silent.id, 'late');

    expect(await postingsOf(db, declined.id)).toEqual([]);
    expect(await postingsOf(db, silent.id)).toEqual([]);
  });

  it('is in the ledger once, however often its bank says so at once, and whatever it says later', async () => {
    const { id } = await bill();
    await Promise.all(Array.from({ length: 5 }, () => answer(id, 'tx-once')));
    await answer(id, 'tx-other');
    await answer(id, null);
    expect(await postingsOf(db, id)).toEqual(charged());
  });

  it('that its bank approves and declines at once is in the ledger where it is successful, and only there', async () => {
    for (let n = 0; n < 10; n++) {
      const { id } = await bill();
      const [first] = await Promise.all([answer(id, `tx-${id}`), answer(id, null)]);
      expect(await postingsOf(db, id)).toEqual(first.status === 'successful' ? charged() : []);
    }
  });

  it('belongs to the day that it is in the network’s zone', async () => {
    const [before, at] = ['2096-03-01T22:59:59.999Z', '2096-03-01T23:00:00.000Z'].map((settledAt) => ({
      ...anyCharge(),
      settledAt: new Date(settledAt),
    }));
    if (!before || !at) throw new Error('two');
    await db.transaction((trx) => postEntries(trx, [before, at]));
    expect(
      await db.rows`
      SELECT settlement_day::text AS day FROM ledger_entries
      WHERE resource_id = ANY(${[before.resourceId, at.resourceId]}) ORDER BY settled_at`,
    ).toEqual([{ day: '2096-03-01' }, { day: '2096-03-02' }]);
  });
});

describe('a refund', () => {
  it('that its bank completes is owed by the merchant to that bank, once', async () => {
    const { reference } = await charge();
    const pending = await refund(reference, 0.1);
    const rejected = await refund(reference, 0.1, 'rejected');
    const refundId = await refund(reference, 0.3, 'completed');
    const again = { action: 'completed', bankTransactionId: `tx-${refundId}`, reason: null } as const;
    await db.transaction((trx) => answerRefund(trx, standing.bankId, refundId, again));
    for (const other of [pending, rejected]) expect(await postingsOf(db, other)).toEqual([]);
    expect(await postingsOf(db, refundId)).toEqual([
      `refund: -30 NGN merchant of ${standing.merchantId}`,
      `refund: +30 NGN customer_bank of ${standing.bankId}`,
    ]);
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 70n });
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: -70n });
  });
});

describe('a payment between customers', () => {
  it('is in transit once it is debited, and the payee’s bank’s once that knows of it', async () => {
    const payee = await standingApproval(db);
    const { id, deliveryId } = await payAnother(db, standing, payee);
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: -250n });
    expect(await balancesOf(db, payee.bankId)).toEqual({ in_transit: 250n });

    for (let n = 0; n < 2; n++) {
      await settleCredit(db, deliveryId);
    }
    expect(await postingsOf(db, id)).toEqual([
      `charge: -250 NGN customer_bank of ${standing.bankId}`,
      `charge: +250 NGN in_transit of ${payee.bankId}`,
      `credit: -250 NGN in_transit of ${payee.bankId}`,
      `credit: +250 NGN payee_bank of ${payee.bankId}`,
    ]);
    expect(await balancesOf(db, payee.bankId)).toEqual({ in_transit: 0n, payee_bank: 250n });
  });

  it('that is reversed is taken from the payee’s bank, whether it has arrived there or does so later', async () => {
    const payee = await standingApproval(db);
    const { deliveryId } = await payAnother(db, standing, payee);
    await posted(
      entryOfMovement({
        kind: 'reversal',
        resourceId: newId('exception'),
        settledAt: new Date(),
        paid: {
          amount: 250n,
          currency: 'NGN',
          bankId: standing.bankId,
          merchantId: null,
          billerId: payee.bankId,
        },
      }),
    );
    await settleCredit(db, deliveryId);
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: 0n });
    expect(await balancesOf(db, payee.bankId)).toEqual({ in_transit: 0n, payee_bank: 0n });
  });
});

describe('a charge whose money did not stay', () => {
  it('is taken back from the merchant for what is left of it, once', async () => {
    const { reference } = await charge();
    await refund(reference, 0.3, 'completed');
    const { bankId, merchantId } = standing;
    const reversal = entryOfMovement({
      kind: 'reversal',
      resourceId: newId('exception'),
      settledAt: new Date(),
      paid: { amount: 70n, currency: 'NGN', bankId, merchantId, billerId: merchantId },
    });
    for (let n = 0; n < 2; n++) await posted(reversal);

    expect(await postingsOf(db, reversal.resourceId)).toEqual([
      `reversal: -70 NGN merchant of ${standing.merchantId}`,
      `reversal: +70 NGN customer_bank of ${standing.bankId}`,
    ]);
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 0n });
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: 0n });
  });

  it('lets its bank off nothing where it says that it has more than was asked for', async () => {
    const { id } = await charge();
    await answer(id, `second-${id}`);
    await resolveAsOperator(db, id, 'written_off');
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: -100n });
  });
});

const anyCharge = (settledAt = new Date('2096-03-01T12:00:00Z')) => chargeOfNoRow(standing, settledAt);

const posted = (entry: LedgerEntry) => db.transaction((trx) => postEntries(trx, [entry]));

describe('the ledger', () => {
  it('refuses what does not add up to nothing, in each currency for itself', async () => {
    const entry = anyCharge();
    const [debit, credit] = entry.postings;
    if (!debit || !credit) throw new Error('a charge has two postings');
    const unbalanced: Posting[][] = [
      [debit],
      [debit, { ...credit, amount: 2n }],
      [debit, { ...credit, currency: 'JPY' }],
      [debit, { ...credit, direction: 'debit' }],
    ];
    for (const postings of unbalanced) {
      await expect(posted({ ...entry, postings })).rejects.toThrow('does not balance');
    }
    await expect(posted({ ...entry, postings: [] })).rejects.toThrow('has no postings');
    expect(await balancesOf(db, standing.merchantId)).toEqual({});
    await posted(entry);
  });

  it('refuses it also where it was balanced when it was first asked', async () => {
    const entry = anyCharge();
    const forged = db.transaction(async (trx) => {
      await postEntries(trx, [entry]);
      await trx.query('SET CONSTRAINTS ALL IMMEDIATE');
      await trx.query('SET CONSTRAINTS ALL DEFERRED');
      await postFirstAgain(trx, entry.resourceId);
    });
    await expect(forged).rejects.toThrow('does not balance');
  });

  it('refuses amounts of nothing or less, and accounts of the wrong kind of party', async () => {
    const entry = anyCharge();
    const changed = (change: Partial<Posting>) => ({
      ...entry,
      postings: entry.postings.map((posting) => ({ ...posting, ...change })),
    });
    await expect(posted(changed({ amount: 0n }))).rejects.toMatchObject({ code: '23514' });
    await expect(posted(changed({ amount: -1n }))).rejects.toMatchObject({ code: '23514' });
    await expect(
      posted(changed({ party: standing.merchantId, account: 'in_transit' })),
    ).rejects.toMatchObject({
      code: '23514',
    });
  });

  it('takes no posting for an entry that is written already, though it would balance', async () => {
    const entry = anyCharge();
    await posted(entry);
    const balanced = db.rows`
      INSERT INTO ledger_postings (entry_id, n, party_id, account, currency, direction, amount)
      SELECT entry_id, n + 2, party_id, account, currency, direction, amount FROM ledger_postings
      WHERE entry_id = (SELECT id FROM ledger_entries WHERE resource_id = ${entry.resourceId})`;
    await expect(balanced).rejects.toThrow('a correction is an entry of its own');
  });

  it('has balances that nobody writes but by posting', async () => {
    for (const change of [
      `INSERT INTO ledger_balance_changes VALUES ('mch_1', now(), 'merchant', 'NGN', 'charge', 1, 0, 1)`,
      `INSERT INTO ledger_folded_balances VALUES ('mch_1', now(), 'merchant', 'NGN', 'charge', 1, 0, 1)`,
      'UPDATE ledger_folded_balances SET credits = 1',
      'DELETE FROM ledger_balance_changes',
      `INSERT INTO ledger_entries (kind, resource_id, settled_at, settlement_day, created_xid)
       VALUES ('charge', 'brq_1', now(), now(), '3')`,
      `CREATE TEMPORARY TABLE mine (LIKE ledger_postings);
       CREATE TRIGGER forge AFTER INSERT ON mine REFERENCING NEW TABLE AS posted
         FOR EACH STATEMENT EXECUTE FUNCTION note_ledger_postings()`,
    ]) {
      await expect(db.query(change)).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('does not let charges of one merchant wait for each other, were they hundreds at once', async () => {
    const many = openDatabase(database.url, 30, engineFacts);
    const open = await Promise.all(Array.from({ length: 30 }, () => openTransaction(many)));
    // All are open at the same time: were there a row that two need, one of them would not get to
    // its end.
    const done = await Promise.allSettled(
      open.map(async ({ trx }) => {
        for (let n = 0; n < 10; n++) await postEntries(trx, [anyCharge()]);
      }),
    );
    const kept = done.filter(({ status }) => status === 'rejected').length;
    if (kept > 0) await Promise.all(open.map((one) => one.rollback()));
    expect(kept).toBe(0);

    // Open charges stay out of the sums that are made meanwhile, and come into later ones.
    const [first, ...others] = open;
    await first?.commit();
    const more = await foldBalances(db);
    const meanwhile = await balancesOf(db, standing.merchantId);
    await Promise.all(others.map((one) => one.commit()));
    await many.destroy();
    expect(more).toBe(false);
    expect(meanwhile).toEqual({ merchant: 10n });
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 300n });
    await foldBalances(db);
    expect(await db.row`SELECT count(*)::int AS left FROM ledger_balance_changes`).toEqual({ left: 0 });
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 300n });
    expect(await unequalBalances(db)).toEqual([]);
  });

  it('has balances that are the sums of postings, however they are folded while charges go on', async () => {
    await Promise.all([
      ...Array.from({ length: 60 }, (_, n) => posted(anyCharge(new Date(Date.UTC(2096, 2, 1 + (n % 3)))))),
      ...Array.from({ length: 20 }, () => foldBalances(db, 7)),
    ]);
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 60n });
    expect(await unequalBalances(db)).toEqual([]);
  });
});

/** With its first posting twice, an entry does not balance. */
const postFirstAgain = (trx: Executor, resourceId: string) => trx.rows`
  INSERT INTO ledger_postings (entry_id, n, party_id, account, currency, direction, amount)
  SELECT entry_id, 9, party_id, account, currency, direction, amount FROM ledger_postings
  WHERE entry_id = (SELECT id FROM ledger_entries WHERE resource_id = ${resourceId}) AND n = 1`;
