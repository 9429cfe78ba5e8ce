import { array, assert, asyncProperty, boolean, constantFrom, nat, oneof, record } from 'fast-check';
import { answerRefund as answerInTransaction } from '../../../src/database/refund/settle-refund';
import { openTransaction } from '../../support/open-transaction';
import {
  answerRefund,
  charge,
  decline,
  initiateRefund,
  refund,
  respond,
  shareApi,
  type Parties,
} from '../../support/shared-api';

/**
 * A bank's contradictions hold money, so that no more goes back than was taken.
 */

// A property asks more often than any caller may.
const served = shareApi({ RATE_LIMIT_CALLER: '9999/9999', RATE_LIMIT_ANSWER: '9999/9999' });
let parties: Parties;
/** Ids of debits, which no refund may name. */
let used: string[];
beforeAll(async () => {
  parties = await served.parties();
  used = [await charge(parties), await charge(parties)].map(({ id }) => `tx-${id}`);
});

/** The bank says of what is in doubt about a refund that no money moved. */
async function clear(refundId: string): Promise<number | undefined> {
  const open = await served.db.row<{ id: string }>`
    SELECT id FROM reconciliation_exceptions WHERE refund_id = ${refundId} AND state <> 'resolved'`;
  return open && (await respond(parties, open.id, { resolution: 'no_money_moved' })).status;
}

/** A refund, and the answers of the bank to it that stand. */
class Asked {
  private first: 'completed' | 'rejected' | 'returned' | undefined;
  /** By which id it was completed. */
  private right: string | undefined;
  /** The answers beneath its open exception. */
  private readonly doubts = new Set<'transfer' | 'used' | 'rejection'>();

  constructor(
    readonly id: string,
    readonly kobo: number,
  ) {}

  answered(action: 'completed' | 'rejected', named: string, isUsed: boolean): void {
    const before = this.first;
    if (action === 'rejected' || !isUsed) this.first ??= action;
    if (before === undefined) {
      if (this.first === 'completed') {
        this.right = named;
        this.ended();
      }
      if (isUsed && action === 'completed') this.doubts.add('used');
    } else if (action === 'rejected') {
      if (before === 'completed') this.doubts.add('rejection');
    } else if (isUsed) this.doubts.add('used');
    else if (named !== this.right) this.doubts.add('transfer');
    else if (before === 'completed') this.ended();
  }

  /** The right id explains used ones, where nothing else is in doubt. */
  private ended(): void {
    if (this.doubts.size === 1) this.doubts.delete('used');
  }

  /** @returns whether there was anything in doubt */
  cleared(): boolean {
    if (this.doubts.size === 0) return false;
    // Without a rejection the bank speaks of another transfer than the one that counts.
    if (this.first === 'completed' && this.doubts.has('rejection')) this.first = 'returned';
    this.doubts.clear();
    return true;
  }

  /**
   * How often its amount is gone, or may be: an open exception holds it once, beside what is
   * counted only for a transfer by another id.
   */
  timesGone(): number {
    if (this.first === 'rejected' || this.first === 'returned') return Math.min(this.doubts.size, 1);
    return this.doubts.has('transfer') ? 2 : 1;
  }
}

test.each([
  ['rejected, and then completed', ['rejected', 'own'], 60, 100],
  ['the same contradiction three times', ['rejected', 'own', 'own', 'own'], 60, 100],
  ['completed, and then rejected', ['own', 'rejected'], 60, 100],
  ['completed by two transfers', ['own', 'other'], 20, 60],
  ['rejected, and then completed by a used id and a transfer', ['rejected', 'used', 'own'], 60, 100],
  ['rejected, and then completed by a transfer and a used id', ['rejected', 'own', 'used'], 60, 100],
  ['rejected, and then completed by two used ids', ['rejected', 'used', 'used too'], 60, 100],
  ['rejected, and then completed by two transfers', ['rejected', 'own', 'other'], 60, 100],
] as const)(
  'of a charge of 100 whose refund of 40 was %s, %j, %i can be refunded, and %i once that is cleared',
  async (_, said, left, cleared) => {
    const { reference } = await charge(parties);
    const refundId = await refund(parties, reference, 40);
    const named: Record<string, string | undefined> = { used: used[0], 'used too': used[1] };
    for (const [n, one] of said.entries()) {
      const action = one === 'rejected' ? 'rejected' : 'completed';
      const answered = await answerRefund(parties, refundId, action, named[one] ?? `${one}-${refundId}`);
      expect(answered.status).toBe(n === 0 ? 200 : 409);
    }
    expect((await initiateRefund(parties, reference, left + 0.01)).status).toBe(409);
    expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: left });
    expect((await initiateRefund(parties, reference, 0.01)).status).toBe(409);

    expect(await clear(refundId)).toBe(200);

    const rest = cleared - left;
    expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: rest });
  },
);

test('a refund that bounced and is paid again under another id is a 409, and held by a new exception', async () => {
  const { reference } = await charge(parties);
  const refundId = await refund(parties, reference, 40, 'completed', 'rejected');
  expect(await clear(refundId)).toBe(200);

  expect((await answerRefund(parties, refundId, 'completed', `again-${refundId}`)).status).toBe(409);

  expect((await initiateRefund(parties, reference, 60.01)).status).toBe(409);
  expect(await clear(refundId)).toBe(200);
  expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: 100 });
});

test('a wrong id that is cleared before the bank rejects the refund is held for no more', async () => {
  const { reference } = await charge(parties);
  const refundId = await refund(parties, reference, 40);
  await answerRefund(parties, refundId, 'completed', used[0]);
  expect(await clear(refundId)).toBe(200);
  await answerRefund(parties, refundId, 'rejected');

  expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: 100 });
});

test('a refund waits for a contradiction that is being written, and does not pass it', async () => {
  const { reference } = await charge(parties);
  const refundId = await refund(parties, reference, undefined, 'rejected');
  const late = await openTransaction(served.db);
  await answerInTransaction(late.trx, parties.bankId, refundId, {
    action: 'completed',
    bankTransactionId: `transfer-${refundId}`,
    reason: null,
  });

  const second = initiateRefund(parties, reference);
  // The refund waits for the lock on the charge, or comes later: it finds the hold either way.
  await late.commit();

  expect((await second).status).toBe(409);
});

test('a charge that the bank approved and then calls declined is not refunded while nobody has looked', async () => {
  const { reference, id } = await charge(parties);
  expect((await decline(parties, id)).status).toBe(409);

  expect((await initiateRefund(parties, reference)).status).toBe(409);
});

test('whatever a bank says in whatever order, what it may have sent back and what is asked for never exceed the charge', async () => {
  const step = oneof(
    { weight: 1, arbitrary: record({ refund: constantFrom(2_500, 2_501, 5_000, 7_500, 10_000) }) },
    {
      weight: 3,
      arbitrary: record({
        of: nat(1),
        action: constantFrom('completed', 'rejected'),
        transfer: nat(1),
        used: boolean(),
      }),
    },
    { weight: 2, arbitrary: record({ of: nat(1) }) },
  );
  await assert(
    asyncProperty(array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
      const { reference } = await charge(parties);
      const refunds: Asked[] = [];
      const gone = () => refunds.reduce((sum, one) => sum + one.kobo * one.timesGone(), 0);
      for (const one of steps) {
        if ('refund' in one) {
          const left = 10_000 - gone();
          const { status, body } = await initiateRefund(parties, reference, one.refund / 100);
          expect({ status, left, asked: one.refund }).toMatchObject({
            status: one.refund <= left ? 201 : 409,
          });
          if (status === 201) refunds.push(new Asked(String(body.data?.['refundId']), one.refund));
          continue;
        }
        const asked = refunds[one.of];
        if (!asked) continue;
        if ('action' in one) {
          const named = one.used ? String(used[one.transfer]) : `${asked.id}-${one.transfer}`;
          await answerRefund(parties, asked.id, one.action, named);
          asked.answered(one.action, named, one.used);
        } else {
          expect(await clear(asked.id)).toBe(asked.cleared() ? 200 : undefined);
        }
      }
      const left = Math.max(0, 10_000 - gone());
      expect((await initiateRefund(parties, reference, (left + 1) / 100)).status).toBe(409);
      if (left > 0)
        expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: left / 100 });
    }),
    { numRuns: 20 },
  );
});
