import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { RequestOf } from '@assent/client';
import { holds } from '../demo/narrator';
import {
  expectDeclined,
  expectPaid,
  hearsOf,
  WEBHOOK_WITHIN_MS,
  type Charge,
  type IntentSettings,
} from '../demo/shop';
import { poll } from '../../src/process/poll';
import { workflowIds } from '../../src/domain/workflow/workflow-id';
import type { Network } from './network';

interface Stage extends Network {
  /** The customer who is billed has given a standing approval. */
  customerId: string;
  paymentID: string;
  lookupID: string;
  /** As an operator does in the Temporal UI. */
  requestCancellation: (workflowId: string) => Promise<unknown>;
  signal: AbortSignal;
}

/** Plays to its end. @returns the id of the workflow whose history tells it */
export type Story = (stage: Stage) => Promise<string>;

/** Lives of a payment, by the name of the picture. */
export const STORIES: Record<string, Story> = {
  paid: async (stage) => workflowIds.billingRequest((await paid(stage)).billingRequestId),

  async declined(stage) {
    await stage.atBank.rule({ ...onCharge(stage), answer: 'insufficient_funds' });
    return declined(stage, await bill(stage), 'insufficient_funds');
  },

  async expired(stage) {
    const { atBank, shop } = stage;
    await atBank.rule({ ...onCharge(stage), answer: 'silence' });
    const charge = await bill(stage);
    await hearsOf(atBank, 'billing.request', charge.billingRequestId);
    await shop.advanceClock('PT25H');
    return declined(stage, charge, 'expired');
  },

  async 'three-billings'(stage) {
    const scheduleId = await subscribe(stage, { frequency: 'monthly', maxBillings: 3 });
    await untilBillings(stage, scheduleId, ['successful']);
    await stage.shop.advanceClock('P63D');
    await untilBillings(stage, scheduleId, ['successful', 'successful', 'successful']);
    return workflowIds.recurring(scheduleId);
  },

  async 'retried-billing'(stage) {
    await stage.atBank.rule({ ...onCharge(stage), answer: 'temporarily_unavailable', times: 1 });
    const scheduleId = await subscribe(stage, { frequency: 'weekly', maxBillings: 2 });
    await untilBillings(stage, scheduleId, ['retrying']);
    await stage.shop.advanceClock('P8D');
    await untilBillings(stage, scheduleId, ['successful', 'successful']);
    return workflowIds.recurring(scheduleId);
  },

  async 'paused-and-resumed'(stage) {
    const { shop } = stage;
    const scheduleId = await subscribe(stage, { frequency: 'daily', maxBillings: 2 });
    await untilBillings(stage, scheduleId, ['successful']);
    await shop.api.call('pauseSchedule', { path: { scheduleId } });
    await shop.advanceClock('P1DT1H');
    await shop.api.call('resumeSchedule', { path: { scheduleId } });
    await shop.advanceClock('P1D');
    await untilBillings(stage, scheduleId, ['successful', 'skipped', 'successful']);
    return workflowIds.recurring(scheduleId);
  },

  async cancelled(stage) {
    const scheduleId = await subscribe(stage, { frequency: 'weekly' });
    await untilBillings(stage, scheduleId, ['successful']);
    const workflowId = workflowIds.recurring(scheduleId);
    await wait(LATE_MS);
    await stage.requestCancellation(workflowId);
    return workflowId;
  },

  async refund(stage) {
    const { atBank, bankApi, shop } = stage;
    const { reference } = await paid(stage);
    const asked = await shop.api.call('initiateRefund', { body: { reference, amount: 1_250.5 } });
    const { refundId } = asked.data;
    await hearsOf(atBank, 'refund.request', refundId);
    await wait(LATE_MS);
    const bankTransactionId = randomUUID();
    await bankApi.call('answerRefund', { body: { refundId, action: 'completed', bankTransactionId } });
    await hearsOf(shop.hears, 'refund.response', refundId);
    return workflowIds.refund(refundId);
  },
};

/** In naira. */
const AMOUNT = 3_000;
const DAILY_LIMIT = 5_000;
/** A workflow stays awake for its bank's answer, but not for so long. */
const LATE_MS = 4_000;
const DESCRIPTION = 'Vegetable box';

/** @param terms that the merchant asks for */
export async function approved(
  { atBank, shop }: Network,
  { lookupID }: { lookupID: string },
  terms?: IntentSettings['spendingLimits'],
): Promise<{ customerId: string; paymentID: string; lookupID: string }> {
  await atBank.rule({ on: 'billing.intent', lookupID, spendingLimits: { daily: DAILY_LIMIT } });
  const settings = terms && { spendingLimits: terms };
  const { customerId, paymentID } = (await shop.ask(lookupID, DESCRIPTION, settings)).response;
  holds(typeof paymentID === 'string', `${lookupID} has not approved`);
  return { customerId: String(customerId), paymentID, lookupID };
}

const onCharge = ({ lookupID }: Stage) => ({ on: 'billing.request' as const, lookupID });

const bill = ({ shop, paymentID }: Stage): Promise<Charge> =>
  shop.charge({ paymentIDs: [paymentID] }, AMOUNT, DESCRIPTION);

async function paid(stage: Stage): Promise<Charge> {
  const charge = await bill(stage);
  await expectPaid(stage.shop, charge);
  return charge;
}

async function declined({ shop }: Stage, charge: Charge, reason: string): Promise<string> {
  await expectDeclined(shop, charge, reason);
  return workflowIds.billingRequest(charge.billingRequestId);
}

type Terms = Pick<RequestOf<'createSchedule'>['body'], 'frequency' | 'maxBillings' | 'startDate'>;

async function subscribe({ shop, customerId, paymentID }: Stage, terms: Terms): Promise<string> {
  const created = await shop.api.call('createSchedule', {
    body: { customerId, paymentID, amount: AMOUNT, currency: 'NGN', description: DESCRIPTION, ...terms },
  });
  return created.data.scheduleId;
}

/** Until the schedule's billings stand like this, in their order. */
async function untilBillings({ shop, signal }: Stage, scheduleId: string, statuses: string[]): Promise<void> {
  await poll(`The billings of ${scheduleId}`, WEBHOOK_WITHIN_MS, signal, async () => {
    const { data } = await shop.api.call('getSchedule', { path: { scheduleId } });
    // The last one is that which comes next, if there is one.
    const seen = data.billings.map(({ status }) => status);
    // An OperatorError, as `holds` throws, would end the wait.
    if (seen.slice(0, statuses.length).join() !== statuses.join()) throw new Error(`they are ${seen.join()}`);
  });
}
