import { z } from 'zod';
import { recurringRules } from '../../config';
import type { Transaction } from '../../database/connection';
import {
  cancelSchedule,
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
} from '../../database/recurring/action';
import { readSchedule, type ScheduleRecord } from '../../database/recurring/read';
import { amount, DESCRIPTION_MAX, instant, textFor } from '../http/fields';
import { metadata } from '../http/metadata';
import { MAX_BILLINGS, scheduleData, subscriptionData, type SchedulePath } from './recurring';
import type { Call } from '../http/route';

/** What is done to a schedule. Each action answers with the schedule as it then is. */

type Action<Body = unknown> = Call<Body, unknown, SchedulePath>;

export const pauseRecurring = action(pauseSchedule, scheduleData);
export const resumeRecurring = action(resumeSchedule, scheduleData);
export const cancelRecurring = action(cancelSchedule, scheduleData);
/** The same for the customer's bank, which sees the schedule in its own way. */
export const cancelSubscription = action(cancelSchedule, subscriptionData);

function action<Shown extends object>(
  change: typeof cancelSchedule,
  shown: (schedule: ScheduleRecord) => Shown,
) {
  return (call: Action) =>
    act(call, shown, (trx) => change(trx, call.deps.ring, call.caller, call.params.scheduleId));
}

/** What is left out stays as it is; `null` takes away what there is. */
export const scheduleChange = z
  .strictObject({
    // Its decimals are those of the schedule's currency.
    amount: amount
      .meta({ description: 'Amount of each charge in major units of the schedule’s currency' })
      .optional(),
    endDate: instant.nullable().meta({ description: 'Last moment at which a charge can be due' }).optional(),
    maxBillings: z
      .int()
      .min(1)
      .max(MAX_BILLINGS)
      .nullable()
      .meta({
        description: 'The schedule is completed after this many billings, successful or failed',
        example: 12,
      })
      .optional(),
    description: textFor('What is billed; shown to the customer', DESCRIPTION_MAX, 'Gold plan')
      .nullable()
      .optional(),
    metadata: metadata.optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'must name at least one field to change')
  .meta({ minProperties: 1, example: { amount: 1750, endDate: null } });

export function changeRecurring(call: Action<z.output<typeof scheduleChange>>) {
  const { body, caller, deps, params } = call;
  const { endDate: endAt, ...rest } = body;
  const rules = recurringRules(deps.config);
  return act(call, scheduleData, (trx) =>
    changeSchedule(trx, deps.ring, rules, caller, params.scheduleId, { ...rest, endAt }),
  );
}

function act<Shown extends object>(
  { accept, caller, params }: Action,
  shown: (schedule: ScheduleRecord) => Shown,
  work: (trx: Transaction) => Promise<void>,
) {
  return accept(async (trx) => {
    await work(trx);
    const schedule = await readSchedule(trx, caller, params.scheduleId);
    return { message: messageOf(schedule), data: shown(schedule) };
  });
}

function messageOf({ status }: ScheduleRecord): string {
  return status === 'suspended'
    ? 'The schedule is suspended: the customer or the network does not allow its charges now'
    : `The schedule is ${status}`;
}
