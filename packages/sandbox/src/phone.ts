import {
  AssentError,
  type AssentClient,
  type BillingIntentItem,
  type BillingRequestItem,
  type WebhookEvent,
} from '../../client/src';
import type { Asked as AskedIntent, Limits, Permission, Prompt, Temperament } from './state';
import { workflowIds } from '../../../src/domain/workflow/workflow-id';

/** A choice on a customer's phone. */
export interface Answer {
  decision: 'approve_once' | 'approve_recurring' | 'deny' | 'leave';
  limits?: Limits | undefined;
}

/** More than a person answers. The oldest closed prompt is dropped first. */
const PROMPTS_MAX = 50;
/** The network repeats a webhook within its last hundreds of webhooks. */
const DELIVERIES_MAX = 2_000;

type Asked = { shown: Prompt; approvalRequired: boolean } & (
  { intent: BillingIntentItem; charge?: never } | { charge: BillingRequestItem; intent?: never }
);

/**
 * The bank and its customers' phones. A customer's temperament answers charges; prompts that the
 * temperament leaves open wait for the page's reader.
 */
export class Phone {
  private readonly asked = new Map<string, Asked>();
  private readonly deliveries = new Set<string>();
  /** By customer, for the sandbox's shop alone: any merchant may ask. */
  private readonly paymentIds = new Map<string, string>();
  private readonly intentIds = new Set<string>();

  /** @param failed receives errors of answers that no caller waits for */
  constructor(
    private readonly network: AssentClient,
    private readonly shopId: string,
    private readonly temperamentOf: (customerId: string) => Temperament,
    private readonly changed: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Prompts for the page's reader, newest first. */
  get prompts(): Prompt[] {
    const left = [...this.asked.values()].filter((asked) => this.isLeftOpen(asked));
    return left.map(({ shown }) => shown).toReversed();
  }

  /** Newest first. */
  get intents(): AskedIntent[] {
    const ids = [...this.intentIds].toReversed();
    return ids.map((intentId) => ({ intentId, workflowId: workflowIds.intent(intentId) }));
  }

  /** Ids of the intents and charges without a known answer. */
  get askedIds(): string[] {
    return [...this.asked.keys()];
  }

  private isLeftOpen({ intent, charge, approvalRequired }: Asked): boolean {
    const temperament = this.temperamentOf((intent ?? charge).customerId);
    if (intent) return temperament !== 'refuses';
    return temperament === 'pays' ? approvalRequired : temperament === 'silent' || temperament === 'late';
  }

  /** The `paymentID` that bills the customer's agreement with the shop. */
  paymentIdOf(customerId: string): string | undefined {
    return this.paymentIds.get(customerId);
  }

  receive(event: WebhookEvent): void {
    // A webhook may arrive twice, and the customer must be asked once.
    if (this.deliveries.has(event.deliveryId)) return;
    remember(this.deliveries, event.deliveryId, DELIVERIES_MAX);
    this.note(event);
    if (event.type === 'billing.intent') for (const one of event.data) this.react(one.intentId);
    if (event.type === 'billing.request') for (const one of event.data) this.react(one.billingRequestId);
    if (event.type === 'refund.request') for (const { refundId } of event.data) this.payBack(refundId);
    if (event.type === 'billing.closed') for (const one of event.data) this.comeLate(one.billingRequestId);
    this.changed();
  }

  /** Updates the prompts from an event without reacting to it. */
  note(event: Pick<WebhookEvent, 'type' | 'data'>): void {
    const { type, data } = event as WebhookEvent;
    if (type === 'billing.intent') for (const intent of data) this.askPermission(intent);
    if (type === 'billing.request') for (const charge of data) this.askForCharge(charge);
    if (type === 'billing.closed') for (const { billingRequestId } of data) this.close(billingRequestId);
    if (type === 'billing.intent.closed') {
      for (const { intentId, status } of data) {
        // An intent that ran out may still be answered too late; an answered intent is done.
        if (status === 'declined') this.close(intentId);
        else this.asked.delete(intentId);
      }
    }
  }

  /** Drops prompts that are no longer open, and lets the temperaments answer the rest. */
  takeUp(isOpen: (id: string) => boolean): void {
    for (const id of this.asked.keys()) {
      if (isOpen(id)) this.react(id);
      else this.asked.delete(id);
    }
  }

  /** @throws AssentError if the network refuses the answer */
  async answer(id: string, answer: Answer): Promise<string> {
    const asked = this.asked.get(id);
    if (!asked) throw new Error('This was answered already: there is nothing left to say.');
    if (answer.decision === 'leave') {
      asked.shown.state = 'left';
      this.changed();
      return 'It lies there. Move the clock, and see what becomes of it.';
    }
    if (asked.intent) return this.decide(asked.intent, { ...answer, decision: answer.decision });
    const { billingRequestId } = asked.charge;
    const approved = answer.decision !== 'deny';
    await this.say(billingRequestId, {
      action: answer.decision,
      ...(approved && { bankTransactionId: `debit-${billingRequestId}` }),
    });
    return approved ? 'Approved: the bank has debited the account.' : 'Refused.';
  }

  private async decide(
    { intentId, customerId, lookupID, merchant }: BillingIntentItem,
    answer: Answer & { decision: Exclude<Answer['decision'], 'leave'> },
  ): Promise<string> {
    const spendingLimits = answer.decision === 'approve_recurring' ? answer.limits : undefined;
    try {
      await this.network.call('answerIntent', {
        body: {
          customerId,
          lookupID,
          entityId: merchant.id,
          customerDecision: answer.decision,
          ...(spendingLimits && { spendingLimits }),
        },
      });
    } finally {
      // A closed intent takes one late answer, whether or not the network refuses it.
      if (this.asked.get(intentId)?.shown.state === 'closed') this.asked.delete(intentId);
      this.changed();
    }
    this.asked.delete(intentId);
    this.changed();
    return answer.decision === 'deny' ? 'Refused.' : 'The shop has its permission.';
  }

  /** Sets the limits of a permission; a limit that is left out ends. */
  async limit({ id, customerDecision }: Permission, limits: Limits): Promise<string> {
    const { perCharge = null, daily = null, monthly = null } = limits;
    const spendingLimits = { perCharge, daily, monthly };
    await this.network.call('changeDecision', { path: { id }, body: { customerDecision, spendingLimits } });
    return 'These limits hold from the next charge on.';
  }

  /** @param until when the pause ends by itself */
  async pause({ id }: Permission, until: Date | undefined): Promise<string> {
    const body = until === undefined ? {} : { until: until.toISOString() };
    await this.network.call('pauseDecision', { path: { id }, body });
    return 'Paused: nothing is charged.';
  }

  async resume({ id }: Permission): Promise<string> {
    await this.network.call('resumeDecision', { path: { id } });
    return 'Resumed.';
  }

  async skip(scheduleId: string, n: number): Promise<string> {
    await this.network.call('skipBilling', { path: { scheduleId }, body: { n } });
    return 'The next charge is skipped.';
  }

  async unskip(scheduleId: string, n: number): Promise<string> {
    await this.network.call('unskipBilling', { path: { scheduleId }, body: { n } });
    return 'It is charged after all.';
  }

  async revoke({ id }: Permission): Promise<string> {
    const body = { customerDecision: 'deny' } as const;
    const { pending = [] } = (await this.network.call('changeDecision', { path: { id }, body })).data;
    // The bank books as it answers, so none of them is booked yet.
    for (const { billingRequestId } of pending) {
      await this.say(billingRequestId, { action: 'deny' }).catch((error: unknown) => this.failed(error));
    }
    return 'Revoked: the shop charges no more.';
  }

  private askPermission(intent: BillingIntentItem): void {
    const { intentId, merchant, customerId, description, currency, dueDate } = intent;
    if (merchant.id === this.shopId) this.paymentIds.set(customerId, intent.paymentID);
    remember(this.intentIds, intentId, PROMPTS_MAX);
    // A newer intent of a merchant replaces its older intent for the customer.
    for (const [id, { intent: before }] of this.asked) {
      if (before?.customerId === customerId && before.merchant.id === merchant.id) this.asked.delete(id);
    }
    this.put({
      intent,
      approvalRequired: true,
      shown: {
        id: intentId,
        kind: 'permission',
        from: merchant.name,
        customerId,
        description,
        amount: null,
        currency,
        asked: { inWords: intent.termsInWords, limits: intent.spendingLimits },
        answerBy: dueDate,
        state: 'waiting',
        workflowId: workflowIds.intent(intentId),
      },
    });
  }

  private askForCharge(charge: BillingRequestItem): void {
    const { billingRequestId, customerId, description, amount, currency, dueDate, scheduleId } = charge;
    this.put({
      charge,
      approvalRequired: charge.approvalRequired,
      shown: {
        id: billingRequestId,
        kind: 'charge',
        from: charge.merchant?.name ?? 'A customer of a bank',
        customerId,
        description,
        amount,
        currency,
        asked: null,
        answerBy: dueDate,
        state: 'waiting',
        workflowId:
          scheduleId === undefined
            ? workflowIds.billingRequest(billingRequestId)
            : workflowIds.recurring(scheduleId),
      },
    });
  }

  private put(asked: Asked): void {
    this.asked.set(asked.shown.id, asked);
    if (this.asked.size <= PROMPTS_MAX) return;
    const closed = [...this.asked.values()].find(({ shown }) => shown.state === 'closed');
    const oldest = closed?.shown.id ?? [...this.asked.keys()][0];
    if (oldest !== undefined) this.asked.delete(oldest);
  }

  private close(id: string): void {
    const asked = this.asked.get(id);
    if (asked) asked.shown.state = 'closed';
  }

  private react(id: string): void {
    const asked = this.asked.get(id);
    if (asked) void this.reaction(asked).catch((error: unknown) => this.failed(error));
  }

  private async reaction({ intent, charge, approvalRequired }: Asked): Promise<void> {
    const temperament = this.temperamentOf((intent ?? charge).customerId);
    if (intent) {
      if (temperament === 'refuses') await this.decide(intent, { decision: 'deny' });
      return;
    }
    const { billingRequestId } = charge;
    const bankTransactionId = `debit-${billingRequestId}`;
    const yes = { ...(approvalRequired && { action: 'approve_once' as const }), bankTransactionId };
    switch (temperament) {
      case 'pays':
        if (!approvalRequired) await this.say(billingRequestId, yes);
        return;
      case 'no_funds':
        return this.say(billingRequestId, { declineReason: 'insufficient_funds' });
      case 'refuses':
        return this.say(billingRequestId, { action: 'deny' });
      case 'contradicts':
        await this.say(billingRequestId, yes);
        return this.say(billingRequestId, { action: 'deny' });
      case 'silent':
      case 'late':
    }
  }

  /** The `late` temperament answers a charge only after the network has closed it. */
  private comeLate(billingRequestId: string): void {
    const charge = this.asked.get(billingRequestId)?.charge;
    if (!charge || this.temperamentOf(charge.customerId) !== 'late') return;
    void this.say(billingRequestId, { bankTransactionId: `debit-${billingRequestId}` }).catch(
      (error: unknown) => this.failed(error),
    );
  }

  private async say(
    billingRequestId: string,
    said: {
      action?: 'approve_once' | 'approve_recurring' | 'deny';
      bankTransactionId?: string;
      declineReason?: string;
    },
  ): Promise<void> {
    try {
      await this.network.call('answerBillingRequest', { body: { billingRequestId, ...said } });
    } catch (error) {
      // A refusal settles the prompt. Without a response the reader may answer again.
      if (error instanceof AssentError && error.status !== undefined) this.asked.delete(billingRequestId);
      this.changed();
      throw error;
    }
    this.asked.delete(billingRequestId);
    this.changed();
  }

  private payBack(refundId: string): void {
    const body = { refundId, action: 'completed', bankTransactionId: `credit-${refundId}` } as const;
    void this.network.call('answerRefund', { body }).catch((error: unknown) => this.failed(error));
  }
}

function remember(ids: Set<string>, id: string, max: number): void {
  ids.add(id);
  const [oldest] = ids;
  if (ids.size > max && oldest !== undefined) ids.delete(oldest);
}
