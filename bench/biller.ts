import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expected, type ApiClient } from '../test/parties/client';
import type { CustomerIds } from '../test/parties/steps';
import type { PartyControl } from '../test/parties/control';
import type { ReceivedEvent } from '../test/parties/receiver';
import { Arrivals, inFlight } from './load';

const INTENTS_PER_CALL = 100;
/** Between two reads of what the merchant has heard: what comes meanwhile is fetched in one go. */
const FEED_PAUSE_MS = 10;

interface Customer {
  customerId: string;
  paymentID: string;
}

/**
 * A merchant with customers who have given it their standing approval. Its calls go to all APIs in
 * turn.
 */
export class Biller {
  /** Ids of all charges that the engine has accepted from calls. */
  readonly accepted = new Set<string>();
  readonly schedules = new Set<string>();
  /** Never fulfilled; rejected where its webhooks cannot be listened to any more. */
  readonly failed: Promise<never>;
  /** Ids of charges, and of schedules at their first charge, from its webhooks. */
  private readonly ended = new Arrivals();
  private readonly paymentIDs = new Map<string, string>();
  private readonly customers: Customer[] = [];
  private closed = false;
  private turn = 0;

  constructor(
    private readonly api: ApiClient,
    readonly webhooks: PartyControl,
  ) {
    this.failed = this.listen();
    this.failed.catch(() => undefined);
  }

  /** Another merchant, whom the same customers have given their approval. */
  likeWith(api: ApiClient, webhooks: PartyControl): Biller {
    const other = new Biller(api, webhooks);
    other.customers.push(...this.customers);
    return other;
  }

  close(): void {
    this.closed = true;
  }

  /** Asks all of them for their standing approval, which their banks give for them. */
  async agree(known: readonly Pick<CustomerIds, 'customerId' | 'lookupID'>[]): Promise<void> {
    for (let from = 0; from < known.length; from += INTENTS_PER_CALL) {
      const some = known.slice(from, from + INTENTS_PER_CALL);
      const lookupIDs = some.map(({ lookupID }) => lookupID);
      const intent = { lookupIDs, currency: 'NGN', description: 'Groceries' };
      const answer = await this.api.post<unknown>('/v1/billing/intent', intent, randomUUID());
      if (answer.status !== 200) throw new Error(`intents: ${answer.status} ${JSON.stringify(answer.body)}`);
      await inFlight(some.length, some.length, async (i) => {
        const { customerId, lookupID } = some[i] as CustomerIds;
        await this.ended.of(lookupID);
        this.customers.push({ customerId, paymentID: this.paymentIDs.get(lookupID) ?? '' });
      });
    }
  }

  /**
   * One call with `charges` customers; done when the merchant has heard how each charge ended.
   *
   * @returns how long the call itself took, in milliseconds
   */
  async bill(charges: number): Promise<number> {
    const startedAt = performance.now();
    const payers = Array.from({ length: charges }, () => this.nextCustomer().paymentID);
    const { status, body } = await this.api.post<{ billingRequestId?: string }[]>(
      '/v1/customer/bill',
      { paymentIDs: payers, amount: 12.5, currency: 'NGN', description: 'Rice and beans' },
      randomUUID(),
    );
    const answeredMs = performance.now() - startedAt;
    if (status !== 201) throw new Error(`a bill was refused: ${status} ${JSON.stringify(body)}`);
    const ids = body.flatMap(({ billingRequestId }) => billingRequestId ?? []);
    if (ids.length !== charges) throw new Error(`${ids.length} of ${charges} charges were accepted`);
    for (const id of ids) this.accepted.add(id);
    await Promise.all(ids.map((id) => this.ended.of(id)));
    return answeredMs;
  }

  /**
   * Makes schedules that fall due at one moment, each of another customer. They go on a day later:
   * their first billing is one of many.
   *
   * @param at milliseconds since 1970
   * @returns of each, when the merchant heard of its charge, by `performance.now()`
   */
  async schedule(at: number, schedules: number, atOnce: number): Promise<Promise<number>[]> {
    const done: Promise<number>[] = [];
    await inFlight(schedules, atOnce, async () => {
      const { scheduleId: made } = expected(
        201,
        await this.api.post(
          '/v1/billing/recurring/create',
          {
            ...this.nextCustomer(),
            amount: 7.25,
            currency: 'NGN',
            frequency: 'daily',
            startDate: new Date(at).toISOString(),
          },
          randomUUID(),
        ),
      );
      const scheduleId = String(made);
      this.schedules.add(scheduleId);
      done.push(this.ended.of(scheduleId));
    });
    return done;
  }

  private nextCustomer(): Customer {
    const customer = this.customers[this.turn++ % this.customers.length];
    if (!customer) throw new Error('the merchant has no customers');
    return customer;
  }

  private async listen(): Promise<never> {
    for (let heard = 0; !this.closed;) {
      const response = await fetch(`${this.webhooks.url}/control/events?after=${heard}&waitMs=1000`);
      const events = (await response.json()) as ReceivedEvent[];
      heard += events.length;
      for (const { type, item } of events) this.receive(type, item);
      await wait(FEED_PAUSE_MS);
    }
    return new Promise(() => undefined);
  }

  private receive(type: string, item: ReceivedEvent['item']): void {
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
