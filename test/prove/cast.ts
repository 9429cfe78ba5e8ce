import { randomUUID } from 'node:crypto';
import { Receiver } from '../parties/receiver';
import type { Stops } from '../../scripts/command';
import { Bank } from '../parties/bank';
import { ApiClient, expected } from '../parties/client';
import type { Watch } from '../parties/watch';
import { setClock } from '../parties/clock';
import type { StormEngine } from '../storm/engine';
import { agree, createMerchant, onboard, openParty, type CustomerIds, type Party } from '../parties/steps';
import { scriptOf, type Words } from '../storm/answers';
import type { ChargeAnswer, RefundAnswer } from '../storm/plan';
import { inLanes } from '../parties/read';
import type { ReceivedItem } from '../parties/received-item';
import {
  answerTo,
  limitsSent,
  BANKS,
  SETTLEMENT_WINDOW_MS,
  type Limits,
  type MerchantPlan,
  type Plan,
  type Resolution,
} from './plan';
import { Tally } from './tally';

/**
 * The cast: two banks and a provider, there all the time, and merchants that come and go. A bank
 * keeps the affairs of each merchant apart, at a desk of its own, so that they can be compared and
 * put away once the merchant has come to its end.
 */

export interface BankParty extends Party {
  desks: Set<Desk>;
  /** All that it was told, and not yet what its feed has. */
  told: Tally;
}

/** A bank's desk for the customers of one merchant, or for those who pay each other. */
export interface Desk {
  bank: Bank;
  received: ReceivedItem[];
  /** Customers by their ids and by what they call themselves, and their charges. */
  concerns: Set<unknown>;
}

export interface MerchantParty extends Party {
  plan: MerchantPlan;
  received: ReceivedItem[];
  desks: Desk[];
  customers: Map<number, CustomerIds & { paymentID: string }>;
  schedules: Map<number, string>;
  refunds: Map<number, string>;
  /** How each act was answered; undefined where there was nothing to send. */
  answers: Map<number, number | undefined>;
}

export interface Cast {
  banks: BankParty[];
  provider: ApiClient;
  ended: number;
}

export interface Stage {
  engine: StormEngine;
  watch: Watch;
  cast: Cast;
  plan: Plan;
  calm: boolean;
  signal: AbortSignal;
}

/** It keeps nothing that it has received, for years are long. */
const forgetful = (webhookSecret: string, receive: (told: ReceivedItem) => void) =>
  new Receiver(webhookSecret, ({ type, item }) => receive({ type, item }), { keeps: false });

export async function assemble(engine: StormEngine, watch: Watch, stops: Stops): Promise<Cast> {
  const provider = new ApiClient(engine.apiUrls, await engine.createEntity('provider', 'Provider'), watch);
  const banks: BankParty[] = [];
  for (let i = 0; i < BANKS; i++) {
    const name = `bank-${i + 1}`;
    const identity = await engine.createEntity('bank', name);
    const [desks, told] = [new Set<Desk>(), new Tally()];
    const receiver = forgetful(identity.webhookSecret, (one) => {
      told.add(one);
      deskOf(desks, one)?.received.push(one);
      deskOf(desks, one)?.bank.receive(one);
    });
    const network = new ApiClient(engine.apiUrls, identity, watch);
    const party = await openParty(name, identity, network, receiver, await receiver.listen(0));
    stops.push(() => receiver.close());
    banks.push({ ...party, desks, told });
  }
  return { banks, provider, ended: 0 };
}

/** A charge is known by its customer, and from then on by itself. */
function deskOf(desks: ReadonlySet<Desk>, { item }: ReceivedItem): Desk | undefined {
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

export async function enter(stage: Stage, one: MerchantPlan): Promise<MerchantParty> {
  const { engine, watch, cast, plan } = stage;
  const name = `merchant-${one.n}`;
  const identity = await createMerchant(cast.provider, name);
  const received: ReceivedItem[] = [];
  const network = new ApiClient(engine.apiUrls, identity, watch);
  const receiver = forgetful(identity.webhookSecret, (told) => {
    received.push(told);
    if (told.type === 'billing.response') cast.ended += 1;
  });
  const party = await openParty(name, identity, network, receiver, await receiver.listen(0));
  const standing = new Map<string, Limits>();
  const desks = cast.banks.map(({ network: bank }): Desk => {
    return {
      bank: new Bank(bank, scriptOf(wordsOf(plan, one, standing))),
      received: [],
      concerns: new Set(),
    };
  });
  const merchant = {
    ...party,
    plan: one,
    received,
    desks,
    customers: new Map(),
    schedules: new Map(),
    refunds: new Map(),
    answers: new Map(),
  };
  for (const [n, bank] of cast.banks.entries()) bank.desks.add(desks[n] as Desk);
  try {
    await begin(merchant, stage, standing);
    return merchant;
  } catch (error) {
    await leave(merchant, cast);
    throw error;
  }
}

export async function leave({ desks, receiver }: MerchantParty, { banks }: Cast): Promise<void> {
  for (const bank of banks) for (const desk of desks) bank.desks.delete(desk);
  await receiver.close();
}

async function begin(
  merchant: MerchantParty,
  { cast: { banks }, plan, signal }: Stage,
  standing: Map<string, Limits>,
): Promise<void> {
  const { network } = merchant;
  await setClock(merchant, plan.startAt);
  for (const [n, { network: bank }] of banks.entries()) await bringIn(merchant, bank, n, standing);
  const { customers } = merchant;
  const lookupIDs = [...customers.values()].map(({ lookupID }) => lookupID);
  const agreed = await agree(merchant, lookupIDs, 'standing', signal);
  for (const customer of customers.values()) customer.paymentID = agreed.get(customer.lookupID) ?? '';
  await inLanes(merchant.plan.subscriptions, async (one) => {
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

async function bringIn(
  { plan, customers, desks }: MerchantParty,
  network: ApiClient,
  bank: number,
  standing: Map<string, Limits>,
): Promise<void> {
  const own = new Map(plan.customers.filter((one) => one.bank === bank).map((one) => [one.n, one]));
  for (const [n, ids] of await onboard(network, 'customer', [...own.keys()])) {
    const { customerId, lookupID } = ids;
    customers.set(n, { ...ids, paymentID: '' });
    standing.set(lookupID, own.get(n)?.limits ?? {});
    desks[bank]?.concerns.add(customerId).add(lookupID);
  }
}

/**
 * Has a bank say what became of the money of an exception.
 *
 * @param deed makes the key, and the id of a reversal
 * @returns the status of the answer
 */
export async function respondTo(
  { network }: BankParty,
  { bank }: Desk,
  exception: Record<string, unknown>,
  { resolution, about, deed }: { resolution: Resolution; about: string; deed: string },
): Promise<number> {
  const path = `/v1/reconciliation/exceptions/${String(exception['exceptionId'])}/respond`;
  const body = { resolution, ...(resolution === 'reversed' && { bankTransactionId: `reversal-${deed}` }) };
  const { status } = await network.post(path, body, `response-${deed}`);
  if (status !== 200) return status;
  if (resolution !== 'confirmed') bank.takeBack(about);
  else if (exception['refundId'] !== null) bank.payAllTheSame(about);
  return status;
}

export const naira = (kobo: bigint | undefined): number | undefined =>
  kobo === undefined ? undefined : Number(kobo) / 100;

export const lastWord = (text: unknown) => String(text).split(' ').at(-1);

function wordsOf(plan: Plan, merchant: MerchantPlan, standing: Map<string, Limits>): Words {
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
      const act = Number(/^renew (\d+)$/.exec(String(item['description']))?.[1]);
      const renewed = merchant.acts.find((one) => one.n === act && one.what === 'renew');
      const limits = renewed?.what === 'renew' ? renewed.limits : standing.get(String(item['lookupID']));
      return limitsSent(limits ?? {});
    },
  };
}
