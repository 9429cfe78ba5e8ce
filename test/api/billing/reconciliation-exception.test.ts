import { followCredits } from '../../../src/database/credit/follow-credit';
import { onboardBatch } from '../../../src/database/customer/migrate-customers';
import { openWork } from '../../../src/database/recover/open-work';
import { resolveException, takeAsOperator } from '../../../src/database/resolution/resolve-exception';
import { bookDifferences } from '../../support/books';
import { balancesOf } from '../../support/ledger';
import { openTransaction } from '../../support/open-transaction';
import { OPERATOR } from '../../support/operator';
import { person } from '../../support/person';
import { payAnother, resolveAsOperator } from '../../support/settled';
import {
  answerRefund,
  approve,
  bill,
  charge,
  decline,
  eventsOf,
  EXCEPTIONS,
  history,
  initiateRefund,
  itemsOf,
  refund,
  respond,
  ROLES,
  shareApi,
  type Caller,
  type Charge,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { lookupIdOf, moveClock, type Standing } from '../../support/standing';
import { wholeFeed } from '../../support/whole-feed';
import type { Resolution } from '../../../src/domain/books/reconciliation-exception';
import { closeExpiredRequests } from '../../../src/database/billing-request/close-expired-requests';

/**
 * Exceptions: who sees them, who says what became of the money, and what follows.
 */

const served = shareApi();
let parties: Parties;
beforeEach(async () => {
  parties = await served.parties();
});

const NO_MONEY = { resolution: 'no_money_moved' };
const REVERSED = { resolution: 'reversed', bankTransactionId: 'taken-back' };
const CONFIRMED = { resolution: 'confirmed' };

const listed = (caller: Caller, query = '') => caller.list(EXCEPTIONS + query);

/** The only exception there is, as its bank sees it. */
async function theOne(query = ''): Promise<Shown & { exceptionId: string }> {
  const found = await listed(parties.bank, query);
  expect(found).toHaveLength(1);
  return found[0] as Shown & { exceptionId: string };
}

/** The bank ends the one exception that is open. */
async function end(finding: object): Promise<void> {
  const { exceptionId } = await theOne('?state=open');
  expect(await respond(parties, exceptionId, finding)).toMatchObject({ status: 200 });
}

/** The operator does. */
async function resolve(resolution: Resolution): Promise<void> {
  await resolveAsOperator(served.db, (await theOne('?state=open')).exceptionId, resolution);
}

/** A charge whose bank did not answer in time. */
async function unanswered(): Promise<Charge> {
  const made = await bill(parties);
  // A bank that has read the feed may have debited.
  await wholeFeed(served.db);
  await parties.bank.get('/v1/events');
  await moveClock(served.db, parties.merchantId, '2 days');
  await served.db.transaction((trx) => closeExpiredRequests(trx, [made.id], 'by its bank'));
  return made;
}

/** A charge that its bank approved, and then called declined. */
async function contradicted(): Promise<Charge> {
  const made = await charge(parties);
  expect((await decline(parties, made.id)).status).toBe(409);
  return made;
}

const second = (id: string) => approve(parties, id, 'debit-2');
const denial = (id: string) => decline(parties, id);
const approveAgain = (id: string) => approve(parties, id, undefined, { action: 'approve_recurring' });
const reversals = async () => (await history(parties.merchant, '?type=reversal')).map(({ amount }) => amount);
const typesOf = (shown: unknown) => (shown as Shown[]).map(({ type }) => type);

/** Events in a caller's feed whose type begins so: the type and the only item. */
async function heard(caller: Caller, prefix: string): Promise<[type: string, item: Shown][]> {
  await wholeFeed(served.db);
  const events = (await caller.list('/v1/events?limit=100')) as { webhookType: string; data: Shown[] }[];
  return events
    .filter(({ webhookType }) => webhookType.startsWith(prefix))
    .map(({ webhookType, data }) => {
      expect(data).toHaveLength(1);
      return [webhookType, data[0] ?? {}];
    });
}
const numbered = (told: [string, Shown][]) =>
  told.map(([type, { sequence }]) => `${type} ${String(sequence)}`);

describe('the list', () => {
  test('is saved as CSV, all that the filter has, oldest first', async () => {
    const first = await contradicted();
    const { id } = await contradicted();
    for (const role of ROLES) {
      const lines = async (query: string) => {
        const [header = '', ...rest] = (await parties[role].file(`${EXCEPTIONS}?format=csv${query}`)).split(
          '\r\n',
        );
        expect(rest.pop()).toBe('');
        const names = header.split(',');
        return rest.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i], cell])));
      };
      const all = await lines('&state=open');
      expect(all.map(({ billingRequestId }) => billingRequestId)).toEqual([first.id, id]);
      const [opened] = await listed(parties[role], '?sortOrder=asc');
      const at = new Date(String(opened?.['openedAt'])).toLocaleString('sv', { timeZone: 'Africa/Lagos' });
      expect(all[0]).toMatchObject({ amount: '100.00', bookedAmount: '', openedAt: `"${at}"` });
      expect('metadata' in (all[0] ?? {})).toBe(role !== 'bank');
      expect('bankTransactionId' in (all[0] ?? {})).toBe(role === 'bank');
      expect(await lines('&state=resolved')).toEqual([]);
    }
  });

  test('shows each party its own exception, and the id of a bank’s debit to that bank alone', async () => {
    const { reference, id } = await charge(parties);
    await approve(parties, id, 'a-second-debit');
    const strangers = await served.parties();

    for (const role of ROLES) {
      expect(await listed(parties[role])).toEqual([
        {
          exceptionId: expect.stringMatching(/^exc_/) as string,
          kind: 'conflicting_answer',
          state: 'open',
          reference,
          billingRequestId: id,
          refundId: null,
          merchantId: parties.merchantId,
          merchantName: 'Merchant',
          bankId: parties.bankId,
          bankName: 'Bank',
          amount: 100,
          currency: 'NGN',
          ...(role === 'bank' ? { bankTransactionId: 'a-second-debit' } : { metadata: {} }),
          openedAt: expect.any(String) as string,
          resolvedAt: null,
          resolution: null,
          direction: null,
          bookedAmount: null,
          bookedCurrency: null,
          note: null,
          sequence: expect.any(Number) as number,
        },
      ]);
      expect(await listed(strangers[role])).toEqual([]);
    }
  });

  test('is filtered by state, kind, time and reference, and turned page by page', async () => {
    const late = await unanswered();
    const other = await contradicted();
    const kinds = async (query: string) => (await listed(parties.merchant, query)).map(({ kind }) => kind);
    const [newest, oldest] = await listed(parties.merchant);

    expect(await kinds('')).toEqual(['conflicting_answer', 'unanswered']);
    expect(await kinds('?kind=unanswered')).toEqual(['unanswered']);
    expect(await kinds('?state=open&sortOrder=asc')).toEqual(['unanswered', 'conflicting_answer']);
    expect(await kinds('?state=resolved')).toEqual([]);
    expect(await kinds(`?reference=${late.reference}`)).toEqual(['unanswered']);
    expect(await kinds(`?reference=${other.reference}`)).toEqual(['conflicting_answer']);
    expect(await kinds(`?from=${String(newest?.['openedAt'])}`)).toEqual(['conflicting_answer']);
    expect(await kinds(`?to=${String(newest?.['openedAt'])}`)).toEqual(['unanswered']);
    expect(await kinds('?limit=1&page=2')).toEqual([oldest?.['kind']]);
    expect(await parties.merchant.read(`${EXCEPTIONS}?limit=1`)).toMatchObject({ total: 2 });
    expect((await parties.merchant.get(`${EXCEPTIONS}?state=closed`)).status).toBe(400);
  });

  test('finds what is about a refund by its own reference, and by that of its charge', async () => {
    const { reference } = await charge(parties);
    const refundId = await refund(parties, reference, 40, 'completed', 'rejected');
    const { reference: own } = await parties.merchant.read(`/v1/refunds/${refundId}`);

    const found = await theOne(`?reference=${String(own)}`);
    expect(found).toMatchObject({ kind: 'refund_conflict', refundId, reference: own, amount: 40 });
    expect(await listed(parties.provider, `?reference=${reference}`)).toHaveLength(1);
  });
});

describe('one exception', () => {
  test('shows each answer that the bank gave in order, and its ids to that bank alone', async () => {
    const { id: taken } = await charge(parties);
    const { id } = await bill(parties);
    await approve(parties, id, `tx-${taken}`);
    await approve(parties, id, 'debit-1');
    await approve(parties, id, 'debit-1');
    await decline(parties, id);
    await approve(parties, id, 'debit-2');
    const { exceptionId } = await theOne('?kind=conflicting_answer&limit=1&sortOrder=asc');
    const answersTo = async (caller: Caller) =>
      (await caller.read(`${EXCEPTIONS}/${exceptionId}`))['answers'];

    const at = expect.any(String) as string;
    expect(await answersTo(parties.bank)).toEqual([
      { at, says: 'approved', bankTransactionId: `tx-${taken}` },
      { at, says: 'approved', bankTransactionId: 'debit-1' },
      { at, says: 'declined', bankTransactionId: null },
      { at, says: 'approved', bankTransactionId: 'debit-2' },
    ]);
    for (const caller of [parties.merchant, parties.provider]) {
      const told = ['approved', 'approved', 'declined', 'approved'].map((says) => ({ at, says }));
      expect(await answersTo(caller)).toEqual(told);
    }
  });

  test('names the reversal that ended it to the bank that made it, and to no other', async () => {
    const payee = await served.parties();
    const { id } = await payAnother(served.db, parties, payee);
    await decline(parties, id);
    const { exceptionId } = await theOne();
    await respond(parties, exceptionId, REVERSED);
    const ends = async (caller: Caller) =>
      ((await caller.read(`${EXCEPTIONS}/${exceptionId}`))['events'] as Shown[]).at(-1);

    const resolved = { type: 'exception.resolved', cause: 'bank' };
    expect(await ends(parties.bank)).toMatchObject({ ...resolved, bankTransactionId: 'taken-back' });
    expect(await ends(payee.bank)).toMatchObject({ ...resolved, bankTransactionId: null });
    const other = await contradicted();
    const { exceptionId: own } = await theOne(`?reference=${other.reference}`);
    await respond(parties, own, { ...REVERSED, bankTransactionId: 'taken-back-2' });
    const told = await parties.merchant.read(`${EXCEPTIONS}/${own}`);
    expect(JSON.stringify(told)).not.toContain('taken-back');
  });

  test('of a refund shows what the bank answered to that refund', async () => {
    const { reference } = await charge(parties);
    await refund(parties, reference, 40, 'completed');
    const refundId = await refund(parties, reference, 60, 'completed', 'rejected');
    const { exceptionId } = await theOne();

    expect(await parties.bank.read(`${EXCEPTIONS}/${exceptionId}`)).toMatchObject({
      answers: [
        { says: 'completed', bankTransactionId: `transfer-${refundId}` },
        { says: 'rejected', bankTransactionId: null },
      ],
    });
  });

  test('has both halves of a story on its time line for every party, who hear of it once', async () => {
    const { id } = await unanswered();
    await approve(parties, id, 'too-late');
    const { exceptionId } = await theOne();

    for (const role of ROLES) {
      const { answers, events, ...record } = await parties[role].read(`${EXCEPTIONS}/${exceptionId}`);
      expect(record).toEqual((await listed(parties[role]))[0]);
      expect(record).toMatchObject({ kind: 'unanswered', state: 'open' });
      const own = role === 'bank' && { bankTransactionId: 'too-late' };
      expect(answers).toEqual([{ at: expect.any(String) as string, says: 'approved', ...own }]);
      expect(events).toMatchObject([
        { type: 'exception.opened', cause: 'network', kind: 'unanswered' },
        { type: 'exception.updated', cause: 'bank', kind: 'late_answer' },
      ]);
    }
    for (const caller of [parties.bank, parties.merchant]) {
      expect(numbered(await heard(caller, 'exception.'))).toEqual(['exception.opened 1']);
    }
  });
});

describe('the bank that is asked', () => {
  test('takes back what is left of a partly refunded charge, and all see where the money went', async () => {
    const { reference, id } = await charge(parties);
    await refund(parties, reference, 30, 'completed');
    await decline(parties, id);
    const { exceptionId } = await theOne();

    expect((await respond(parties, exceptionId, REVERSED)).body.data).toMatchObject({
      exceptionId,
      state: 'resolved',
      resolution: 'reversed',
    });

    expect(await theOne()).toMatchObject({ state: 'resolved', resolvedAt: expect.any(String) as string });
    for (const role of ROLES) {
      expect(await history(parties[role], '?type=reversal')).toMatchObject([
        {
          status: 'completed',
          amount: 70,
          billingRequestId: id,
          merchantId: parties.merchantId,
          ...(role === 'bank' && { bankTransactionId: 'taken-back' }),
        },
      ]);
      expect(await history(parties[role], '?type=charge')).toMatchObject([
        { status: 'successful', refundedAmount: 30, reversedAmount: 70 },
      ]);
    }
    const [reversal] = await history(parties.merchant, '?type=reversal');
    expect(await served.announced(parties.merchantId, 'billing.reversed')).toEqual([
      {
        metadata: {},
        billingRequestId: id,
        sequence: 2,
        reference,
        reversalReference: reversal?.['reference'],
        amount: 70,
        currency: 'NGN',
      },
    ]);
    expect(await balancesOf(served.db, parties.merchantId)).toEqual({ merchant: 0n });
    expect(await balancesOf(served.db, parties.bankId)).toEqual({ customer_bank: 0n });
    expect((await initiateRefund(parties, reference, 0.01)).status).toBe(409);
  });

  test('finds the reversal on the time line of the charge, and its cause on that of the reversal', async () => {
    const { reference } = await contradicted();
    await end(NO_MONEY);
    const [reversal] = await history(parties.bank, '?type=reversal');
    const timeLine = async (of: unknown) =>
      (await eventsOf(parties.bank, of)).map(({ type, cause }) => `${String(type)} by ${String(cause)}`);

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
    await respond(parties, exceptionId, REVERSED);

    expect((await respond(parties, exceptionId, { ...REVERSED, note: 'sent again' })).status).toBe(200);
    for (const other of [CONFIRMED, { ...REVERSED, bankTransactionId: 'another' }]) {
      expect(await respond(parties, exceptionId, other)).toMatchObject({
        status: 409,
        body: { data: { exceptionId, state: 'resolved', resolution: 'reversed' } },
      });
    }
    expect(await reversals()).toEqual([100]);
    expect((await theOne())['note']).toBeNull();
  });

  test.each([
    ['late', NO_MONEY],
    ['late', REVERSED],
    ['unanswered', NO_MONEY],
  ])('says of a declined charge, %s, %j: nothing is taken from the merchant', async (how, finding) => {
    const { id } = await unanswered();
    if (how === 'late') await approve(parties, id);

    await end(finding);

    expect(await reversals()).toEqual([]);
    expect(await history(parties.merchant)).toMatchObject([{ status: 'declined', reversedAmount: 0 }]);
  });

  test('has what it said and was refused on record, each once, with the request and why; and alone sees which id', async () => {
    const { reference, id } = await contradicted();
    const { exceptionId } = await theOne();
    const debit = { resolution: 'reversed', bankTransactionId: `tx-${id}` };
    const statuses: number[] = [];
    for (const [n, answer] of [debit, debit, CONFIRMED, REVERSED, REVERSED].entries()) {
      const headers = { 'x-request-id': `answer-${n}` };
      const answered = await parties.bank.post(`${EXCEPTIONS}/${exceptionId}/respond`, answer, headers);
      statuses.push(answered.status);
    }
    expect(statuses).toEqual([409, 409, 200, 409, 409]);

    const { events } = await parties.bank.read(`${EXCEPTIONS}/${exceptionId}`);
    expect(typesOf(events)).toEqual([
      'exception.opened',
      'exception.answer_refused',
      'exception.resolved',
      'exception.answer_refused',
    ]);
    const told = async (caller: Caller) => {
      const { timeline } = await caller.read(`/v1/transaction-details?reference=${reference}`);
      return (timeline as { text: string }[])
        .map(({ text }) => text)
        .filter((text) => text.includes('was not taken'));
    };
    const refused = `the bank’s answer to the exception was not taken: ${exceptionId}, it said reversed, `;
    const belongs =
      'for: This bankTransactionId belongs to another transaction of yours: send that of the reversal.';
    const resolved = 'for: The exception is resolved already: confirmed.';
    expect(await told(parties.bank)).toEqual([
      `${refused}bankTransactionId tx-${id}, ${belongs}, request answer-0, by the bank`,
      `${refused}bankTransactionId taken-back, ${resolved}, request answer-3, by the bank`,
    ]);
    expect(await told(parties.merchant)).toEqual([
      `${refused}${belongs}, by the bank`,
      `${refused}${resolved}, by the bank`,
    ]);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('cannot fill the record by ever new answers that are refused', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    await respond(parties, exceptionId, CONFIRMED);
    for (let n = 0; n < 22; n++) {
      const other = { ...REVERSED, bankTransactionId: `r-${n}` };
      expect((await respond(parties, exceptionId, other)).status).toBe(409);
    }
    const { events } = await parties.bank.read(`${EXCEPTIONS}/${exceptionId}`);
    expect(events).toHaveLength(22);
  });

  test.each([
    ['the second debit where all its answers were approvals', [second], NO_MONEY, []],
    ['the second debit where all its answers were approvals', [second], REVERSED, []],
    ['the second debit where it confirms the first', [second], { ...REVERSED, ...CONFIRMED }, []],
    ['the charge where it called that declined before', [denial, second], REVERSED, [100]],
    ['the charge where it called that declined after', [second, denial], REVERSED, [100]],
    ['the charge where it names the debit that settled it', [approveAgain], REVERSED, [100]],
  ])('speaks of %s', async (_, said, finding, reversed) => {
    const { reference, id } = await charge(parties);
    for (const say of said) expect((await say(id)).status).toBe(409);

    await end(finding);

    expect(await reversals()).toEqual(reversed);
    const left = reversed.length === 0 ? 100 : 0;
    expect(await balancesOf(served.db, parties.merchantId)).toEqual({ merchant: BigInt(left) * 100n });
    expect((await initiateRefund(parties, reference)).status).toBe(left === 0 ? 409 : 201);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('speaks of the second debit where it took back that it had called the charge declined', async () => {
    const { id } = await contradicted();
    await end(CONFIRMED);
    await second(id);

    await end(REVERSED);

    expect(await reversals()).toEqual([]);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('stops the standing approval with a decline that it sends after another', async () => {
    const { id } = await bill(parties);
    for (const action of ['deny', 'suspended']) {
      const answer = { billingRequestId: id, action };
      expect((await parties.bank.post('/v1/billing/bank-response', answer)).status).toBe(200);
    }
    expect(await parties.bank.list('/v1/bank/customer-decisions')).toMatchObject([
      { customerDecision: 'suspended' },
    ]);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('cannot confirm what it never answered in time', async () => {
    const { id } = await unanswered();
    await approve(parties, id);
    const { exceptionId } = await theOne();

    expect(await respond(parties, exceptionId, CONFIRMED)).toMatchObject({
      status: 409,
      body: { data: { exceptionId, state: 'open', resolution: null } },
    });
  });

  test('says that a refused id moved nothing: the charge that another id settled stays the merchant’s', async () => {
    const [first, next] = [await charge(parties), await charge(parties)];
    await approve(parties, next.id, `tx-${first.id}`);

    await end(NO_MONEY);

    expect(await reversals()).toEqual([]);
  });

  test('needs for a reversal an id of its own, which then proves no charge', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    expect((await respond(parties, exceptionId, { resolution: 'reversed' })).status).toBe(400);
    await end(REVERSED);

    expect((await approve(parties, (await bill(parties)).id, 'taken-back')).status).toBe(409);
  });

  test('waits for an operator who is resolving it, and hears that it was too late', async () => {
    await contradicted();
    const { exceptionId } = await theOne();
    const operator = await openTransaction(served.db);
    const by = { cause: 'operator', note: null } as const;
    const finding = { resolution: 'no_difference', bankTransactionId: null } as const;
    await resolveException(operator.trx, by, exceptionId, finding);

    const answer = respond(parties, exceptionId, REVERSED);
    // It waits for the charge, or has yet to come to it: either way the exception is resolved.
    await operator.commit();

    expect(await answer).toMatchObject({
      status: 409,
      body: { data: { state: 'resolved', resolution: 'no_difference' } },
    });
    expect(await reversals()).toEqual([]);
    // An answer that was not taken proves nothing: its id is free.
    expect((await approve(parties, (await bill(parties)).id, 'taken-back')).status).toBe(200);
  });

  test('says many things at once: one is taken, and the money moves once', async () => {
    await contradicted();
    const { exceptionId } = await theOne();

    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        respond(parties, exceptionId, { ...REVERSED, bankTransactionId: `taken-back-${n}` }),
      ),
    );

    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([200, 409, 409, 409, 409, 409]);
    expect(await reversals()).toEqual([100]);
  });
});

describe('a charge or a refund', () => {
  test('has one exception, whose kind is that of the first thing that went wrong, and which holds all that was said', async () => {
    const { id: taken } = await charge(parties);
    const used = `tx-${taken}`;
    const { id } = await unanswered();
    for (const said of ['debit-1', used, 'debit-1', 'debit-2']) {
      expect((await approve(parties, id, said)).status).toBe(409);
    }

    const { exceptionId, ...one } = await theOne();
    expect(one).toMatchObject({ kind: 'unanswered', state: 'open', bankTransactionId: 'debit-1' });
    const { answers, events } = await parties.bank.read(`${EXCEPTIONS}/${exceptionId}`);
    expect(answers).toMatchObject([
      { says: 'approved', bankTransactionId: 'debit-1' },
      { says: 'approved', bankTransactionId: used },
      { says: 'approved', bankTransactionId: 'debit-2' },
    ]);
    expect(events).toMatchObject([
      { type: 'exception.opened', kind: 'unanswered' },
      { type: 'exception.updated', kind: 'late_answer' },
      { type: 'exception.updated', kind: 'duplicate_transaction_id' },
      { type: 'exception.updated', kind: 'late_answer' },
    ]);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('of which the bank says the same again once its exception has ended has a new one', async () => {
    const { reference, id } = await contradicted();
    const first = await theOne();
    await end(CONFIRMED);

    expect((await decline(parties, id)).status).toBe(409);

    expect((await theOne('?state=open')).exceptionId).not.toBe(first.exceptionId);
    expect((await initiateRefund(parties, reference)).status).toBe(409);
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('has one exception, however many answers race', async () => {
    const { reference, id } = await charge(parties);
    const refundId = await refund(parties, reference, 40, 'rejected');

    const answers = await Promise.all(
      [1, 2, 3, 4].flatMap((n) => [
        approve(parties, id, `second-${n}`),
        answerRefund(parties, refundId, 'completed', `transfer-${n}`),
      ]),
    );

    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(409));
    const of = (await listed(parties.bank)).map((one) => one['refundId']);
    expect([of.length, new Set(of)]).toEqual([2, new Set([null, refundId])]);
  });

  test('keeps what is in doubt besides: a used id does not end by the right one where the bank has declined, too', async () => {
    const { id: taken } = await charge(parties);
    const { id } = await charge(parties);
    await approve(parties, id, `tx-${taken}`);
    await decline(parties, id);

    expect((await approve(parties, id)).status).toBe(200);

    expect(await theOne()).toMatchObject({ kind: 'duplicate_transaction_id', state: 'open' });
  });
});

describe('no money in doubt', () => {
  test('ends what was unanswered with a late decline, which is a 409, on the time line, and no exception', async () => {
    const { reference, id } = await unanswered();

    for (const reason of ['insufficient_funds', 'account_closed']) {
      expect(await decline(parties, id, reason)).toMatchObject({
        status: 409,
        body: { data: { status: 'declined' } },
      });
    }

    const { exceptionId, ...ended } = await theOne();
    expect(ended).toMatchObject({ kind: 'unanswered', state: 'resolved', resolution: 'no_money_moved' });
    const events = await eventsOf(parties.merchant, reference);
    expect(typesOf(events.slice(3))).toEqual(['billing_request.answer_refused', 'exception.resolved']);
    expect(events.map(({ cause }) => cause)).toEqual(['merchant', 'network', 'network', 'bank', 'bank']);
    expect(await parties.bank.read(`${EXCEPTIONS}/${exceptionId}`)).toMatchObject({
      answers: [{ says: 'declined', bankTransactionId: null }],
    });
    expect(await bookDifferences(served.db)).toEqual([]);
  });

  test('is not where a decline comes after a late approval', async () => {
    const { id } = await unanswered();
    await approve(parties, id);
    expect((await decline(parties, id)).status).toBe(409);

    expect(await theOne()).toMatchObject({ kind: 'unanswered', state: 'open' });
  });

  test('is a decline or rejection after another, in other words too: a repeat, and the first reason stays', async () => {
    const { reference, id } = await bill(parties);
    await decline(parties, id);
    const denied = { billingRequestId: id, action: 'deny' };
    for (const again of [
      await decline(parties, id, 'account_closed'),
      await parties.bank.post('/v1/billing/bank-response', denied),
    ]) {
      expect(again).toMatchObject({ status: 200, body: { data: { status: 'declined' } } });
    }
    const refundId = await refund(parties, (await charge(parties)).reference, 40, 'rejected');
    const rejected = { refundId, action: 'rejected', reason: 'account closed' };
    expect((await parties.bank.post('/v1/bank/refund-response', rejected)).status).toBe(200);

    expect(await listed(parties.bank)).toEqual([]);
    expect(await history(parties.merchant, `?reference=${reference}`)).toMatchObject([
      { declineReason: 'insufficient_funds' },
    ]);
  });

  test('is a used id, once the bank sends the right one for the same charge or refund', async () => {
    const used = `tx-${(await charge(parties)).id}`;
    const { reference, id } = await bill(parties);
    expect((await approve(parties, id, used)).status).toBe(409);
    expect((await approve(parties, id)).status).toBe(200);
    const refundId = await refund(parties, reference, 40);
    expect((await answerRefund(parties, refundId, 'completed', used)).status).toBe(409);
    expect((await answerRefund(parties, refundId, 'completed')).status).toBe(200);

    const ended = { kind: 'duplicate_transaction_id', state: 'resolved', resolution: 'no_difference' };
    expect(await listed(parties.bank)).toMatchObject([
      { ...ended, refundId },
      { ...ended, refundId: null },
    ]);
  });

  test('is a used id that came after the right one, once the right one is repeated', async () => {
    const { id: taken } = await charge(parties);
    const { id } = await charge(parties);
    await approve(parties, id, `tx-${taken}`);
    expect(await theOne()).toMatchObject({ state: 'open' });

    expect((await approve(parties, id)).status).toBe(200);

    expect(await theOne()).toMatchObject({ state: 'resolved', resolution: 'no_difference' });
  });
});

describe('what an exception holds of a charge', () => {
  test.each([
    ['a refund that was rejected, and then completed', 'reversed', { amount: 100 }],
    ['a refund that was rejected, and then completed', 'written_off', { amount: 60 }],
    ['a refund that was rejected, and then completed', 'no_difference', { amount: 100 }],
    ['a contradicted charge', 'confirmed', { amount: 100 }],
    ['a contradicted charge', 'written_off', { status: 'successful' }],
    ['a contradicted charge', 'no_difference', { amount: 100 }],
  ] as const)(
    'for %s can be refunded once it is resolved, unless it is written off: %s, %j',
    async (what, resolution, left) => {
      const { reference, id } = await charge(parties);
      if (what === 'a contradicted charge') await decline(parties, id);
      else await refund(parties, reference, 40, 'rejected', 'completed');
      expect((await initiateRefund(parties, reference, 100)).status).toBe(409);

      await resolve(resolution);

      expect((await initiateRefund(parties, reference)).body.data).toMatchObject(left);
      expect(await reversals()).toEqual([]);
    },
  );

  test('for a refund of which less is left is not confirmed, and the bank is told how much is', async () => {
    const { reference } = await charge(parties);
    const refundId = await refund(parties, reference, 40, 'rejected');
    expect((await initiateRefund(parties, reference, 70)).status).toBe(201);
    await answerRefund(parties, refundId, 'completed', `late-${refundId}`);

    const { exceptionId } = await theOne();
    expect(await respond(parties, exceptionId, CONFIRMED)).toMatchObject({
      status: 409,
      body: { code: 'exceeds_remaining', data: { left: 30 } },
    });
  });

  test.each([
    ['a decline', denial],
    ['a second debit', second],
    ['a used id', (id: string) => approve(parties, id, 'used')],
    ['the same debit with another word', approveAgain],
  ])('is all that is left of it, after a refund too, until it is resolved: %s', async (_, say) => {
    await approve(parties, (await bill(parties)).id, 'used');
    const { reference, id } = await charge(parties);
    await refund(parties, reference, 30, 'completed');
    const pending = await refund(parties, reference, 20);
    expect((await say(id)).status).toBe(409);
    const held = { status: 409, body: { code: 'held_by_exception' } };

    expect(await initiateRefund(parties, reference, 0.01)).toMatchObject(held);
    await answerRefund(parties, pending, 'rejected');
    expect(await initiateRefund(parties, reference, 0.01)).toMatchObject(held);
    await resolve('no_difference');

    expect((await initiateRefund(parties, reference)).body.data).toMatchObject({ amount: 70 });
  });

  test.each([
    [40, NO_MONEY, [60], [40, 60]],
    [100, NO_MONEY, [], [100]],
    [100, REVERSED, [], [100]],
  ])(
    'is never refunded once it is reversed: a refund of %i that is rejected after %j is reversed, too',
    async (amount, finding, before, after) => {
      const { reference, id } = await charge(parties);
      const refundId = await refund(parties, reference, amount);
      await decline(parties, id);
      await end(finding);
      expect(await reversals()).toEqual(before);

      await answerRefund(parties, refundId, 'rejected');

      expect(await reversals()).toEqual(after);
      expect((await initiateRefund(parties, reference, 0.01)).status).toBe(409);
      expect(await balancesOf(served.db, parties.merchantId)).toEqual({ merchant: 0n });
      const told = await served.announced(parties.merchantId, 'billing.reversed');
      expect(told.map(({ sequence }) => sequence)).toEqual(after.map((_, n) => n + 2));
      expect(await bookDifferences(served.db)).toEqual([]);
    },
  );
});

const again = async (wish: object = {}): Promise<Shown> => {
  const body = {
    paymentIDs: [parties.paymentId],
    amount: 100,
    currency: 'NGN',
    description: 'Shoes',
    ...wish,
  };
  const answered = await parties.merchant.post('/v1/customer/bill', body);
  expect(answered.status).toBe(201);
  return (itemsOf(answered)[0] ?? {}) as unknown as Shown;
};

describe('a merchant that bills again', () => {
  test('what its customer may have paid already is warned until that is resolved, and the charge is made', async () => {
    await unanswered();
    const { exceptionId } = await theOne();
    const warning = { status: 'pending', warning: 'open_exception', exceptionId };

    expect(await again()).toMatchObject(warning);
    const lookupIDs = [await lookupIdOf(served.db, parties.customerId)];
    expect(await again({ paymentIDs: undefined, lookupIDs })).toMatchObject(warning);
    await served.db.transaction((trx) => takeAsOperator(trx, OPERATOR, exceptionId));
    expect(await again()).toMatchObject(warning);

    await respond(parties, exceptionId, NO_MONEY);
    expect(await again()).not.toHaveProperty('warning');
  });

  test('another amount, or another customer, is not warned', async () => {
    await unanswered();
    expect(await again({ amount: 100.01 })).not.toHaveProperty('warning');
    parties = await served.parties();
    expect(await again()).not.toHaveProperty('exceptionId');
  });
});

/** An exception as webhooks have it, and the fields that only the API shows. */
const sent = ({ note, merchantName, bankName, direction, bookedAmount, bookedCurrency, ...rest }: Shown) => ({
  more: [note, merchantName, bankName, direction, bookedAmount, bookedCurrency],
  rest,
});

describe('both sides of an exception', () => {
  test('hear that it was opened and that it was resolved, each in its own numbers; ids and notes are the bank’s alone', async () => {
    const { id } = await charge(parties);
    await second(id);
    const { rest: opened } = sent(await theOne());
    await end({ ...CONFIRMED, note: 'case 4711' });
    const { more, rest: resolved } = sent(await theOne());

    expect(more).toEqual(['case 4711', 'Merchant', 'Bank', null, null, null]);
    expect(await heard(parties.bank, 'exception.')).toEqual([
      ['exception.opened', { ...opened, sequence: 1 }],
      ['exception.resolved', { ...resolved, sequence: 2 }],
    ]);
    const told = await heard(parties.merchant, 'exception.');
    expect(told).toMatchObject([
      ['exception.opened', { sequence: 1, state: 'open' }],
      ['exception.resolved', { sequence: 2, state: 'resolved' }],
    ]);
    const shown = [told, await listed(parties.merchant), await listed(parties.provider)];
    expect(JSON.stringify(shown)).not.toMatch(/debit-2|4711|bankTransactionId/);
  });

  test.each(['another bank', 'the same bank'])(
    'of a payment between customers are banks: the payer’s, and that of the payee, %s',
    async (whose) => {
      const isSame = whose === 'the same bank';
      const payee = isSame ? parties : await served.parties();
      const asked = await payee.bank.post('/v1/customer/bill', {
        lookupIDs: [await lookupIdOf(served.db, parties.customerId)],
        payee: { lookupID: await lookupIdOf(served.db, await anotherCustomer(payee)) },
        amount: 100,
        currency: 'NGN',
        description: 'Rent',
      });
      const id = String(itemsOf(asked)[0]?.billingRequestId);
      await approve(parties, id);
      await heard(payee.bank, 'billing.');
      await decline(parties, id);
      const { exceptionId } = await theOne();
      expect(await listed(payee.bank)).toMatchObject([{ exceptionId, merchantId: null, note: null }]);

      await end(REVERSED);

      expect(await history(payee.bank, '?type=reversal')).toMatchObject([
        { amount: 100, billingRequestId: id },
      ]);
      expect(numbered(await heard(payee.bank, 'billing.'))).toEqual([
        ...(isSame ? ['billing.request 1', 'billing.credit 2'] : ['billing.credit 1']),
        `billing.reversed ${isSame ? 3 : 2}`,
      ]);
      expect(numbered(await heard(payee.bank, 'exception.'))).toEqual([
        'exception.opened 1',
        'exception.resolved 2',
      ]);
    },
  );

  test('of a payment that is taken back before the payee’s bank has heard of it: that credits nobody', async () => {
    const payee = await served.parties();
    const { id, deliveryId } = await payAnother(served.db, parties, payee);
    await decline(parties, id);
    await end(REVERSED);

    expect(numbered(await heard(payee.bank, 'billing.'))).toEqual(['billing.reversed 1']);
    // Nor by hand.
    const redeliver = `/v1/webhooks/deliveries/${deliveryId}/redeliver`;
    expect((await payee.bank.post(redeliver)).status).toBe(409);
    expect(await payee.bank.read(`/v1/billing/requests/${id}`)).not.toHaveProperty('credit');
    // No workflow waits for it, and nothing of it is ever overdue.
    expect(await openWork(served.db, 'credits', '', 100)).toEqual([]);
    await moveClock(served.db, payee.bankId, '2 days');
    await served.db.transaction((trx) => followCredits(trx, [id]));
    expect(await listed(payee.bank, '?kind=credit_undelivered')).toEqual([]);
    expect(await balancesOf(served.db, payee.bankId)).toEqual({ in_transit: 250n, payee_bank: -250n });
  });
});

async function anotherCustomer({ bankId }: Standing): Promise<string> {
  const { customers } = await served.db.transaction((trx) =>
    onboardBatch(trx, bankId, [{ person: person() }]),
  );
  return String(customers[0]?.customerId);
}
