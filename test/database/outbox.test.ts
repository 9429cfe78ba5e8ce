import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKeyring, readKeyring } from '../../src/database/keyring';
import { advanceSchedule } from '../../src/database/recurring-advance';
import { recurringRules, readConfig } from '../../src/config';
import { rows } from '../../src/database/connection';
import {
  enqueueStarts,
  enqueueWakes,
  outboxBacklog,
  returnOutboxRows,
  takeOutboxRows,
} from '../../src/database/outbox';
import { createTestDatabase } from '../support/database';
import { makeSchedule, standingApproval } from '../support/standing';

let test: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const start = { type: 'intent', args: ['int_1'], attributes: { status: 'pending' }, summary: 'An intent' };

describe('a message that Temporal refuses again and again', () => {
  it('stays as old as the work it tells of, so that an alarm on its age sees it', async () => {
    await test.db.transaction(async (trx) => {
      await enqueueStarts(trx, [{ workflowId: 'intent/int_1', ...start }]);
      await enqueueWakes(trx, ['intent/int_2']);
    });
    await rows(test.db, `UPDATE outbox SET created_at = created_at - interval '1 hour'`);
    for (let refusals = 0; refusals < 2; refusals++) {
      await test.db.transaction(async (trx) => {
        const taken = await takeOutboxRows(trx, 10);
        expect(taken.toSorted((a, b) => (a.workflowId < b.workflowId ? -1 : 1))).toMatchObject([
          { kind: 'start', workflowId: 'intent/int_1', start },
          { kind: 'wake', workflowId: 'intent/int_2', start: null },
        ]);
        await returnOutboxRows(trx, taken, 0);
      });
    }
    const { messages, oldestAgeS } = await outboxBacklog(test.db);
    expect(messages).toBe(2);
    expect(oldestAgeS).toBeGreaterThanOrEqual(3_600);
    expect(oldestAgeS).toBeLessThan(3_900);
  });

  it('is no more to be seen once it is carried', async () => {
    await rows(test.db, `DELETE FROM outbox`);
    expect(await outboxBacklog(test.db)).toEqual({ messages: 0, oldestAgeS: 0 });
  });
});

describe('the statement that starts everything again when Temporal has lost its data', () => {
  it('starts the workflow of each thing that waits, and no other', async () => {
    const page = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
    const statement = /```sql\n(WITH unsent AS[^`]*)```/.exec(page)?.[1] ?? '';
    const keyring = readKeyring(makeKeyring());
    const standing = await standingApproval(test.db, keyring);
    const schedule = await makeSchedule(test.db, keyring, standing);
    const over = await makeSchedule(test.db, keyring, standing, { maxBillings: 1 });
    await advanceSchedule(test.db, keyring, recurringRules(readConfig({})), schedule);
    await rows(
      test.db,
      `UPDATE schedules SET status = 'cancelled', next_due_at = NULL, acts_at = NULL WHERE id = :over`,
      {
        over,
      },
    );
    await rows(
      test.db,
      `INSERT INTO webhook_deliveries (id, event_id, entity_id, webhook_type, body_sealed, carrier, attempts)
       VALUES ('dlv_tried', 'evt_1', :merchantId, 'billing.response', '', 'billing-request/brq_1', 1)`,
      { merchantId: standing.merchantId },
    );
    await copyChargeOutOfItsSchedule(schedule);
    await rows(test.db, `DELETE FROM outbox`);

    await test.db.query(statement);

    const started = await rows<{ workflowId: string; type: string; args: unknown[] }>(
      test.db,
      `SELECT workflow_id AS "workflowId", start->>'type' AS type, start->'args' AS args FROM outbox ORDER BY type`,
    );
    expect(started).toEqual([
      { workflowId: 'billing-batch/bat_1', type: 'billingRequest', args: [['brq_1', 'brq_2']] },
      { workflowId: `recurring/${schedule}`, type: 'recurring', args: [schedule] },
      { workflowId: 'webhook-delivery/dlv_tried', type: 'webhookDelivery', args: ['dlv_tried'] },
    ]);
  });
});

/** Two charges of one call that wait for their bank, like that of the schedule. */
async function copyChargeOutOfItsSchedule(scheduleId: string): Promise<void> {
  await rows(
    test.db,
    `INSERT INTO billing_requests (id, transaction_id, reference, batch_id, merchant_id, customer_id, bank_id, lookup_id,
       amount, currency, description, approval_required, expires_at, workflow_id, created_at)
     SELECT 'brq_' || n, 'txn_' || n, 'REF' || n, 'bat_1', merchant_id, customer_id, bank_id, lookup_id, amount, currency,
       description, true, expires_at, 'billing-batch/bat_1', created_at
     FROM billing_requests, generate_series(1, 2) AS n WHERE schedule_id = :scheduleId`,
    { scheduleId },
  );
}
