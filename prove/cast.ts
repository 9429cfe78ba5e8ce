import { randomUUID } from 'node:crypto';
import type { Credentials } from '../demo/api-client';
import { Receiver, type ReceivedEvent } from '../demo/parties/receiver';
import { poll } from '../src/start/poll';
import { Bank, type Script } from '../storm/bank';
import { Caller, type Watch } from '../storm/caller';
import { expected } from '../storm/cast';
import type { StormEngine } from '../storm/engine';
import type { ChargeAnswer, RefundAnswer } from '../storm/plan';
import { answerTo, BANKS, SETTLEMENT_WINDOW_MS, type Limits, type MerchantPlan, type Plan } from './plan';
import { inLanes } from './lanes';

/** Who plays: banks and merchants with servers of their own, and one provider without any. */

export interface Party {
  name: string;
  entityId: string;
  network: Caller;
  /** Every item of a webhook that was no repeat. */
  heard: ReceivedEvent[];
  receiver: Receiver;
}

interface BankParty extends Party {
  bank: Bank;
}

/** As the network knows it. */
interface CustomerIds {
  customerId: string;
  lookupID: string;
  paymentID: string;
}

export interface MerchantParty extends Party {
  plan: MerchantPlan;
  /** By their numbers in the plan. */
  customers: Map<number, CustomerIds>;
  /** The ids of its schedules, likewise. */
  schedules: Map<number, string>;
}

export interface Cast {
  banks: BankParty[];
  merchants: MerchantParty[];
  provider: Caller;
}

type Identity = Credentials & { entityId: string; webhookSecret: string };

const AGREED_WITHIN_MS = 120_000;
/** Of what one call of the API takes. */
const AT_ONCE = 100;

export const partiesOf = ({ banks, merchants }: Cast): Party[] => [...banks, ...merchants];

/** @param stops takes what ends each party, as soon as it is there */
export async function assemble(
  engine: StormEngine,
  watch: Watch,
  plan: Plan,
  stops: (() => Promise<void>)[],
): Promise<Cast> {
  const provider = new Caller(engine.apiUrls, await engine.createEntity('provider', 'Provider'), watch);
  const standing = new Map<string, Limits>();
  const join = async (name: string, identity: Identity, hear: (event: ReceivedEvent) => void) => {
    const party = await open(name, identity, new Caller(engine.apiUrls, identity, watch), hear);
    stops.push(() => party.receiver.close());
    return party;
  };
  const banks: BankParty[] = [];
  for (let i = 0; i < BANKS; i++) {
    const name = `bank-${i + 1}`;
    const identity = await engine.createEntity('bank', name);
    const bank = new Bank(new Caller(engine.apiUrls, identity, watch), scriptOf(plan, standing));
    banks.push({ ...(await join(name, identity, (event) => bank.hear(event))), bank });
  }
  const merchants: MerchantParty[] = [];
  for (const one of plan.merchants) {
    const identity = await createMerchant(provider, `merchant-${one.n}`);
    const party = await join(`merchant-${one.n}`, identity, () => undefined);
    merchants.push({ ...party, plan: one, customers: new Map(), schedules: new Map() });
  }
  const cast = { banks, merchants, provider };
  for (const merchant of merchants) await begin(merchant, cast, plan, standing, watch.signal);
  return cast;
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
  hear: (event: ReceivedEvent) => void,
): Promise<Party> {
  const heard: ReceivedEvent[] = [];
  const receiver = new Receiver(webhookSecret, (event) => {
    heard.push(event);
    hear(event);
  });
  const url = `http://127.0.0.1:${await receiver.listen(0)}/webhooks`;
  expected(200, await network.post('/v1/webhooks/endpoint', { url }, undefined, 'PUT'));
  return { name, entityId, network, heard, receiver };
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
  const now = expected(200, await network.get('/v1/sandbox/clock'))['now'];
  const by = `PT${(plan.startAt - Date.parse(String(now))) / 1000}S`;
  expected(202, await network.post('/v1/sandbox/clock/advance', { by, jump: true }, randomUUID()));
  for (const bank of banks) await onboard(merchant, bank, banks.indexOf(bank), standing);
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
    for (const customer of customers.values()) {
      const answer = merchant.heard.find(
        ({ type, item }) =>
          type === 'billing.intent.response' && item['lookupID'] === customer.lookupID && item['paymentID'],
      );
      if (!answer) throw new Error(`${customer.customerId} has not agreed`);
      customer.paymentID = String(answer.item['paymentID']);
    }
    return Promise.resolve();
  });
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

async function onboard(
  { plan, customers }: MerchantParty,
  { network }: Party,
  bank: number,
  standing: Map<string, Limits>,
): Promise<void> {
  const own = plan.customers.filter((one) => one.bank === bank);
  for (let i = 0; i < own.length; i += AT_ONCE) {
    const some = own.slice(i, i + AT_ONCE);
    const body = some.map(({ n }) => ({
      clientRef: `customer-${n}`,
      firstname: 'Ngozi',
      lastname: 'Umeh',
      accountName: 'Ngozi Umeh',
      email: `ngozi.${n}@example.com`,
      country: 'NG',
      accountNumber: String(1_000_000_000 + n),
    }));
    const data = expected(201, await network.post('/v1/bank/customers', { customers: body }, randomUUID()));
    for (const { clientRef, customerId, lookupID } of data['customers'] as Record<string, string>[]) {
      const customer = some.find(({ n }) => clientRef === `customer-${n}`);
      if (!customer || customerId === undefined || lookupID === undefined) throw new Error('no customer');
      customers.set(customer.n, { customerId, lookupID, paymentID: '' });
      standing.set(lookupID, customer.limits);
    }
  }
}

export const naira = (kobo: bigint | undefined): number | undefined =>
  kobo === undefined ? undefined : Number(kobo) / 100;

const lastWord = (text: unknown) => String(text).split(' ').at(-1);

/** What banks do is in the plan; they find their place in it by what the network tells them. */
function scriptOf(plan: Plan, standing: Map<string, Limits>): Script {
  const merchants = new Map(
    plan.merchants.flatMap((merchant) => merchant.subscriptions.map(({ n }) => [n, merchant])),
  );
  const asked = new Map<number, number>();
  return {
    charge(item): ChargeAnswer {
      const description = String(item['description']);
      const subscription = Number(/^subscription (\d+)$/.exec(description)?.[1]);
      const merchant = merchants.get(subscription);
      if (!merchant) return lastWord(description) as ChargeAnswer;
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
