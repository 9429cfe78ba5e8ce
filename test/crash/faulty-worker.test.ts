import path from 'node:path';
import { agreement, Cast, type Bank, type Merchant } from '../support/cast';
import { startEngine, type TestEngine } from '../support/engine';

/**
 * A worker with a fault that nobody wrote code for: `faults.cjs` throws it beside all that the
 * worker does.
 */

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

test('a worker with a fault that nobody catches ends in order and says why, and the next one goes on', async () => {
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  await bank.answerCharges('silence');
  await engine.worker.stop();
  await engine.worker.start({ NODE_OPTIONS: `--require ${path.join(__dirname, '../support/faults.cjs')}` });
  const { billingRequestId } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  await bank.hears('billing.request', billingRequestId);

  engine.worker.signal('SIGUSR2');
  expect(await engine.worker.ended()).toBe(1);
  const lines = (await engine.log())
    .split('\n')
    .filter((line) => line.includes('thrown beside all requests'));
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      level: 60,
      kind: 'exception',
      process: 'worker',
      err: { stack: expect.stringContaining('faults.cjs') as string },
    },
  ]);
  expect(await engine.log()).toContain('worker has stopped');

  await engine.worker.start();
  await bank.respondToCharge(billingRequestId, { bankTransactionId: 'tx-1' });
  expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({ status: 'successful' });
});
