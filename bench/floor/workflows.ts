import {
  condition,
  defineSignal,
  proxyLocalActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { FloorActivities } from './worker';
import type { ChargeActivities } from './charge';

/**
 * The least that work of these shapes asks for. The activities of `local` and `sleeper` do nothing,
 * so these cost what their durable steps cost.
 */

const { step, ask, finish } = proxyLocalActivities<FloorActivities>({ startToCloseTimeout: '15s' });
const { askBank, awaitAnswer, tellMerchant } = proxyLocalActivities<ChargeActivities>({
  startToCloseTimeout: '15s',
});

const answered = defineSignal('answered');

/** A charge as Temporal alone needs it: accept, tell the bank, wait for its answer, settle. */
export async function local(unit: string): Promise<void> {
  let isAnswered = false;
  setHandler(answered, () => {
    isAnswered = true;
  });
  await step();
  await ask(unit);
  await condition(() => isAnswered);
  await finish(unit);
}

/** A charge with all that no charge can do without: the work of `charge.ts`. */
export async function sameShape(): Promise<void> {
  const { workflowId } = workflowInfo();
  await askBank(workflowId);
  await awaitAnswer(workflowId);
  await tellMerchant(workflowId);
}

/**
 * A schedule with one charge: sleeps until its moment and does one thing.
 *
 * @param at milliseconds since 1970
 */
export async function sleeper(unit: string, at: number): Promise<void> {
  await sleep(Math.max(1, at - Date.now()));
  await finish(unit);
}
