import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiClient, expected, type Answer, type Envelope } from '../parties/client';
import type { BankControl, PartyControl } from '../parties/control';
import type { ReceivedEvent } from '../parties/receiver';
import type { ReceivedItem } from '../parties/received-item';
import { misnumbered } from '../storm/items';
import { readClock } from '../parties/clock';
import { readFeed } from '../parties/read';
import { onboard, setWebhook, type CustomerIds as Customer } from '../parties/steps';
import { eventually } from './engine';
import { startBank, startMerchant, type PartyIdentity, type Started } from './parties';

/** What a cast plays on: an API, and the operator's hand for what only the operator can do. */
export interface CastEngine {
  apiUrl: string;
  createEntity(
    type: 'bank' | 'merchant' | 'provider',
    name: string,
  ): Promise<PartyIdentity & { entityId: string }>;
  trust(merchantId: string): Promise<void>;
}

/** One line of the answer to an intent or a bill. */
export interface Item {
  statusCode: number;
  success: boolean;
  message: string;
  entityId: string;
  reference: string;
  intentId: string;
  lookupID: string;
  billingRequestId: string;
  phrase: string;
  status: string;
}

export type { Customer };

type WebhookItem = ReceivedEvent['item'];

/**
 * Generous, for a machine that runs other tests beside this one; an event that comes ends the wait.
 */
const WEBHOOK_WITHIN_MS = 60_000;
const POLL_MS = 50;
/** An open transaction of another test hides the latest events for a moment. */
const GAPS_WITHIN_MS = 30_000;

/** A bank with its server, told to the network, and customers to be asked. */
export class Bank {
  constructor(
    readonly entityId: string,
    readonly api: ApiClient,
    readonly server: BankControl,
    readonly customers: readonly [Customer, ...Customer[]],
  ) {}

  /**
   * What the customer says to a merchant's next intent, or to any; silence where nobody has said.
   */
  answerIntents(
    answer: NonNullable<Parameters<BankControl['rule']>[0]['answer']>,
    more: Omit<Parameters<BankControl['rule']>[0], 'on' | 'answer'> = {},
  ): Promise<void> {
    return this.server.rule({ on: 'billing.intent', answer, ...more });
  }

  answerCharges(
    answer: NonNullable<Parameters<BankControl['rule']>[0]['answer']>,
    more: Omit<Parameters<BankControl['rule']>[0], 'on' | 'answer'> = {},
  ): Promise<void> {
    return this.server.rule({ on: 'billing.request', answer, ...more });
  }

  respondToIntent(merchant: Merchant, customer: Customer, more: object): Promise<Answer> {
    return this.api.answer('/v1/billing/intent-response', {
      customerId: customer.customerId,
      entityId: merchant.entityId,
      lookupID: customer.lookupID,
      ...more,
    });
  }

  respondToCharge(billingRequestId: string, more: object): Promise<Answer> {
    return this.api.answer('/v1/billing/bank-response', { billingRequestId, ...more });
  }

  /** The item of the first webhook of this type about this intent, charge or schedule. */
  hears(type: string, about: string): Promise<WebhookItem> {
    return webhookOf(this.server, type, about);
  }
}

/** A merchant with its server, told to the network. */
export class Merchant {
  constructor(
    readonly entityId: string,
    readonly api: ApiClient,
    readonly server: PartyControl,
  ) {}

  sendIntent(
    lookupIDs: string[],
    more: { description?: string; currency?: string; intentSettings?: object } = {},
  ): Promise<Answer<Item[]>> {
    return this.api.post('/v1/billing/intent', {
      lookupIDs,
      currency: 'NGN',
      description: 'Gold plan',
      ...more,
    });
  }

  /** @returns the id of the intent, once the network has accepted it */
  async ask(customer: Customer, description = 'Gold plan'): Promise<string> {
    return accepted(await this.sendIntent([customer.lookupID], { description })).intentId;
  }

  bill(
    payer: { paymentIDs: string[] } | { lookupIDs: string[] },
    amount: number,
    more: { description?: string; currency?: string } = {},
  ): Promise<Answer<Item[]>> {
    return this.api.post('/v1/customer/bill', {
      ...payer,
      amount,
      currency: 'NGN',
      description: 'Shoes',
      ...more,
    });
  }

  /** @returns the one accepted charge */
  async charge(
    payer: { paymentIDs: [string] } | { lookupIDs: [string] },
    amount: number,
    description = 'Shoes',
  ): Promise<Item> {
    return accepted(await this.bill(payer, amount, { description }));
  }

  hears(type: string, about: string): Promise<WebhookItem> {
    return webhookOf(this.server, type, about);
  }

  /** The true state of an intent or a charge. */
  async retrieve(id: string): Promise<Record<string, unknown>> {
    const folder = id.startsWith('int_') ? 'intents' : 'requests';
    return expected(200, await this.api.get(`/v1/billing/${folder}/${id}`));
  }

  /** Moves the test clock and waits until all that fell due on the way is done. */
  async advanceClock(by: string): Promise<void> {
    expected(202, await this.api.post('/v1/sandbox/clock/advance', { by }, randomUUID()));
    while (!(await readClock(this.api)).ready) await wait(POLL_MS);
  }
}

/** The parties of one test file; `leave` stops all their servers. */
export class Cast {
  private readonly started: Started<PartyControl>[] = [];
  private readonly apis: ApiClient[] = [];
  private readonly identities = new Map<string, PartyIdentity>();

  constructor(private readonly engine: CastEngine) {}

  async bank(customers = 1): Promise<Bank> {
    const { entityId, api, control } = await this.enter('bank', 'Harbour Bank', (identity) =>
      startBank(this.engine.apiUrl, identity),
    );
    const numbers = Array.from({ length: customers }, (_, n) => n);
    const [first, ...rest] = (await onboard(api, randomUUID(), numbers)).values();
    if (!first) throw new Error('a bank needs a customer');
    return new Bank(entityId, api, control, [first, ...rest]);
  }

  async merchant({ trusted = true } = {}): Promise<Merchant> {
    const { entityId, api, control } = await this.enter('merchant', 'Palm Grocers', startMerchant);
    if (trusted) await this.engine.trust(entityId);
    return new Merchant(entityId, api, control);
  }

  /** An entity with its server, told to the network. */
  private async enter<Control extends PartyControl>(
    type: 'bank' | 'merchant',
    name: string,
    start: (identity: PartyIdentity) => Promise<Started<Control>>,
  ): Promise<{ entityId: string; api: ApiClient; control: Control }> {
    const { entityId, ...identity } = await this.engine.createEntity(type, name);
    this.identities.set(entityId, identity);
    const started = await start(identity);
    this.started.push(started);
    const api = new ApiClient([this.engine.apiUrl], identity);
    this.apis.push(api);
    await setWebhook(api, started.control.webhookUrl);
    return { entityId, api, control: started.control };
  }

  /** What a party of this cast signs in with. */
  identityOf(entityId: string): PartyIdentity {
    const identity = this.identities.get(entityId);
    if (!identity) throw new Error(`${entityId} is not of this cast`);
    return identity;
  }

  /**
   * What is missing in what each party was told: for each resource, unless its numbers are 1, 2, 3,
   * …, those that there are. Ends when nothing is, or when it has been looked for long enough.
   */
  async gaps(): Promise<string[]> {
    let found: string[] = [];
    await eventually(async () => {
      found = (await Promise.all(this.apis.map(gapsOf))).flat();
      return found.length === 0;
    }, GAPS_WITHIN_MS).catch(() => undefined);
    return found;
  }

  async leave(): Promise<void> {
    await Promise.all(this.started.map(({ stop }) => stop()));
  }
}

async function gapsOf(api: ApiClient): Promise<string[]> {
  const told: ReceivedItem[] = [];
  for await (const one of readFeed(api)) told.push(one);
  return misnumbered(told).map(([subject, numbers]) => `${subject}: ${numbers.join(', ')}`);
}

/** Lets the customer approve the merchant. @returns the paymentID */
export async function agreement(
  bank: Bank,
  merchant: Merchant,
  customer: Customer,
  terms: { decision?: 'approve_once' | 'approve_recurring'; spendingLimits?: object } = {},
): Promise<string> {
  const { decision = 'approve_recurring', spendingLimits } = terms;
  await bank.answerIntents('silence', { lookupID: customer.lookupID, times: 1 });
  const intentId = await merchant.ask(customer);
  const answer = await bank.respondToIntent(merchant, customer, {
    customerDecision: decision,
    ...(spendingLimits && { spendingLimits }),
  });
  expected(200, answer);
  const { paymentID } = await merchant.hears('billing.intent.response', intentId);
  return String(paymentID);
}

/** The first of the items, which all must have been accepted. */
export function accepted({ status, body }: Answer<Item[]>): Item {
  const [item] = Array.isArray(body) ? body : [];
  if (!item?.success) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`);
  return item;
}

/** An answer that must be the error envelope, for a request whose success is an array. */
export function refusal(answer: Answer<Item[]>): Answer<Envelope<Item[]>> {
  if (Array.isArray(answer.body)) throw new Error(`not refused: ${JSON.stringify(answer.body)}`);
  return answer as unknown as Answer<Envelope<Item[]>>;
}

async function webhookOf(server: PartyControl, type: string, about: string): Promise<WebhookItem> {
  const { item } = await server.waitFor(
    `${type} of ${about}`,
    (event) =>
      event.type === type &&
      ['intentId', 'billingRequestId', 'scheduleId', 'refundId', 'batchId'].some(
        (name) => event.item[name] === about,
      ),
    WEBHOOK_WITHIN_MS,
  );
  return item;
}
