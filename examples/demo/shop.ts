import { setTimeout as wait } from 'node:timers/promises';
import { AssentClient, type RequestOf } from '@assent/client';
import { holds } from './narrator';
import type { Identity } from '../../test/parties/operator';
import { BankControl, type PartyControl } from '../../test/parties/control';
import { startBankProcess, startMerchantProcess, type PartyProcess } from '../../test/parties/process';
import type { ReceivedEvent } from '../../test/parties/receiver';

/** A standing agreement, or a customer who is asked this once. */
export type Payer = { paymentIDs: [string] } | { lookupIDs: [string] };

/** Terms that an intent asks for. */
export type IntentSettings = NonNullable<RequestOf<'sendIntents'>['body']['intentSettings']>;

export interface Charge {
  billingRequestId: string;
  reference: string;
}

/** A webhook follows its cause within a second; the rest is for a machine that does much else. */
export const WEBHOOK_WITHIN_MS = 20_000;
const CLOCK_POLL_MS = 100;

/** A merchant with its client in one hand and its webhooks in the other. */
export class Shop {
  constructor(
    readonly api: AssentClient,
    readonly hears: PartyControl,
  ) {}

  async ask(
    lookupID: string,
    description: string,
    intentSettings?: IntentSettings,
  ): Promise<{ intentId: string; response: ReceivedEvent['item'] }> {
    const [intent] = await this.api.call('sendIntents', {
      body: {
        lookupIDs: [lookupID],
        currency: 'NGN',
        description,
        ...(intentSettings && { intentSettings }),
      },
    });
    holds(intent?.success === true, `refused: ${JSON.stringify(intent)}`);
    const { intentId } = intent;
    const { item } = await this.hears.waitFor(
      `the answer to ${intentId}`,
      (event) => event.type === 'billing.intent.response' && event.item['intentId'] === intentId,
      WEBHOOK_WITHIN_MS,
    );
    return { intentId, response: item };
  }

  /** @param naira major units, as the API takes them */
  async charge(payer: Payer, naira: number, description: string): Promise<Charge> {
    const [charge] = await this.api.call('billCustomers', {
      body: { ...payer, amount: naira, currency: 'NGN', description },
    });
    holds(charge?.success === true, `refused: ${JSON.stringify(charge)}`);
    return charge;
  }

  async outcomeOf({ billingRequestId }: Charge): Promise<ReceivedEvent['item']> {
    const { item } = await this.hears.waitFor(
      `the outcome of ${billingRequestId}`,
      (event) => event.type === 'billing.response' && event.item['billingRequestId'] === billingRequestId,
      WEBHOOK_WITHIN_MS,
    );
    return item;
  }

  /**
   * Moves the merchant's test clock, and waits until all that falls due on the way is done.
   *
   * @param by ISO 8601 duration
   * @returns the merchant's time then
   */
  async advanceClock(by: string): Promise<string> {
    await this.api.call('advanceClock', { body: { by } });
    for (;;) {
      const { data } = await this.api.call('getClock');
      if (data.status === 'ready') return data.now;
      await wait(CLOCK_POLL_MS);
    }
  }
}

export async function expectPaid(shop: Shop, charge: Charge): Promise<void> {
  const outcome = await shop.outcomeOf(charge);
  holds(outcome['status'] === 'successful', `the charge ended as ${JSON.stringify(outcome)}`);
}

export async function expectDeclined(shop: Shop, charge: Charge, reason: string): Promise<void> {
  const outcome = await shop.outcomeOf(charge);
  holds(
    outcome['status'] === 'declined' && outcome['declineReason'] === reason,
    `the charge ended as ${JSON.stringify(outcome)}`,
  );
}

/** A webhook about the charge, or about the refund, of this id. */
export async function hearsOf(party: PartyControl, type: string, id: string): Promise<void> {
  await party.waitFor(
    `${type} of ${id}`,
    ({ type: heard, item }) => heard === type && (item['refundId'] ?? item['billingRequestId']) === id,
    WEBHOOK_WITHIN_MS,
  );
}

/** A bank and a shop, with a server of its own each, to which the network sends. */
export interface Servers {
  bankApi: AssentClient;
  atBank: BankControl;
  shop: Shop;
}

export async function openServers(
  apiUrl: string,
  bank: Identity,
  merchant: Identity,
  own: (party: PartyProcess) => void,
): Promise<Servers> {
  const [atBank, atShop] = await Promise.all(
    [startBankProcess(apiUrl, bank), startMerchantProcess(merchant)].map(async (starting) => {
      const started = await starting;
      own(started);
      return new BankControl(started.ready.url);
    }),
  );
  if (!atBank || !atShop) throw new Error('there are two servers');
  const bankApi = new AssentClient({ baseUrl: apiUrl, ...bank });
  const shop = new Shop(new AssentClient({ baseUrl: apiUrl, ...merchant }), atShop);
  await bankApi.call('setWebhookEndpoint', { body: { url: atBank.webhookUrl } });
  await shop.api.call('setWebhookEndpoint', { body: { url: shop.hears.webhookUrl } });
  return { bankApi, atBank, shop };
}
