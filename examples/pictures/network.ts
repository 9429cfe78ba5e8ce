import { AssentClient } from '@assent/client';
import { CUSTOMERS } from '../demo/customers';
import type { StoryEngine } from '../../test/launch/own-engine';
import { holds } from '../demo/narrator';
import { Operator, type Identity } from '../../test/parties/operator';
import type { PartyProcess } from '../../test/parties/process';
import { openServers, type Servers } from '../demo/shop';

/** A merchant and a bank with its customers, each with a server of its own. */
export interface Network extends Servers {
  merchant: Identity;
  customers: { lookupID: string; customerId: string }[];
}

export async function openNetwork(
  engine: StoryEngine,
  environment: NodeJS.ProcessEnv,
  own: (party: PartyProcess) => void,
): Promise<Network> {
  const operator = new Operator(engine.folder, environment);
  const provider = await operator.createEntity('provider', 'Northwind Payments');
  const bank = await operator.createEntity('bank', 'Harbour Bank');
  const merchant = await operator.createEntity('merchant', 'Palm Grocers', [
    `--provider=${provider.entityId}`,
  ]);
  await new AssentClient({ baseUrl: engine.apiUrl, ...provider }).call('setMerchantTrust', {
    body: { merchantId: merchant.entityId, trustLevel: 'trusted' },
  });
  const servers = await openServers(engine.apiUrl, bank, merchant, own);
  const { data } = await servers.bankApi.call('onboardCustomers', { body: { customers: CUSTOMERS } });
  holds('customers' in data, 'so few customers are taken at once');
  return { ...servers, merchant, customers: data.customers };
}
