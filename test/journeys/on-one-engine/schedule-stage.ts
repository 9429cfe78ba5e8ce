import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';
import { agreement, Cast, type Bank, type Customer, type Merchant } from '../../support/cast';
import { eventually } from '../../support/engine';
import { engine } from './engine';

/** A pair of parties for each test, and their schedules, for the stories that import this. */

let temporal: Client;
export let cast: Cast;
export let bank: Bank;
export let merchant: Merchant;
let customer: Customer;
let paymentID: string;

beforeAll(async () => {
  const connection = await Connection.connect({ address: engine.temporalAddress });
  temporal = new Client({ connection, namespace: engine.namespace });
  cast = new Cast(engine);
});
afterAll(async () => {
  await temporal.connection.close();
  await cast.leave();
});

/** The bank approves charges unless told otherwise. */
beforeEach(async () => {
  [bank, merchant] = await Promise.all([cast.bank(), cast.merchant()]);
  customer = bank.customers[0];
  paymentID = await agreement(bank, merchant, customer);
  await bank.answerCharges('approve_recurring');
});

interface Billing {
  n: number;
  dueDate: string;
  status: string;
  reason?: string;
  attempts: { reference: string; status: string; declineReason: string | null; at: string }[];
}

interface Schedule {
  scheduleId: string;
  status: string;
  nextBillingDate: string | null;
  billings: Billing[];
}

export async function create(terms: object): Promise<string> {
  const { status, body } = await merchant.api.post('/v1/billing/recurring/create', {
    customerId: customer.customerId,
    paymentID,
    amount: 1500.5,
    currency: 'NGN',
    ...terms,
  });
  if (status !== 201) throw new Error(`the schedule: ${status} ${JSON.stringify(body)}`);
  return String((body as { data: Record<string, unknown> }).data['scheduleId']);
}

export async function retrieve(scheduleId: string): Promise<Schedule> {
  const { status, body } = await merchant.api.get(`/v1/billing/recurring/${scheduleId}`);
  if (status !== 200) throw new Error(`${scheduleId}: ${status} ${JSON.stringify(body)}`);
  return body.data as unknown as Schedule;
}

export async function jump(by: string): Promise<void> {
  const { status, body } = await merchant.api.post('/v1/sandbox/clock/advance', { by, jump: true });
  expect({ status, body }).toMatchObject({ status: 202, body: { data: { status: 'ready' } } });
}

/** `n status[ reason]` of each billing. */
export async function billings(scheduleId: string): Promise<string[]> {
  const schedule = await retrieve(scheduleId);
  return schedule.billings.map(({ n, status, reason }) => [n, status, ...(reason ? [reason] : [])].join(' '));
}

export const becomes = (scheduleId: string, billing: string) =>
  eventually(async () => (await billings(scheduleId)).includes(billing));

export async function events(who: 'bank' | 'merchant', type: string): Promise<Record<string, unknown>[]> {
  const received = await (who === 'bank' ? bank : merchant).server.received();
  return received.filter((event) => event.type === type).map((event) => event.item);
}

/**
 * All of them, once so many have arrived, in the order of what happened to the thing that they
 * tell of.
 */
export async function eventsInOrder(who: 'bank' | 'merchant', type: string, count: number) {
  await eventually(async () => (await events(who, type)).length >= count);
  return (await events(who, type)).toSorted((a, b) => Number(a['sequence']) - Number(b['sequence']));
}

export async function act(scheduleId: string, action: 'pause' | 'resume' | 'cancel'): Promise<void> {
  const { status, body } = await merchant.api.post(`/v1/billing/recurring/${scheduleId}/${action}`, {});
  if (status !== 200) throw new Error(`${action}: ${status} ${JSON.stringify(body)}`);
}

export async function agreementId(): Promise<string> {
  const list = await bank.api.get('/v1/bank/customer-decisions', { merchantId: merchant.entityId });
  const [agreed] = list.body.data['decisions'] as { id: string }[];
  return String(agreed?.id);
}

/** What the customer tells the bank about this merchant, without being asked. */
export async function decide(decision: object): Promise<void> {
  const { status, body } = await bank.api.put(`/v1/bank/customer-decisions/${await agreementId()}`, decision);
  if (status !== 200) throw new Error(`the decision: ${status} ${JSON.stringify(body)}`);
}

export const workflowOf = (scheduleId: string): WorkflowHandle =>
  temporal.workflow.getHandle(workflowIds.recurring(scheduleId));

export const consentOf = (id: string): WorkflowHandle => temporal.workflow.getHandle(workflowIds.consent(id));
