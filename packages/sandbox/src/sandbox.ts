import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AssentClient, AssentError, type WebhookEvent } from '../../client/src';
import type { SandboxState } from './state';
import type { Cast, Player } from '../../../src/start/cast';
import { CUSTOMERS } from './cast';
import { Phone } from './phone';
import { takePicture, type Known, type Picture } from './picture';
import { Shop } from './shop';
import { Stream } from './stream';
import { Wire } from './wire';

const RETRY_MS = 2_000;
/** Changes within this time reach the page together. */
const PICTURE_EVERY_MS = 150;
/** The clock is polled while it moves. */
const CLOCK_EVERY_MS = 250;
/** Events of the bank's past, read at the start: years of a few schedules. */
const PAST_EVENTS_MAX = 20_000;

/**
 * The sandbox's parties: a shop, and a bank with its customers' phones. They call the API with
 * tokens of their own and hear of news by webhooks. The page's figures come from the API, read
 * again after each change.
 */
export class Sandbox {
  readonly stream = new Stream();
  readonly wire = new Wire((exchange) => this.stream.publish('exchange', exchange));
  readonly shop: Shop;
  readonly phone: Phone;
  /** Clients for the page's own calls, which the wire does not show. */
  private readonly quiet: { shop: AssentClient; bank: AssentClient };
  private known: readonly Known[] = [];
  private picture: Picture = {
    clock: { now: new Date().toISOString(), target: null },
    customers: [],
    permissions: [],
    charges: [],
    refunds: [],
    schedules: [],
  };
  private trouble: string | null = 'The shop and the bank are getting ready …';
  private preparing: Promise<void> | undefined;
  private painting = false;
  private isStale = false;
  private isClosed = false;

  constructor(
    readonly cast: Cast,
    private readonly timeZone: string,
    private readonly log: Pick<Logger, 'warn'>,
  ) {
    const client = (player: Player, through: typeof fetch) =>
      new AssentClient({ baseUrl: cast.apiUrl, ...player }, { fetch: through });
    this.quiet = { shop: client(cast.shop, fetch), bank: client(cast.bank, fetch) };
    this.phone = new Phone(
      client(cast.bank, this.wire.recorded('bank')),
      cast.shop.entityId,
      (id) => this.known.find(({ customerId }) => customerId === id)?.temperament ?? 'silent',
      () => this.repaint(),
      (error) => this.logFailure(error),
    );
    this.shop = new Shop(client(cast.shop, this.wire.recorded('shop')), (id) => this.phone.paymentIdOf(id));
  }

  get state(): SandboxState {
    const { shop, bank, workflowUrl } = this.cast;
    return {
      ...this.picture,
      trouble: this.trouble,
      shop: { entityId: shop.entityId, name: shop.name },
      bank: { entityId: bank.entityId, name: bank.name },
      workflowUrl: workflowUrl ?? null,
      timeZone: this.timeZone,
      // Until the parties are ready, the phone still has what its bank has answered.
      prompts: this.known.length > 0 ? this.phone.prompts : [],
      intents: this.phone.intents,
    };
  }

  /** Starts the parties, once the API listens; the page shows errors as `trouble`. */
  begin(): void {
    this.preparing = this.becomeReady();
  }

  webhook(party: 'shop' | 'bank', event: WebhookEvent): void {
    // The shop takes a webhook only as news: its figures come from the API.
    if (party === 'bank') void this.preparing?.then(() => this.phone.receive(event));
    this.repaint();
  }

  /** @param reference of a charge */
  async storyOf(reference: string) {
    const { data } = await this.quiet.shop.call('getTransaction', { query: { reference } });
    return { events: data.events, timeline: data.timeline };
  }

  /** Sends the state to the pages soon, together with later changes. */
  repaint(): void {
    this.isStale = true;
    if (this.painting || this.isClosed) return;
    this.painting = true;
    void this.paint().finally(() => (this.painting = false));
  }

  close(): void {
    this.isClosed = true;
    this.stream.close();
  }

  private async paint(): Promise<void> {
    while (this.isStale && !this.isClosed) {
      this.isStale = false;
      try {
        if (this.known.length > 0) {
          const about = { shopId: this.cast.shop.entityId, timeZone: this.timeZone };
          this.picture = await takePicture(this.quiet, about, this.known);
          this.trouble = null;
        }
      } catch (error) {
        this.logFailure(error);
        this.trouble = `The network cannot be asked: ${inWords(error)}`;
        this.isStale = true;
      }
      this.stream.publish('state', this.state);
      const isMoving = this.picture.clock.target !== null;
      await wait(this.trouble !== null ? RETRY_MS : isMoving ? CLOCK_EVERY_MS : PICTURE_EVERY_MS, undefined, {
        ref: false,
      });
      if (isMoving) this.isStale = true;
    }
  }

  private async becomeReady(): Promise<void> {
    while (!this.isClosed) {
      try {
        await this.listen();
        const known = await this.bringCustomers();
        const open = await this.readPast();
        this.known = known;
        this.phone.takeUp((id) => open.has(id));
        this.repaint();
        return;
      } catch (error) {
        this.logFailure(error);
        this.trouble = `The shop and the bank cannot get ready: ${inWords(error)}`;
        this.stream.publish('state', this.state);
        await wait(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  private async listen(): Promise<void> {
    for (const party of ['shop', 'bank'] as const) {
      const url = `${this.cast.apiUrl}/sandbox/webhooks/${party}`;
      await this.quiet[party].call('setWebhookEndpoint', { body: { url } });
    }
  }

  private async bringCustomers(): Promise<Known[]> {
    const { bank } = this.quiet;
    const find = async () => {
      const { data } = await bank.call('listCustomers', { query: { limit: 100 } });
      return CUSTOMERS.flatMap(({ onboarded, temperament }) => {
        const found = data.customers.find(({ clientRef }) => clientRef === onboarded.clientRef);
        if (!found) return [];
        const { customerId, lookupID, firstname, lastname } = found;
        return [{ customerId, lookupID, name: `${firstname} ${lastname}`, temperament }];
      });
    };
    const known = await find();
    if (known.length === CUSTOMERS.length) return known;
    const customers = CUSTOMERS.map(({ onboarded }) => onboarded);
    await bank.call('onboardCustomers', { body: { customers } });
    return find();
  }

  /** @returns ids of an earlier process's questions that the bank has not answered */
  private async readPast(): Promise<ReadonlySet<string>> {
    let count = 0;
    for await (const { webhookType, data } of this.quiet.bank.each('listEvents')) {
      this.phone.note({ type: webhookType, data });
      if (++count === PAST_EVENTS_MAX) break;
    }
    const open = new Set<string>();
    for (const id of this.phone.askedIds) {
      const { data } = id.startsWith('int_')
        ? await this.quiet.bank.call('getIntent', { path: { intentId: id } })
        : await this.quiet.bank.call('getBillingRequest', { path: { billingRequestId: id } });
      if (data.status === 'pending') open.add(id);
    }
    return open;
  }

  private logFailure(error: unknown): void {
    // The wire shows a 409 to the reader; the log need not repeat it.
    if (!this.isClosed && !(error instanceof AssentError && error.status === 409)) {
      this.log.warn({ err: error }, 'a party of the sandbox failed');
    }
  }
}

/** Words an error for the reader. */
export function inWords(error: unknown): string {
  if (!(error instanceof AssentError)) return error instanceof Error ? error.message : String(error);
  const [item] = Array.isArray(error.data) ? (error.data as { message?: unknown }[]) : [];
  const problems = error.problems.map(({ path, message }) => `${path} ${message}`).join('; ');
  const said = typeof item?.message === 'string' ? item.message : problems || withoutCall(error.message);
  return error.status === undefined ? said : `${said} (the network answered ${error.status})`;
}

/** `POST /v1/customer/bill: The customer refuses (403)` */
function withoutCall(message: string): string {
  const from = message.indexOf(': ');
  return message.slice(from < 0 ? 0 : from + 2).replace(/ \(\d{3}\)$/, '');
}
