import * as fc from 'fast-check';
import { rows, type Database } from '../../src/database/pool/connection';
import { makeKeyring, readKeyring } from '../../src/database/keys/keyring';
import { resolveException } from '../../src/database/resolution/resolve-exception';
import { answerBillingRequest } from '../../src/database/billing-request/settle-billing-request';
import { answerRefund } from '../../src/database/refund/settle-refund';
import type { Resolution } from '../../src/domain/books/reconciliation-exception';
import { openBookingCase } from '../support/bank-file';
import { bookDifferences } from '../support/books';
import { asOwner, createTestDatabase, type TestDatabase } from '../support/database';
import { balancesOf } from '../support/ledger';
import { answerBill, charge, refund, type Billed } from '../support/settled';
import { standingApproval, type Standing } from '../support/standing';

/** Write-offs of one charge, and what else becomes of it: what its bank owes in the end. */

const keyring = readKeyring(makeKeyring());
const timeZone = 'Africa/Lagos';
/** Of each charge here, in minor units. */
const AMOUNT = 100;

let database: TestDatabase;
let db: Database;
let standing: Standing;
let charged: Billed;
beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
});
afterAll(() => database.drop());

async function newCharge() {
  standing = await standingApproval(db, keyring);
  charged = await charge(db, keyring, standing);
}
beforeEach(newCharge);

/** Ends all exceptions of the charge that are open. */
async function resolveAll(resolution: Resolution) {
  const open = await rows<{ id: string }>(
    db,
    `SELECT id FROM reconciliation_exceptions WHERE billing_request_id = :id AND state <> 'resolved'`,
    { id: charged.id },
  );
  const by = { cause: 'operator', note: null } as const;
  const finding = { resolution, bankTransactionId: null };
  for (const { id } of open) {
    await db.transaction((trx) => resolveException(trx, keyring, timeZone, by, id, finding));
  }
}

/** A file of the bank has the charge by another amount, or not at all; the operator lets it off. */
async function writeOffBooked(bookedAmount: number | null) {
  await db.transaction((trx) =>
    openBookingCase(trx, keyring, {
      kind: bookedAmount === null ? 'missing_at_bank' : 'amount_differs',
      billingRequestId: charged.id,
      refundId: null,
      bankId: standing.bankId,
      bankTransactionId: `tx-${charged.id}`,
      direction: 'debit',
      amount: BigInt(AMOUNT),
      currency: 'NGN',
      bookedAmount: bookedAmount === null ? null : BigInt(bookedAmount),
      bookedCurrency: bookedAmount === null ? null : 'NGN',
      reference: null,
    }),
  );
  await resolveAll('written_off');
}

/** The bank takes its word back, and the operator lets it off. */
async function writeOffDenied() {
  await answerBill(db, keyring, standing, charged.id, null);
  await resolveAll('written_off');
}

/** The bank has debited anew instead, and finds that no money moved. */
async function reverse() {
  const closed = { outcome: 'declined', declineReason: 'account_closed', action: null } as const;
  await db.transaction((trx) =>
    answerBillingRequest(trx, keyring, timeZone, standing.bankId, charged.id, closed, {}),
  );
  await resolveAll('no_money_moved');
}

const begin = (amount: number) => refund(db, keyring, standing, charged.reference, amount / 100);

const end = (refundId: string, action: 'completed' | 'rejected') =>
  db.transaction((trx) =>
    answerRefund(trx, keyring, timeZone, standing.bankId, refundId, {
      action,
      bankTransactionId: action === 'completed' ? `tx-${refundId}` : null,
      reason: action === 'rejected' ? 'account_closed' : null,
    }),
  );

const balances = () => balancesOf(db, standing.bankId);

async function expectRightBooks() {
  expect(await bookDifferences(db)).toEqual([]);
}

describe('a bank is let off of a charge', () => {
  it.each<[string, () => Promise<unknown>, Record<string, bigint>]>([
    [
      'the rest of it, where it had been let off a part before',
      async () => {
        await writeOffBooked(90);
        await writeOffDenied();
      },
      { customer_bank: 0n, disputed: -100n },
    ],
    [
      'no more than all of it, where a part is written off after it',
      async () => {
        await writeOffDenied();
        await writeOffBooked(90);
        await writeOffBooked(null);
      },
      { customer_bank: 0n, disputed: -100n },
    ],
    [
      'as much as the file says that has the least of it',
      async () => {
        await writeOffBooked(90);
        await writeOffBooked(30);
        await writeOffBooked(60);
      },
      { customer_bank: -30n, disputed: -70n },
    ],
    [
      'what a refund has left, in two parts',
      async () => {
        await end(await begin(40), 'completed');
        await writeOffBooked(90);
        await writeOffDenied();
      },
      { customer_bank: 0n, disputed: -60n },
    ],
    [
      'nothing more, where a refund since the first part has taken all that is left',
      async () => {
        await writeOffBooked(90);
        await end(await begin(100), 'completed');
        await writeOffDenied();
      },
      // It paid out 100, of which it had booked 90.
      { customer_bank: 10n, disputed: -10n },
    ],
    [
      'all of it, once it has rejected the refund that had taken it',
      async () => {
        const refundId = await begin(100);
        await writeOffDenied();
        await end(refundId, 'rejected');
      },
      { customer_bank: 0n, disputed: -100n },
    ],
    [
      'a difference in full, once it has rejected the refund that had taken some of it',
      async () => {
        const refundId = await begin(80);
        await writeOffBooked(60);
        await end(refundId, 'rejected');
      },
      { customer_bank: -60n, disputed: -40n },
    ],
    [
      'once, where it is reversed after two write-offs',
      async () => {
        await writeOffBooked(90);
        await writeOffDenied();
        await reverse();
      },
      { customer_bank: 0n, disputed: 0n },
    ],
  ])('%s', async (_, become, expected) => {
    await become();
    expect(await balances()).toEqual(expected);
    await expectRightBooks();
  });

  it('the largest of what was written off, and no more than is left, in whatever order it all comes', async () => {
    const scenario = fc
      .record({
        refunds: fc.array(
          fc.tuple(fc.integer({ min: 1, max: 60 }), fc.constantFrom('completed', 'rejected')),
          {
            maxLength: 3,
          },
        ),
        booked: fc.uniqueArray(fc.integer({ min: 1, max: AMOUNT - 1 }), { maxLength: 3 }),
        others: fc.uniqueArray(fc.constantFrom('missing', 'denied', 'reversed'), { maxLength: 3 }),
      })
      .filter(({ refunds }) => refunds.reduce((sum, [amount]) => sum + amount, 0) <= AMOUNT)
      .chain(({ refunds, booked, others }) => {
        const steps = [
          ...refunds.map((_, n) => `answer ${n}`),
          ...booked.map((n) => `booked ${n}`),
          ...others,
        ];
        return fc.tuple(
          fc.constant({ refunds, booked, others }),
          fc.shuffledSubarray(steps, { minLength: steps.length }),
        );
      });
    await fc.assert(
      fc.asyncProperty(scenario, async ([{ refunds, booked, others }, steps]) => {
        await newCharge();
        const refundIds: string[] = [];
        for (const [amount] of refunds) refundIds.push(await begin(amount));
        for (const step of steps) {
          const [what, n] = step.split(' ');
          if (what === 'answer') await end(refundIds[Number(n)] ?? '', refunds[Number(n)]?.[1] ?? 'rejected');
          else if (what === 'booked') await writeOffBooked(Number(n));
          else if (what === 'missing') await writeOffBooked(null);
          else if (what === 'denied') await writeOffDenied();
          else await reverse();
        }
        const refunded = refunds.reduce(
          (sum, [amount, action]) => sum + (action === 'completed' ? amount : 0),
          0,
        );
        const left = others.includes('reversed') ? 0 : AMOUNT - refunded;
        const isAll = others.includes('missing') || others.includes('denied');
        const letOff = isAll ? AMOUNT : Math.max(0, ...booked.map((one) => AMOUNT - one));
        const borne = BigInt(Math.min(letOff, left));
        const { customer_bank, disputed = 0n } = await balances();
        expect({ customer_bank, disputed }).toEqual({
          customer_bank: borne - BigInt(left),
          disputed: -borne,
        });
      }),
      { numRuns: 50 },
    );
    await expectRightBooks();
  });
});

test('a difference is let off in full though the trail of it is gone', async () => {
  const refundId = await begin(80);
  await writeOffBooked(60);
  await asOwner(database.url, 'SET session_replication_role = replica; DELETE FROM events');
  await end(refundId, 'rejected');
  expect(await balances()).toEqual({ customer_bank: -60n, disputed: -40n });
});
