import { closeExpiredRequests } from '../../../src/database/billing-request/settle-billing-request';
import type { Database } from '../../../src/database/pool/connection';
import { followCredits } from '../../../src/database/credit/follow-credit';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { openWork } from '../../../src/database/reconcile/open-work';
import { resolveException, takeAsOperator } from '../../../src/database/resolution/resolve-exception';
import { bookDifferences } from '../../support/books';
import { chargeUnder, send, serveApi, tokensOf, type Answered, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { balancesOf, postingsOf } from '../../support/ledger';
import { openTransaction } from '../../support/open-transaction';
import { payAnother } from '../../support/settled';
import { wholeFeed } from '../../support/whole-feed';
import { OPERATOR } from '../../support/operator';
import { announcedTo, lookupIdOf, moveClock, standingApproval, type Standing } from '../../support/standing';

/**
 * What somebody has to look into: who sees it, who says what became of the money, and what follows.
 */

const ROLES = ['bank', 'provider', 'merchant'] as const;
type Shown = Record<string, unknown>;

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;
let tokens: Record<(typeof ROLES)[number], string>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db, { settings: { RATE_LIMIT_TOKEN_ADDRESS: '999/999' } });
});
afterAll(async () => {
  await api.close();
  await database.drop();
});
beforeEach(async () => {
  standing = await standingApproval(db, api.deps.ring);
  tokens = await tokensOf(api, standing);
});

const get = (token: string, path: string): Promise<Answered> =>
  send(api.url, 'GET', path, undefined, { authorization: `Bearer ${token}` });
const post = (token: string, path: string, body: unknown): Promise<Answered> =>
  send(api.url, 'POST', path, body, { authorization: `Bearer ${token}` });

const LAGOS = 'Africa/Lagos';
const EXCEPTIONS = '/v1/reconciliation/exceptions';

async function listed(token: string, query = ''): Promise<Shown[]> {
  const { status, body } = await get(token, EXCEPTIONS + query);
  expect(status).toBe(200);
  return body.data?.['exceptions'] as Shown[];
}

/** The only exception there is, as its bank sees it. */
async function theOne(query = ''): Promise<Shown & { exceptionId: string }> {
  const found = await listed(tokens.bank, query);
  expect(found).toHaveLength(1);
  return found[0] as Shown & { exceptionId: string };
}

/** A charge of 100 naira. */
const charge = () => chargeUnder(api, standing, tokens.merchant);

const approve = (id: string, bankTransactionId = `debit-of-${id}`) =>
  post(tokens.bank, '/v1/billing/bank-response', { billingRequestId: id, bankTransactionId });
const decline = (id: string, declineReason = 'insufficient_funds') =>
  post(tokens.bank, '/v1/billing/bank-response', { billingRequestId: id, declineReason });

/** A charge whose bank did not answer in time. */
async function unanswered(): Promise<{ reference: string; id: string }> {
  const made = await charge();
  // Whoever read the feed may have debited.
  await wholeFeed(db);
  await get(tokens.bank, '/v1/events');
  await moveClock(db, standing.merchantId, '2 days');
  await db.transaction((trx) => closeExpiredRequests(trx, api.deps.ring, [made.id], 'by its bank'));
  return made;
}

const respond = (exceptionId: string, body: object, token = tokens.bank) =>
  post(token, `${EXCEPTIONS}/${exceptionId}/respond`, body);
const REVERSED = { resolution: 'reversed', bankTransactionId: 'taken-back' };

const initiate = (reference: string, amount?: number) =>
  post(tokens.merchant, '/v1/refunds/initiate', { reference, ...(amount !== undefined && { amount }) });

/** @returns the refund, with the bank's answer to it */
async function refunded(
  reference: string,
  amount: number,
  ...answers: ('completed' | 'rejected')[]
): Promise<string> {
  const { body } = await initiate(reference, amount);
  const refundId = String(body.data?.['refundId']);
  for (const [n, action] of answers.entries()) await answerRefund(refundId, action, n);
  return refundId;
}
const answerRefund = (refundId: string, action: 'completed' | 'rejected', n = 0) =>
  post(tokens.bank, '/v1/bank/refund-response', {
    refundId,
    action,
    ...(action === 'completed' && { bankTransactionId: `transfer-${n}-${refundId}` }),
  });

async function history(token: string, query = ''): Promise<Shown[]> {
  const { body } = await get(token, `/v1/transaction-history${query}`);
  return body.data?.['transactions'] as Shown[];
}

/** A charge that its bank approved, and then called declined. */
async function contradicted(): Promise<{ reference: string; id: string }> {
  const made = await charge();
  expect((await approve(made.id)).status).toBe(200);
  expect((await decline(made.id)).status).toBe(409);
  return made;
}

describe('the list', () => {
  test.each(ROLES)('shows a %s its own exception, and none of the money of others', async (role) => {
    const { reference, id } = await contradicted();
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    expect(await listed(tokens[role])).toEqual([
      {
        exceptionId: expect.stringMatching(/^exc_/) as string,
        kind: 'conflicting_answer',
        state: 'open',
        reference,
        billingRequestId: id,
        refundId: null,
        merchantId: standing.merchantId,
        bankId: standing.bankId,
        amount: 100,
        currency: 'NGN',
        ...(role === 'bank' ? { bankTransactionId: null } : { metadata: {} }),
        openedAt: expect.any(String) as string,
        resolvedAt: null,
        resolution: null,
        note: null,
        sequence: expect.any(Number) as number,
      },
    ]);
    expect(await listed(stranger[role])).toEqual([]);
  });

  test('tells the id of a bank’s debit to that bank alone', async () => {
    const { id } = await charge();
    await approve(id);
    await approve(id, 'a-second-debit');

    expect(await theOne()).toMatchObject({ bankTransactionId: 'a-second-debit' });
    for (const role of ['merchant', 'provider'] as const) {
      expect(JSON.stringify(await listed(tokens[role]))).not.toContain('second-debit');
    }
  });

  test('is filtered by state, kind, time and reference, and turned page by page', async () => {
    const late = await unanswered();
    const other = await contradicted();
    const kinds = async (query: string) => (await listed(tokens.merchant, query)).map(({ kind }) => kind);
    const [newest, oldest] = await listed(tokens.merchant);

    expect(await kinds('')).toEqual(['conflicting_answer', 'unanswered']);
    expect(await kinds('?kind=unanswered')).toEqual(['unanswered']);
    expect(await kinds('?state=open&sortOrder=asc')).toEqual(['unanswered', 'conflicting_answer']);
    expect(await kinds('?state=resolved')).toEqual([]);
    expect(await kinds(`?reference=${late.reference}`)).toEqual(['unanswered']);
    expect(await kinds(`?reference=${other.reference}`)).toEqual(['conflicting_answer']);
    expect(await kinds('?reference=NOBODYS')).toEqual([]);
    expect(await kinds(`?from=${String(newest?.['openedAt'])}`)).toEqual(['conflicting_answer']);
    expect(await kinds(`?to=${String(newest?.['openedAt'])}`)).toEqual(['unanswered']);
    expect(await kinds('?limit=1&page=2')).toEqual([oldest?.['kind']]);
    expect((await get(tokens.merchant, `${EXCEPTIONS}?limit=1`)).body.data).toMatchObject({ total: 2 });
    expect((await get(tokens.merchant, `${EXCEPTIONS}?state=closed`)).status).toBe(400);
  });

  test('finds what is about a refund by its own reference, and by that of its charge', async () => {
    const { reference, id } = await charge();
    await approve(id);
    const refund = await post(tokens.merchant, '/v1/refunds/initiate', { reference, amount: 40 });
    const refundId = String(refund.body.data?.['refundId']);
    const answer = { refundId, action: 'completed', bankTransactionId: 'transfer-1' };
    await post(tokens.bank, '/v1/bank/refund-response', answer);
    await post(tokens.bank, '/v1/bank/refund-response', { refundId, action: 'rejected' });

    const own = String(refund.body.data?.['reference']);
    const found = await theOne(`?reference=${own}`);
    expect(found).toMatchObject({ kind: 'refund_conflict', refundId, reference: own, amount: 40 });
    expect(await listed(tokens.provider, `?reference=${reference}`)).toHaveLength(1);
  });
});

describe('one exception', () => {
  test('shows each answer that the bank gave in order, the first one too, and its ids to that bank alone', async () => {
    const taken = await charge();
    await approve(taken.id, 'debit-of-another');
    const { id } = await charge();
    await approve(id, 'debit-of-another');
    await approve(id, 'debit-1');
    await approve(id, 'debit-1');
    await decline(id);
    await approve(id, 'debit-2');
    const { exceptionId } = await theOne('?kind=conflicting_answer&limit=1&sortOrder=asc');
    const answersTo = async (role: (typeof ROLES)[number]) =>
      ((await get(tokens[role], `${EXCEPTIONS}/${exceptionId}`)).body.data?.['answers'] ?? []) as Shown[];

    expect((await answersTo('bank')).map(({ says, bankTransactionId }) => [says, bankTransactionId])).toEqual(
      [
        ['approved', 'debit-of-another'],
        ['approved', 'debit-1'],
        ['declined', null],
        ['approved', 'debit-2'],
      ],
    );
    const at = expect.any(String) as string;
    for (const role of ['merchant', 'provider'] as const) {
      expect(await answersTo(role)).toEqual(
        ['approved', 'approved', 'declined', 'approved'].map((says) => ({ at, says })),
      );
    }
  });

  test('of a refund shows what the bank answered to that refund', async () => {
    const { reference, id } = await charge();
    await approve(id);
    await refunded(reference, 40, 'completed');
    const refundId = await refunded(reference, 60, 'completed', 'rejected');
    const { exceptionId } = await theOne();

    const { body } = await get(tokens.bank, `${EXCEPTIONS}/${exceptionId}`);

    expect(body.data?.['answers']).toMatchObject([
      { says: 'completed', bankTransactionId: `transfer-0-${refundId}` },
      { says: 'rejected', bankTransactionId: null },
    ]);
  });

  test.each(ROLES)('is shown to a %s with its story', async (role) => {
    const { id } = await unanswered();
    await approve(id, 'too-late');
    const { exceptionId } = await theOne();

    const { status, body } = await get(tokens[role], `${EXCEPTIONS}/${exceptionId}`);

    expect(status).toBe(200);
    const { answers, events, ...record } = body.data ?? {};
    expect(record).toEqual((await listed(tokens[role]))[0]);
    expect(record).toMatchObject({ kind: 'unanswered', state: 'open' });
    expect(answers).toEqual([
      {
        at: expect.any(String) as string,
        says: 'approved',
        ...(role === 'bank' && { bankTransactionId: 'too-late' }),
      },
    ]);
    expect(events).toEqual([
      { type: 'exception.opened', at: expect.any(String) as string, cause: 'network', kind: 'unanswered' },
      { type: 'exception.updated', at: expect.any(String) as string, cause: 'bank', kind: 'late_answer' },
    ]);
  });

  test.each(ROLES)('of somebody else’s money is to a %s what does not exist', async (role) => {
    await contradicted();
    const { exceptionId } = await theOne();
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    const foreign = await get(stranger[role], `${EXCEPTIONS}/${exceptionId}`);

    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual((await get(stranger[role], `${EXCEPTIONS}/exc_none`)).body);
  });
});

describe('the bank that is asked', () => {
  test('takes back what is left of a partly refunded charge, and the merchant sees where its money went', async () => {
    const { reference, id } = await charge();
    await approve(id);
    await refunded(reference, 30, 'completed');
    await decline(id);
    const { exceptionId } = await theOne();

    expect(await respond(exceptionId, REVERSED)).toMatchObject({
      status: 200,
      body: { data: { exceptionId, state: 'resolved', resolution: 'reversed' } },
    });

    expect(await theOne()).toMatchObject({
      state: 'resolved',
      resolution: 'reversed',
      resolvedAt: expect.any(String) as string,
    });
    for (const role of ROLES) {
      const [reversal, ...others] = await history(tokens[role], '?type=reversal');
      expect(others).toEqual([]);
      expect(reversal).toMatchObject({
        type: 'reversal',
        status: 'completed',
        amount: 70,
        billingRequestId: id,
        merchantId: standing.merchantId,
        ...(role === 'bank' && { bankTransactionId: 'taken-back' }),
      });
      const [charged] = await history(tokens[role], '?type=charge');
      expect(charged).toMatchObject({ status: 'successful', refundedAmount: 30, reversedAmount: 70 });
    }
    const [reversal] = await history(tokens.merchant, '?type=reversal');
    const told = (await announcedTo(db, api.deps.ring, standing.merchantId)).find(
      ({ type }) => type === 'billing.reversed',
    );
    expect(told?.item).toEqual({
      metadata: {},
      billingRequestId: id,
      sequence: 2,
      reference,
      reversalReference: reversal?.['reference'],
      amount: 70,
      currency: 'NGN',
    });
    expect((await initiate(reference, 0.01)).status).toBe(409);
  });

  test('takes from the merchant in the ledger what it takes from the charge, to the kobo', async () => {
    const { reference, id } = await charge();
    await approve(id);
    await refunded(reference, 30, 'completed');
    await decline(id);
    await respond((await theOne()).exceptionId, { resolution: 'no_money_moved' });

    const [reversal] = await history(tokens.bank, '?type=reversal');
    expect(await postingsOf(db, String(reversal?.['transactionId']))).toEqual([
      `reversal: -7000 NGN merchant of ${standing.merchantId}`,
      `reversal: +7000 NGN customer_bank of ${standing.bankId}`,
    ]);
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 0n });
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: 0n });
  });

  test('finds the reversal on the time line of the charge, and its cause on that of the reversal', async () => {
    const { reference } = await contradicted();
    await respond((await theOne()).exceptionId, { resolution: 'no_money_moved' });
    const [reversal] = await history(tokens.bank, '?type=reversal');
    const timeLine = async (of: unknown) => {
      const { body } = await get(tokens.bank, `/v1/transaction-details?reference=${String(of)}`);
      const events = (body.data?.['events'] ?? []) as { type: string; cause: string }[];
      return events.map(({ type, cause }) => `${type} by ${cause}`);
    };

    expect(await timeLine(reference)).toEqual([
      'billing_request.accepted by merchant',
      'billing_request.successful by bank',
      'exception.opened by bank',
      'exception.resolved by bank',
      'billing_request.reversed by bank',
    ]);
    expect(await timeLine(reversal?.['reference'])).toEqual([
      'exception.opened by bank',
      'exception.resolved by bank',
      'reversal.completed by bank',
    ]);
  });

  test('says the same again and nothing more is taken from the merchant; another word is a 409', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    await respond(exceptionId, REVERSED);

    expect((await respond(exceptionId, { ...REVERSED, note: 'sent again' })).status).toBe(200);
    for (const other of [{ resolution: 'confirmed' }, { ...REVERSED, bankTransactionId: 'another' }]) {
      expect(await respond(exceptionId, other)).toMatchObject({
        status: 409,
        body: { data: { exceptionId, state: 'resolved', resolution: 'reversed' } },
      });
    }
    expect(await history(tokens.merchant, '?type=reversal')).toHaveLength(1);
    expect((await theOne())['note']).toBeNull();
  });

  test('confirms its first answer, and the merchant keeps its money and may refund it', async () => {
    const { reference } = await contradicted();
    const { exceptionId } = await theOne();
    expect((await initiate(reference)).status).toBe(409);

    await respond(exceptionId, { resolution: 'confirmed' });

    expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
    expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
  });

  test.each([
    ['late', 'no_money_moved'],
    ['late', 'reversed'],
    ['unanswered', 'no_money_moved'],
  ])('says of a declined charge, %s, %s: nothing is taken from the merchant', async (how, resolution) => {
    const { id } = await unanswered();
    if (how === 'late') await approve(id);
    const { exceptionId } = await theOne();

    const said = resolution === 'reversed' ? REVERSED : { resolution };
    expect((await respond(exceptionId, said)).status).toBe(200);

    expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
    expect((await history(tokens.merchant))[0]).toMatchObject({ status: 'declined', reversedAmount: 0 });
  });

  test('has what it said and was refused on record, each once, with the request and why; and alone sees which id', async () => {
    const { reference, id } = await contradicted();
    const { exceptionId } = await theOne();
    const debit = { resolution: 'reversed', bankTransactionId: `debit-of-${id}` };
    const answers = [debit, debit, { resolution: 'confirmed' }, REVERSED, REVERSED];
    const statuses: number[] = [];
    for (const [n, answer] of answers.entries()) {
      const headers = { authorization: `Bearer ${tokens.bank}`, 'x-request-id': `answer-${n}` };
      statuses.push(
        (await send(api.url, 'POST', `${EXCEPTIONS}/${exceptionId}/respond`, answer, headers)).status,
      );
    }
    expect(statuses).toEqual([409, 409, 200, 409, 409]);

    const { body } = await get(tokens.bank, `${EXCEPTIONS}/${exceptionId}`);
    const events = (body.data?.['events'] ?? []) as { type: string }[];
    expect(events.map(({ type }) => type)).toEqual([
      'exception.opened',
      'exception.answer_refused',
      'exception.resolved',
      'exception.answer_refused',
    ]);
    const told = async (token: string) => {
      const details = await get(token, `/v1/transaction-details?reference=${reference}`);
      const timeline = details.body.data?.['timeline'] as { text: string }[];
      return timeline.map(({ text }) => text).filter((text) => text.includes('was not taken'));
    };
    const refused = `the bank’s answer to the exception was not taken: ${exceptionId}, it said reversed, `;
    const belongs =
      'for: This bankTransactionId belongs to another transaction of yours: send that of the reversal.';
    const resolved = 'for: The exception is resolved already: confirmed.';
    expect(await told(tokens.bank)).toEqual([
      `${refused}bankTransactionId debit-of-${id}, ${belongs}, request answer-0, by the bank`,
      `${refused}bankTransactionId taken-back, ${resolved}, request answer-3, by the bank`,
    ]);
    expect(await told(tokens.merchant)).toEqual([
      `${refused}${belongs}, by the bank`,
      `${refused}${resolved}, by the bank`,
    ]);
    expect(await bookDifferences(db)).toEqual([]);
  });

  test('cannot fill the record by ever new answers that are refused', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    await respond(exceptionId, { resolution: 'confirmed' });
    for (let n = 0; n < 22; n++) {
      expect((await respond(exceptionId, { ...REVERSED, bankTransactionId: `r-${n}` })).status).toBe(409);
    }
    const { body } = await get(tokens.bank, `${EXCEPTIONS}/${exceptionId}`);
    expect(body.data?.['events']).toHaveLength(22);
  });

  test('takes back a second debit alone by confirming its first answer: the charge stays paid', async () => {
    const { id } = await charge();
    await approve(id, 'debit-1');
    await approve(id, 'debit-2');
    const { exceptionId } = await theOne();

    const said = { resolution: 'confirmed', bankTransactionId: 'second-taken-back' };
    expect((await respond(exceptionId, said)).status).toBe(200);

    expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
    expect((await history(tokens.merchant, '?type=charge'))[0]).toMatchObject({
      status: 'successful',
      reversedAmount: 0,
    });
    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 10000n });
  });

  test.each([{ resolution: 'no_money_moved' }, REVERSED])(
    'speaks of the second debit where all its answers were approvals: the charge stands, %j',
    async (answer) => {
      const { reference, id } = await charge();
      await approve(id, 'debit-1');
      await approve(id, 'debit-2');

      expect((await respond((await theOne()).exceptionId, answer)).status).toBe(200);

      expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
      expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 10_000n });
      expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
      expect(await bookDifferences(db)).toEqual([]);
    },
  );

  test.each([
    ['before', ['declined', 'approved']],
    ['after it', ['approved', 'declined']],
  ])('speaks of the charge where it has called the charge declined %s', async (_, said) => {
    const { id } = await charge();
    await approve(id, 'debit-1');
    for (const one of said)
      expect((await (one === 'declined' ? decline(id) : approve(id, 'debit-2'))).status).toBe(409);

    expect((await respond((await theOne()).exceptionId, REVERSED)).status).toBe(200);

    expect(await history(tokens.merchant, '?type=reversal')).toMatchObject([{ amount: 100 }]);
  });

  test('speaks of the charge where it names the debit that settled it', async () => {
    const { id } = await charge();
    await approve(id, 'debit-1');
    const again = { billingRequestId: id, bankTransactionId: 'debit-1', action: 'approve_recurring' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', again)).status).toBe(409);

    expect((await respond((await theOne()).exceptionId, REVERSED)).status).toBe(200);

    expect(await history(tokens.merchant, '?type=reversal')).toMatchObject([{ amount: 100 }]);
  });

  test('speaks of the second debit where it took back that it had called the charge declined', async () => {
    const { id } = await charge();
    await approve(id, 'debit-1');
    await decline(id);
    await respond((await theOne()).exceptionId, { resolution: 'confirmed' });
    await approve(id, 'debit-2');
    const second = await theOne('?state=open');

    expect((await respond(second.exceptionId, REVERSED)).status).toBe(200);

    expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
    expect(await bookDifferences(db)).toEqual([]);
  });

  test('stops the standing approval with a decline that it sends after another', async () => {
    const { id } = await charge();
    for (const action of ['deny', 'suspended']) {
      const answered = await post(tokens.bank, '/v1/billing/bank-response', { billingRequestId: id, action });
      expect([action, answered.status]).toEqual([action, 200]);
    }
    const { body } = await get(tokens.bank, '/v1/bank/customer-decisions');
    expect(body.data).toMatchObject({ decisions: [{ customerDecision: 'suspended' }] });
    expect(await bookDifferences(db)).toEqual([]);
  });

  test('cannot confirm what it never answered in time', async () => {
    const { id } = await unanswered();
    await approve(id);
    const { exceptionId } = await theOne();

    expect(await respond(exceptionId, { resolution: 'confirmed' })).toMatchObject({
      status: 409,
      body: { data: { exceptionId, state: 'open', resolution: null } },
    });
  });

  test('says that a refused id moved nothing: the charge that another id settled stays the merchant’s', async () => {
    const [first, next] = [await charge(), await charge()];
    await approve(first.id, 'debit-1');
    await approve(next.id, 'debit-2');
    await approve(next.id, 'debit-1');

    const { exceptionId } = await theOne();
    expect((await respond(exceptionId, { resolution: 'no_money_moved' })).status).toBe(200);

    expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
  });

  test('cannot prove a reversal by a debit, nor two by one transaction', async () => {
    const { id } = await contradicted();
    const { exceptionId } = await theOne();
    const reversed = (bankTransactionId: string) =>
      respond(exceptionId, { resolution: 'reversed', bankTransactionId });

    expect(await reversed(`debit-of-${id}`)).toMatchObject({
      status: 409,
      body: { data: { state: 'open' } },
    });
    expect((await respond(exceptionId, { resolution: 'reversed' })).status).toBe(400);
    expect((await reversed('taken-back')).status).toBe(200);

    const next = await charge();
    expect((await approve(next.id, 'taken-back')).status).toBe(409);
  });

  test.each(['merchant', 'provider'] as const)(
    'is no %s: that gets 403, and nothing changes',
    async (role) => {
      await contradicted();
      const { exceptionId } = await theOne();

      expect((await respond(exceptionId, REVERSED, tokens[role])).status).toBe(403);

      expect(await theOne()).toMatchObject({ state: 'open' });
    },
  );

  test('is no other bank: to that the exception does not exist', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    const stranger = await tokensOf(api, await standingApproval(db, api.deps.ring));

    const foreign = await respond(exceptionId, REVERSED, stranger.bank);

    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual((await respond('exc_none', REVERSED, stranger.bank)).body);
    expect(await theOne()).toMatchObject({ state: 'open' });
  });

  test('notes something for itself, which nobody else reads', async () => {
    await contradicted();
    await respond((await theOne()).exceptionId, { resolution: 'confirmed', note: 'case 4711' });

    expect(await theOne()).toMatchObject({ note: 'case 4711' });
    for (const role of ['merchant', 'provider'] as const) {
      expect(JSON.stringify(await listed(tokens[role]))).not.toContain('4711');
    }
  });

  test('waits for an operator who is resolving it, and hears that it was too late', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    const operator = await openTransaction(db);
    await resolveException(
      operator.trx,
      api.deps.ring,
      LAGOS,
      { cause: 'operator', note: null },
      exceptionId,
      {
        resolution: 'no_difference',
        bankTransactionId: null,
      },
    );

    const answer = respond(exceptionId, REVERSED);
    // It waits for the charge, or has yet to come to it; either way it finds the exception
    // resolved.
    await operator.commit();

    expect(await answer).toMatchObject({
      status: 409,
      body: { data: { state: 'resolved', resolution: 'no_difference' } },
    });
    expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
    // What was not taken proves nothing: the id is free.
    expect((await approve((await charge()).id, 'taken-back')).status).toBe(200);
  });

  test('says many things at once: one is taken, and the money moves once', async () => {
    await contradicted();
    const { exceptionId } = await theOne();

    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        respond(exceptionId, { resolution: 'reversed', bankTransactionId: `taken-back-${n}` }),
      ),
    );

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(5);
    expect(await history(tokens.merchant, '?type=reversal')).toMatchObject([{ amount: 100 }]);
  });
});

describe('a charge or a refund', () => {
  test('has one exception, whose kind is that of the first thing that went wrong, and which holds all that was said', async () => {
    await approve((await charge()).id, 'used');
    const { id } = await unanswered();
    for (const said of ['debit-1', 'used', 'debit-1', 'debit-2'])
      expect((await approve(id, said)).status).toBe(409);

    const { exceptionId, ...one } = await theOne();
    expect(one).toMatchObject({ kind: 'unanswered', state: 'open', bankTransactionId: 'debit-1' });
    const { body } = await get(tokens.bank, `${EXCEPTIONS}/${exceptionId}`);
    expect(body.data?.['answers']).toMatchObject([
      { says: 'approved', bankTransactionId: 'debit-1' },
      { says: 'approved', bankTransactionId: 'used' },
      { says: 'approved', bankTransactionId: 'debit-2' },
    ]);
    const events = (body.data?.['events'] ?? []) as Shown[];
    expect(events.map(({ type, kind }) => `${String(type)} ${String(kind)}`)).toEqual([
      'exception.opened unanswered',
      'exception.updated late_answer',
      'exception.updated duplicate_transaction_id',
      'exception.updated late_answer',
    ]);
    expect(await bookDifferences(db)).toEqual([]);
  });

  test('of which the bank says the same again once its exception has ended has a new one', async () => {
    const { reference, id } = await contradicted();
    const first = await theOne();
    await respond(first.exceptionId, { resolution: 'confirmed' });

    expect((await decline(id)).status).toBe(409);

    const second = await theOne('?state=open');
    expect(second.exceptionId).not.toBe(first.exceptionId);
    expect((await initiate(reference)).status).toBe(409);
    expect(await bookDifferences(db)).toEqual([]);
  });

  test('has one exception, however many answers race', async () => {
    const { reference, id } = await charge();
    await approve(id);
    const refundId = await refunded(reference, 40, 'rejected');

    const answers = await Promise.all(
      [1, 2, 3, 4].flatMap((n) => [approve(id, `second-${n}`), answerRefund(refundId, 'completed', n)]),
    );

    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(409));
    const of = (await listed(tokens.bank)).map((one) => one['refundId']);
    expect([of.length, new Set(of)]).toEqual([2, new Set([null, refundId])]);
  });

  test('keeps what is in doubt besides: a used id does not end by the right one where the bank has declined, too', async () => {
    await approve((await charge()).id, 'used');
    const { id } = await charge();
    await approve(id, 'debit-1');
    await approve(id, 'used');
    await decline(id);

    expect((await approve(id, 'debit-1')).status).toBe(200);

    expect(await theOne()).toMatchObject({ kind: 'duplicate_transaction_id', state: 'open' });
  });
});

describe('no money in doubt', () => {
  test('ends what was unanswered with a late decline, which is a 409, on the time line, and no exception', async () => {
    const { reference, id } = await unanswered();

    for (const reason of ['insufficient_funds', 'account_closed']) {
      expect(await decline(id, reason)).toMatchObject({
        status: 409,
        body: { data: { status: 'declined' } },
      });
    }

    expect(await theOne()).toMatchObject({
      kind: 'unanswered',
      state: 'resolved',
      resolution: 'no_money_moved',
    });
    const { body } = await get(tokens.merchant, `/v1/transaction-details?reference=${reference}`);
    expect(
      ((body.data?.['events'] ?? []) as Shown[]).map(
        ({ type, cause }) => `${String(type)} by ${String(cause)}`,
      ),
    ).toEqual([
      'billing_request.accepted by merchant',
      expect.stringMatching(/ by network$/) as string,
      expect.stringMatching(/ by network$/) as string,
      'billing_request.answer_refused by bank',
      'exception.resolved by bank',
    ]);
    expect(
      (await get(tokens.bank, `${EXCEPTIONS}/${(await theOne()).exceptionId}`)).body.data?.['answers'],
    ).toMatchObject([{ says: 'declined', bankTransactionId: null }]);
    expect(await bookDifferences(db)).toEqual([]);
  });

  test('leaves what a late approval opened to somebody, whatever decline comes after it', async () => {
    const { id } = await unanswered();
    await approve(id);
    expect((await decline(id)).status).toBe(409);

    expect(await theOne()).toMatchObject({ kind: 'unanswered', state: 'open' });
  });

  test('is a decline after a decline, in other words too: a repeat, and the first reason stays', async () => {
    const { reference, id } = await charge();
    await decline(id, 'insufficient_funds');

    expect(await decline(id, 'account_closed')).toMatchObject({
      status: 200,
      body: { data: { status: 'declined' } },
    });
    const denied = { billingRequestId: id, action: 'deny' };
    expect((await post(tokens.bank, '/v1/billing/bank-response', denied)).status).toBe(200);

    expect(await listed(tokens.bank)).toEqual([]);
    expect(await history(tokens.merchant, `?reference=${reference}`)).toMatchObject([
      { declineReason: 'insufficient_funds' },
    ]);
  });

  test('is a rejection of a rejected refund, in other words too', async () => {
    const { reference, id } = await charge();
    await approve(id);
    const refundId = await refunded(reference, 40, 'rejected');
    const again = { refundId, action: 'rejected', reason: 'account closed' };

    expect((await post(tokens.bank, '/v1/bank/refund-response', again)).status).toBe(200);

    expect(await listed(tokens.bank)).toEqual([]);
  });

  test('is a used id, once the bank sends the right one for the same charge or refund', async () => {
    const used = await charge();
    await approve(used.id, 'used');
    const { reference, id } = await charge();
    expect((await approve(id, 'used')).status).toBe(409);
    expect((await approve(id, 'debit-1')).status).toBe(200);
    const { body } = await initiate(reference, 40);
    const refundId = String(body.data?.['refundId']);
    const complete = (bankTransactionId: string) =>
      post(tokens.bank, '/v1/bank/refund-response', { refundId, action: 'completed', bankTransactionId });
    expect((await complete('used')).status).toBe(409);
    expect((await complete('credit-1')).status).toBe(200);

    const ended = { kind: 'duplicate_transaction_id', state: 'resolved', resolution: 'no_difference' };
    expect(await listed(tokens.bank)).toMatchObject([
      { ...ended, refundId },
      { ...ended, refundId: null },
    ]);
  });

  test('is a used id that came after the right one, once the right one is repeated', async () => {
    const used = await charge();
    await approve(used.id, 'used');
    const { id } = await charge();
    await approve(id, 'debit-1');
    await approve(id, 'used');
    expect(await theOne()).toMatchObject({ state: 'open' });

    expect((await approve(id, 'debit-1')).status).toBe(200);

    expect(await theOne()).toMatchObject({ state: 'resolved', resolution: 'no_difference' });
  });
});

describe('what an exception holds of a charge', () => {
  test.each(['no_money_moved', 'reversed', 'written_off', 'no_difference'] as const)(
    'of a rejected refund that was then called completed, can be refunded once it is resolved: %s',
    async (resolution) => {
      const { reference, id } = await charge();
      await approve(id);
      await refunded(reference, 40, 'rejected', 'completed');
      expect((await initiate(reference, 60.01)).status).toBe(409);
      const { exceptionId } = await theOne();

      await resolve(exceptionId, resolution);

      expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
    },
  );

  test.each(['confirmed', 'written_off', 'no_difference'] as const)(
    'of a contradicted charge, can be refunded once it is resolved: %s',
    async (resolution) => {
      const { reference } = await contradicted();
      const { exceptionId } = await theOne();

      await resolve(exceptionId, resolution);

      expect((await initiate(reference)).body.data).toMatchObject({ amount: 100 });
      expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);
    },
  );

  test('of a contradicted charge is borne by the network once it is written off, with all that was said', async () => {
    const { id } = await contradicted();
    await approve(id, `second-${id}`);
    await resolve((await theOne()).exceptionId, 'written_off');

    expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 10_000n });
    expect(await balancesOf(db, standing.bankId)).toEqual({ customer_bank: 0n, disputed: -10_000n });
  });

  test.each<[string, (id: string) => Promise<Answered>]>([
    ['a decline', (id) => decline(id)],
    ['a second debit', (id) => approve(id, 'debit-2')],
    ['a used id', (id) => approve(id, 'used')],
    [
      'the same debit with another word',
      (id) =>
        post(tokens.bank, '/v1/billing/bank-response', {
          billingRequestId: id,
          bankTransactionId: `debit-of-${id}`,
          action: 'approve_recurring',
        }),
    ],
  ])(
    'of a charge is all that is left of it, after a refund too, until it is resolved: %s',
    async (_, say) => {
      await approve((await charge()).id, 'used');
      const { reference, id } = await charge();
      await approve(id);
      await refunded(reference, 30, 'completed');
      const pending = await refunded(reference, 20);
      expect((await say(id)).status).toBe(409);
      const { exceptionId } = await theOne();

      expect(await initiate(reference, 0.01)).toMatchObject({
        status: 409,
        body: { code: 'held_by_exception' },
      });
      await answerRefund(pending, 'rejected');
      expect(await initiate(reference, 0.01)).toMatchObject({
        status: 409,
        body: { code: 'held_by_exception' },
      });
      await resolve(exceptionId, 'no_difference');

      expect((await initiate(reference)).body.data).toMatchObject({ amount: 70 });
    },
  );

  test('of a refund that was completed first stays counted, whatever the bank says then', async () => {
    const { reference, id } = await charge();
    await approve(id);
    await refunded(reference, 40, 'completed', 'rejected');
    const { exceptionId } = await theOne();

    expect((await respond(exceptionId, { resolution: 'confirmed' })).status).toBe(200);

    expect((await initiate(reference, 60.01)).status).toBe(409);
    expect((await initiate(reference)).body.data).toMatchObject({ amount: 60 });
  });

  test('of a reversed charge is never refunded: a refund that is rejected after it is reversed, too', async () => {
    const { reference, id } = await charge();
    await approve(id);
    const refundId = await refunded(reference, 40);
    await decline(id);
    await respond((await theOne()).exceptionId, { resolution: 'no_money_moved' });
    expect(await history(tokens.merchant, '?type=reversal')).toMatchObject([{ amount: 60 }]);

    await answerRefund(refundId, 'rejected');

    expect(await history(tokens.merchant, '?type=reversal')).toMatchObject([{ amount: 40 }, { amount: 60 }]);
    expect((await initiate(reference, 0.01)).status).toBe(409);
    const told = await announcedTo(db, api.deps.ring, standing.merchantId);
    const ofCharge = told.filter(
      ({ type, item }) => type.startsWith('billing.') && item['billingRequestId'] === id,
    );
    expect(ofCharge.map(({ type, item }) => `${type} ${String(item['sequence'])}`)).toEqual([
      'billing.response 1',
      'billing.reversed 2',
      'billing.reversed 3',
    ]);
  });

  test.each([{ resolution: 'no_money_moved' }, REVERSED])(
    'of a charge whose refund of everything is rejected after it is reversed is never refunded: %j',
    async (answer) => {
      const { reference, id } = await charge();
      await approve(id);
      const refundId = await refunded(reference, 100);
      await decline(id);
      expect((await respond((await theOne()).exceptionId, answer)).status).toBe(200);
      expect(await history(tokens.merchant, '?type=reversal')).toEqual([]);

      await answerRefund(refundId, 'rejected');

      expect(await history(tokens.merchant, '?type=reversal')).toMatchObject([{ amount: 100 }]);
      expect((await initiate(reference, 0.01)).status).toBe(409);
      expect(await balancesOf(db, standing.merchantId)).toEqual({ merchant: 0n });
      expect(await bookDifferences(db)).toEqual([]);
    },
  );
});

/** @returns the item of the answer */
const bill = async (wish: object = {}): Promise<Shown> => {
  const { status, body } = await post(tokens.merchant, '/v1/customer/bill', {
    paymentIDs: [standing.paymentId],
    amount: 100,
    currency: 'NGN',
    description: 'Shoes',
    ...wish,
  });
  expect(status).toBe(201);
  return (body as unknown as Shown[])[0] ?? {};
};
const warned = ({ warning, exceptionId }: Shown) => ({ warning, exceptionId });

describe('a merchant that bills again', () => {
  test('what its customer may have paid already is warned, and the charge is made', async () => {
    await unanswered();
    const { exceptionId } = await theOne();

    const again = await bill();

    expect(again).toMatchObject({ status: 'pending', warning: 'open_exception', exceptionId });
    const lookupID = await lookupIdOf(db, standing.customerId);
    expect(warned(await bill({ paymentIDs: undefined, lookupIDs: [lookupID] }))).toEqual(warned(again));
  });

  test('is warned while it is investigated, and no longer once it is resolved', async () => {
    await unanswered();
    const { exceptionId } = await theOne();
    await db.transaction((trx) => takeAsOperator(trx, OPERATOR, exceptionId));
    expect(await bill()).toMatchObject({ warning: 'open_exception', exceptionId });

    await respond(exceptionId, { resolution: 'no_money_moved' });

    expect(await bill()).not.toHaveProperty('warning');
  });

  test('another amount, or another customer, is not warned', async () => {
    await unanswered();
    expect(await bill({ amount: 100.01 })).not.toHaveProperty('warning');

    standing = await standingApproval(db, api.deps.ring);
    tokens = await tokensOf(api, standing);
    expect(await bill()).not.toHaveProperty('exceptionId');
  });
});

describe('both sides of an exception', () => {
  test('hear that it was opened and that it was resolved, each in its own numbers', async () => {
    const { id } = await charge();
    await approve(id);
    await approve(id, 'a-second-debit');
    const { exceptionId, ...opened } = await theOne();
    await respond(exceptionId, { resolution: 'confirmed', note: 'case 4711' });
    const { note: _, ...resolved } = await theOne();

    const { note: __, ...shown } = opened;
    expect(await heard(tokens.bank, 'exception.')).toEqual([
      ['exception.opened', { exceptionId, ...shown, sequence: 1 }],
      ['exception.resolved', { ...resolved, sequence: 2 }],
    ]);
    const told = await heard(tokens.merchant, 'exception.');
    expect(told.map(([type, { sequence, state }]) => [type, sequence, state])).toEqual([
      ['exception.opened', 1, 'open'],
      ['exception.resolved', 2, 'resolved'],
    ]);
    expect(JSON.stringify(told)).not.toMatch(/second-debit|4711/);
    expect(told[0]?.[1]).not.toHaveProperty('bankTransactionId');
  });

  test('hear of two halves of one story once', async () => {
    const { id } = await unanswered();
    await approve(id);

    for (const role of ['bank', 'merchant'] as const) {
      const told = await heard(tokens[role], 'exception.');
      expect(told.map(([type, { kind }]) => [type, kind])).toEqual([['exception.opened', 'unanswered']]);
    }
  });

  test.each(['another bank', 'the same bank'])(
    'of a payment between customers are banks: the payer’s, and that of the payee, %s',
    async (whose) => {
      const payee = whose === 'the same bank' ? standing : await standingApproval(db, api.deps.ring);
      const payees = (await tokensOf(api, payee)).bank;
      const { body } = await post(payees, '/v1/customer/bill', {
        lookupIDs: [await lookupIdOf(db, standing.customerId)],
        payee: { lookupID: await lookupIdOf(db, await anotherCustomer(payee)) },
        amount: 100,
        currency: 'NGN',
        description: 'Rent',
      });
      const id = String((body as unknown as Shown[])[0]?.['billingRequestId']);
      await approve(id);
      await heard(payees, 'billing.');
      await decline(id);
      const { exceptionId } = await theOne();
      expect(await listed(payees)).toMatchObject([{ exceptionId, merchantId: null, note: null }]);

      await respond(exceptionId, REVERSED);

      expect(await history(payees, '?type=reversal')).toMatchObject([{ amount: 100, billingRequestId: id }]);
      const told = await heard(payees, 'billing.');
      expect(told.map(([type, { sequence }]) => `${type} ${String(sequence)}`)).toEqual([
        ...(whose === 'the same bank' ? ['billing.request 1', 'billing.credit 2'] : ['billing.credit 1']),
        `billing.reversed ${whose === 'the same bank' ? 3 : 2}`,
      ]);
      expect((await heard(payees, 'exception.')).map(([type]) => type)).toEqual([
        'exception.opened',
        'exception.resolved',
      ]);
    },
  );

  test('of a payment that is taken back before the payee’s bank has heard of it: that credits nobody', async () => {
    const payee = await standingApproval(db, api.deps.ring);
    const payees = (await tokensOf(api, payee)).bank;
    const { id, deliveryId } = await payAnother(db, api.deps.ring, standing, payee);
    await decline(id);
    const { exceptionId } = await theOne();
    await respond(exceptionId, REVERSED);

    expect((await heard(payees, 'billing.')).map(([type, { sequence }]) => [type, sequence])).toEqual([
      ['billing.reversed', 1],
    ]);
    // Nor by hand.
    expect((await post(payees, `/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined)).status).toBe(
      409,
    );
    expect((await get(payees, `/v1/billing/requests/${id}`)).body.data).not.toHaveProperty('credit');
    // Nobody waits for it, and nothing of it is ever overdue.
    expect(await openWork(db, 'credits', '', 100)).toEqual([]);
    await moveClock(db, payee.bankId, '2 days');
    await db.transaction((trx) => followCredits(trx, api.deps.ring, 'Africa/Lagos', [id]));
    expect(await listed(payees, '?kind=credit_undelivered')).toEqual([]);
    expect(await balancesOf(db, payee.bankId)).toEqual({ in_transit: 250n, payee_bank: -250n });
  });
});

/** Of what a caller finds in its events feed, what begins so: its type, and its only item. */
async function heard(token: string, prefix: string): Promise<[type: string, item: Shown][]> {
  await wholeFeed(db);
  const { body } = await get(token, '/v1/events?limit=100');
  const events = body.data?.['events'] as { webhookType: string; data: Shown[] }[];
  return events
    .filter(({ webhookType }) => webhookType.startsWith(prefix))
    .map(({ webhookType, data }) => {
      expect(data).toHaveLength(1);
      return [webhookType, data[0] ?? {}];
    });
}

async function anotherCustomer({ bankId }: Standing): Promise<string> {
  const person = {
    clientRef: 'c2',
    firstname: 'Eze',
    lastname: 'Chidi',
    accountName: 'EZE CHIDI',
    email: 'eze@example.test',
    country: 'NG',
    accountNumber: '0123456780',
  };
  const { customers } = await db.transaction((trx) => onboardBatch(trx, api.deps.ring, bankId, [{ person }]));
  return String(customers[0]?.customerId);
}

/** As the operator does it. */
async function resolve(
  exceptionId: string,
  resolution: Parameters<typeof resolveException>[5]['resolution'],
): Promise<void> {
  await db.transaction((trx) =>
    resolveException(trx, api.deps.ring, LAGOS, { cause: 'operator', note: null }, exceptionId, {
      resolution,
      bankTransactionId: null,
    }),
  );
}
