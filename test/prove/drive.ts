import { setTimeout as wait } from 'node:timers/promises';
import { advanceTo, readClock } from '../parties/clock';
import { expected, type ApiClient } from '../parties/client';
import { setTrust } from '../parties/steps';
import { list } from '../parties/read';
import {
  naira,
  respondTo,
  type BankParty,
  type Cast,
  type Desk,
  type MerchantParty,
  type Stage,
} from './cast';
import { limitsSent, type Act, type Resolution } from './plan';

/** Moves a merchant's test clock through its years, and does what the plan has at their moments. */

const LOOK_EVERY_MS = 100;
/** A bank answers at once; whoever was killed meanwhile is back in seconds. */
export const ENDS_WITHIN_MS = 60_000;

export async function drive(merchant: MerchantParty, stage: Stage): Promise<void> {
  const { plan, calm, signal } = stage;
  let reached = plan.startAt;
  for (const act of merchant.plan.acts) {
    if (act.at > reached) await advanceTo(merchant, act.at, calm, signal);
    reached = act.at;
    await silence(merchant, signal);
    merchant.answers.set(act.n, await perform(act, merchant, stage));
  }
  await advanceTo(merchant, plan.endAt, calm, signal);
}

/**
 * Until no bank has anything more to say of these charges. The clock waits for first answers alone.
 */
export async function silence({ desks }: Pick<MerchantParty, 'desks'>, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + ENDS_WITHIN_MS;
  const busy = () => desks.some(({ bank }) => bank.answering > bank.tooLate);
  while (busy() && Date.now() < deadline) await wait(LOOK_EVERY_MS / 10, undefined, { signal });
}

async function perform(
  act: Act,
  merchant: MerchantParty,
  { cast, signal }: Stage,
): Promise<number | undefined> {
  const { network } = merchant;
  const key = `act-${act.n}`;
  switch (act.what) {
    case 'pause':
    case 'resume':
    case 'cancel': {
      const path = `${schedulePath(merchant, act.subscription)}/${act.what}`;
      return (await network.post(path, {}, key)).status;
    }
    case 'amend': {
      const { kobo, maxBillings } = act;
      const body = { amount: naira(kobo), ...(maxBillings !== undefined && { maxBillings }) };
      return (await network.patch(schedulePath(merchant, act.subscription), body)).status;
    }
    case 'skip':
    case 'unskip': {
      const path = `/v1/bank/customer/subscriptions/${merchant.schedules.get(act.subscription)}/${act.what}`;
      const customer = merchant.plan.subscriptions.find(({ n }) => n === act.subscription)?.customer;
      return (await bankOf(merchant, cast, customer).post(path, { n: act.billing }, key)).status;
    }
    case 'limit':
    case 'suspend':
    case 'ask':
    case 'approve':
    case 'deny':
    case 'pauseConsent':
    case 'resumeConsent':
      return decide(act, merchant, cast, key);
    case 'release': {
      const { id } = await readDecision(act.customer, merchant, cast);
      return (await network.post(`/v1/agreements/${id}/release`, {}, key)).status;
    }
    case 'renew':
      return renew(act, merchant, key, signal);
    case 'distrust':
    case 'trust':
      return setTrust(cast.provider, merchant.entityId, act.what === 'trust' ? 'trusted' : 'untrusted');
    case 'jump': {
      const { now } = await readClock(network);
      const by = `PT${(act.to - now) / 1000}S`;
      return (await network.post('/v1/sandbox/clock/advance', { by, jump: true }, key)).status;
    }
    case 'respond':
      return respond(act, merchant, cast);
    case 'settle':
      return settle(act, merchant, cast);
    case 'bill':
      return bill(act, merchant, key, signal);
    case 'refund':
  }
  return refund(act, merchant, key, signal);
}

function schedulePath({ schedules }: MerchantParty, subscription: number): string {
  return `/v1/billing/recurring/${schedules.get(subscription)}`;
}

/** The bank tells what its customer has decided; where that is about limits, the rest stays. */
async function decide(
  act: Extract<
    Act,
    { what: 'limit' | 'suspend' | 'ask' | 'approve' | 'deny' | 'pauseConsent' | 'resumeConsent' }
  >,
  merchant: MerchantParty,
  cast: Cast,
  key: string,
): Promise<number> {
  const network = bankOf(merchant, cast, act.customer);
  const { id, customerDecision: standing } = await readDecision(act.customer, merchant, cast);
  const path = `/v1/bank/customer-decisions/${id}`;
  switch (act.what) {
    case 'pauseConsent': {
      const body = act.until === undefined ? {} : { until: new Date(act.until).toISOString() };
      return (await network.post(`${path}/pause`, body, key)).status;
    }
    case 'resumeConsent':
      return (await network.post(`${path}/resume`, {}, key)).status;
    case 'limit': {
      const body = { customerDecision: standing, spendingLimits: limitsSent(act.limits) };
      return (await network.put(path, body)).status;
    }
    default:
  }
  const said = { suspend: 'suspended', ask: 'approve_once', approve: 'approve_recurring', deny: 'deny' };
  return (await network.put(path, { customerDecision: said[act.what] })).status;
}

function bankOf(merchant: MerchantParty, { banks }: Cast, customer: number | undefined): ApiClient {
  const bank = banks[merchant.plan.customers.find(({ n }) => n === customer)?.bank ?? 0];
  if (!bank) throw new Error('there is no such bank');
  return bank.network;
}

async function readDecision(
  customer: number,
  merchant: MerchantParty,
  cast: Cast,
): Promise<{ id: string; customerDecision: string }> {
  const customerId = merchant.customers.get(customer)?.customerId;
  const path = `/v1/bank/customer-decisions?customerId=${customerId}`;
  const [found] = await list(bankOf(merchant, cast, customer), path, 'decisions');
  return { id: String(found?.['id']), customerDecision: String(found?.['customerDecision']) };
}

/** Until the bank has answered: the next charge is judged by the new terms. */
async function renew(
  { n, customer, asked }: Extract<Act, { what: 'renew' }> & Act,
  { network, customers, received }: MerchantParty,
  key: string,
  signal: AbortSignal,
): Promise<number> {
  const lookupID = customers.get(customer)?.lookupID;
  const intent = {
    lookupIDs: [lookupID],
    currency: 'NGN',
    description: `renew ${n}`,
    intentSettings: { spendingLimits: limitsSent(asked) },
  };
  const { status, items } = await network.post('/v1/billing/intent', intent, key);
  if (status !== 200) return status;
  const intentId = items[0]?.['intentId'];
  const deadline = Date.now() + ENDS_WITHIN_MS;
  const isAnswered = () =>
    received.some(({ type, item }) => type === 'billing.intent.response' && item['intentId'] === intentId);
  while (!isAnswered()) {
    if (Date.now() > deadline) throw new Error(`the intent of act ${n} stays pending`);
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
  return status;
}

/**
 * About the oldest open exception of a schedule's charge, of the schedule with the lowest number.
 */
async function respond(
  { n, resolution }: Extract<Act, { what: 'respond' }>,
  { network, received, schedules, desks }: MerchantParty,
  { banks }: Cast,
): Promise<number | undefined> {
  const numbers = new Map([...schedules].map(([subscription, id]) => [id, subscription]));
  const charged = new Map<unknown, number | undefined>();
  for (const { type, item } of received)
    if (type === 'billing.response')
      charged.set(item['billingRequestId'], numbers.get(String(item['scheduleId'])));
  const open = await list(network, '/v1/reconciliation/exceptions?state=open&sortBy=openedAt', 'exceptions');
  const [first] = open
    .filter((one) => one['refundId'] === null)
    .flatMap((one) => {
      const subscription = charged.get(one['billingRequestId']);
      return subscription === undefined ? [] : [{ ...one, subscription, at: String(one['openedAt']) }];
    })
    .toSorted((a, b) => a.subscription - b.subscription || a.at.localeCompare(b.at)) as Record<
    string,
    unknown
  >[];
  if (!first) return undefined;
  return say(n, resolution, first, String(first['billingRequestId']), desks, banks);
}

async function say(
  n: number,
  resolution: Resolution,
  exception: Record<string, unknown>,
  about: string,
  desks: readonly Desk[],
  banks: readonly BankParty[],
): Promise<number | undefined> {
  const which = banks.findIndex(({ entityId }) => entityId === exception['bankId']);
  const [bank, desk] = [banks[which], desks[which]];
  return bank && desk && respondTo(bank, desk, exception, { resolution, about, deed: String(n) });
}

async function settle(
  { n, refund: act, resolution }: Extract<Act, { what: 'settle' }> & Act,
  { network, refunds, desks }: MerchantParty,
  { banks }: Cast,
): Promise<number | undefined> {
  const refundId = refunds.get(act);
  const open = await list(network, '/v1/reconciliation/exceptions?state=open', 'exceptions');
  const found = open.find((one) => one['refundId'] !== null && one['refundId'] === refundId);
  if (!found) return undefined;
  return say(n, resolution, found, String(refundId), desks, banks);
}

async function bill(
  { n, customer, kobo, answer, by }: Extract<Act, { what: 'bill' }>,
  merchant: MerchantParty,
  key: string,
  signal: AbortSignal,
): Promise<number> {
  const { network } = merchant;
  const whom = { [`${by}s`]: [merchant.customers.get(customer)?.[by]] };
  const terms = { amount: naira(kobo), currency: 'NGN', description: `bill ${n} ${answer}` };
  const { status, items } = await network.post('/v1/customer/bill', { ...whom, ...terms }, key);
  const id = items[0]?.['billingRequestId'];
  if (status === 201) await ends(merchant, `/v1/billing/requests/${String(id)}`, signal);
  return status;
}

async function refund(
  { n, subscription, billing, kobo, answer }: Extract<Act, { what: 'refund' }>,
  merchant: MerchantParty,
  key: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { network } = merchant;
  const { billings } = expected(200, await network.get(schedulePath(merchant, subscription)));
  const charged = (billings as { n: number; attempts: { reference: string }[] }[]).find(
    (one) => one.n === billing,
  );
  const reference = charged?.attempts.at(-1)?.reference;
  if (reference === undefined) return undefined;
  const amount = naira(kobo);
  const body = { reference, reason: `refund ${n} ${answer}`, ...(amount !== undefined && { amount }) };
  const { status, data } = await network.post('/v1/refunds/initiate', body, key);
  if (status !== 201) return status;
  merchant.refunds.set(n, String(data['refundId']));
  await ends(merchant, `/v1/refunds/${String(data['refundId'])}`, signal);
  return status;
}

/** Until the bank has answered: what comes next may depend on it. */
async function ends({ name, network }: MerchantParty, path: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + ENDS_WITHIN_MS;
  while (expected(200, await network.get(path))['status'] === 'pending') {
    if (Date.now() > deadline) throw new Error(`${path} of ${name} stays pending`);
    await wait(LOOK_EVERY_MS, undefined, { signal });
  }
}
