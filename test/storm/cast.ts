import { randomUUID } from 'node:crypto';
import type { Credentials } from '../../examples/demo/api-client';
import { PartyControl } from '../../examples/demo/parties/control';
import { Receiver, type ReceivedEvent } from '../../examples/demo/parties/receiver';
import { poll } from '../../src/start/poll';
import { Bank } from './bank';
import { Caller, type Reply, type Watch } from './caller';
import type { StormEngine } from './engine';
import { Link } from './link';
import { CUSTOMERS, DAILY_LIMIT_KOBO, LIMITED_CUSTOMERS, type PartyName } from './plan';

/** A bank or a merchant, with a server of its own in this process, which nothing kills. */
export interface Party {
  name: PartyName;
  entityId: string;
  network: Caller;
  /** Every item of a webhook that was no repeat. */
  heard: ReceivedEvent[];
  server: PartyControl;
  /** The network's way to its receiver. */
  link: Link;
  close(): Promise<void>;
}

export interface BankParty extends Party {
  bank: Bank;
}

export interface Customer {
  customerId: string;
  lookupID: string;
  /** Its agreements' names, by merchant. */
  paymentIDs: Map<PartyName, string>;
}

/**
 * Who plays. `shop` and `club` have the standing approval of every customer; `club` goes by a test
 * clock. `market` asks each time, and sends intents.
 */
export interface Cast {
  banks: [BankParty, BankParty];
  shop: Party;
  market: Party;
  club: Party;
  customers: Customer[];
}

type Identity = Credentials & { entityId: string; webhookSecret: string };

const AGREED_WITHIN_MS = 30_000;

export const merchantsOf = ({ shop, market, club }: Cast): Party[] => [shop, market, club];
export const partiesOf = (cast: Cast): Party[] => [...cast.banks, ...merchantsOf(cast)];

/** @param stops takes what ends each party, as soon as it is there */
export async function assemble(
  engine: StormEngine,
  watch: Watch,
  stops: (() => Promise<void>)[],
): Promise<Cast> {
  const provider = await engine.createEntity('provider', 'Storm Provider');
  const providerNetwork = new Caller(engine.apiUrls, provider, watch);
  const join = async (name: PartyName, identity: Identity, hear: (event: ReceivedEvent) => void) => {
    const party = await open(name, identity, new Caller(engine.apiUrls, identity, watch), hear);
    stops.push(() => party.close());
    return party;
  };
  const merchant = async (name: PartyName) => {
    const made = await providerNetwork.post(
      '/v1/provider/merchants',
      { merchants: [{ clientRef: name, name, email: `${name}@example.com` }] },
      randomUUID(),
    );
    const [item] = expected(201, made)['merchants'] as (Credentials & Record<string, string>)[];
    const merchantId = item?.['merchantId'] ?? '';
    const trust = { merchantId, trustLevel: 'trusted' };
    expected(200, await providerNetwork.post('/v1/provider/merchant/trust', trust, undefined, 'PATCH'));
    return join(name, { ...(item as unknown as Identity), entityId: merchantId }, () => undefined);
  };
  const bank = async (name: PartyName): Promise<BankParty> => {
    const identity = await engine.createEntity('bank', name);
    const own = new Bank(new Caller(engine.apiUrls, identity, watch));
    return { ...(await join(name, identity, (event) => own.hear(event))), bank: own };
  };
  const banks: Cast['banks'] = [await bank('bank-1'), await bank('bank-2')];
  const customers = (
    await Promise.all(banks.map((one, i) => onboard(one, CUSTOMERS / banks.length, i)))
  ).flat();
  const cast = {
    banks,
    shop: await merchant('shop'),
    market: await merchant('market'),
    club: await merchant('club'),
    customers,
  };
  const [limited, others] = [customers.slice(0, LIMITED_CUSTOMERS), customers.slice(LIMITED_CUSTOMERS)];
  await agree(cast.shop, limited, DAILY_LIMIT_KOBO, watch.signal);
  await agree(cast.shop, others, 0, watch.signal);
  await agree(cast.club, customers, 0, watch.signal);
  return cast;
}

async function open(
  name: PartyName,
  { entityId, webhookSecret }: Identity,
  network: Caller,
  hear: (event: ReceivedEvent) => void,
): Promise<Party> {
  const heard: ReceivedEvent[] = [];
  const receiver = new Receiver(webhookSecret, (event) => {
    heard.push(event);
    hear(event);
  });
  const port = await receiver.listen(0);
  const link = new Link(port);
  const url = `http://127.0.0.1:${await link.listen()}/webhooks`;
  expected(200, await network.post('/v1/webhooks/endpoint', { url }, undefined, 'PUT'));
  return {
    name,
    entityId,
    network,
    heard,
    link,
    server: new PartyControl(`http://127.0.0.1:${port}`),
    async close() {
      await link.close();
      await receiver.close();
    },
  };
}

async function onboard({ network }: Party, count: number, bank: number): Promise<Customer[]> {
  const customers = Array.from({ length: count }, (_, i) => ({
    clientRef: `customer-${i}`,
    firstname: 'Ngozi',
    lastname: 'Umeh',
    accountName: 'Ngozi Umeh',
    email: `ngozi.${bank}.${i}@example.com`,
    country: 'NG',
    accountNumber: String(1_000_000_000 + i),
  }));
  const data = expected(201, await network.post('/v1/bank/customers', { customers }, randomUUID()));
  return (data['customers'] as Omit<Customer, 'paymentIDs'>[]).map(({ customerId, lookupID }) => ({
    customerId,
    lookupID,
    paymentIDs: new Map(),
  }));
}

async function agree(
  merchant: Party,
  customers: Customer[],
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  const intent = {
    lookupIDs: customers.map(({ lookupID }) => lookupID),
    currency: 'NGN',
    description: `limit ${limit}`,
  };
  expected(200, await merchant.network.post('/v1/billing/intent', intent, randomUUID()));
  await poll('An agreement', AGREED_WITHIN_MS, signal, () => {
    for (const customer of customers) {
      const answer = merchant.heard.find(
        ({ type, item }) =>
          type === 'billing.intent.response' && item['lookupID'] === customer.lookupID && item['paymentID'],
      );
      if (!answer) throw new Error(`${customer.customerId} has not agreed`);
      customer.paymentIDs.set(merchant.name, String(answer.item['paymentID']));
    }
    return Promise.resolve();
  });
}

/** @throws Error where another status came */
export function expected(status: number, reply: Reply): Record<string, unknown> {
  if (reply.status !== status) throw new Error(`${reply.status}: ${reply.text}`);
  return reply.data;
}
