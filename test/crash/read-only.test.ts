import { randomUUID } from 'node:crypto';
import { asOwner } from '../support/database';
import { agreement, Cast, type Bank, type Merchant } from '../support/cast';
import { eventually, startEngine, type TestEngine } from '../support/engine';

/**
 * A Postgres that reads and does not write: a failover has left it behind, or somebody spares its
 * disk.
 */

/** The first of them may come upon a session that has just ended; the last do not. */
const CALLS = 10;

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

test('calls get 503 while Postgres only reads, and go on, with the same processes, when it writes again', async () => {
  const paymentID = await agreement(bank, merchant, bank.customers[0]);
  const token = await merchant.api.accessToken();
  const key = randomUUID();
  const bill = () =>
    fetch(`${engine.apiUrl}/v1/customer/bill`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ paymentIDs: [paymentID], amount: 10, currency: 'NGN', description: 'Shoes' }),
    });

  await setReadOnly('on');
  for (let call = 1; call <= CALLS; call++) {
    const refused = await bill();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await refused.json()).toMatchObject({ statusCode: 503, success: false });
  }

  await setReadOnly('off');
  let billingRequestId = '';
  await eventually(async () => {
    const answer = await bill();
    const [item] = answer.status === 201 ? ((await answer.json()) as { billingRequestId: string }[]) : [];
    billingRequestId = item?.billingRequestId ?? '';
    return item !== undefined;
  });
  expect(await merchant.hears('billing.response', billingRequestId)).toMatchObject({ status: 'successful' });
});

/** For all sessions of this database, of which none is left as it was. */
async function setReadOnly(to: 'on' | 'off'): Promise<void> {
  const { url } = engine.database;
  const name = new URL(url).pathname.slice(1);
  // Else it could not be written that writing is allowed again.
  await asOwner(
    `${url}?options=-c%20default_transaction_read_only%3Doff`,
    `ALTER DATABASE ${name} SET default_transaction_read_only = ${to}`,
  );
  await asOwner(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`,
  );
}
