import { refundState } from '../../../src/database/refund/settle-refund';
import { resolveException } from '../../../src/database/resolution/resolve-exception';
import { bookDifferences } from '../../support/books';
import { balancesOf } from '../../support/ledger';
import { openTransaction } from '../../support/open-transaction';
import {
  answerRefund,
  bill,
  charge,
  decline,
  eventsOf,
  EXCEPTIONS,
  history,
  initiateRefund,
  refund,
  respond,
  ROLES,
  shareApi,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { announcedTo, moveClock } from '../../support/standing';
import { resolveAsOperator } from '../../support/settled';
import { remindBank } from '../../../src/database/refund/remind-bank';

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const LAGOS = 'Africa/Lagos';
const show = (refundId: string) => parties.merchant.read(`/v1/refunds/${refundId}`);
const refunded = async (reference: string) =>
  (await history(parties.merchant, `?reference=${reference}`))[0]?.['refundedAmount'];
const statusesOf = (answers: { status: number }[]) =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

describe('initiating a refund', () => {
  test('sends back what is left, and leaves its workflow to be started', async () => {
    const { reference } = await charge(parties);

    const { status, body } = await initiateRefund(parties, reference, undefined, { reason: ' Too small ' });

    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      refundId: expect.stringMatching(/^rfd_[0-9a-z]{26}$/) as string,
      reference: expect.stringMatching(/^[0-9A-Z]{1,24}$/) as string,
      originalReference: reference,
      amount: 100,
      currency: 'NGN',
      status: 'pending',
      reason: 'Too small',
      overdue: false,
      expectedBy: expect.stringMatching(/Z$/) as string,
    });
    const id = String(body.data?.['refundId']);
    const started = await served.db.row`
      SELECT workflow_id AS id FROM outbox WHERE start->>'type' = 'refund' AND start->'args'->>0 = ${id}`;
    expect(started).toEqual({ id: `refund/${id}` });
  });

  test('sends parts back until nothing is left, each once for one idempotency key', async () => {
    const { reference } = await charge(parties);
    const part = { reference, amount: 30.5 };
    const key = { 'idempotency-key': reference };

    const first = await parties.merchant.post('/v1/refunds/initiate', part, key);
    expect((await parties.merchant.post('/v1/refunds/initiate', part, key)).body).toEqual(first.body);
    expect(await initiateRefund(parties, reference, 69.51)).toMatchObject({
      status: 409,
      body: { data: { status: 'successful' } },
    });
    expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: 69.5 });
    expect((await initiateRefund(parties, reference)).status).toBe(409);
    expect(await refunded(reference)).toBe(100);
  });

  test('never sends back more than was taken, however many race', async () => {
    const { reference } = await charge(parties);

    const answers = await Promise.all(
      Array.from({ length: 8 }, () => initiateRefund(parties, reference, 30)),
    );

    expect(statusesOf(answers)).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
    expect(await refunded(reference)).toBe(90);
  });

  test('of a charge that is open or declined gets 409 with its status', async () => {
    const { id, reference } = await bill(parties);
    for (const status of ['pending', 'declined']) {
      expect(await initiateRefund(parties, reference)).toMatchObject({
        status: 409,
        body: { data: { status } },
      });
      await decline(parties, id);
    }
  });

  test.each(['refund', 'refund_return'])('of a %s gets 409: it is no charge', async (type) => {
    const { reference } = await charge(parties);
    await returned(reference, 40);
    const [found] = await history(parties.merchant, `?type=${type}`);

    expect(await initiateRefund(parties, String(found?.['reference']))).toMatchObject({
      status: 409,
      body: {
        code: 'not_a_charge',
        message: expect.stringContaining(`the reference of a ${type.replace('_', ' ')}`) as string,
      },
    });
  });

  test('without a charge, or with an amount that its currency has not, gets 400 by name', async () => {
    const { reference } = await charge(parties);
    const pathsOf = async (body: object) => {
      const answered = await parties.merchant.post('/v1/refunds/initiate', body);
      return [answered.status, ...(answered.body.errors ?? []).map(({ path }) => path)];
    };

    expect(await pathsOf({ amount: 0, reason: '' })).toEqual([400, 'reference', 'amount', 'reason']);
    expect(await pathsOf({ reference, amount: 1.005 })).toEqual([400, 'amount']);
    expect(await refunded(reference)).toBe(0);
  });
});

describe('the bank’s answer', () => {
  test.each(['completed', 'rejected'] as const)(
    'that says %s may bring both an id and a reason, and the same again changes nothing',
    async (action) => {
      const { reference } = await charge(parties);
      const refundId = await refund(parties, reference, 60);
      const answer = { refundId, action, bankTransactionId: `both-${refundId}`, reason: 'as agreed' };

      for (let again = 0; again < 2; again++) {
        expect(await parties.bank.post('/v1/bank/refund-response', answer)).toMatchObject({
          status: 200,
          body: { data: { refundId, status: action } },
        });
      }

      const isCompleted = action === 'completed';
      expect(await parties.bank.read(`/v1/refunds/${refundId}`)).toMatchObject(
        isCompleted
          ? { bankTransactionId: answer.bankTransactionId, rejectReason: null }
          : { bankTransactionId: null, rejectReason: 'as agreed' },
      );
      expect(await refundState(served.db, refundId)).toMatchObject({ status: action, next: null });
      expect((await initiateRefund(parties, reference)).body.data).toMatchObject({
        amount: isCompleted ? 40 : 100,
      });
    },
  );

  test('in the bank’s own words stays with the refund, and out of what is kept for good', async () => {
    const { reference } = await charge(parties);
    const { body } = await initiateRefund(parties, reference, undefined, { reason: 'Ada Obi moved away' });
    const refundId = String(body.data?.['refundId']);
    const rejected = { refundId, action: 'rejected', reason: 'Ada Obi closed her account' };
    await parties.bank.post('/v1/bank/refund-response', rejected);

    expect(await parties.bank.read(`/v1/refunds/${refundId}`)).toMatchObject({
      reason: 'Ada Obi moved away',
      rejectReason: 'Ada Obi closed her account',
    });
    const kept = await served.db.rows`SELECT details FROM events WHERE resource_id = ${refundId}`;
    expect(kept).toHaveLength(2);
    expect(JSON.stringify(kept)).not.toContain('Ada');
  });

  test('of two that race counts once', async () => {
    const { reference } = await charge(parties);
    const refundId = await refund(parties, reference);

    const answers = await Promise.all([
      answerRefund(parties, refundId, 'completed'),
      answerRefund(parties, refundId, 'rejected'),
    ]);

    expect(statusesOf(answers)).toEqual([200, 409]);
    const [one, other] = answers.map(({ body }) => body.data?.['status']);
    expect(one).toBe(other);
    expect(await refunded(reference)).toBe(one === 'completed' ? 100 : 0);
  });

  test.each([
    [{ action: 'lost' }, 'action'],
    [{}, 'action'],
    [{ action: 'completed' }, 'bankTransactionId'],
  ])('%j gets 400 that names %s', async (answer, path) => {
    expect(
      await parties.bank.post('/v1/bank/refund-response', { refundId: 'rfd_x', ...answer }),
    ).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    });
  });
});

test('a refund that takes long is overdue from its day on and not before, and the bank is reminded', async () => {
  const refundId = await refund(parties, (await charge(parties)).reference);
  const remind = () => served.db.transaction((trx) => remindBank(trx, refundId));
  const told = async () => {
    const { reference } = await show(refundId);
    return (await eventsOf(parties.merchant, reference)).map(({ type }) => type);
  };
  await remind();
  expect(await told()).toEqual(['refund.requested']);

  await moveClock(served.db, parties.merchantId, '10 days');
  await Promise.all([remind(), remind()]);

  expect(await show(refundId)).toMatchObject({ status: 'pending', overdue: true });
  expect(await told()).toEqual(['refund.requested', 'refund.overdue']);
  expect((await refundState(served.db, refundId)).next?.inMs).toBeGreaterThan(0);

  await moveClock(served.db, parties.merchantId, '5 days');
  await remind();
  expect((await told()).slice(2)).toEqual(['refund.reminded']);
  expect((await answerRefund(parties, refundId, 'rejected')).status).toBe(200);
});

test('a refund is shown to bank, provider and merchant, in the list, alone, and in the history; its id to the bank', async () => {
  const { reference } = await charge(parties);
  const refundId = await refund(parties, reference, 40, 'completed');
  const strangers = await served.parties();

  for (const role of ROLES) {
    const caller = parties[role];
    const one = await caller.read(`/v1/refunds/${refundId}`);
    expect(one).toMatchObject({ refundId, amount: 40, status: 'completed' });
    expect('bankTransactionId' in one).toBe(role === 'bank');
    expect(await caller.read('/v1/refunds?status=completed')).toEqual({
      refunds: [one],
      total: 1,
      page: 1,
      limit: 20,
    });
    expect(await history(caller, '?type=refund')).toMatchObject([
      { type: 'refund', reference: one['reference'], amount: 40, status: 'completed', refundedAmount: 0 },
    ]);
    expect((await eventsOf(caller, reference)).map(({ type }) => type)).toEqual([
      'billing_request.accepted',
      'billing_request.successful',
      'refund.requested',
      'refund.completed',
    ]);
    expect(await strangers[role].list('/v1/refunds')).toEqual([]);
  }
  expect(await refunded(reference)).toBe(40);
});

const NO_MONEY = { resolution: 'no_money_moved' };
const REVERSED = { resolution: 'reversed', bankTransactionId: 'came-back' };

async function openOf(refundId: string): Promise<string> {
  const open = await parties.bank.list(`${EXCEPTIONS}?state=open`);
  return String(open.find((one) => one['refundId'] === refundId)?.['exceptionId']);
}
const find = async (refundId: string, finding: object) =>
  (await respond(parties, await openOf(refundId), finding)).status;

/** A completed refund that its bank calls rejected later. */
const bounced = (reference: string, amount?: number) =>
  refund(parties, reference, amount, 'completed', 'rejected');

async function returned(reference: string, amount?: number, finding: object = NO_MONEY): Promise<string> {
  const refundId = await bounced(reference, amount);
  expect(await find(refundId, finding)).toBe(200);
  return refundId;
}

describe('a refund that bounces', () => {
  test.each([
    ['that no money moved', NO_MONEY],
    ['that the money came back', REVERSED],
  ])('is returned once its bank says %s, and can be made again', async (_, finding) => {
    const { reference } = await charge(parties);

    const refundId = await returned(reference, undefined, finding);

    expect(await show(refundId)).toMatchObject({ status: 'returned', amount: 100 });
    expect(await refunded(reference)).toBe(0);
    expect(await balancesOf(served.db, parties.merchantId)).toEqual({ merchant: 10_000n });
    expect(await balancesOf(served.db, parties.bankId)).toEqual({ customer_bank: -10_000n });
    expect(await show(await refund(parties, reference, undefined, 'completed'))).toMatchObject({
      amount: 100,
    });
    expect((await initiateRefund(parties, reference, 0.01)).status).toBe(409);
    expect(await balancesOf(served.db, parties.merchantId)).toEqual({ merchant: 0n });
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test.each([
    ['reversed', 'returned'],
    ['written_off', 'completed'],
    ['no_difference', 'completed'],
    ['confirmed', 'completed'],
  ] as const)('and whose exception the operator ends %s is %s', async (resolution, status) => {
    const { reference } = await charge(parties);
    const refundId = await bounced(reference);
    await resolveAsOperator(served.db, refundId, resolution);

    expect(await show(refundId)).toMatchObject({ status });
    expect((await initiateRefund(parties, reference, 0.01)).status).toBe(status === 'returned' ? 201 : 409);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test.each([
    ['a used id', NO_MONEY],
    ['a second transfer', NO_MONEY],
    ['a second transfer', REVERSED],
  ])('is not one of which the bank named %s: it stays completed after %j', async (said, finding) => {
    const [one, other] = [await charge(parties), await charge(parties)];
    const refundId = await refund(parties, one.reference, 40, 'completed');
    const named = said === 'a used id' ? `tx-${other.id}` : `second-${refundId}`;
    expect((await answerRefund(parties, refundId, 'completed', named)).status).toBe(409);

    expect(await find(refundId, finding)).toBe(200);

    expect(await show(refundId)).toMatchObject({ status: 'completed' });
    expect((await initiateRefund(parties, one.reference)).body.data).toMatchObject({ amount: 60 });
  });

  test('is told to merchant and bank, each in its own numbers', async () => {
    const { reference } = await charge(parties);
    const refundId = await returned(reference, 40);

    const item = {
      refundId,
      reference: (await show(refundId))['reference'],
      originalReference: reference,
      amount: 40,
      currency: 'NGN',
      status: 'returned',
      sequence: 2,
    };
    for (const [party, own] of [
      [parties.merchantId, { metadata: {} }],
      [parties.bankId, {}],
    ] as const) {
      const told = await announcedTo(served.db, party);
      const ofRefund = told.filter(({ type }) => type.startsWith('refund.'));
      expect(ofRefund.map((one) => one.item['sequence'])).toEqual([1, 2]);
      expect(ofRefund[1]).toMatchObject({ type: 'refund.returned' });
      expect(ofRefund[1]?.item).toEqual({ ...item, ...own });
    }
  });

  test.each(['completed', 'rejected'] as const)(
    'takes a later answer %s as a 409 on the time line, which opens nothing',
    async (action) => {
      const { reference } = await charge(parties);
      const refundId = await returned(reference);

      for (let again = 0; again < 2; again++) {
        expect(await answerRefund(parties, refundId, action)).toMatchObject({
          status: 409,
          body: { code: 'late_answer', data: { refundId, status: 'returned' } },
        });
      }

      expect(await parties.bank.list(`${EXCEPTIONS}?state=open`)).toEqual([]);
      const own = (await show(refundId))['reference'];
      expect((await eventsOf(parties.merchant, own)).map(({ type }) => type)).toEqual([
        'refund.requested',
        'refund.completed',
        'exception.opened',
        'exception.resolved',
        'refund.returned',
        'refund.answer_refused',
      ]);
      expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: 100 });
      expect(await bookDifferences(served.db)).toEqual([]);
    },
  );

  test('has its return as a transaction of its own in everybody’s history', async () => {
    const { reference, id } = await charge(parties);
    const { transactionId } = await show(await returned(reference, 40, REVERSED));

    for (const role of ROLES) {
      const caller = parties[role];
      const [found, ...others] = await history(caller, '?type=refund_return&status=completed');
      expect(others).toEqual([]);
      expect(found).toMatchObject({
        type: 'refund_return',
        amount: 40,
        billingRequestId: id,
        settledAt: expect.any(String) as string,
        ...(role === 'bank' && { bankTransactionId: 'came-back' }),
      });
      expect(found?.['transactionId']).not.toBe(transactionId);
      expect(await history(caller, '?status=returned')).toMatchObject([
        { type: 'refund', status: 'returned' },
      ]);
      const details = await caller.read(`/v1/transaction-details?reference=${String(found?.['reference'])}`);
      expect(details).toMatchObject({ type: 'refund_return', transactionId: found?.['transactionId'] });
      expect((details['events'] as Shown[]).map(({ type }) => type)).toContain('refund.returned');
      expect(details['timeline']).toContainEqual(
        expect.objectContaining({
          what: 'ledger',
          text: expect.stringContaining('refund_return of txn_') as string,
        }),
      );
      if (role === 'bank') expect(await history(caller, '?bankTransactionId=came-back')).toEqual([found]);
    }
  });

  test('leaves its day as it was, and its return counts on the day of the return', async () => {
    const { reference } = await charge(parties);
    const refundId = await bounced(reference, 40);
    const { merchant, bank } = parties;
    const dayOf = async () => {
      const { now } = await merchant.read('/v1/sandbox/clock');
      return new Intl.DateTimeFormat('en-CA', { timeZone: LAGOS }).format(new Date(String(now)));
    };
    const day = await dayOf();
    await moveClock(served.db, parties.merchantId, '2 days');
    const before = await merchant.read(`/v1/statements?date=${day}`);
    const fileBefore = await merchant.file(`/v1/statements/${day}.csv`);
    expect(before).toMatchObject({ final: true, closingBalance: 60, refunds: { count: 1, amount: 40 } });

    expect(await find(refundId, NO_MONEY)).toBe(200);

    const later = await dayOf();
    const { exceptionsOpen: _, ...totals } = before;
    expect(await merchant.read(`/v1/statements?date=${day}`)).toMatchObject(totals);
    expect(await merchant.file(`/v1/statements/${day}.csv`)).toEqual(fileBefore);
    const returns = { count: 1, amount: 40 };
    expect(await merchant.read(`/v1/statements?date=${later}`)).toMatchObject({
      openingBalance: 60,
      closingBalance: 100,
      refundReturns: returns,
    });
    expect(await bank.read(`/v1/statements?date=${later}`)).toMatchObject({
      openingBalance: -60,
      closingBalance: -100,
      refundReturns: returns,
    });
    expect(await merchant.list(`/v1/positions?date=${later}`)).toMatchObject([
      { counterpartyId: parties.bankId, owedToYou: 40, owedByYou: 0, net: 40 },
    ]);
    expect((await merchant.read(`/v1/summary?from=${day}&to=${later}`))['totals']).toMatchObject([
      { refunded: returns, returned: returns },
    ]);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('of a charge that was found reversed goes back with it, and is refunded to nobody', async () => {
    const { reference, id } = await charge(parties);
    const refundId = await bounced(reference, 40);
    expect((await decline(parties, id)).status).toBe(409);
    const [doubted] = await parties.bank.list(`${EXCEPTIONS}?kind=conflicting_answer`);
    await respond(parties, doubted?.['exceptionId'], NO_MONEY);

    expect(await find(refundId, NO_MONEY)).toBe(200);

    expect(await history(parties.merchant, '?type=reversal')).toMatchObject([{ amount: 40 }, { amount: 60 }]);
    expect((await initiateRefund(parties, reference, 0.01)).status).toBe(409);
    expect(await balancesOf(served.db, parties.merchantId)).toEqual({ merchant: 0n });
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('has a new refund wait for its return that is being written', async () => {
    const { reference } = await charge(parties);
    const exceptionId = await openOf(await bounced(reference));
    const open = await openTransaction(served.db);
    const by = { cause: 'bank', bankId: parties.bankId, note: null } as const;
    const finding = { resolution: 'no_money_moved', bankTransactionId: null } as const;
    await resolveException(open.trx, by, exceptionId, finding);
    const again = initiateRefund(parties, reference);
    await open.commit();

    // The refund waits for the lock on the charge, or came to it before: then nothing was left yet.
    const { status } = await again;
    expect([201, 409]).toContain(status);
    expect((await initiateRefund(parties, reference)).status).toBe(status === 201 ? 409 : 201);
  });

  test('and several refunds at once take no more than the charge', async () => {
    const { reference } = await charge(parties);
    const refundId = await bounced(reference, 60);

    const all = await Promise.all([
      ...[50, 50, 60, 40, 100].map(async (amount) => {
        const { status } = await initiateRefund(parties, reference, amount);
        return status === 201 ? amount : 0;
      }),
      find(refundId, NO_MONEY).then(() => 0),
    ]);

    const taken = all.reduce((sum, amount) => sum + amount, 0);
    expect(taken).toBeLessThanOrEqual(100);
    expect(await refunded(reference)).toBe(taken);
    expect(await show(refundId)).toMatchObject({ status: 'returned' });
    expect(await bookDifferences(served.db)).toEqual([]);
  });
});
