import { AssentClient } from '@assent/client';
import customerFile from '../demo/customers.json';
import type { StoryEngine } from '../demo/engine';
import { holds } from '../demo/narrator';
import { Operator, type Identity } from '../demo/operator';
import { BankControl, PartyControl } from '../demo/parties/control';
import { startPartyProcess, type PartyProcess } from '../demo/parties/process';
import { Shop } from '../demo/shop';

/** A merchant and a bank with its customers, each with a server of its own. */
export interface Network {
  bank: BankControl;
  bankApi: AssentClient;
  shop: Shop;
  /** What the shop signs in with. */
  merchant: Pick<Identity, 'clientId' | 'clientSecret'>;
  customers: { lookupID: string; customerId: string }[];
}

/** @param own takes every process that is started, to end it however the run ends */
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
  const clientOf = (entity: Identity) => new AssentClient({ baseUrl: engine.apiUrl, ...entity });
  await clientOf(provider).call('setMerchantTrust', {
    body: { merchantId: merchant.entityId, trustLevel: 'trusted' },
  });

  const start = async (...party: Parameters<typeof startPartyProcess>) => {
    const started = await startPartyProcess(...party);
    own(started);
    return started;
  };
  const { clientId, clientSecret, webhookSecret } = bank;
  const bankServer = await start('bank', {
    PORT: '0',
    API_URL: engine.apiUrl,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret,
    WEBHOOK_SECRET: webhookSecret,
  });
  const shopServer = await start('merchant', { PORT: '0', WEBHOOK_SECRET: merchant.webhookSecret });
  const atBank = new BankControl(bankServer.url);
  const bankApi = clientOf(bank);
  const shop = new Shop(clientOf(merchant), new PartyControl(shopServer.url));
  await bankApi.call('setWebhookEndpoint', { body: { url: atBank.webhookUrl } });
  await shop.api.call('setWebhookEndpoint', { body: { url: shop.hears.webhookUrl } });

  const { data } = await bankApi.call('onboardCustomers', { body: customerFile });
  holds('customers' in data, 'so few customers are taken at once');
  return { bank: atBank, bankApi, shop, merchant, customers: data.customers };
}
