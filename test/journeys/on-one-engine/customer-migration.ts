import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { Cast, type Bank } from '../../support/cast';
import { engine } from './engine';

/** A bank brings more customers than it can wait for. */
describe('a batch of customers', () => {
  let cast: Cast;
  let bank: Bank;
  let temporal: Client;

  beforeAll(async () => {
    cast = new Cast(engine);
    bank = await cast.bank();
    const connection = await Connection.connect({ address: engine.temporalAddress });
    temporal = new Client({ connection, namespace: engine.namespace });
  });

  afterAll(async () => {
    await temporal.connection.close();
    await cast.leave();
  });

  const people = Array.from({ length: 1_200 }, (_, i) => ({
    clientRef: `large-${i}`,
    firstname: 'Ebere',
    lastname: `Nwosu ${i}`,
    accountName: `NWOSU EBERE ${i}`,
    email: `ebere${i}@example.com`,
    country: 'NG',
    accountNumber: i === 700 ? 'wrong' : `LARGE${1_000_000 + i}`,
  }));

  test('a batch of 1 200 is accepted at once, done by its workflow, and found by merchants', async () => {
    const key = randomUUID();
    const { status, body } = await bank.api.post('/v1/bank/customers', { customers: people }, key);
    expect(status).toBe(202);
    const batchId = String(body.data['batchId']);

    const summary = { total: 1_200, successful: 1_199, failed: 1, duplicates: 0 };
    expect(await bank.hears('migration.completed', batchId)).toEqual({
      batchId,
      status: 'completed',
      summary,
      sequence: 1,
    });
    const later = await bank.api.get(`/v1/bank/customers/batches/${batchId}`);
    expect(later.body.data).toMatchObject({ status: 'completed', summary });

    const { body: listed } = await bank.api.get('/v1/bank/customers', { search: 'large-1199' });
    const [last] = listed.data['customers'] as { lookupID: string; email: string }[];
    expect(last?.email).toBe('ebere1199@example.com');
    const merchant = await cast.merchant();
    const { body: banks } = await merchant.api.get('/v1/customer/banks', { email: 'Ebere1199@example.com' });
    expect(banks.data['banks']).toEqual([
      expect.objectContaining({ bankId: bank.entityId, lookupID: last?.lookupID }),
    ]);

    const handle = temporal.workflow.getHandle(`customer-migration/${batchId}`);
    await handle.result();
    const shown = await handle.describe();
    expect(await shown.staticSummary()).toBe('1200 customers of Harbour Bank');
    const history = readable(await handle.fetchHistory());
    const details = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(details.currentDetails).toBe(
      'The batch is completed: 1199 customers onboarded, 1 invalid, 0 duplicates.',
    );
    expect(history).toContain(batchId);
    for (const text of [history, await engine.log()]) {
      for (const personal of ['Ebere', 'Nwosu', 'example.com', 'LARGE1'])
        expect(text).not.toContain(personal);
    }
  });
});

/** A history with its payloads as text. */
function readable(history: object): string {
  return JSON.stringify(history, function (this: Record<string, unknown>, name, value: unknown) {
    const raw = this[name];
    return raw instanceof Uint8Array ? Buffer.from(raw).toString() : value;
  });
}
