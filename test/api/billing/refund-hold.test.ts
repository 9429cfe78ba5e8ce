import { array, assert, asyncProperty, boolean, constantFrom, nat, oneof, record } from 'fast-check';
import { row, type Database } from '../../../src/database/pool/connection';
import { answerRefund } from '../../../src/database/refund/settle-refund';
import { chargeUnder, send, serveApi, tokenOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { openTransaction } from '../../support/open-transaction';
import { answerCharges, standingApproval, type Standing } from '../../support/standing';

/**
 * What contradictions of a bank keep from being refunded, so that no more goes back than was taken.
 */

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let merchant: string;
let bank: string;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  // A property asks more often than any caller may.
  api = await serveApi(db, { settings: { RATE_LIMIT_CALLER: '9999/9999', RATE_LIMIT_ANSWER: '9999/9999' } });
  standing = await standingApproval(db, api.deps.ring);
  merchant = await tokenOf(api, standing.credentials.merchant);
  bank = await tokenOf(api, standing.credentials.bank);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const post = (token: string, path: string, body: unknown): Promise<Answered> =>
  send(api.url, 'POST', path, body, { authorization: `Bearer ${token}` });
const initiate = (reference: string, amount?: number) =>
  post(merchant, '/v1/refunds/initiate', { reference, ...(amount !== undefined && { amount }) });

/** Of the bank. Each id of a transfer is new, unless one is given. */
let transfers = 0;
const respond = (refundId: string, action: 'completed' | 'rejected', id = `transfer-${++transfers}`) =>
  post(bank, '/v1/bank/refund-response', {
    refundId,
    action,
    ...(action === 'completed' && { bankTransactionId: id }),
  });

/** A successful charge of 100 naira. */
async function charge(): Promise<{ reference: string; id: string }> {
  const made = await chargeUnder(api, standing, merchant);
  await answerCharges(db, api.deps.ring, standing);
  return made;
}

async function refund(reference: string, amount?: number): Promise<string> {
  const { status, body } = await initiate(reference, amount);
  expect(status).toBe(201);
  return String(body.data?.['refundId']);
}

/** The bank says of what is in doubt about a refund that no money moved. */
async function clear(refundId: string): Promise<number | undefined> {
  const open = await row<{ id: string }>(
    db,
    `SELECT id FROM reconciliation_exceptions WHERE refund_id = :refundId AND state <> 'resolved'`,
    { refundId },
  );
  const url = `/v1/reconciliation/exceptions/${open?.id}/respond`;
  return open && (await post(bank, url, { resolution: 'no_money_moved' })).status;
}

/** What the bank has said of a refund, and not taken back. */
class Asked {
  private first: 'completed' | 'rejected' | 'returned' | undefined;
  /** By which id it was completed. */
  private right: string | undefined;
  /** What stands beneath its exception, where one is open. */
  private readonly doubts = new Set<'transfer' | 'used' | 'rejection'>();

  constructor(
    readonly id: string,
    readonly kobo: number,
  ) {}

  answered(action: 'completed' | 'rejected', named: string, used: boolean): void {
    const before = this.first;
    if (action === 'rejected' || !used) this.first ??= action;
    if (before === undefined) {
      if (this.first === 'completed') {
        this.right = named;
        this.ended();
      }
      if (used && action === 'completed') this.doubts.add('used');
    } else if (action === 'rejected') {
      if (before === 'completed') this.doubts.add('rejection');
    } else if (used) this.doubts.add('used');
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

test('a refund that the bank rejected and then calls completed is not paid a second time', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference);
  await respond(refundId, 'rejected');
  expect((await respond(refundId, 'completed')).status).toBe(409);

  expect(await initiate(reference)).toMatchObject({ status: 409, body: { data: { status: 'successful' } } });
  expect((await initiate(reference, 0.01)).status).toBe(409);
});

test('a part that the bank contradicts itself about is held, and the rest can be refunded', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  await respond(refundId, 'rejected');
  await respond(refundId, 'completed');

  expect((await initiate(reference, 60.01)).status).toBe(409);
  expect((await initiate(reference)).body.data).toMatchObject({ amount: 60 });
});

test('a refund that the bank completed and then calls rejected stays counted, once', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  await respond(refundId, 'completed');
  expect((await respond(refundId, 'rejected')).status).toBe(409);

  expect((await initiate(reference, 60.01)).status).toBe(409);
  expect((await initiate(reference, 60)).status).toBe(201);
});

test('the same contradiction sent again holds no more', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  await respond(refundId, 'rejected');
  for (let again = 0; again < 3; again++) await respond(refundId, 'completed', `again-${refundId}`);

  expect((await initiate(reference)).body.data).toMatchObject({ amount: 60 });
});

test('a refund waits for a contradiction that is being written, and does not pass it', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference);
  await respond(refundId, 'rejected');
  const late = await openTransaction(db);
  await answerRefund(late.trx, api.deps.ring, 'Africa/Lagos', standing.bankId, refundId, {
    action: 'completed',
    bankTransactionId: `transfer-${++transfers}`,
    reason: null,
  });

  const second = initiate(reference);
  // It waits for the lock on the charge, or has yet to come to it; either way it finds what is
  // held.
  await late.commit();

  expect((await second).status).toBe(409);
});

test('a charge that the bank approved and then calls declined is not refunded while nobody has looked', async () => {
  const { reference, id } = await charge();
  const contradiction = await post(bank, '/v1/billing/bank-response', {
    billingRequestId: id,
    declineReason: 'insufficient_funds',
  });
  expect(contradiction.status).toBe(409);

  expect((await initiate(reference)).status).toBe(409);
});

test.each([
  ['a used id before a transfer', ['used', 'own']],
  ['a used id after a transfer', ['own', 'used']],
  ['two used ids', ['used', 'used too']],
  ['two transfers', ['own', 'own too']],
])('a rejected refund that is told of by %s is held once, until its one exception ends', async (_, said) => {
  const used = [await charge(), await charge()].map(({ id }) => `tx-${id}`);
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  await respond(refundId, 'rejected');
  const named: Record<string, string | undefined> = { used: used[0], 'used too': used[1] };
  for (const one of said) {
    expect((await respond(refundId, 'completed', named[one] ?? `${one}-${refundId}`)).status).toBe(409);
  }
  expect((await initiate(reference, 60.01)).status).toBe(409);
  expect((await initiate(reference, 60)).status).toBe(201);
  expect((await initiate(reference, 0.01)).status).toBe(409);

  expect(await clear(refundId)).toBe(200);

  expect((await initiate(reference)).body.data).toMatchObject({ amount: 40 });
});

test('a second transfer of a completed refund holds its amount besides', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  for (const id of ['first', 'second']) await respond(refundId, 'completed', `${id}-${refundId}`);

  expect((await initiate(reference, 20.01)).status).toBe(409);
  expect((await initiate(reference)).body.data).toMatchObject({ amount: 20 });
});

test('a refund that bounced and is paid again under another id is a 409, and held by a new exception', async () => {
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  await respond(refundId, 'completed');
  await respond(refundId, 'rejected');
  expect(await clear(refundId)).toBe(200);

  expect((await respond(refundId, 'completed', `again-${refundId}`)).status).toBe(409);

  expect((await initiate(reference, 60.01)).status).toBe(409);
  expect(await clear(refundId)).toBe(200);
  expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
});

test('a wrong id that is cleared before the bank rejects the refund is held for no more', async () => {
  const other = await charge();
  const { reference } = await charge();
  const refundId = await refund(reference, 40);
  await respond(refundId, 'completed', `tx-${other.id}`);
  expect(await clear(refundId)).toBe(200);
  await respond(refundId, 'rejected');

  expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
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
  const used = [await charge(), await charge()].map((one) => `tx-${one.id}`);
  await assert(
    asyncProperty(array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
      const { reference } = await charge();
      const refunds: Asked[] = [];
      const gone = () => refunds.reduce((sum, one) => sum + one.kobo * one.timesGone(), 0);
      for (const one of steps) {
        if ('refund' in one) {
          const left = 10_000 - gone();
          const { status, body } = await initiate(reference, one.refund / 100);
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
          await respond(asked.id, one.action, named);
          asked.answered(one.action, named, one.used);
        } else {
          expect(await clear(asked.id)).toBe(asked.cleared() ? 200 : undefined);
        }
      }
      const left = Math.max(0, 10_000 - gone());
      expect((await initiate(reference, (left + 1) / 100)).status).toBe(409);
      if (left > 0) expect((await initiate(reference)).body.data).toMatchObject({ amount: left / 100 });
    }),
    { numRuns: 60 },
  );
});
