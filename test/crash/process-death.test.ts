import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type { ApiClient } from '../parties/client';
import type { PartyControl } from '../parties/control';
import { workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../support/cast';
import { asSchemaLogin } from '../support/database';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { holdAtEach, type DatabaseStep, type HeldStep } from '../support/held-step';

/**
 * The API or the worker dies at each step of a charge, a schedule, a refund and a batch of
 * customers, and is started again: what each party then sees is each thing once, whole.
 *
 * A process dies with several things in hand, each of parties of its own, and each at another step;
 * with it may die the other.
 */

let engine: TestEngine;
let cast: Cast;
let temporal: Client;

/** Long enough for all that comes before its end; short enough to be waited for. */
const WINDOW_S = 2;

beforeAll(async () => {
  engine = await startEngine({
    APPROVAL_WINDOW_S: String(WINDOW_S),
    WEBHOOK_RETRY_S: '1,1,1',
    // Each thing that is held holds a connection.
    DATABASE_POOL: '30',
  });
  cast = new Cast(engine);
  const connection = await Connection.connect({ address: engine.temporalAddress });
  temporal = new Client({ connection, namespace: engine.namespace });
});

afterAll(async () => {
  await temporal.connection.close();
  await cast.leave();
  await engine.stop();
});

/** Things in hand when a process dies. */
interface InHand {
  at: DatabaseStep;
  /** Whether a receiver has an unanswered webhook, whose end `at` keeps unknown. */
  isInFlight?: () => Promise<boolean>;
  /** Ends when the network has accepted it. */
  begin: () => Promise<unknown>;
  /** Once both processes run again. */
  afterwards?: () => Promise<unknown>;
  expectWhole: () => Promise<void>;
}

interface Step {
  killed: 'api' | 'worker';
  name: string;
  /** Whether Postgres still hears a commit from the dead. */
  fate: 'undone' | 'committed';
  make: () => Promise<InHand>;
  /** Begun when all others have reached their steps. */
  last?: true;
}

const AMOUNT = 12.5;

interface Parties {
  bank: Bank;
  merchant: Merchant;
  customer: Customer;
  paymentID: string;
}

async function parties(
  decision: 'approve_once' | 'approve_recurring' = 'approve_recurring',
): Promise<Parties> {
  const [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
  const [customer] = bank.customers;
  return { bank, merchant, customer, paymentID: await agreement(bank, merchant, customer, { decision }) };
}

/** Calls with one key until the network has an answer, as a careful caller does. */
async function insist(api: ApiClient, path: string, body: object): Promise<Record<string, unknown>> {
  const key = randomUUID();
  let data: Record<string, unknown> | undefined;
  await eventually(async () => {
    const answer = await api.post(path, body, key).catch(() => undefined);
    // The network is away, or the first call with this key has not ended yet.
    if (answer === undefined || answer.status === 503 || answer.status === 409) return false;
    if (answer.status > 202) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    ({ data } = answer.body);
    return true;
  });
  return data ?? {};
}

const bill = ({ merchant, paymentID }: Parties) =>
  insist(merchant.api, '/v1/customer/bill', {
    paymentIDs: [paymentID],
    amount: AMOUNT,
    currency: 'NGN',
    description: 'Shoes',
  });

type At = (parties: Parties) => DatabaseStep;

/** The receiver takes the webhook, and answers when the worker is no longer there. */
interface InFlight {
  to: 'bank' | 'merchant';
  type: 'billing.request' | 'billing.response';
}

interface Story {
  /** Before all else. */
  prepare?: (parties: Parties) => Promise<unknown>;
  begin?: (parties: Parties) => Promise<unknown>;
  afterwards?: (parties: Parties) => Promise<unknown>;
  decision?: 'approve_once';
  outcome?: 'declined';
}

/** Its bank confirms the debit at once. */
const paid: Story = {};
const deaf: Story = {
  prepare: ({ merchant }) =>
    merchant.server.misbehave({ kind: 'status', status: 500, times: 1, type: 'billing.response' }),
};
/** Its customer says nothing. */
const silent: Story = {
  prepare: ({ bank }) => bank.answerCharges('silence'),
  decision: 'approve_once',
  outcome: 'declined',
};
const answer = async ({ bank, merchant }: Parties) => {
  const { id } = await chargeOf(merchant);
  expect(await bank.respondToCharge(id, { bankTransactionId: `tx-${id}` })).toMatchObject({ status: 200 });
};
const late: Story = { prepare: ({ bank }) => bank.answerCharges('silence'), afterwards: answer };
/** Its bank answers once its workflow waits, and a signal is due. */
const woken: Story = {
  prepare: ({ bank }) => bank.answerCharges('silence'),
  async begin(of) {
    await bill(of);
    await eventually(async () => (await chargeOf(of.merchant)).waiting);
    await answer(of);
  },
};
const recurring: Story = {
  begin: ({ merchant, customer, paymentID }) =>
    insist(merchant.api, '/v1/billing/recurring/create', {
      customerId: customer.customerId,
      paymentID,
      maxBillings: 1,
      amount: AMOUNT,
      currency: 'NGN',
      frequency: 'daily',
    }),
};

function charge(story: Story, at: At | InFlight): Step['make'] {
  return async () => {
    const of = await parties(story.decision);
    await story.prepare?.(of);
    const inFlight = typeof at === 'function' ? undefined : at;
    if (inFlight) {
      const { to, type } = inFlight;
      await of[to].server.misbehave({ kind: 'slow', type, times: 1, delayMs: 3_000 });
    }
    const arrived = async ({ to, type }: InFlight) =>
      (await of[to].server.attempts()).some((attempt) => attempt.type === type);
    return {
      at: typeof at === 'function' ? at(of) : notingAt(at.to, 'row')(of),
      ...(inFlight && { isInFlight: () => arrived(inFlight) }),
      begin: () => (story.begin ?? bill)(of),
      afterwards: () => story.afterwards?.(of) ?? Promise.resolve(),
      expectWhole: () => expectWholeCharge(of, story.outcome ?? 'successful'),
    };
  };
}

/** Money on its way back, of a charge that was paid before. */
function refund(
  at: (of: Parties) => DatabaseStep,
  begin: (of: Parties, initiate: () => Promise<string>) => Promise<unknown>,
  told: object,
): Step['make'] {
  return async () => {
    const of = await parties();
    const { bank, merchant } = of;
    await bill(of);
    const { id } = await chargeOf(merchant);
    const { reference } = await merchant.hears('billing.response', id);
    const initiate = async () =>
      String((await insist(merchant.api, '/v1/refunds/initiate', { reference }))['refundId']);
    return {
      at: at(of),
      begin: () => begin(of, initiate),
      async expectWhole() {
        const made = await engine.database.db.rows<{ id: string; status: string; entries: number }>`
          SELECT id, status, (SELECT count(*)::int FROM ledger_entries WHERE resource_id = r.id) AS entries
          FROM refunds r WHERE merchant_id = ${merchant.entityId}`;
        expect(made).toHaveLength(1);
        const [{ id: refundId, status, entries }] = made as [(typeof made)[0]];
        expect(await merchant.hears('refund.response', refundId)).toMatchObject(told);
        await expectToldOnce(merchant.server, 'refund.response', 'refundId', refundId);
        expect(entries).toBe(status === 'completed' ? 1 : 0);
        const asked = (await bank.server.received()).filter(({ item }) => item['refundId'] === refundId);
        const times = status === 'pending' ? [1, 2] : [1];
        expect(asked.map(({ item }) => item['sequence'])).toEqual(times);
      },
    };
  };
}

const completeRefund = async ({ bank }: Parties, initiate: () => Promise<string>) => {
  const refundId = await initiate();
  await bank.hears('refund.request', refundId);
  const answered = { refundId, action: 'completed', bankTransactionId: `back-${refundId}` };
  expect(await bank.api.answer('/v1/bank/refund-response', answered)).toMatchObject({ status: 200 });
};

/** Its timer runs out in real time, for a moved clock would have signalled its workflow. */
const awaitReminder = async (_: Parties, initiate: () => Promise<string>) => {
  engine.worker.freeze();
  try {
    const refundId = await initiate();
    await asSchemaLogin(
      engine.database.url,
      `UPDATE refunds SET acts_at = clock_timestamp() + interval '3 seconds' WHERE id = '${refundId}'`,
    );
  } finally {
    engine.worker.thaw();
  }
};

/** More than are onboarded while their bank waits. */
function batch(total: number, at: (bank: Bank) => DatabaseStep): Step['make'] {
  return async () => {
    const bank = await cast.bank();
    const customers = Array.from({ length: total }, (_, i) => ({
      clientRef: `batch-${i}`,
      firstname: 'Ife',
      lastname: 'Ade',
      accountName: 'ADE IFE',
      email: `${bank.entityId}-${i}@example.com`,
      country: 'NG',
      accountNumber: `BATCH${1_000_000 + i}`,
    }));
    let batchId = '';
    return {
      at: at(bank),
      async begin() {
        batchId = String((await insist(bank.api, '/v1/bank/customers', { customers }))['batchId']);
      },
      async expectWhole() {
        const summary = { total, successful: total, failed: 0, duplicates: 0 };
        expect(await bank.hears('migration.completed', batchId)).toMatchObject({ summary });
        const { body } = await bank.api.get(`/v1/bank/customers/batches/${batchId}`);
        expect(body.data).toMatchObject({ status: 'completed', summary });
        const made = await engine.database.db.rows`
          SELECT client_ref, batch_id FROM customers
          WHERE bank_id = ${bank.entityId} AND client_ref LIKE 'batch-%' ORDER BY id`;
        expect(made).toEqual(customers.map(({ clientRef }) => ({ clientRef, batchId })));
        expect(
          await engine.database.db.rows`SELECT 1 FROM staged_customers WHERE batch_id = ${batchId}`,
        ).toEqual([]);
        const { events } = await temporal.workflow.getHandle(idOf.customerMigration(batchId)).fetchHistory();
        const payloads = JSON.stringify(
          events,
          function (this: Record<string, unknown>, name, value: unknown) {
            const raw = this[name];
            return raw instanceof Uint8Array ? Buffer.from(raw).toString() : value;
          },
        );
        expect(payloads).toContain(batchId);
        for (const text of [payloads, await engine.log()])
          for (const personal of ['Ife', 'example.com', 'BATCH1']) expect(text).not.toContain(personal);
      },
    };
  };
}

type Moment = DatabaseStep['at'];
const step = (on: DatabaseStep['on'], table: string, when: string, at: Moment = 'commit'): DatabaseStep => ({
  on,
  table,
  when,
  at,
});

const accepting: At = ({ merchant }) => acceptingOf(merchant);
const acceptingOf = ({ entityId }: Bank | Merchant) =>
  step('INSERT', 'idempotency_keys', `NEW.caller_id = '${entityId}'`);
/** The relay has not called Temporal yet; after its death the message waits for the lease's end. */
const leasing: At = ({ merchant: { entityId } }) =>
  step('UPDATE', 'outbox', `NEW.kind = 'start' AND NEW.owner_id = '${entityId}'`);
/** The relay deletes a message of the merchant's that Temporal has taken. */
const carrying =
  (kind: 'start' | 'signal'): At =>
  ({ merchant: { entityId } }) =>
    step('DELETE', 'outbox', `OLD.kind = '${kind}' AND OLD.owner_id = '${entityId}'`);
/** Its start is the only one of the rank `later`. */
const carryingWebhook: At = ({ merchant: { entityId } }) =>
  step('DELETE', 'outbox', `OLD.rank = 1 AND OLD.owner_id = '${entityId}'`);
const handingOver: At = ({ merchant: { entityId } }) =>
  step('INSERT', 'outbox', `NEW.rank = 1 AND NEW.owner_id = '${entityId}'`);
const updating =
  (change: string, at: Moment = 'commit'): At =>
  ({ merchant: { entityId } }) =>
    step('UPDATE', 'billing_requests', `NEW.merchant_id = '${entityId}' AND ${change}`, at);
const answered = updating(`NEW.closed_by = 'bank'`);
const startingToWait = (at: Moment) => updating('NEW.waiting AND NOT OLD.waiting', at);
const expiring = updating(`NEW.closed_by = 'network'`);
const charging: At = ({ merchant: { entityId } }) =>
  step('INSERT', 'billing_requests', `NEW.merchant_id = '${entityId}' AND NEW.schedule_id IS NOT NULL`);
const notingAt =
  (to: 'bank' | 'merchant', at: Moment): At =>
  ({ [to]: { entityId } }) =>
    step('UPDATE', 'webhook_deliveries', `NEW.entity_id = '${entityId}' AND NEW.attempts > OLD.attempts`, at);
const refundChanging =
  (change: string): At =>
  ({ merchant: { entityId } }) =>
    step('UPDATE', 'refunds', `NEW.merchant_id = '${entityId}' AND ${change}`);
const staging = step('INSERT', 'staged_customers', 'NEW.first_index = 750');
const onboarding = ({ entityId }: Bank) =>
  step('INSERT', 'customers', `NEW.bank_id = '${entityId}' AND NEW.client_ref = 'batch-500'`);
const toBank = { to: 'bank', type: 'billing.request' } as const;
const toMerchant = { to: 'merchant', type: 'billing.response' } as const;

/** It holds the relay, which carries no other call meanwhile. */
const lastly = (one: Step): Step => ({ ...one, last: true });
const stepOf =
  (killed: Step['killed'], fate: Step['fate']) =>
  (name: string, make: Step['make']): Step => ({ killed, name, fate, make });
const [apiUndone, apiCommitted] = [stepOf('api', 'undone'), stepOf('api', 'committed')];
const [undone, committed] = [stepOf('worker', 'undone'), stepOf('worker', 'committed')];
const completing = refund(refundChanging(`NEW.status = 'completed'`), completeRefund, {
  status: 'completed',
});
const reminding = refund(refundChanging('NEW.reminders > OLD.reminders'), awaitReminder, {
  status: 'pending',
  overdue: true,
});

/** Each has one that holds the relay of calls. */
const DEATHS: Step[][] = [
  [
    apiUndone('accepting a charge', charge(paid, accepting)),
    apiCommitted('accepting a charge', charge(paid, accepting)),
    apiUndone('taking the answer to a charge', charge(paid, answered)),
    apiCommitted('taking the answer to a charge', charge(paid, answered)),
    apiUndone('taking the answer to a refund', completing),
    apiCommitted('taking the answer to a refund', completing),
    apiCommitted(
      'staging the last page of a batch',
      batch(760, () => staging),
    ),
    apiUndone('accepting a batch', batch(510, acceptingOf)),
    apiCommitted('accepting a batch', batch(510, acceptingOf)),
    undone('noting that a merchant was told', charge(paid, notingAt('merchant', 'row'))),
    committed('noting a reminder of a refund', reminding),
    lastly(undone('carrying a signal, when Temporal has it', charge(woken, carrying('signal')))),
  ],
  [
    undone('asking a bank, which has not answered', charge(paid, toBank)),
    undone('noting that a bank was asked', charge(paid, notingAt('bank', 'row'))),
    undone('noting that a charge waits', charge(late, startingToWait('row'))),
    undone('closing the window of a charge', charge(silent, expiring)),
    undone('charging for a schedule', charge(recurring, charging)),
    undone('onboarding the last page of a batch', batch(510, onboarding)),
    lastly(committed('carrying a start, before Temporal has it', charge(paid, leasing))),
  ],
  [
    committed('noting that a bank was asked', charge(paid, notingAt('bank', 'commit'))),
    committed('noting that a charge waits', charge(late, startingToWait('commit'))),
    committed('closing the window of a charge', charge(silent, expiring)),
    committed('charging for a schedule', charge(recurring, charging)),
    committed('onboarding the last page of a batch', batch(510, onboarding)),
    undone('telling a merchant, who has not answered', charge(paid, toMerchant)),
    undone('handing a webhook over', charge(deaf, handingOver)),
    undone('asking the bank of a schedule, which has not answered', charge(recurring, toBank)),
    undone("carrying a webhook's start, when Temporal has it", charge(deaf, carryingWebhook)),
    lastly(undone('carrying a start, when Temporal has it', charge(paid, carrying('start')))),
  ],
];

/** The ends of the things that a process died with. */
const outcomes = new Map<Step, () => Promise<void>>();

test.each(DEATHS.map((steps) => ({ steps })))(
  'processes die with things in hand, each at its step, and start again ($#)',
  async ({ steps }) => {
    const made = await Promise.all(steps.map(({ make }) => make()));
    const held = await holdAtEach(
      engine.database.url,
      made.map(({ at }) => at),
    );
    const inHand = steps.map((of, n) => ({ of, ...(made[n] as InHand), held: held[n] as HeldStep }));
    const areAtTheirSteps = async (some: typeof inHand) => {
      const are = await Promise.all(
        some.map(async (one) => (await one.isInFlight?.()) ?? (await one.held.holds()) === one.of.killed),
      );
      return are.every(Boolean);
    };
    const victims = [...new Set(steps.map(({ killed }) => killed))].map((killed) => engine[killed]);
    const begun: Promise<unknown>[] = [];
    try {
      for (const isLast of [false, true]) {
        const some = inHand.filter(({ of: { last = false } }) => last === isLast);
        begun.push(...some.map(({ begin }) => begin()));
        await eventually(() => areAtTheirSteps(some));
      }
      // On a slow machine Postgres ends what is held for long, and it is tried again.
      await eventually(async () => {
        for (const victim of victims) victim.freeze();
        if (await areAtTheirSteps(inHand)) return true;
        for (const victim of victims) victim.thaw();
        return false;
      });
      await Promise.all(victims.map((victim) => victim.kill()));
      expect(await areAtTheirSteps(inHand)).toBe(true);
    } finally {
      await Promise.all(inHand.map((one) => one.held.release(one.of.fate)));
      await Promise.all(victims.map((victim) => victim.start()));
    }
    await Promise.all(begun);
    for (const { of, afterwards, expectWhole } of inHand) {
      await afterwards?.();
      outcomes.set(of, expectWhole);
    }
  },
);

test.each(DEATHS.flat())('all is whole after the death of the $killed $name ($fate)', (of) =>
  expectWholeAfterDeath(of),
);

async function expectWholeAfterDeath(of: Step): Promise<void> {
  const expectOutcome = outcomes.get(of);
  if (!expectOutcome) throw new Error('no process has died with it');
  await expectOutcome();
}

test('all of that was told with the numbers 1, 2, 3, …, and every limit counts what it should', async () => {
  expect(await cast.gaps()).toEqual([]);
  expect(await wrongSums()).toEqual([]);
});

interface Charge {
  id: string;
  status: string;
  waiting: boolean;
  scheduleId: string | null;
  batchId: string;
  workflowId: string;
  bankTransactionId: string | null;
  entries: number;
  sequences: number[];
}

function chargesOf({ entityId }: Merchant): Promise<Charge[]> {
  return engine.database.db.rows<Charge>`
    SELECT id, status, waiting, schedule_id, batch_id, workflow_id, bank_transaction_id,
      (SELECT count(*)::int FROM ledger_entries WHERE resource_id = b.id) AS entries,
      ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences
    FROM billing_requests b WHERE merchant_id = ${entityId}`;
}

async function chargeOf(merchant: Merchant): Promise<Charge> {
  const [found] = await chargesOf(merchant);
  if (!found) throw new Error('there is no charge');
  return found;
}

async function expectWholeCharge({ bank, merchant }: Parties, outcome: 'successful' | 'declined') {
  await eventually(async () => (await chargesOf(merchant)).some(({ status }) => status !== 'pending'));
  const charges = await chargesOf(merchant);
  const entries = outcome === 'successful' ? 1 : 0;
  expect(charges).toMatchObject([{ status: outcome, entries, sequences: [1, 2] }]);
  const [found] = charges as [Charge];
  await atRest(found);

  const { id, scheduleId } = found;
  expect(await merchant.hears('billing.response', id)).toMatchObject({ status: outcome });
  // None where the test has answered in the bank's place.
  const debits = (await bank.server.ledger()).map((one) => one.bankTransactionId);
  expect(debits).toEqual(debits.length === 0 ? [] : [found.bankTransactionId]);
  await expectToldOnce(merchant.server, 'billing.response', 'billingRequestId', id);
  await expectToldOnce(bank.server, 'billing.request', 'billingRequestId', id);
  if (scheduleId !== null) await expectBilledOnce(scheduleId);
}

/** Nothing of it is left to carry, to send or to wait for. */
async function atRest({ batchId, scheduleId, workflowId }: Charge): Promise<void> {
  await eventually(async () => {
    const left = await engine.database.db.row<{ left: number }>`
      SELECT ((SELECT count(*) FROM outbox)
      + (SELECT count(*) FROM webhook_deliveries WHERE batch_id = ${batchId} AND status = 'pending')
      + (SELECT count(*) FROM schedules WHERE id = ${scheduleId} AND status <> 'completed'))::int AS left`;
    return left?.left === 0;
  });
  const handle = temporal.workflow.getHandle(workflowId);
  await eventually(async () => (await handle.describe()).status.name === 'COMPLETED');
}

/** However often it was sent, it was one delivery with the same bytes each time. */
async function expectToldOnce(server: PartyControl, type: string, idName: string, id: string): Promise<void> {
  const heard = (await server.received()).filter((event) => event.type === type && event.item[idName] === id);
  expect(heard).toHaveLength(1);
  const sent = (await server.attempts()).filter(({ deliveryId }) => deliveryId === heard[0]?.deliveryId);
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  expect(sent.every(({ outcome }) => outcome !== 'forged')).toBe(true);
}

/** Agreements whose sum is not that of the charges which count in it. */
function wrongSums(): Promise<unknown[]> {
  return engine.database.db.rows`
    SELECT a.id, a.spent_daily, counted.total
    FROM agreements a,
      LATERAL (SELECT coalesce(sum(amount), 0) AS total FROM billing_requests
               WHERE agreement_id = a.id AND counted_day = a.spent_on AND NOT given_back) AS counted
    WHERE a.spent_daily <> counted.total`;
}

/** One billing, which ran at its first attempt, and a history without gaps. */
async function expectBilledOnce(scheduleId: string): Promise<void> {
  const found = await engine.database.db.rows`
    SELECT status, (SELECT jsonb_agg(jsonb_build_array(n, status, attempts)) FROM billings
    WHERE schedule_id = s.id) AS billings,
      ARRAY(SELECT sequence FROM events WHERE resource_id = s.id
      ORDER BY sequence) = ARRAY(SELECT generate_series(1, s.sequence))
        AS without_gaps
    FROM schedules s WHERE id = ${scheduleId}`;
  expect(found).toEqual([{ status: 'completed', billings: [[0, 'successful', 1]], withoutGaps: true }]);
}
