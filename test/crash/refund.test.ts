import { randomUUID } from 'node:crypto';
import { agreement, Cast, type Bank, type Merchant } from '../support/cast';
import { asOwner } from '../support/database';
import { startEngine, type TestEngine } from '../support/engine';
import { holdAt } from '../support/held-step';

/** A worker that dies in the middle of a refund, whose bank is late. */

let engine: TestEngine;
let cast: Cast;
let bank: Bank;
let merchant: Merchant;

beforeAll(async () => {
  engine = await startEngine();
  cast = new Cast(engine);
  [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
});

afterAll(async () => {
  await cast.leave();
  await engine.stop();
});

test('a reminder that was noted, and not sent, by a worker that died is sent by the next', async () => {
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  const { billingRequestId, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  await merchant.hears('billing.response', billingRequestId);
  await engine.worker.stop();
  const { body } = await merchant.api.post('/v1/refunds/initiate', { reference }, randomUUID());
  const refundId = String(body.data['refundId']);
  // Its timer runs out in real time, for a moved clock would have signalled the workflow.
  await asOwner(
    engine.database.url,
    `UPDATE refunds SET acts_at = clock_timestamp() + interval '8 seconds' WHERE id = '${refundId}'`,
  );
  const noted = { on: 'UPDATE', table: 'refunds', when: 'NEW.reminders > OLD.reminders' } as const;
  const held = await holdAt(engine.database.url, { ...noted, at: 'commit' });
  await engine.worker.start();
  await held.reached();
  await engine.worker.kill();
  await held.release('committed');
  await engine.worker.start();

  expect(await merchant.hears('refund.response', refundId)).toMatchObject({
    status: 'pending',
    overdue: true,
  });
  const asked = (await bank.server.received()).filter(({ item }) => item['refundId'] === refundId);
  expect(asked.map(({ item }) => item['sequence'])).toEqual([1, 2]);
});
