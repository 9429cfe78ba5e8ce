import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { workflowIds as idOf } from '../../src/domain/workflow/workflow-id';
import { asSchemaLogin } from '../support/database';
import { eventually } from '../support/engine';
import { holdAt, type DatabaseStep } from '../support/held-step';
import {
  engine,
  temporal,
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
  triggered,
  cancelInVain,
  failedWebhook,
  sent,
  resetAtEachPoint,
  advanceUnderWay,
  isSleeping,
  signalsOf,
  ENDS,
  STRAY,
  signalByHand,
  SCHEDULED,
  type Scheduled,
} from './operator/stage';

/** A run of a Temporal Schedule, of which something is left to the next. */
interface Run {
  /** The step at which the run is held, with its work undone. */
  step: DatabaseStep;
  isDone: () => Promise<boolean>;
}

const RUNS: Record<Scheduled, () => Promise<Run>> = {
  reconcile: async () => {
    const { handle } = await schedule(86_400_000);
    await handle.terminate('by hand');
    return {
      step: { on: 'INSERT', table: 'outbox', when: `NEW.workflow_id = '${handle.workflowId}'`, at: 'row' },
      isDone: () => isRunning(handle),
    };
  },
  chain: async () => {
    const { id } = await schedule(86_400_000);
    return {
      step: { on: 'INSERT', table: 'event_chain', at: 'row' },
      isDone: async () => {
        const unchained = await engine.database.db.rows`
          SELECT FROM events e WHERE resource_id = ${id} AND NOT EXISTS (SELECT FROM event_chain
          WHERE row_id = e.id)`;
        return unchained.length === 0;
      },
    };
  },
  sweep: async () => {
    const { customerId } = customer;
    await asSchemaLogin(
      engine.database.url,
      `INSERT INTO customer_prompts (customer_id, day, kind, prompts)
       VALUES ('${customerId}', current_date - 2, 'intent', 1)`,
    );
    return {
      step: { on: 'DELETE', table: 'customer_prompts', at: 'row' },
      isDone: async () => {
        const left = await engine.database.db.rows`
          SELECT FROM customer_prompts WHERE customer_id = ${customerId} AND day < current_date - 1`;
        return left.length === 0;
      },
    };
  },
};

/** The run that this Temporal Schedule has started last, once it is the one that is asked for. */
async function latestRun(
  id: Scheduled,
  isIt: (run: WorkflowHandle) => Promise<boolean>,
): Promise<WorkflowHandle> {
  const found: WorkflowHandle[] = [];
  await eventually(async () => {
    const { info } = await temporal.schedule.getHandle(id).describe();
    const { workflow } = info.recentActions.at(-1)?.action ?? {};
    if (!workflow) return false;
    const run = temporal.workflow.getHandle(workflow.workflowId, workflow.firstExecutionRunId);
    found.unshift(run);
    return isIt(run);
  });
  const [run] = found;
  if (!run) throw new Error(`${id} has started nothing`);
  return run;
}

test.each(SCHEDULED)(
  'Request Cancellation and Terminate of a run of `%s` leave what it was at to the next, which signals and Reset do no harm',
  async (id) => {
    for (const act of ENDS) {
      const { step, isDone } = await RUNS[id]();
      const held = await holdAt(engine.database.url, step);
      await triggered(id, async () => (await held.holds()) !== undefined);
      const run = await latestRun(id, isRunning);
      const { runId } = await run.describe();
      await act(run);
      await eventually(async () => !(await isRunning(run)));
      await held.release('undone');
      expect(await isDone()).toBe(false);

      await triggered(id, isDone);
      const next = await latestRun(id, async (one) => (await one.describe()).runId !== runId);
      for (const stray of STRAY) await signalByHand(next, stray).catch(() => undefined);
      await next.result();
      // The same after either end.
      if (act === ENDS.at(-1)) await resetAtEachPoint(next, (again) => again.result());
      expect(await isDone()).toBe(true);
    }
  },
);

test('Reset is safe at every point: a schedule and a charge that ran move no money again', async () => {
  const { id, handle } = await schedule(1_000, { maxBillings: 1 });
  const single = await merchant.charge({ paymentIDs: [paymentID] }, 10);
  const charge = temporal.workflow.getHandle(idOf.billingRequest(single.billingRequestId));
  await merchant.hears('billing.response', single.billingRequestId);
  await Promise.all([handle.result(), charge.result()]);
  const before = { charges: await charges(), questions: await questions(), schedule: await retrieve(id) };
  expect(before.charges).toEqual(['successful', 'successful']);

  for (const ended of [handle, charge]) await resetAtEachPoint(ended, (run) => run.result());
  const after = { charges: await charges(), questions: await questions(), schedule: await retrieve(id) };
  expect(after).toEqual(before);
});

/** A workflow that has asked once, and waits. */
interface Waiting {
  handle: WorkflowHandle;
  asked: () => Promise<number>;
  told: () => Promise<number>;
  /** Makes the awaited answer come. */
  end: () => Promise<{ status: number }>;
  /** Left out where Request Cancellation is refused. */
  isCancellable?: true;
}

const WAITING: Record<string, () => Promise<Waiting>> = {
  'a charge that waits for its bank': async () => {
    await bank.answerCharges('silence', { times: 1 });
    const { billingRequestId: id } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    return {
      handle: temporal.workflow.getHandle(idOf.billingRequest(id)),
      asked: () => sent(bank, 'billing.request', id),
      told: () => sent(merchant, 'billing.response', id),
      end: () => bank.respondToCharge(id, { bankTransactionId: `tx-${randomUUID()}` }),
    };
  },
  'a schedule between two billings': async () => {
    const { id, handle } = await schedule(1_000, { maxBillings: 2 });
    await eventually(async () => (await charges())[0] === 'successful' && (await isWaiting(id)));
    return {
      handle,
      asked: questions,
      told: () => sent(merchant, 'recurring.updated', id),
      end: () => merchant.api.post(`/v1/billing/recurring/${id}/cancel`, {}),
      isCancellable: true,
    };
  },
  'an intent that waits for its customer': async () => {
    await bank.answerIntents('silence', { times: 1 });
    const id = await merchant.ask(customer);
    return {
      handle: temporal.workflow.getHandle(idOf.intent(id)),
      asked: () => sent(bank, 'billing.intent', id),
      told: () => sent(merchant, 'billing.intent.response', id),
      end: () => bank.respondToIntent(merchant, customer, { customerDecision: 'approve_once' }),
    };
  },
  'a refund that waits for its bank': async () => {
    const { billingRequestId, reference } = await merchant.charge({ paymentIDs: [paymentID] }, 10);
    await merchant.hears('billing.response', billingRequestId);
    const { body } = await merchant.api.post('/v1/refunds/initiate', { reference }, randomUUID());
    const refundId = String(body.data['refundId']);
    const answer = { refundId, action: 'completed', bankTransactionId: `back-${randomUUID()}` };
    return {
      handle: temporal.workflow.getHandle(idOf.refund(refundId)),
      asked: () => sent(bank, 'refund.request', refundId),
      told: () => sent(merchant, 'refund.response', refundId),
      end: () => bank.api.answer('/v1/bank/refund-response', answer),
    };
  },
  'a webhook that waits for its next attempt': async () => {
    const { deliveryId, handle, attempts } = await failedWebhook();
    return {
      handle,
      asked: async () => Math.min(await attempts(), 1),
      told: async () => (await attempts()) - 1,
      end: () => merchant.api.post(`/v1/webhooks/deliveries/${deliveryId}/redeliver`, undefined),
    };
  },
};

test.each(Object.entries(WAITING))(
  'Reset, at every point, of %s, signals sent by hand, and a cancellation that is refused in words ask nobody twice and tell nobody twice',
  async (_, make) => {
    const { handle, asked, told, end, isCancellable } = await make();
    await eventually(() => isSleeping(handle));
    await resetAtEachPoint(handle, (run) => eventually(() => isSleeping(run)));
    expect([await asked(), await told()]).toEqual([1, 0]);
    const before = await signalsOf(handle);
    for (const stray of STRAY) await signalByHand(handle, stray);
    await eventually(() => isSleeping(handle, before + STRAY.length));
    if (!isCancellable) await cancelInVain(handle);
    expect([await asked(), await told()]).toEqual([1, 0]);
    expect((await end()).status).toBeLessThan(300);
    await handle.result();
    expect([await asked(), await told()]).toEqual([1, 1]);
  },
);

test('a test clock goes on although a workflow was ended by hand', async () => {
  const { id, handle } = await schedule(86_400_000, { maxBillings: 1 });
  await handle.terminate('by hand');
  const { body } = await merchant.api.post('/v1/sandbox/clock/advance', { by: 'P2D' });
  expect(body).toMatchObject({ data: { status: 'advancing' } });
  const advance = await advanceUnderWay();
  await advance.result();
  expect((await merchant.api.get('/v1/sandbox/clock')).body.data).toMatchObject({ status: 'ready' });
  expect(await retrieve(id)).toMatchObject({ billings: [{ n: 0, status: 'successful' }] });
  expect(await charges()).toEqual(['successful']);
  const logged = (await engine.log())
    .split('\n')
    .find((line) => line.includes('due, but without a workflow: started again') && line.includes(id));
  expect(JSON.parse(logged ?? '{}')).toMatchObject({ workflowIds: [handle.workflowId] });
});
