import { randomUUID } from 'node:crypto';
import { Cast, type Bank } from '../support/cast';
import { rows } from '../../src/database/pool/connection';
import { eventually, startEngine, type TestEngine } from '../support/engine';
import { holdAt, type DatabaseStep } from '../support/held-step';

/**
 * The API or the worker is killed amid a large batch, and started again: everybody is a customer
 * once.
 */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;

beforeAll(async () => {
  engine = await startEngine();
  cast = new Cast(engine);
  bank = await cast.bank();
});

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

const TOTAL = 1_100;

interface Step {
  step: string;
  killed: 'api' | 'worker';
  at: DatabaseStep;
  fate: 'undone' | 'committed';
}

const thirdPage = { on: 'DELETE', table: 'staged_customers', when: 'OLD.first_index = 500' } as const;
const accepting = { on: 'INSERT', table: 'idempotency_keys', at: 'commit' } as const;

const STEPS: Step[] = [
  {
    step: 'staging the third page',
    killed: 'api',
    at: { on: 'INSERT', table: 'staged_customers', when: 'NEW.first_index = 500', at: 'commit' },
    fate: 'committed',
  },
  { step: 'accepting, before the commit', killed: 'api', at: accepting, fate: 'undone' },
  { step: 'accepting, after the commit', killed: 'api', at: accepting, fate: 'committed' },
  {
    step: 'onboarding the third page, before the commit',
    killed: 'worker',
    at: { ...thirdPage, at: 'commit' },
    fate: 'undone',
  },
  {
    step: 'onboarding the third page, after the commit',
    killed: 'worker',
    at: { ...thirdPage, at: 'commit' },
    fate: 'committed',
  },
];

test.each(STEPS)('the $killed dies at $step ($fate)', async ({ killed, at, fate }) => {
  const run = randomUUID();
  const customers = Array.from({ length: TOTAL }, (_, i) => ({
    clientRef: `${run} ${i}`,
    firstname: 'Ife',
    lastname: 'Ade',
    accountName: 'ADE IFE',
    email: `${run}-${i}@example.com`,
    country: 'NG',
    accountNumber: `${run.slice(0, 8).toUpperCase()}${1_000_000 + i}`,
  }));
  const held = await holdAt(engine.database.url, at);
  const accepted = insist({ customers }, run);
  try {
    expect(await held.reached()).toBe(killed);
    await engine[killed].kill();
  } finally {
    await held.release(fate);
    await engine[killed].start();
  }

  const batchId = await accepted;
  await eventually(async () => {
    const { body } = await bank.api.get(`/v1/bank/customers/batches/${batchId}`);
    return body.data['status'] === 'completed';
  });
  const { body } = await bank.api.get(`/v1/bank/customers/batches/${batchId}`);
  expect(body.data['summary']).toEqual({ total: TOTAL, successful: TOTAL, failed: 0, duplicates: 0 });
  const made = await rows<{ clientRef: string; batchId: string }>(
    engine.database.db,
    `SELECT client_ref AS "clientRef", batch_id AS "batchId" FROM customers WHERE client_ref LIKE :run || ' %' ORDER BY id`,
    { run },
  );
  expect(made).toEqual(customers.map(({ clientRef }) => ({ clientRef, batchId })));
  await bank.hears('migration.completed', batchId);
  const left = await rows(engine.database.db, `SELECT 1 FROM staged_customers WHERE batch_id = :batchId`, {
    batchId,
  });
  expect(left).toEqual([]);
});

/**
 * Calls with one key until the network has an answer, as a careful bank does.
 *
 * @returns the batch
 */
async function insist(body: object, key: string): Promise<string> {
  let batchId: unknown;
  await eventually(async () => {
    const answer = await bank.api.post('/v1/bank/customers', body, key).catch(() => undefined);
    // The network is away, or the first call with this key has not ended yet.
    if (answer === undefined || answer.status === 503 || answer.status === 409) return false;
    if (answer.status !== 202) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
    batchId = answer.body.data['batchId'];
    return true;
  });
  return String(batchId);
}
