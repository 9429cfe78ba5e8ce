import { Receiver } from '../parties/receiver';
import type { Identity } from '../parties/operator';
import type { Stops } from '../../scripts/command';
import { Bank } from '../parties/bank';
import { ApiClient } from '../parties/client';
import type { Watch } from '../parties/watch';
import { BY_DESCRIPTION, scriptOf } from './answers';
import type { StormEngine } from './engine';
import { Link } from './link';
import { agree, createMerchant, onboard, openParty, type CustomerIds, type Party } from '../parties/steps';
import { CUSTOMERS, DAILY_LIMIT_KOBO, LIMITED_CUSTOMERS, type PartyName } from './plan';
import type { ReceivedItem } from '../parties/received-item';

export interface StormParty extends Party {
  name: PartyName;
  received: ReceivedItem[];
  link: Link;
}

export interface BankParty extends StormParty {
  bank: Bank;
}

export interface Customer extends CustomerIds {
  paymentIDs: Map<PartyName, string>;
}

/**
 * The cast. `shop`, `club` and `stall` have the standing approval of every customer; `club` goes by
 * a test clock, and the customers of `stall` take theirs back. `market` asks each time, and sends
 * intents.
 */
export interface Cast {
  banks: [BankParty, BankParty];
  shop: StormParty;
  market: StormParty;
  club: StormParty;
  stall: StormParty;
  customers: Customer[];
}

export const merchantsOf = ({ shop, market, club, stall }: Cast): StormParty[] => [shop, market, club, stall];
export const partiesOf = (cast: Cast): StormParty[] => [...cast.banks, ...merchantsOf(cast)];

const OF_EACH_BANK = Array.from({ length: CUSTOMERS / 2 }, (_, n) => n);

export async function assemble(engine: StormEngine, watch: Watch, stops: Stops): Promise<Cast> {
  const caller = (identity: Identity) => new ApiClient(engine.apiUrls, identity, watch);
  const provider = caller(await engine.createEntity('provider', 'Storm Provider'));
  const join = async (
    name: PartyName,
    identity: Identity,
    network: ApiClient,
    receive: (told: ReceivedItem) => void = () => undefined,
  ): Promise<StormParty> => {
    const received: ReceivedItem[] = [];
    const receiver = new Receiver(identity.webhookSecret, ({ type, item }) => {
      received.push({ type, item });
      receive({ type, item });
    });
    stops.push(() => receiver.close());
    const link = new Link(await receiver.listen(0));
    stops.push(() => link.close());
    const party = await openParty(name, identity, network, receiver, await link.listen());
    return { ...party, name, received, link };
  };
  const merchant = async (name: PartyName) => {
    const identity = await createMerchant(provider, name);
    return join(name, identity, caller(identity));
  };
  const bank = async (name: PartyName): Promise<BankParty> => {
    const identity = await engine.createEntity('bank', name);
    const network = caller(identity);
    const own = new Bank(network, scriptOf(BY_DESCRIPTION));
    return { ...(await join(name, identity, network, (told) => own.receive(told))), bank: own };
  };
  const banks: Cast['banks'] = [await bank('bank-1'), await bank('bank-2')];
  const known = await Promise.all(banks.map(({ network, name }) => onboard(network, name, OF_EACH_BANK)));
  const customers = known.flatMap((one) =>
    [...one.values()].map((ids): Customer => ({ ...ids, paymentIDs: new Map() })),
  );
  const [shop, market] = [await merchant('shop'), await merchant('market')];
  const [club, stall] = [await merchant('club'), await merchant('stall')];
  const standing = async (party: StormParty, some: Customer[], limit: number) => {
    const lookupIDs = some.map(({ lookupID }) => lookupID);
    const agreed = await agree(party, lookupIDs, `limit ${limit}`, watch.signal);
    for (const one of some) one.paymentIDs.set(party.name, agreed.get(one.lookupID) ?? '');
  };
  await standing(shop, customers.slice(0, LIMITED_CUSTOMERS), DAILY_LIMIT_KOBO);
  await standing(shop, customers.slice(LIMITED_CUSTOMERS), 0);
  await standing(club, customers, 0);
  await standing(stall, customers, 0);
  return { banks, shop, market, club, stall, customers };
}
