import { randomUUID } from 'node:crypto';
import { ApiClient } from '../examples/demo/api-client';
import { Operator } from '../examples/demo/operator';
import { BankControl, PartyControl } from '../examples/demo/parties/control';
import { startBankProcess, startMerchantProcess } from '../examples/demo/parties/process';
import { Biller, expect, type Onboarded } from './biller';
import type { BenchEngine } from './engine';
import { PartyProcesses } from './party-processes';

/** The most that one call takes. */
const CUSTOMERS_PER_CALL = 500;
/** The small merchant's: each probe has one that no other probe in flight is likely to have. */
const NEIGHBOUR_CUSTOMERS = 20;

/**
 * Banks and merchants on the engine. Each API has a bank that answers to it; the large merchant's
 * customers are spread over these.
 */
export class Network {
  private constructor(
    private readonly parties: PartyProcesses,
    private readonly merchantApi: ApiClient,
    /** Its charges are measured. */
    readonly merchant: Biller,
    /** It has a single charge now and then. */
    readonly neighbour: Biller,
    readonly banks: BankControl[],
  ) {}

  /** @param customers how many to bring in */
  static async open(
    engine: BenchEngine,
    environment: NodeJS.ProcessEnv,
    customers: number,
  ): Promise<Network> {
    const operator = new Operator(engine.folder, environment);
    const provider = await operator.createEntity('provider', 'Provider');
    const parties = new PartyProcesses();
    const merchant = async (name: string) => {
      const identity = await operator.createEntity('merchant', name, [`--provider=${provider.entityId}`]);
      const trust = { merchantId: identity.entityId, trustLevel: 'trusted' };
      const providerApi = new ApiClient(engine.apiUrl, provider);
      expect(200, await providerApi.patch('/v1/provider/merchant/trust', trust));
      const control = new PartyControl(await parties.urlOf(startMerchantProcess(identity)));
      const apis = engine.apiUrls.map((one) => new ApiClient(one, identity));
      await listenAt(apis[0] as ApiClient, control);
      return { apis, biller: new Biller(apis, control) };
    };
    const bank = async (apiUrl: string, count: number, from: number) => {
      const identity = await operator.createEntity('bank', `Bank from ${from}`);
      const control = new BankControl(await parties.urlOf(startBankProcess(apiUrl, identity)));
      const api = new ApiClient(apiUrl, identity);
      await listenAt(api, control);
      return { control, known: await onboard(api, count, from) };
    };
    try {
      const [big, small] = [await merchant('Merchant'), await merchant('Neighbour')];
      const each = Math.ceil(customers / engine.apiUrls.length);
      const banks = [];
      for (const [i, apiUrl] of engine.apiUrls.entries()) banks.push(await bank(apiUrl, each, i * each));
      const known = banks.flatMap((one) => one.known);
      await big.biller.agree(known);
      // A bank of their own: one that has a thousand answers to give gives theirs after those,
      // however fast the network is.
      const other = await bank(engine.apiUrl, NEIGHBOUR_CUSTOMERS, each * banks.length);
      banks.push(other);
      await small.biller.agree(other.known);
      const controls = banks.map(({ control }) => control);
      return new Network(parties, big.apis[0] as ApiClient, big.biller, small.biller, controls);
    } catch (error) {
      await parties.stop();
      throw error;
    }
  }

  get billers(): Biller[] {
    return [this.merchant, this.neighbour];
  }

  async close(): Promise<void> {
    for (const biller of this.billers) biller.close();
    await this.parties.stop();
  }

  /** The merchant's access token. It lasts for an hour, which is longer than a group of reads. */
  token(): Promise<string> {
    return this.merchantApi.accessToken();
  }
}

async function listenAt(api: ApiClient, { webhookUrl }: PartyControl): Promise<void> {
  expect(200, await api.put('/v1/webhooks/endpoint', { url: webhookUrl }));
}

async function onboard(bankApi: ApiClient, count: number, first: number): Promise<Onboarded[]> {
  const known: Onboarded[] = [];
  for (let from = 0; from < count; from += CUSTOMERS_PER_CALL) {
    const customers = Array.from({ length: Math.min(CUSTOMERS_PER_CALL, count - from) }, (_, i) => ({
      clientRef: `customer-${first + from + i}`,
      firstname: 'Ngozi',
      lastname: 'Umeh',
      accountName: 'Ngozi Umeh',
      email: `ngozi.${first + from + i}@example.com`,
      country: 'NG',
      accountNumber: String(1_000_000_000 + first + from + i),
    }));
    const answer = await bankApi.post('/v1/bank/customers', { customers }, randomUUID());
    known.push(...(expect(201, answer).data['customers'] as Onboarded[]));
  }
  return known;
}
