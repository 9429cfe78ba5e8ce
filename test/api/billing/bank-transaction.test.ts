import { claimBankTransaction } from '../../../src/database/ledger/claim-bank-transaction';
import { openTransaction, waitsForALock } from '../../support/open-transaction';
import {
  answerRefund,
  approve,
  bill,
  charge,
  EXCEPTIONS,
  eventsOf,
  refund,
  shareApi,
  type Parties,
} from '../../support/shared-api';
import { lookupIdOf, moveClock } from '../../support/standing';
import { remindBank } from '../../../src/database/refund/remind-bank';

/** A bank's transaction proves one thing: whatever it was sent for first. */

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const timeLine = async (reference: string) =>
  (await eventsOf(parties.bank, reference)).map(({ type, kind }) =>
    kind === undefined ? type : [type, kind].join(' '),
  );

test('a debit settles its charge by an identifier as long as a name, and by no longer one', async () => {
  const { id } = await bill(parties);
  expect(await approve(parties, id, 'F'.repeat(201))).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'bankTransactionId', message: 'must have at most 200 characters' }] },
  });
  expect((await approve(parties, id, 'F'.repeat(200))).body.data).toMatchObject({ status: 'successful' });
});

test('a debit that came too late for its charge cannot prove another one', async () => {
  const late = await bill(parties);
  await moveClock(served.db, parties.merchantId, '2 days');
  expect((await approve(parties, late.id, 'debit-1')).status).toBe(409);
  const next = await bill(parties);

  expect(await approve(parties, next.id, 'debit-1')).toMatchObject({
    status: 409,
    body: { data: { billingRequestId: next.id, status: 'pending' } },
  });
  // For the charge that it was made for, it may be sent again.
  expect(await approve(parties, late.id, 'debit-1')).toMatchObject({
    body: { data: { status: 'declined' } },
  });
  expect((await timeLine(late.reference)).filter((one) => String(one).includes('duplicate'))).toEqual([]);
});

test('neither a debit nor a transfer that contradicts the answer that stands can prove a charge', async () => {
  const first = await charge(parties);
  expect((await approve(parties, first.id, 'debit-2')).status).toBe(409);
  const refundId = await refund(parties, (await charge(parties)).reference, 100, 'rejected');
  expect((await answerRefund(parties, refundId, 'completed', 'transfer-1')).status).toBe(409);

  const { id } = await bill(parties);
  for (const named of ['debit-2', 'transfer-1']) expect((await approve(parties, id, named)).status).toBe(409);
});

test('of two charges that are answered with one id at the same time, one takes it and the other has an exception', async () => {
  const both = [await bill(parties), await bill(parties)];

  const answers = await Promise.all(both.map(({ id }) => approve(parties, id, 'debit-1')));

  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const refused = both[answers.findIndex(({ status }) => status === 409)];
  expect(await parties.bank.list(EXCEPTIONS)).toMatchObject([
    { kind: 'duplicate_transaction_id', billingRequestId: refused?.id },
  ]);
});

test('a refund that is completed while the bank is being reminded is completed', async () => {
  const refundId = await refund(parties, (await charge(parties)).reference);
  await moveClock(served.db, parties.merchantId, '10 days');
  const reminding = await openTransaction(served.db);
  await remindBank(reminding.trx, refundId);
  const completing = answerRefund(parties, refundId, 'completed');
  await waitsForALock(served.db);
  await reminding.commit();

  expect((await completing).status).toBe(200);
});

describe('a standing approval for a merchant without an agreement is not granted, and leaves none,', () => {
  let stranger: Parties;
  let billingRequestId: string;

  beforeEach(async () => {
    stranger = await served.parties();
    const lookupIDs = [await lookupIdOf(served.db, parties.customerId)];
    ({ id: billingRequestId } = await bill(stranger, { paymentIDs: undefined, lookupIDs }));
  });

  const grant = () => approve(parties, billingRequestId, 'debit-1', { action: 'approve_recurring' });
  afterEach(async () => {
    const decisions = `/v1/bank/customer-decisions?merchantId=${stranger.merchantId}`;
    expect(await parties.bank.list(decisions)).toEqual([]);
  });

  test('where it comes with a used id', async () => {
    await approve(parties, (await bill(parties)).id, 'debit-1');
    expect((await grant()).status).toBe(409);
  });

  test('where it comes with an id that is being used', async () => {
    const claim = {
      bankId: parties.bankId,
      bankTransactionId: 'debit-1',
      resourceId: (await bill(parties)).id,
    };
    const claiming = await openTransaction(served.db);
    expect(await claimBankTransaction(claiming.trx, claim)).toBe(true);
    const granting = grant();
    await waitsForALock(served.db);
    await claiming.commit();

    expect((await granting).status).toBe(409);
  });

  test('where it comes too late', async () => {
    await moveClock(served.db, stranger.merchantId, '16 minutes');
    expect(await grant()).toMatchObject({ status: 409, body: { data: { status: 'declined' } } });
  });
});
