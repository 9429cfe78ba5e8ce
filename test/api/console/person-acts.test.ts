import { changeTwoPersonLimit } from '../../../src/database/person-act/two-person-limit';
import { changePerson } from '../../../src/database/person/person';
import { remindBank } from '../../../src/database/refund/remind-bank';
import { readAuditEvents } from '../../../src/database/record/audit-event';
import { calendarDay } from '../../../src/domain/calendar';
import type { PersonRole } from '../../../src/domain/person';
import { unrecorded } from '../../support/database';
import { colleague, type Colleague } from '../../support/colleague';
import { waitsForALock, openTransaction } from '../../support/open-transaction';
import { OPERATOR } from '../../support/operator';
import {
  charge,
  decline,
  EXCEPTIONS,
  history,
  initiateRefund,
  refund,
  shareApi,
  type Parties,
  type Shown,
} from '../../support/shared-api';
import { sendFile } from '../../support/bank-file';
import { exceptionOf } from '../../support/settled';
import { moveClock } from '../../support/standing';

const shared = shareApi({ RATE_LIMIT_CALLER: '5000/5000', RATE_LIMIT_ANSWER: '5000/5000' });
let parties: Parties;
let asker: Colleague;
let other: Colleague;

const ACTS = '/v1/console/person-acts';
const LIMIT = '/v1/console/two-person-limit';
const WAITS = { status: 202, body: { success: true, code: 'waiting_for_second' } };
/** Kobo. */
const LIMITED = 5_000n;

const setLimit = (entityId: string) =>
  shared.db.transaction((trx) => changeTwoPersonLimit(trx, OPERATOR, entityId, new Map([['NGN', LIMITED]])));
const at = (role: PersonRole, { entityId } = parties.merchant) => colleague(shared.api, entityId, role);

/** A merchant with two clerks, where a refund above 50 naira needs both. */
beforeEach(async () => {
  parties = await shared.parties();
  await at('admin');
  [asker, other] = [await at('clerk'), await at('clerk')];
  await setLimit(parties.merchant.entityId);
});

let keys = 0;
const ask = (reference: string, amount?: number, by = asker, key = `key-${++keys}`) =>
  by.send(
    'POST',
    '/v1/refunds/initiate',
    { reference, ...(amount !== undefined && { amount }) },
    { 'idempotency-key': key },
  );
const decide = (actId: unknown, how: 'approve' | 'refuse', by = other) =>
  by.send('POST', `${ACTS}/${String(actId)}/${how}`);
const approve = (actId: unknown, by = other) => decide(actId, 'approve', by);

/** A refund of 60 naira of a charge of 100 that waits. */
async function waiting(by = asker): Promise<{ id: string; reference: string; actId: string }> {
  const charged = await charge(parties);
  const asked = await ask(charged.reference, 60, by);
  expect(asked).toMatchObject(WAITS);
  return { ...charged, actId: String(asked.body.data?.['actId']) };
}

const refunds = () => parties.merchant.list('/v1/refunds');
const acts = async (by = other) => (await by.send('GET', ACTS)).body.data?.['acts'] as Shown[];
const act = async (actId: unknown, by = other) => (await acts(by)).find((one) => one['actId'] === actId);
const statuses = (answers: { status: number }[]) =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

const audited = async (entityId = parties.merchant.entityId) => {
  const found = [];
  for await (const page of readAuditEvents(shared.db, { entityId, since: undefined })) found.push(...page);
  return found;
};

describe('a refund above the limit of two persons', () => {
  it('waits and holds no money until another person approves it, who does it once', async () => {
    const { reference, actId } = await waiting();
    expect(await refunds()).toEqual([]);
    const rest = await initiateRefund(parties, reference, 40);
    expect(rest.status).toBe(201);
    expect(await act(actId)).toMatchObject({
      operation: 'initiateRefund',
      request: { reference, amount: 60 },
      amount: 60,
      currency: 'NGN',
      state: 'waiting',
      askedBy: asker.email,
    });
    const done = await approve(actId);
    expect(done).toMatchObject({ status: 200, body: { data: { amount: 60, originalReference: reference } } });
    expect(await refunds()).toHaveLength(2);
    // A page that lost the answer asks again.
    expect(await approve(actId)).toMatchObject({
      status: 409,
      body: { code: 'already_decided', data: { state: 'approved' } },
    });
    expect(await refunds()).toHaveLength(2);
    expect(await act(actId)).toMatchObject({ state: 'approved', decidedBy: other.email, refusal: null });
  });

  it('is done once by ten who approve and refuse it at the same moment', async () => {
    const deciders = await Promise.all(Array.from({ length: 10 }, () => at('clerk')));
    for (let round = 0; round < 3; round++) {
      const { actId } = await waiting(await at('clerk'));
      // Their passkeys are older than the act.
      await unrecorded(
        shared.database.url,
        `UPDATE passkeys SET created_at = created_at - interval '1 hour'`,
      );
      const before = (await refunds()).length;
      const answers = await Promise.all(
        deciders.map((by, n) => decide(actId, n % 3 === 2 ? 'refuse' : 'approve', by)),
      );
      expect(statuses(answers)).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
      const { state } = (await act(actId)) as { state: string };
      expect((await refunds()).length - before).toBe(state === 'approved' ? 1 : 0);
    }
  });

  it('cannot be split into small ones, also not at the same moment', async () => {
    const charges = await Promise.all(Array.from({ length: 10 }, () => charge(parties)));
    const answers = await Promise.all(charges.map(({ reference }) => ask(reference, 20)));
    expect(statuses(answers)).toEqual([201, 201, ...Array.from({ length: 8 }, () => 202)]);
    expect(await refunds()).toHaveLength(2);
    // One charge, by several refunds of it.
    const third = await at('clerk');
    const one = await charge(parties);
    const parts = await Promise.all(Array.from({ length: 4 }, () => ask(one.reference, 20, third)));
    expect(statuses(parts)).toEqual([201, 201, 202, 202]);
  });

  it('is measured by all that is left where it names no amount, and at the limit goes alone', async () => {
    const { reference } = await charge(parties);
    expect(await ask(reference)).toMatchObject(WAITS);
    await refund(parties, reference, 50);
    expect(await ask(reference)).toMatchObject({ status: 201, body: { data: { amount: 50 } } });
  });

  it('has one act for each Idempotency-Key, and the same answer', async () => {
    const { reference } = await charge(parties);
    const first = await ask(reference, 60, asker, 'same');
    const again = await ask(reference, 60, asker, 'same');
    expect(again).toMatchObject({ status: 202, body: first.body });
    expect(await acts()).toHaveLength(1);
  });

  it('answers no client of the API that uses the same Idempotency-Key', async () => {
    const { reference } = await charge(parties);
    await ask(reference, 60, asker, 'same');
    const headers = { 'idempotency-key': 'same' };
    const wish = { reference, amount: 60 };
    expect(await parties.merchant.send('POST', '/v1/refunds/initiate', wish, headers)).toMatchObject({
      status: 201,
    });
  });

  it('moves what it was shown to move, also where more is left by then', async () => {
    const { reference } = await charge(parties);
    const { refundId } = (await initiateRefund(parties, reference, 30)).body.data as { refundId: string };
    const asked = await ask(reference);
    const actId = asked.body.data?.['actId'];
    expect(await act(actId)).toMatchObject({ amount: 70 });
    const answer = { refundId, action: 'rejected', reason: 'account closed' };
    expect((await parties.bank.post('/v1/bank/refund-response', answer)).status).toBe(200);
    expect(await approve(actId)).toMatchObject({ status: 200, body: { data: { amount: 70 } } });
  });

  it('is refused at once where it could not be done now', async () => {
    const { reference } = await charge(parties);
    expect(await ask(reference, 101)).toMatchObject({ status: 409, body: { code: 'exceeds_remaining' } });
    expect(await acts()).toEqual([]);
  });

  it('is judged as it is approved: of a charge refunded meanwhile nothing is left', async () => {
    const { reference, actId } = await waiting();
    await refund(parties, reference, 50);
    expect(await approve(actId)).toMatchObject({ status: 409, body: { code: 'exceeds_remaining' } });
    expect(await act(actId)).toMatchObject({ state: 'refused', refusal: 'exceeds_remaining' });
    expect(await refunds()).toHaveLength(1);
    expect(await approve(actId)).toMatchObject({ body: { data: { state: 'refused' } } });
  });

  it('fits once where the charge is refunded at the same moment', async () => {
    const { id, reference, actId } = await waiting();
    const open = await openTransaction(shared.db);
    await open.trx.rows`SELECT FROM billing_requests WHERE id = ${id} FOR UPDATE`;
    const both = [approve(actId), initiateRefund(parties, reference, 60)] as const;
    await waitsForALock(shared.db);
    await open.rollback();
    const [approved, initiated] = await Promise.all(both);
    expect(await refunds()).toHaveLength(1);
    expect([200, 409]).toContain(approved.status);
    expect(initiated.status).toBe(approved.status === 200 ? 409 : 201);
  });

  it('tells its payment that it came with an Idempotency-Key', async () => {
    const { reference } = await charge(parties);
    const { body } = await ask(reference, 20);
    const refunded = String(body.data?.['reference']);
    const { timeline } = await parties.merchant.read(`/v1/transaction-details?reference=${refunded}`);
    const texts = (timeline as { text: string }[]).map(({ text }) => text);
    expect(texts).toContainEqual(expect.stringMatching(/^called by .* for rfd_.*, with an idempotency key/));
    // Persons of other days are no part of it.
    expect(texts.join()).not.toMatch(/person[.](added|passkey)/);
  });

  it('holds no client of the API', async () => {
    const { reference } = await charge(parties);
    expect(await initiateRefund(parties, reference, 100)).toMatchObject({ status: 201 });
    expect(await acts()).toEqual([]);
  });
});

describe('a charge that two admins make again at the same moment', () => {
  it('is one charge, for its Idempotency-Key is their merchant’s', async () => {
    const wish = { paymentIDs: [parties.paymentId], amount: 10, currency: 'NGN', description: 'Again' };
    const headers = { 'idempotency-key': 'again-R-0' };
    const answers = await Promise.all(
      [await at('admin'), await at('admin')].map((by) => by.send('POST', '/v1/customer/bill', wish, headers)),
    );
    expect(statuses(answers)[0]).toBe(201);
    expect(await history(parties.merchant)).toHaveLength(1);
  });
});

describe('a decision', () => {
  it('is for another person who may refund, by a passkey from before', async () => {
    const { actId } = await waiting();
    const forbidden = { status: 403, body: { code: 'forbidden' } };
    expect(await approve(actId, asker)).toMatchObject(forbidden);
    expect((await act(actId, asker))?.['whyNot']).toMatch('You asked for it');
    expect((await act(actId))?.['whyNot']).toBeUndefined();
    const viewer = await at('viewer');
    expect(await approve(actId, viewer)).toMatchObject(forbidden);
    expect(await decide(actId, 'refuse', viewer)).toMatchObject(forbidden);
    const late = await at('admin');
    expect(await approve(actId, late)).toMatchObject(forbidden);
    expect((await act(actId, late))?.['whyNot']).toMatch('Your passkey was made after');
    const stranger = await at('admin', await shared.enter('merchant'));
    expect(await approve(actId, stranger)).toMatchObject({ status: 404 });
    expect(await acts(stranger)).toEqual([]);
    expect(await refunds()).toEqual([]);
    expect((await act(actId))?.['state']).toBe('waiting');
  });

  it('to refuse ends the act; those who asked may take it back', async () => {
    for (const by of [other, asker]) {
      const { actId } = await waiting();
      expect(await decide(actId, 'refuse', by)).toMatchObject({ status: 200 });
      expect(await approve(actId)).toMatchObject({ status: 409, body: { data: { state: 'refused' } } });
    }
    expect(await refunds()).toEqual([]);
  });

  it('comes too late after 24 hours, and for good once who asked was disabled', async () => {
    const lapsed = { status: 409, body: { code: 'already_decided', data: { state: 'lapsed' } } };
    const { actId } = await waiting();
    const { actId: older } = await waiting();
    await unrecorded(
      shared.database.url,
      `UPDATE person_acts SET created_at = clock_timestamp() - interval '24 hours' WHERE id = '${older}';
       UPDATE passkeys SET created_at = created_at - interval '2 days'`,
    );
    expect(await approve(older)).toMatchObject(lapsed);
    for (const disabled of [true, false])
      await shared.db.transaction((trx) =>
        changePerson(trx, OPERATOR, { personId: asker.personId }, { disabled }),
      );
    expect(await approve(actId)).toMatchObject(lapsed);
    expect(await decide(actId, 'refuse')).toMatchObject(lapsed);
    expect((await act(actId))?.['state']).toBe('lapsed');
    expect(await refunds()).toEqual([]);
  });

  it('is on record with both persons, and tells nobody’s address', async () => {
    const { reference, actId } = await waiting();
    await approve(actId);
    const event = await shared.db.row<{ commitId: string }>`
      SELECT e.commit_id FROM events e JOIN refunds r ON r.id = e.resource_id
        JOIN billing_requests b ON b.id = r.billing_request_id WHERE b.reference = ${reference}`;
    const both = [asker.personId, other.personId];
    const found = (await audited()).filter(
      ({ actor, action }) => both.includes(actor) && !/passkey/.test(action),
    );
    const of = {
      actId,
      operation: 'initiateRefund',
      reference,
      amount: '6000',
      currency: 'NGN',
      actorRole: 'clerk',
    };
    expect(found.map(({ actor, action, after }) => [actor, action, after])).toEqual([
      [asker.personId, 'person.act_asked', { ...of, commitId: expect.any(String) as string }],
      [other.personId, 'person.act_approved', { ...of, ...event }],
      [asker.personId, 'person.initiate_refund', { actorRole: 'clerk', ...event }],
    ]);
    const kept = JSON.stringify([found, shared.api.log], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(kept).not.toContain('@example.com');
    await waiting();
    const story = async (by: Parties['bank']) => {
      const { timeline } = await by.read(`/v1/transaction-details?reference=${reference}`);
      return (timeline as { text: string }[])
        .map(({ text }) => text)
        .filter((text) => /person[.]/.test(text));
    };
    expect(await story(parties.merchant)).toEqual([
      expect.stringMatching(`^person.act_approved .* by the clerk ${other.email} `),
      expect.stringMatching(`^person.initiate_refund .* by the clerk ${asker.email} `),
    ]);
    expect(await story(parties.bank)).toEqual([]);
  });
});

const respond = (exceptionId: string, finding: object, by: Colleague) =>
  by.send('POST', `${EXCEPTIONS}/${exceptionId}/respond`, finding);

const contradicted = async () => {
  const { id } = await charge(parties);
  await decline(parties, id);
  return exceptionOf(shared.db, id);
};
const exceptionState = async (exceptionId: string) =>
  (await parties.bank.read(`${EXCEPTIONS}/${exceptionId}`))['state'];

describe('an answer to an exception that moves money above the limit', () => {
  let clerks: [Colleague, Colleague];
  beforeEach(async () => {
    clerks = [await at('clerk', parties.bank), await at('clerk', parties.bank)];
    await setLimit(parties.bank.entityId);
  });

  it('waits for another person of the bank; one that moves none does not', async () => {
    const [first, second] = clerks;
    const exceptionId = await contradicted();
    const asked = await respond(exceptionId, { resolution: 'no_money_moved', note: 'Case 1' }, first);
    expect(asked).toMatchObject(WAITS);
    expect(await exceptionState(exceptionId)).toBe('open');
    expect(await approve(asked.body.data?.['actId'], second)).toMatchObject({
      status: 200,
      body: { data: { exceptionId, state: 'resolved', resolution: 'no_money_moved' } },
    });
    expect(await respond(exceptionId, { resolution: 'no_money_moved' }, first)).toMatchObject({
      status: 200,
    });
    const stands = await contradicted();
    expect(await respond(stands, { resolution: 'confirmed' }, first)).toMatchObject({ status: 200 });
  });

  it('waits also where it frees what a late refund has taken', async () => {
    const [first] = clerks;
    const { id, reference } = await charge(parties);
    const { refundId } = (await initiateRefund(parties, reference, 60)).body.data as { refundId: string };
    await moveClock(shared.db, parties.merchantId, '40 days');
    await shared.db.transaction((trx) => remindBank(trx, refundId));
    const exceptionId = await exceptionOf(shared.db, id);
    expect(await respond(exceptionId, { resolution: 'no_money_moved' }, first)).toMatchObject(WAITS);
    expect(await parties.merchant.list('/v1/refunds')).toMatchObject([{ status: 'pending' }]);
  });

  it('waits by what the ledger would move, whatever amount a file has', async () => {
    const [first] = clerks;
    const { id, reference } = await charge(parties);
    const refunded = (await initiateRefund(parties, reference, 60)).body.data as Record<string, string>;
    const answer = { refundId: refunded['refundId'], action: 'rejected', reason: 'account closed' };
    await parties.bank.post('/v1/bank/refund-response', answer);
    const day = calendarDay(new Date(), 'Africa/Lagos');
    await sendFile(shared.db, parties.bank.entityId, [
      { id: 'R', direction: 'credit', amount: 15, day, reference: String(refunded['reference']) },
    ]);
    const exceptionId = await exceptionOf(shared.db, id);
    const finding = { resolution: 'confirmed', bankTransactionId: 'R' };
    const asked = await respond(exceptionId, finding, first);
    expect(asked).toMatchObject(WAITS);
    expect(await act(asked.body.data?.['actId'], first)).toMatchObject({ amount: 60, currency: 'NGN' });
  });

  it('that is refused has moved nothing, and leaves the day to the one that is not', async () => {
    const [first] = clerks;
    const { id } = await charge(parties, { amount: 30 });
    const another = await charge(parties, { amount: 30 });
    await decline(parties, id);
    const exceptionId = await exceptionOf(shared.db, id);
    const wrong = { resolution: 'reversed', bankTransactionId: `tx-${another.id}` };
    expect(await respond(exceptionId, wrong, first)).toMatchObject({ status: 409 });
    expect(await respond(exceptionId, { resolution: 'no_money_moved' }, first)).toMatchObject({
      status: 200,
    });
  });

  it('that is refused once it is approved ends its act, and is kept as what the bank said', async () => {
    const [first, second] = clerks;
    const exceptionId = await contradicted();
    const asked = await respond(exceptionId, { resolution: 'no_money_moved' }, first);
    const actId = asked.body.data?.['actId'];
    await parties.bank.post(`${EXCEPTIONS}/${exceptionId}/respond`, { resolution: 'confirmed' });
    expect(await approve(actId, second)).toMatchObject({ status: 409, body: { code: 'already_resolved' } });
    expect(await act(actId, second)).toMatchObject({ state: 'refused', refusal: 'already_resolved' });
    const kept = await shared.db.rows`SELECT FROM refused_answers WHERE resource_id = ${exceptionId}`;
    expect(kept).toHaveLength(1);
  });
});

const setAbove = (twoPersonAbove: object | null, by: Colleague) => by.send('PUT', LIMIT, { twoPersonAbove });
const above = async () => (await other.send('GET', ACTS)).body.data?.['twoPersonAbove'];

describe('persons, and the limit itself', () => {
  let admins: [Colleague, Colleague];
  beforeEach(async () => {
    admins = [await at('admin'), await at('admin')];
  });
  const PERSONS = '/v1/console/persons';

  it('are changed by two admins while there is a limit, and each change is judged as approved', async () => {
    const [first, second] = admins;
    const { personId } = asker;
    const changes: [string, object | undefined, string][] = [
      [PERSONS, { email: 'new@example.com', role: 'clerk' }, 'addPerson'],
      [`${PERSONS}/${personId}/role`, { role: 'admin' }, 'setPersonRole'],
      [`${PERSONS}/${personId}/disable`, undefined, 'disablePerson'],
      [`${PERSONS}/${personId}/enable`, undefined, 'enablePerson'],
      [`${PERSONS}/${personId}/invite`, undefined, 'invitePerson'],
    ];
    for (const [path, body, operation] of changes) {
      const asked = await first.send('POST', path, body);
      expect(asked).toMatchObject(WAITS);
      const actId = asked.body.data?.['actId'];
      expect(await act(actId, second)).toMatchObject({
        operation,
        amount: null,
        request: body ?? { personId },
      });
      expect(await approve(actId, first)).toMatchObject({ status: 403 });
      expect(await approve(actId, other)).toMatchObject({ status: 403 });
      expect(await act(actId, other)).toBeUndefined();
      expect(await approve(actId, second)).toMatchObject({ status: 200 });
    }
    const { persons } = (await first.send('GET', PERSONS)).body.data as { persons: Shown[] };
    expect(persons.find((one) => one['personId'] === personId)).toMatchObject({ role: 'admin' });
    expect(persons.some(({ email }) => email === 'new@example.com')).toBe(true);
    const invited = (await audited()).filter(({ action }) => /^person[.](added|act_approved)$/.test(action));
    expect(invited.slice(-6).map(({ actor, action }) => [actor, action])).toContainEqual([
      first.personId,
      'person.added',
    ]);
    const twice = await first.send('POST', PERSONS, { email: 'new@example.com', role: 'viewer' });
    const actId = twice.body.data?.['actId'];
    expect(await approve(actId, second)).toMatchObject({ status: 409, body: { code: 'person_exists' } });
    expect(await act(actId, second)).toMatchObject({ state: 'refused', refusal: 'person_exists' });
  });

  it('are changed by two admins: a limit too, and its end; the first is set by one', async () => {
    const [first, second] = admins;
    const asked = await setAbove({ NGN: 1_000_000 }, first);
    expect(asked).toMatchObject(WAITS);
    expect(await above()).toEqual({ NGN: 50 });
    expect(await approve(asked.body.data?.['actId'], second)).toMatchObject({
      status: 200,
      body: { data: { twoPersonAbove: { NGN: 1_000_000 } } },
    });
    const older = (await setAbove({ NGN: 2_000_000 }, second)).body.data?.['actId'];
    const ending = await setAbove(null, first);
    expect(ending).toMatchObject(WAITS);
    await approve(ending.body.data?.['actId'], second);
    expect(await approve(older, first)).toMatchObject({ body: { data: { state: 'lapsed' } } });
    expect(await above()).toBeNull();
    expect(await setAbove({ NGN: 0.5, USD: 10 }, second)).toMatchObject({ status: 200 });
    expect(await above()).toEqual({ NGN: 0.5, USD: 10 });
    expect(await setAbove({ NGN: 1 }, other)).toMatchObject({ status: 403 });
  });

  it('refuse a limit that is none', async () => {
    const [first] = admins;
    for (const wrong of [{ XXQ: 5 }, { NGN: 0 }, { NGN: 0.001 }, { NGN: '5' }, { constructor: 5 }, 5])
      expect(await setAbove(wrong as object, first)).toMatchObject({ status: 400 });
    const { headers } = await setAbove({ NGN: 0 }, first);
    expect(headers.get('content-type')).toMatch('json');
  });
});
