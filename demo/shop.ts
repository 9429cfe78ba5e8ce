import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient, Answer, Envelope } from './api-client';
import { holds } from './narrator';
import type { PartyControl } from './parties/control';
import type { ReceivedEvent } from './parties/receiver';

/** Whom a bill is for: a standing agreement, or a customer who is asked this once. */
export type Payer = { paymentIDs: [string] } | { lookupIDs: [string] };

export interface Charge {
  billingRequestId: string;
  reference: string;
}

/** A webhook follows its cause within a second; the rest is for a machine that does much else. */
export const WEBHOOK_WITHIN_MS = 20_000;
/** How often the test clock is asked whether it has arrived. */
const CLOCK_POLL_MS = 100;

/** What a merchant does all day, with its client in one hand and its webhooks in the other. */
export class Shop {
  constructor(
    readonly api: ApiClient,
    readonly hears: PartyControl,
  ) {}

  /** Asks to bill the customer, and waits for the answer's webhook. */
  async ask(
    lookupID: string,
    description: string,
  ): Promise<{ intentId: string; response: ReceivedEvent['item'] }> {
    const answer = await this.api.post<{ intentId: string }[]>(
      '/v1/billing/intent',
      { lookupIDs: [lookupID], currency: 'NGN', description },
      randomUUID(),
    );
    const intentId = accepted(answer).intentId;
    const { item } = await this.hears.waitFor(
      `the answer to ${intentId}`,
      (event) => event.type === 'billing.intent.response' && event.item['intentId'] === intentId,
      WEBHOOK_WITHIN_MS,
    );
    return { intentId, response: item };
  }

  /** @param naira major units, as the API takes them */
  async charge(payer: Payer, naira: number, description: string): Promise<Charge> {
    return accepted(
      await this.api.post<Charge[]>(
        '/v1/customer/bill',
        { ...payer, amount: naira, currency: 'NGN', description },
        randomUUID(),
      ),
    );
  }

  /** The item of the webhook that says how a charge ended. */
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
    expectStatus(202, await this.api.post('/v1/sandbox/clock/advance', { by }));
    for (;;) {
      const { data } = expectStatus(200, await this.api.get('/v1/sandbox/clock'));
      if (data['status'] === 'ready') return String(data['now']);
      await wait(CLOCK_POLL_MS);
    }
  }
}

/** The one item of a batch of one. @throws StoryError where it was refused */
function accepted<Item>({ status, body }: Answer<Item[]>): Item {
  const item = Array.isArray(body) ? body[0] : undefined;
  holds(item !== undefined, `refused with ${status}: ${JSON.stringify(body)}`);
  return item;
}

/** @throws StoryError where another status came */
export function expectStatus(status: number, answer: Answer): Envelope {
  holds(answer.status === status, `answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
