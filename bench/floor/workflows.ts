import {
  condition,
  defineSignal,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import type { FloorActivities } from './worker';

/**
 * The least that Temporal asks for work of these shapes: their activities do nothing, so a workflow
 * here costs what its durable steps cost.
 */

const normalActivities = proxyActivities<FloorActivities>({ startToCloseTimeout: '15s' });
const localActivities = proxyLocalActivities<FloorActivities>({ startToCloseTimeout: '15s' });

const answered = defineSignal('answered');

/** A charge as a textbook has it: accept, tell the bank, wait for its answer, settle. */
export async function textbook(unit: string): Promise<void> {
  await charge(unit, normalActivities);
}

/** The same with local activities. */
export async function local(unit: string): Promise<void> {
  await charge(unit, localActivities);
}

/**
 * A schedule with one charge: sleeps until its moment and does one thing.
 *
 * @param at milliseconds since 1970
 */
export async function sleeper(unit: string, at: number): Promise<void> {
  await sleep(Math.max(1, at - Date.now()));
  await localActivities.finish(unit);
}

async function charge(unit: string, activities: FloorActivities): Promise<void> {
  let isAnswered = false;
  setHandler(answered, () => {
    isAnswered = true;
  });
  await activities.step();
  await activities.ask(unit);
  await condition(() => isAnswered);
  await activities.finish(unit);
}
