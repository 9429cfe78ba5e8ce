import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { calendarDay } from '../../src/domain/calendar';
import { workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { send } from '../support/api';
import { accepted, type Item } from '../support/cast';
import { eventually } from '../support/engine';
import { holdAt, type DatabaseStep } from '../support/held-step';
import { moveClock } from '../support/standing';
import {
  engine,
  temporal,
  cast,
  bank,
  merchant,
  customer,
  paymentID,
  schedule,
  isWaiting,
  retrieve,
  charges,
  questions,
  isRunning,
  recovered,
  suspendedSchedule,
  failedWebhook,
  sent,
  resetAtEachPoint,
  advanceUnderWay,
  isSleeping,
  ENDS,
  STRAY,
  signalByHand,
} from './operator/stage';

test('Request Cancellation of a schedule cancels it, tells both sides, and is on record as an operator’s act', async () => {
  const { id, handle } = await schedule(86_400_000);
  await handle.cancel();
  const result = (await handle.result()) as string[];
  expect(result[0]).toBe('Cancelled by an operator.');
  expect(result.at(-1)).toMatch(/^The schedule is cancelled\. 0/);
  expect(await retrieve(id)).toMatchObject({ status: 'cancelled', nextBillingDate: null });
  for (const side of [merchant, bank]) {
    expect(await side.hears('recurring.updated', id)).toMatchObject({ status: 'cancelled' });
  }
  const acts = await engine.database.db.rows`
    SELECT actor, action FROM audit_events WHERE entity_id = ${merchant.entityId}
      AND action = 'schedule.cancelled'`;
  expect(acts).toEqual([{ actor: 'operator:temporal', action: 'schedule.cancelled' }]);
  expect(await charges()).toEqual([]);
});

describe('Terminate', () => {
  test('stops a schedule’s charging at once, until it is started again and charges once what it missed', async () => {
    const { id, handle } = await schedule(86_400_000);
    await handle.terminate('by hand');
    await moveClock(engine.database.db, merchant.entityId, '2 days');
    expect(await charges()).toEqual([]);
    await recovered(async () => (await charges())[0] === 'successful');
    await eventually(() => isWaiting(id));
    expect(await charges()).toEqual(['successful']);
    expect(await questions()).toBe(1);
  });

  test('of a webhook loses none of its attempts: it is started again, and waits for the next', async () => {
    const { deliveryId, handle, attempts } = await failedWebhook();
    await handle.terminate('by hand');
    await recovered(() => isRunning(handle));
    await eventually(() => isSleeping(handle));
    expect(await attempts()).toBe(1);
    await merchant.api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined);
    expect(await handle.result()).toBe('delivered');
    expect(await attempts()).toBe(2);
  });

  test('of a payment between customers whose payee’s bank has not heard yet: it is started again, and sees that it has', async () => {
    const payeeBank = await cast.bank();
    await payeeBank.server.misbehave({ kind: 'status', status: 500, times: 1, type: 'billing.credit' });
    const { billingRequestId } = accepted(
      await payeeBank.api.post<Item[]>(
        '/v1/customer/bill',
        {
          lookupIDs: [customer.lookupID],
          payee: { lookupID: payeeBank.customers[0].lookupID },
          amount: 10,
          currency: 'NGN',
          description: 'Rent',
        },
        randomUUID(),
      ),
    );
    await eventually(async () => (await sent(payeeBank, 'billing.credit')) === 1);
    const handle = temporal.workflow.getHandle(idOf.billingRequest(billingRequestId));
    await eventually(() => isSleeping(handle));
    await handle.terminate('by hand');
    await recovered(() => isRunning(handle));

    const listed = await payeeBank.api.get('/v1/webhooks/deliveries', { webhookType: 'billing.credit' });
    const [credit] = listed.body.data['deliveries'] as { deliveryId: string }[];
    await payeeBank.api.post(`/v1/webhooks/deliveries/${credit?.deliveryId}/redeliver`, undefined);
    await handle.result();
    expect(await payeeBank.hears('billing.credit', billingRequestId)).toMatchObject({ amount: 10 });
    expect(await questions()).toBe(1);
    expect(await sent(payeeBank, 'billing.credit')).toBe(2);
  });

  test('leaves a paused schedule alone until it is resumed, and a suspended one is started again and charges nothing', async () => {
    const { id, handle } = await schedule(86_400_000);
    await merchant.api.post(`/v1/billing/recurring/${id}/pause`, {});
    await merchant.hears('recurring.updated', id);
    await bank.hears('recurring.updated', id);
    await eventually(() => isWaiting(id));
    await handle.terminate('by hand');
    // Another one of the same merchant comes back, so that the paused one had its turn.
    const suspended = await suspendedSchedule();
    await suspended.handle.terminate('by hand');
    await recovered(() => isRunning(suspended.handle));
    await eventually(() => isSleeping(suspended.handle));
    expect(await retrieve(suspended.id)).toMatchObject({ status: 'suspended' });
    expect(await isRunning(handle)).toBe(false);

    await merchant.api.post(`/v1/billing/recurring/${id}/resume`, {});
    await eventually(() => isRunning(handle));
    expect(await retrieve(id)).toMatchObject({ status: 'active' });
    await merchant.advanceClock('P2D');
    expect(await retrieve(suspended.id)).toMatchObject({
      status: 'suspended',
      billings: expect.arrayContaining([expect.objectContaining({ n: 0, status: 'skipped' })]) as unknown,
    });
    expect(await charges()).toEqual(['successful']);
  });
});

/** What is held in the middle of its work, each time that it comes there. */
interface UnderWay {
  step: DatabaseStep;
  begin: () => Promise<Begun>;
}

interface Begun {
  handle: WorkflowHandle;
  /** As its owner sees it. */
  status: () => Promise<unknown>;
  /** Its last status. */
  end: string;
  /** What has come of it, once it has ended. */
  outcome: () => Promise<unknown>;
  /** The same where each thing was done once. */
  once: unknown;
}

const openedExceptions = () =>
  engine.database.db.rows`
  SELECT kind FROM reconciliation_exceptions WHERE bank_id = ${bank.entityId}`;

const UNDER_WAY: Record<string, () => UnderWay> = {
  'a batch of customers': () => ({
    step: { on: 'DELETE', table: 'staged_customers', when: 'OLD.first_index = 250', at: 'row' },
    async begin() {
      const customers = Array.from({ length: 510 }, (__, i) => ({
        clientRef: `batch-${i}`,
        firstname: 'Ife',
        lastname: 'Ade',
        accountName: 'ADE IFE',
        email: `ife${i}@example.com`,
        country: 'NG',
        accountNumber: `BATCH${1_000_000 + i}`,
      }));
      const { body } = await bank.api.post('/v1/bank/customers', { customers }, randomUUID());
      const batchId = String(body.data['batchId']);
      const batch = async () => (await bank.api.get(`/v1/bank/customers/batches/${batchId}`)).body.data;
      const summary = { total: 510, successful: 510, failed: 0, duplicates: 0 };
      return {
        handle: temporal.workflow.getHandle(idOf.customerMigration(batchId)),
        status: async () => (await batch())['status'],
        end: 'completed',
        outcome: async () => {
          const told = await bank.hears('migration.completed', batchId);
          const times = await sent(bank, 'migration.completed', batchId);
          return [(await batch())['summary'], told['summary'], times];
        },
        once: [summary, summary, 1],
      };
    },
  }),
  'a statement of a bank': () => ({
    step: { on: 'DELETE', table: 'bank_file_pages', at: 'row' },
    async begin() {
      const { billingRequestId, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
      await merchant.hears('billing.response', billingRequestId);
      const [debit] = await bank.server.ledger();
      const day = calendarDay(new Date(), 'Africa/Lagos');
      const file = [
        'bankTransactionId,bookingDate,amount,currency,direction,reference',
        `${debit?.bankTransactionId},${day},10,NGN,debit,${reference}`,
        `FT-${randomUUID()},${day},7,NGN,debit,`,
      ].join('\n');
      const { body } = await send(engine.apiUrl, 'POST', '/v1/bank/statements', file, {
        authorization: `Bearer ${await bank.api.accessToken()}`,
        'content-type': 'text/csv',
      });
      const { statementId } = body.data as { statementId: string };
      const statement = async () => (await bank.api.get(`/v1/bank/statements/${statementId}`)).body.data;
      return {
        handle: temporal.workflow.getHandle(idOf.bankFile(statementId)),
        status: async () => (await statement())['status'],
        end: 'completed',
        outcome: async () => [(await statement())['summary'], await openedExceptions()],
        once: [
          expect.objectContaining({ lines: 2, matched: 1, unknownHere: 1, duplicates: 0 }),
          [{ kind: 'unknown_here' }],
        ],
      };
    },
  }),
  'an advance of a test clock': () => ({
    step: {
      on: 'UPDATE',
      table: 'entities',
      when: `NEW.id = '${merchant.entityId}' AND NEW.clock_offset <> OLD.clock_offset`,
      at: 'row',
    },
    async begin() {
      await schedule(86_400_000, { maxBillings: 1 });
      const { status } = await merchant.api.post('/v1/sandbox/clock/advance', { by: 'P3D' });
      expect(status).toBe(202);
      return {
        handle: await advanceUnderWay(),
        status: async () => (await merchant.api.get('/v1/sandbox/clock')).body.data['status'],
        end: 'ready',
        outcome: async () => [await charges(), await questions()],
        once: [['successful'], 1],
      };
    },
  }),
};

test.each(Object.entries(UNDER_WAY))(
  'Request Cancellation and Terminate stop %s until it is started again, and neither they, nor Reset at any point, nor signals do anything twice',
  async (_, make) => {
    const { step, begin } = make();
    let held = await holdAt(engine.database.url, step);
    const { handle, status, end, outcome, once } = await begin();
    for (const act of ENDS) {
      await held.reached();
      await act(handle);
      await eventually(async () => !(await isRunning(handle)));
      await held.release('undone');
      expect(await status()).toMatch(/^(processing|advancing)$/);
      held = await holdAt(engine.database.url, step);
      await recovered(() => isRunning(handle));
    }

    await held.reached();
    for (const stray of STRAY) await signalByHand(handle, stray);
    await resetAtEachPoint(handle, (run) => eventually(() => isRunning(run)));
    // What the first run was at comes through, although another has taken its place.
    await held.release('committed');
    await eventually(async () => (await status()) === end);
    await handle.result();
    expect(await outcome()).toEqual(once);

    await resetAtEachPoint(handle, (run) => run.result());
    expect(await outcome()).toEqual(once);
  },
);
