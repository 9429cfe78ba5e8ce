import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type { PartyControl } from '../../examples/demo/parties/control';
import { rows } from '../../src/database/pool/connection';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../support/cast';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { holdAt, type DatabaseStep, type HeldStep } from '../support/held-step';

/**
 * The API or the worker is killed at each step of a charge, and started again: what the caller, the
 * bank and the merchant then see is one charge, whole.
 */

/** An engine, and those who play on it: one step at a time. */
interface Stage {
  engine: TestEngine;
  cast: Cast;
  bank: Bank;
  merchant: Merchant;
  customer: Customer;
  temporal: Client;
  standingApproval: string;
  approvalEachTime: string;
}

/**
 * Most of a step is waiting, above all for Temporal to give up a task that was lost with its
 * worker.
 */
const STAGES = 3;
let stages: Stage[];
/** Those on which no step is played; who finds none waits for the next. */
const free: Stage[] = [];
const waiting: ((stage: Stage) => void)[] = [];

/** Long enough for all that comes before its end; short enough to be waited for. */
const WINDOW_S = 2;

async function setStage(): Promise<Stage> {
  const engine = await startEngine({ APPROVAL_WINDOW_S: String(WINDOW_S), WEBHOOK_RETRY_S: '1,1,1' });
  const cast = new Cast(engine);
  const [bank, merchant] = await Promise.all([cast.bank(2), cast.merchant()]);
  const [customer, second] = bank.customers;
  if (!second) throw new Error('two customers were asked for');
  const standingApproval = await agreement(bank, merchant, customer);
  const approvalEachTime = await agreement(bank, merchant, second, { decision: 'approve_once' });
  const connection = await Connection.connect({ address: engine.temporalAddress });
  const temporal = new Client({ connection, namespace: engine.namespace });
  return { engine, cast, bank, merchant, customer, temporal, standingApproval, approvalEachTime };
}

beforeAll(async () => {
  stages = await Promise.all(Array.from({ length: STAGES }, setStage));
  free.push(...stages);
});

afterAll(() =>
  Promise.all(
    stages.map(async ({ engine, cast, temporal }) => {
      await temporal.connection.close();
      await cast.leave();
      await engine.stop();
    }),
  ),
);

/** Plays on the next stage that is free. */
async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = free.pop() ?? (await new Promise<Stage>((take) => waiting.push(take)));
  try {
    await play(stage);
  } finally {
    const next = waiting.shift();
    if (next) next(stage);
    else free.push(stage);
  }
}

const AMOUNT = 12.5;

/** What a merchant sets going; `begin` ends when the network has accepted it. */
const STORIES = {
  'the bank confirms the debit': {
    begin: (stage: Stage, description: string) =>
      bill(stage, { paymentIDs: [stage.standingApproval], description }),
    outcome: 'successful',
  },
  'the bank confirms the debit, and the merchant is out of order at first': {
    async begin(stage: Stage, description: string) {
      const { server } = stage.merchant;
      await server.misbehave({ kind: 'status', status: 500, times: 1, type: 'billing.response' });
      return bill(stage, { paymentIDs: [stage.standingApproval], description });
    },
    outcome: 'successful',
  },
  'the bank confirms the debit after a while': {
    async begin(stage: Stage, description: string) {
      // Nobody waits for it that long, on a slow machine neither.
      await stage.bank.server.rule({ on: 'billing.request', description, afterMs: 6_000 });
      return bill(stage, { paymentIDs: [stage.standingApproval], description });
    },
    outcome: 'successful',
  },
  'the customer says nothing': {
    async begin(stage: Stage, description: string) {
      await stage.bank.answerCharges('silence', { description });
      return bill(stage, { paymentIDs: [stage.approvalEachTime], description });
    },
    outcome: 'declined',
  },
  'a schedule bills once': {
    async begin(stage: Stage, description: string) {
      const { customer, standingApproval } = stage;
      const terms = { customerId: customer.customerId, paymentID: standingApproval, maxBillings: 1 };
      const schedule = { ...terms, amount: AMOUNT, currency: 'NGN', frequency: 'daily', description };
      return insist(stage, '/v1/billing/recurring/create', schedule);
    },
    outcome: 'successful',
  },
} as const;

type Victim = 'api' | 'worker';

/** A webhook that has reached its receiver, whose answer does not come. */
interface InFlight {
  to: 'bank' | 'merchant';
  type: 'billing.request' | 'billing.response';
}

interface Step {
  story: keyof typeof STORIES;
  step: string;
  killed: Victim;
  at: DatabaseStep | InFlight;
  /** Whether Postgres still hears a commit from the dead. */
  fate: 'undone' | 'committed';
}

const accepting = { on: 'INSERT', table: 'idempotency_keys' } as const;
const startTaken = { on: 'DELETE', table: 'outbox', when: `OLD.kind = 'start'` } as const;
const signalTaken = { on: 'DELETE', table: 'outbox', when: `OLD.kind = 'signal'` } as const;
const answered = { on: 'UPDATE', table: 'billing_requests', when: `NEW.closed_by = 'bank'` } as const;
const startsWaiting = {
  on: 'UPDATE',
  table: 'billing_requests',
  when: `NEW.waiting AND NOT OLD.waiting`,
} as const;
const expired = { on: 'UPDATE', table: 'billing_requests', when: `NEW.closed_by = 'network'` } as const;
const handedOver = { on: 'INSERT', table: 'outbox', when: `NEW.start->>'type' = 'webhookDelivery'` } as const;
const attemptAt = (to: 'bnk' | 'mch') =>
  ({
    on: 'UPDATE',
    table: 'webhook_deliveries',
    when: `NEW.entity_id LIKE '${to}%' AND NEW.status = 'delivered'`,
  }) as const;

const paid = { story: 'the bank confirms the debit' } as const;
const late = { story: 'the bank confirms the debit after a while' } as const;
const deaf = { story: 'the bank confirms the debit, and the merchant is out of order at first' } as const;
const silent = { story: 'the customer says nothing' } as const;
const recurring = { story: 'a schedule bills once' } as const;

const STEPS: Step[] = [
  {
    ...paid,
    step: 'accepting, before the commit',
    killed: 'api',
    at: { ...accepting, at: 'commit' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'accepting, after the commit',
    killed: 'api',
    at: { ...accepting, at: 'commit' },
    fate: 'committed',
  },
  {
    ...paid,
    step: 'carrying the start, before Temporal has it',
    killed: 'worker',
    at: { ...startTaken, at: 'row' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'carrying the start, when Temporal has it',
    killed: 'worker',
    at: { ...startTaken, at: 'commit' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'asking the bank, which has not answered',
    killed: 'worker',
    at: { to: 'bank', type: 'billing.request' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'asking the bank, before noting it',
    killed: 'worker',
    at: { ...attemptAt('bnk'), at: 'row' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'asking the bank, after noting it',
    killed: 'worker',
    at: { ...attemptAt('bnk'), at: 'commit' },
    fate: 'committed',
  },
  {
    ...paid,
    step: "taking the bank's answer, before the commit",
    killed: 'api',
    at: { ...answered, at: 'commit' },
    fate: 'undone',
  },
  {
    ...paid,
    step: "taking the bank's answer, after the commit",
    killed: 'api',
    at: { ...answered, at: 'commit' },
    fate: 'committed',
  },
  {
    ...late,
    step: 'starting to wait, before noting it',
    killed: 'worker',
    at: { ...startsWaiting, at: 'row' },
    fate: 'undone',
  },
  {
    ...late,
    step: 'starting to wait, after noting it',
    killed: 'worker',
    at: { ...startsWaiting, at: 'commit' },
    fate: 'committed',
  },
  {
    ...late,
    step: 'carrying the signal, before Temporal has it',
    killed: 'worker',
    at: { ...signalTaken, at: 'row' },
    fate: 'undone',
  },
  {
    ...late,
    step: 'carrying the signal, when Temporal has it',
    killed: 'worker',
    at: { ...signalTaken, at: 'commit' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'telling the merchant, who has not answered',
    killed: 'worker',
    at: { to: 'merchant', type: 'billing.response' },
    fate: 'undone',
  },
  {
    ...paid,
    step: 'telling the merchant, before noting it',
    killed: 'worker',
    at: { ...attemptAt('mch'), at: 'row' },
    fate: 'undone',
  },
  {
    ...deaf,
    step: 'handing the webhook over, before the commit',
    killed: 'worker',
    at: { ...handedOver, at: 'commit' },
    fate: 'undone',
  },
  {
    ...deaf,
    step: 'handing the webhook over, when Temporal has it',
    killed: 'worker',
    at: { ...startTaken, when: `OLD.start->>'type' = 'webhookDelivery'`, at: 'commit' },
    fate: 'undone',
  },
  {
    ...silent,
    step: 'closing the window, before the commit',
    killed: 'worker',
    at: { ...expired, at: 'commit' },
    fate: 'undone',
  },
  {
    ...silent,
    step: 'closing the window, after the commit',
    killed: 'worker',
    at: { ...expired, at: 'commit' },
    fate: 'committed',
  },
  {
    ...recurring,
    step: 'charging, before the commit',
    killed: 'worker',
    at: { on: 'INSERT', table: 'billings', at: 'commit' },
    fate: 'undone',
  },
  {
    ...recurring,
    step: 'charging, after the commit',
    killed: 'worker',
    at: { on: 'INSERT', table: 'billings', at: 'commit' },
    fate: 'committed',
  },
  {
    ...recurring,
    step: 'asking the bank, which has not answered',
    killed: 'worker',
    at: { to: 'bank', type: 'billing.request' },
    fate: 'undone',
  },
];

test.concurrent.each(STEPS)('$story; the $killed dies $step', (step) =>
  onStage((stage) => expectOneCharge(stage, step)),
);

async function expectOneCharge(stage: Stage, { story, step, killed, at, fate }: Step): Promise<void> {
  const { engine } = stage;
  const { outcome } = STORIES[story];
  const description = `${story}: ${step}`;
  const held = 'to' in at ? await holdInFlight(stage, at) : await holdAt(engine.database.url, at);
  const accepted = STORIES[story].begin(stage, description);
  try {
    const victim = await held.reached();
    await engine[victim].kill();
    expect(victim).toBe(killed);
  } finally {
    await held.release(fate);
    await Promise.all([engine.api.start(), engine.worker.start()]);
  }

  await accepted;
  await expectWhole(stage, description, outcome);
}

function bill(stage: Stage, charge: { paymentIDs: string[]; description: string }): Promise<void> {
  return insist(stage, '/v1/customer/bill', { ...charge, amount: AMOUNT, currency: 'NGN' });
}

/** Calls with one key until the network has an answer, as a careful merchant does. */
async function insist({ merchant }: Stage, path: string, body: object): Promise<void> {
  const key = randomUUID();
  await eventually(async () => {
    const answer = await merchant.api.post(path, body, key).catch(() => undefined);
    // The network is away, or the first call with this key has not ended yet.
    if (answer === undefined || answer.status === 503 || answer.status === 409) return false;
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return true;
  });
}

/**
 * The receiver takes the next webhook of this type, and answers when the worker is no longer there.
 */
async function holdInFlight(
  { engine, bank, merchant }: Stage,
  { to, type }: InFlight,
): Promise<Pick<HeldStep, 'reached' | 'release'>> {
  const { server }: { server: PartyControl } = to === 'bank' ? bank : merchant;
  const arrived = async () => (await server.attempts()).filter((attempt) => attempt.type === type);
  const before = (await arrived()).length;
  await server.misbehave({ kind: 'slow', type, times: 1, delayMs: 3_000 });
  return {
    async reached() {
      await eventually(async () => (await arrived()).length > before);
      return 'worker';
    },
    async release() {
      const [attempt] = (await arrived()).slice(before);
      expect(await noted(engine, attempt?.deliveryId ?? '')).toEqual([]);
    },
  };
}

function noted(engine: TestEngine, deliveryId: string): Promise<unknown[]> {
  return rows(engine.database.db, `SELECT n FROM webhook_attempts WHERE delivery_id = :deliveryId`, {
    deliveryId,
  });
}

interface Charge {
  id: string;
  status: string;
  scheduleId: string | null;
  batchId: string;
  workflowId: string;
  sequences: number[];
}

async function expectWhole(
  stage: Stage,
  description: string,
  outcome: 'successful' | 'declined',
): Promise<void> {
  const { engine, bank, merchant } = stage;
  const find = () =>
    rows<Charge>(
      engine.database.db,
      `SELECT id, status, schedule_id AS "scheduleId", batch_id AS "batchId", workflow_id AS "workflowId",
         ARRAY(SELECT sequence FROM events WHERE resource_id = b.id ORDER BY sequence) AS sequences
       FROM billing_requests b WHERE description = :description`,
      { description },
    );
  await eventually(async () => (await find()).some(({ status }) => status !== 'pending'));
  const charges = await find();
  expect(charges).toMatchObject([{ status: outcome, sequences: [1, 2] }]);
  const [charge] = charges as [Charge];
  await atRest(stage, charge);

  const { id, scheduleId } = charge;
  const debits = (await bank.server.ledger()).filter((entry) => entry.billingRequestId === id);
  expect(debits.map(({ state }) => state)).toEqual(outcome === 'successful' ? ['debited'] : []);
  await expectToldOnce(merchant.server, 'billing.response', id, outcome);
  await expectToldOnce(bank.server, 'billing.request', id);
  expect(await wrongSums(engine)).toEqual([]);
  if (scheduleId !== null) await expectBilledOnce(engine, scheduleId);
}

/** Nothing of it is left to carry, to send or to wait for. */
async function atRest(
  { engine, temporal }: Stage,
  { batchId, scheduleId, workflowId }: Charge,
): Promise<void> {
  await eventually(async () => {
    const [left] = await rows<{ left: number }>(
      engine.database.db,
      `SELECT ((SELECT count(*) FROM outbox)
         + (SELECT count(*) FROM webhook_deliveries WHERE batch_id = :batchId AND status = 'pending')
         + (SELECT count(*) FROM schedules WHERE id = :scheduleId AND status <> 'completed'))::int AS left`,
      { batchId, scheduleId },
    );
    return left?.left === 0;
  });
  const handle = temporal.workflow.getHandle(workflowId);
  await eventually(async () => (await handle.describe()).status.name === 'COMPLETED');
}

/** However often it was sent, it was one delivery with the same bytes each time. */
async function expectToldOnce(
  server: PartyControl,
  type: string,
  id: string,
  status?: string,
): Promise<void> {
  const heard = (await server.received()).filter(
    (event) => event.type === type && event.item['billingRequestId'] === id,
  );
  expect(heard).toMatchObject([status === undefined ? {} : { item: { status } }]);
  const sent = (await server.attempts()).filter(({ deliveryId }) => deliveryId === heard[0]?.deliveryId);
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  expect(sent.every(({ outcome }) => outcome !== 'forged')).toBe(true);
}

/** Agreements whose sum is not that of the charges which count in it. */
function wrongSums(engine: TestEngine): Promise<unknown[]> {
  return rows(
    engine.database.db,
    `SELECT a.id, a.spent_day_total, counted.total
     FROM agreements a,
       LATERAL (SELECT coalesce(sum(amount), 0) AS total FROM billing_requests
                WHERE agreement_id = a.id AND counted_day = a.spent_day AND status <> 'declined') AS counted
     WHERE a.spent_day_total <> counted.total`,
  );
}

/** One billing, which ran at its first attempt, and a history without gaps. */
async function expectBilledOnce(engine: TestEngine, scheduleId: string): Promise<void> {
  const found = await rows(
    engine.database.db,
    `SELECT status, (SELECT jsonb_agg(jsonb_build_array(n, status, attempts)) FROM billings WHERE schedule_id = s.id) AS billings,
       ARRAY(SELECT sequence FROM events WHERE resource_id = s.id ORDER BY sequence) = ARRAY(SELECT generate_series(1, s.sequence))
         AS "withoutGaps"
     FROM schedules s WHERE id = :scheduleId`,
    { scheduleId },
  );
  expect(found).toEqual([{ status: 'completed', billings: [[0, 'successful', 1]], withoutGaps: true }]);
}
