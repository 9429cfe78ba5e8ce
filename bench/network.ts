import { ApiClient } from '../test/parties/client';
import { Operator } from '../test/parties/operator';
import { BankControl, PartyControl } from '../test/parties/control';
import { PartyProcesses, startBankProcess, startMerchantProcess } from '../test/parties/process';
import { onboard, setTrust, setWebhook } from '../test/parties/steps';
import { Biller } from './biller';
import type { BenchEngine } from './engine';

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
      await setTrust(new ApiClient([engine.apiUrl], provider), identity.entityId, 'trusted');
      const control = new PartyControl(await parties.urlOf(startMerchantProcess(identity)));
      const api = new ApiClient(engine.apiUrls, identity);
      await setWebhook(api, control.webhookUrl);
      return { api, biller: new Biller(api, control) };
    };
    const bank = async (apiUrl: string, count: number, from: number) => {
      const identity = await operator.createEntity('bank', `Bank from ${from}`);
      const control = new BankControl(await parties.urlOf(startBankProcess(apiUrl, identity)));
      const api = new ApiClient([apiUrl], identity);
      await setWebhook(api, control.webhookUrl);
      const numbers = Array.from({ length: count }, (_, i) => from + i);
      return { control, known: [...(await onboard(api, 'customer', numbers)).values()] };
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
      return new Network(parties, big.api, big.biller, small.biller, controls);
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
