import { randomUUID } from 'node:crypto';
import { ApiClient } from '../demo/api-client';
import customerFile from '../demo/customers.json';
import type { StoryEngine } from '../demo/engine';
import { Operator } from '../demo/operator';
import { BankControl, PartyControl } from '../demo/parties/control';
import { startPartyProcess, type PartyProcess } from '../demo/parties/process';
import { expectStatus, Shop } from '../demo/shop';

/** A merchant and a bank with its customers, each with a server of its own. */
export interface Network {
  bank: BankControl;
  bankApi: ApiClient;
  shop: Shop;
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
  const trusted = { merchantId: merchant.entityId, trustLevel: 'trusted' };
  expectStatus(
    200,
    await new ApiClient(engine.apiUrl, provider).patch('/v1/provider/merchant/trust', trusted),
  );

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
  const bankApi = new ApiClient(engine.apiUrl, bank);
  const shop = new Shop(new ApiClient(engine.apiUrl, merchant), new PartyControl(shopServer.url));
  expectStatus(200, await bankApi.put('/v1/webhooks/endpoint', { url: atBank.webhookUrl }));
  expectStatus(200, await shop.api.put('/v1/webhooks/endpoint', { url: shop.hears.webhookUrl }));

  const { data } = expectStatus(201, await bankApi.post('/v1/bank/customers', customerFile, randomUUID()));
  return { bank: atBank, bankApi, shop, customers: data['customers'] as Network['customers'] };
}
