import { randomUUID } from 'node:crypto';
import type { Credentials } from '../../examples/demo/api-client';
import { poll } from '../../src/start/poll';
import { Bank, type Script } from '../storm/bank';
import { Caller, type Watch } from '../storm/caller';
import { expected } from '../storm/cast';
import type { StormEngine } from '../storm/engine';
import type { ChargeAnswer, RefundAnswer } from '../storm/plan';
import { setClock } from './clock';
import { Ear } from './ear';
import { inLanes } from './lanes';
import { onboardAll } from './onboard';
import type { Told } from './oracle/seen';
import { answerTo, BANKS, SETTLEMENT_WINDOW_MS, type Limits, type MerchantPlan, type Plan } from './plan';
import { Tally } from './tally';

/**
 * Who plays: two banks and a provider, there all the time, and merchants that come and go. A bank
 * keeps the affairs of each merchant apart, at a desk of its own, so that they can be compared and
 * put away once the merchant has come to its end.
 */

interface Party {
  name: string;
  entityId: string;
  network: Caller;
  ear: Ear;
}

export interface BankParty extends Party {
  desks: Set<Desk>;
  /** All that it was told, and not yet what its feed has. */
  told: Tally;
}

/** What a bank does for the customers of one merchant, or for those who pay each other. */
export interface Desk {
  bank: Bank;
  heard: Told[];
  /** Customers by their ids and by what they call themselves, and their charges. */
  concerns: Set<unknown>;
}

/** As the network knows it. */
interface CustomerIds {
  customerId: string;
  lookupID: string;
  paymentID: string;
}

export interface MerchantParty extends Party {
  plan: MerchantPlan;
  heard: Told[];
  /** By the banks' numbers in the plan. */
  desks: Desk[];
  /** By their numbers in the plan. */
  customers: Map<number, CustomerIds>;
  /** The ids of its schedules, likewise. */
  schedules: Map<number, string>;
  /** The ids of its refunds, by the act that asked for them. */
  refunds: Map<number, string>;
}

export interface Cast {
  banks: BankParty[];
  provider: Caller;
  /** Charges of which merchants have heard how they ended. */
  ended: number;
}

type Identity = Credentials & { entityId: string; webhookSecret: string };

const AGREED_WITHIN_MS = 240_000;
/** Of what one call of the API takes. */
const AT_ONCE = 100;

/** @param stops takes what ends each party, as soon as it is there */
export async function assemble(
  engine: StormEngine,
  watch: Watch,
  stops: (() => Promise<void>)[],
): Promise<Cast> {
  const provider = new Caller(engine.apiUrls, await engine.createEntity('provider', 'Provider'), watch);
  const banks: BankParty[] = [];
  for (let i = 0; i < BANKS; i++) {
    const name = `bank-${i + 1}`;
    const identity = await engine.createEntity('bank', name);
    const [desks, told] = [new Set<Desk>(), new Tally()];
    const hear = (one: Told) => {
      told.add(one);
      deskOf(desks, one)?.heard.push(one);
      deskOf(desks, one)?.bank.hear(one);
    };
    const party = await open(name, identity, new Caller(engine.apiUrls, identity, watch), hear);
    stops.push(() => party.ear.close());
    banks.push({ ...party, desks, told });
  }
  return { banks, provider, ended: 0 };
}

/** A charge is known by its customer, and from then on by itself. */
function deskOf(desks: ReadonlySet<Desk>, { item }: Told): Desk | undefined {
  const { customerId, lookupID, billingRequestId } = item;
  for (const desk of desks) {
    const { concerns } = desk;
    if (![customerId, lookupID, billingRequestId].some((id) => id !== undefined && concerns.has(id)))
      continue;
    if (billingRequestId !== undefined) concerns.add(billingRequestId);
    return desk;
  }
  return undefined;
}

/** Brings a merchant in, to the point from which its years begin. */
export async function enter(
  engine: StormEngine,
  watch: Watch,
  cast: Cast,
  plan: Plan,
  one: MerchantPlan,
): Promise<MerchantParty> {
  const name = `merchant-${one.n}`;
  const identity = await createMerchant(cast.provider, name);
  const heard: Told[] = [];
  const network = new Caller(engine.apiUrls, identity, watch);
  const party = await open(name, identity, network, (told) => {
    heard.push(told);
    if (told.type === 'billing.response') cast.ended += 1;
  });
  const standing = new Map<string, Limits>();
  const desks = cast.banks.map(({ network: bank }): Desk => {
    return { bank: new Bank(bank, scriptOf(plan, one, standing)), heard: [], concerns: new Set() };
  });
  const merchant = {
    ...party,
    plan: one,
    heard,
    desks,
    customers: new Map(),
    schedules: new Map(),
    refunds: new Map(),
  };
  for (const [n, bank] of cast.banks.entries()) bank.desks.add(desks[n] as Desk);
  try {
    await begin(merchant, cast, plan, standing, watch.signal);
    return merchant;
  } catch (error) {
    await leave(merchant, cast);
    throw error;
  }
}

/** It is compared, and hears nothing more. */
export async function leave({ desks, ear }: MerchantParty, { banks }: Cast): Promise<void> {
  for (const bank of banks) for (const desk of desks) bank.desks.delete(desk);
  await ear.close();
}

async function createMerchant(provider: Caller, name: string): Promise<Identity> {
  const made = await provider.post(
    '/v1/provider/merchants',
    { merchants: [{ clientRef: name, name, email: `${name}@example.com` }] },
    randomUUID(),
  );
  const [item] = expected(201, made)['merchants'] as (Credentials & Record<string, string>)[];
  const identity = { ...(item as unknown as Identity), entityId: String(item?.['merchantId']) };
  await setTrust(provider, identity.entityId, 'trusted');
  return identity;
}

/** @returns the status of the answer */
export async function setTrust(provider: Caller, merchantId: string, trustLevel: string): Promise<number> {
  const body = { merchantId, trustLevel };
  return (await provider.post('/v1/provider/merchant/trust', body, undefined, 'PATCH')).status;
}

async function open(
  name: string,
  { entityId, webhookSecret }: Identity,
  network: Caller,
  hear: (told: Told) => void,
): Promise<Party> {
  const ear = new Ear(webhookSecret, hear);
  const url = await ear.listen();
  expected(200, await network.post('/v1/webhooks/endpoint', { url }, undefined, 'PUT'));
  return { name, entityId, network, ear };
}

/** Sets the merchant's clock, brings its customers in, and has them agree and subscribe. */
async function begin(
  merchant: MerchantParty,
  { banks }: Cast,
  plan: Plan,
  standing: Map<string, Limits>,
  signal: AbortSignal,
): Promise<void> {
  const { network } = merchant;
  await setClock(merchant, plan.startAt);
  for (const [n, { network: bank }] of banks.entries()) await onboard(merchant, bank, n, standing);
  const { customers } = merchant;
  const lookupIDs = [...customers.values()].map(({ lookupID }) => lookupID);
  for (let i = 0; i < lookupIDs.length; i += AT_ONCE) {
    const intent = {
      lookupIDs: lookupIDs.slice(i, i + AT_ONCE),
      currency: 'NGN',
      description: 'standing',
    };
    expected(200, await network.post('/v1/billing/intent', intent, randomUUID()));
  }
  await poll('An agreement', AGREED_WITHIN_MS, signal, () => {
    const agreed = new Map(
      merchant.heard
        .filter(
          ({ type, item }) => type === 'billing.intent.response' && typeof item['paymentID'] === 'string',
        )
        .map(({ item }) => [item['lookupID'], item['paymentID'] as string]),
    );
    for (const customer of customers.values()) {
      const paymentID = agreed.get(customer.lookupID);
      if (paymentID === undefined) throw new Error(`${customer.customerId} has not agreed`);
      customer.paymentID = paymentID;
    }
    return Promise.resolve();
  });
  await inLanes(merchant.plan.subscriptions, CALLS_AT_ONCE, async (one) => {
    const customer = customers.get(one.customer);
    const made = await network.post(
      '/v1/billing/recurring/create',
      {
        customerId: customer?.customerId,
        paymentID: customer?.paymentID,
        amount: Number(one.kobo) / 100,
        currency: 'NGN',
        frequency: one.frequency,
        interval: one.interval,
        startDate: new Date(one.startAt).toISOString(),
        ...(one.endAt !== undefined && { endDate: new Date(one.endAt).toISOString() }),
        ...(one.maxBillings !== undefined && { maxBillings: one.maxBillings }),
        description: `subscription ${one.n}`,
      },
      randomUUID(),
    );
    merchant.schedules.set(one.n, String(expected(201, made)['scheduleId']));
  });
}

/** Enough that none waits for another's answer, and few enough to be answered. */
export const CALLS_AT_ONCE = 8;

async function onboard(
  { plan, customers, desks }: MerchantParty,
  network: Caller,
  bank: number,
  standing: Map<string, Limits>,
): Promise<void> {
  const own = plan.customers.filter((one) => one.bank === bank);
  const found = await onboardAll(network, 'customer', own);
  for (const customer of own) {
    const { customerId, lookupID } = found.get(customer.n) ?? unknown(customer);
    customers.set(customer.n, { customerId, lookupID, paymentID: '' });
    standing.set(lookupID, customer.limits);
    desks[bank]?.concerns.add(customerId).add(lookupID);
  }
}

function unknown({ n }: { n: number }): never {
  throw new Error(`customer ${n} is not there`);
}

export const naira = (kobo: bigint | undefined): number | undefined =>
  kobo === undefined ? undefined : Number(kobo) / 100;

export const lastWord = (text: unknown) => String(text).split(' ').at(-1);

/** What banks do is in the plan; they find their place in it by what the network tells them. */
function scriptOf(plan: Plan, merchant: MerchantPlan, standing: Map<string, Limits>): Script {
  const asked = new Map<number, number>();
  return {
    charge(item): ChargeAnswer {
      const description = String(item['description']);
      const subscription = Number(/^subscription (\d+)$/.exec(description)?.[1]);
      if (Number.isNaN(subscription)) return lastWord(description) as ChargeAnswer;
      const turn = (asked.get(subscription) ?? 0) + 1;
      asked.set(subscription, turn);
      // The bank is told by when it has to answer.
      const at = Date.parse(String(item['dueDate'])) - SETTLEMENT_WINDOW_MS;
      return answerTo(plan, merchant, subscription, turn, at);
    },
    refund: (item) => lastWord(item['reason']) as RefundAnswer,
    standing(item) {
      const limits = standing.get(String(item['lookupID']));
      const [daily, monthly] = [naira(limits?.daily), naira(limits?.monthly)];
      return { ...(daily !== undefined && { daily }), ...(monthly !== undefined && { monthly }) };
    },
  };
}
