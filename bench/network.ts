import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiClient, type Answer, type Envelope } from '../demo/api-client';
import type { StoryEngine } from '../demo/engine';
import { Operator, type Identity } from '../demo/operator';
import { BankControl, PartyControl } from '../demo/parties/control';
import { startPartyProcess, type PartyProcess } from '../demo/parties/process';
import type { ReceivedEvent } from '../demo/parties/receiver';
import { benchEnvironment } from './engine';
import { Arrivals, inFlight } from './load';

/** The most that one call takes and answers at once. */
const CUSTOMERS_PER_CALL = 500;
const INTENTS_PER_CALL = 100;
/** Between two looks at what the merchant has heard: what comes meanwhile is fetched in one go. */
const FEED_PAUSE_MS = 10;

interface Customer {
  customerId: string;
  paymentID: string;
}

/** A bank and a merchant on the engine, with customers who have given the merchant their standing approval. */
export class Network {
  /** Ids of all charges that the engine has accepted from calls. */
  readonly accepted = new Set<string>();
  readonly schedules = new Set<string>();
  /** Never fulfilled; rejected where the merchant cannot be listened to any more. */
  readonly failed: Promise<never>;
  /** Of the merchant's webhooks: ids of charges, and of schedules at their first charge. */
  private readonly ended = new Arrivals();
  private readonly paymentIDs = new Map<string, string>();
  private readonly customers: Customer[] = [];
  private closed = false;
  private turn = 0;

  private constructor(
    private readonly parties: PartyProcess[],
    private readonly merchantApi: ApiClient,
    readonly atMerchant: PartyControl,
    readonly atBank: BankControl,
  ) {
    this.failed = this.listen();
    this.failed.catch(() => undefined);
  }

  /** @param customers how many to bring in */
  static async open(engine: StoryEngine, customers: number): Promise<Network> {
    const operator = new Operator(engine.folder, benchEnvironment());
    const provider = await operator.createEntity('provider', 'Provider');
    const bank = await operator.createEntity('bank', 'Bank');
    const merchant = await operator.createEntity('merchant', 'Merchant', [`--provider=${provider.entityId}`]);
    const api = (who: Identity) => new ApiClient(engine.apiUrl, who);
    expect(
      200,
      await api(provider).patch('/v1/provider/merchant/trust', {
        merchantId: merchant.entityId,
        trustLevel: 'trusted',
      }),
    );
    const parties: PartyProcess[] = [];
    try {
      const start = async (...party: Parameters<typeof startPartyProcess>) => {
        const started = await startPartyProcess(...party);
        parties.push(started);
        return started.url;
      };
      const atBank = new BankControl(
        await start('bank', {
          PORT: '0',
          API_URL: engine.apiUrl,
          CLIENT_ID: bank.clientId,
          CLIENT_SECRET: bank.clientSecret,
          WEBHOOK_SECRET: bank.webhookSecret,
        }),
      );
      const atMerchant = new PartyControl(
        await start('merchant', { PORT: '0', WEBHOOK_SECRET: merchant.webhookSecret }),
      );
      const bankApi = api(bank);
      const merchantApi = api(merchant);
      expect(200, await bankApi.put('/v1/webhooks/endpoint', { url: atBank.webhookUrl }));
      expect(200, await merchantApi.put('/v1/webhooks/endpoint', { url: atMerchant.webhookUrl }));
      const known = await onboard(bankApi, customers);
      const network = new Network(parties, merchantApi, atMerchant, atBank);
      await network.agree(known);
      return network;
    } catch (error) {
      await Promise.all(parties.map((party) => party.stop()));
      throw error;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all(this.parties.map((party) => party.stop()));
  }

  /** The merchant's access token. It lasts for an hour, which is longer than any run. */
  token(): Promise<string> {
    return this.merchantApi.accessToken();
  }

  /** One call with `charges` customers; done when the merchant has heard how each charge ended. */
  async bill(charges: number): Promise<void> {
    const payers = Array.from({ length: charges }, () => this.nextCustomer().paymentID);
    const { status, body } = await this.merchantApi.post<{ billingRequestId?: string }[]>(
      '/v1/customer/bill',
      { paymentIDs: payers, amount: 12.5, currency: 'NGN', description: 'Rice and beans' },
      randomUUID(),
    );
    if (status !== 201) throw new Error(`a bill was refused: ${status} ${JSON.stringify(body)}`);
    const ids = body.flatMap(({ billingRequestId }) => billingRequestId ?? []);
    if (ids.length !== charges) throw new Error(`${ids.length} of ${charges} charges were accepted`);
    for (const id of ids) this.accepted.add(id);
    await Promise.all(ids.map((id) => this.ended.of(id)));
  }

  /**
   * Makes schedules that fall due once, all at one moment, each of another customer.
   *
   * @param at milliseconds since 1970
   * @returns of each, when the merchant heard of its charge, by `performance.now()`
   */
  async schedule(at: number, schedules: number, atOnce: number): Promise<Promise<number>[]> {
    const done: Promise<number>[] = [];
    await inFlight(schedules, atOnce, async () => {
      const { data } = expect(
        201,
        await this.merchantApi.post(
          '/v1/billing/recurring/create',
          {
            ...this.nextCustomer(),
            amount: 7.25,
            currency: 'NGN',
            frequency: 'daily',
            startDate: new Date(at).toISOString(),
            maxBillings: 1,
          },
          randomUUID(),
        ),
      );
      const scheduleId = String(data['scheduleId']);
      this.schedules.add(scheduleId);
      done.push(this.ended.of(scheduleId));
    });
    return done;
  }

  private nextCustomer(): Customer {
    const customer = this.customers[this.turn++ % this.customers.length];
    if (!customer) throw new Error('the network has no customers');
    return customer;
  }

  /** Asks all of them for their standing approval, which the bank gives for them. */
  private async agree(known: { customerId: string; lookupID: string }[]): Promise<void> {
    for (let from = 0; from < known.length; from += INTENTS_PER_CALL) {
      const some = known.slice(from, from + INTENTS_PER_CALL);
      const lookupIDs = some.map(({ lookupID }) => lookupID);
      const intent = { lookupIDs, currency: 'NGN', description: 'Groceries' };
      const answer = await this.merchantApi.post<unknown>('/v1/billing/intent', intent, randomUUID());
      if (answer.status !== 200) throw new Error(`intents: ${answer.status} ${JSON.stringify(answer.body)}`);
      await inFlight(some.length, some.length, async (i) => {
        const { customerId, lookupID } = some[i] as (typeof some)[number];
        await this.ended.of(lookupID);
        this.customers.push({ customerId, paymentID: this.paymentIDs.get(lookupID) ?? '' });
      });
    }
  }

  private async listen(): Promise<never> {
    for (let heard = 0; !this.closed;) {
      const response = await fetch(`${this.atMerchant.url}/control/events?after=${heard}&waitMs=1000`);
      const events = (await response.json()) as ReceivedEvent[];
      heard += events.length;
      for (const { type, item } of events) this.hear(type, item);
      await wait(FEED_PAUSE_MS);
    }
    return new Promise(() => undefined);
  }

  private hear(type: string, item: ReceivedEvent['item']): void {
    if (type === 'billing.intent.response') {
      this.paymentIDs.set(String(item['lookupID']), String(item['paymentID']));
      this.ended.report(String(item['lookupID']));
    }
    if (type === 'billing.response') {
      this.ended.report(String(item['billingRequestId']));
      if (typeof item['scheduleId'] === 'string') this.ended.report(item['scheduleId']);
    }
  }
}

async function onboard(bankApi: ApiClient, count: number) {
  const known: { customerId: string; lookupID: string }[] = [];
  for (let from = 0; from < count; from += CUSTOMERS_PER_CALL) {
    const customers = Array.from({ length: Math.min(CUSTOMERS_PER_CALL, count - from) }, (_, i) => ({
      clientRef: `customer-${from + i}`,
      firstname: 'Ngozi',
      lastname: 'Umeh',
      accountName: 'Ngozi Umeh',
      email: `ngozi.${from + i}@example.com`,
      country: 'NG',
      accountNumber: String(1_000_000_000 + from + i),
    }));
    const answer = await bankApi.post('/v1/bank/customers', { customers }, randomUUID());
    known.push(...(expect(201, answer).data['customers'] as typeof known));
  }
  return known;
}

/** @throws Error where another status came */
function expect(status: number, answer: Answer): Envelope {
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
