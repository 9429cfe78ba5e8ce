import { randomUUID } from 'node:crypto';
import { ApiClient, type Credentials } from '../api-client';
import { kobo } from '../kobo';
import { Receiver, type ReceivedEvent } from './receiver';

type Decision = 'approve_once' | 'approve_recurring' | 'deny' | 'suspended';

/**
 * A rule for the customers' answers. The newest rule that matches counts; without one, intents are
 * given the standing approval and charges are paid.
 */
export interface Rule {
  on: 'billing.intent' | 'billing.request';
  lookupID?: string;
  description?: string;
  /**
   * `silence` never answers; of a charge, any other word than a decision is the reason of its
   * decline. Left out, it answers as it does without a rule.
   */
  answer?: Decision | 'silence' | 'insufficient_funds' | 'temporarily_unavailable' | 'account_closed';
  /** Major units, sent with the answer to an intent. */
  spendingLimits?: { daily?: number; monthly?: number };
  /** How many answers it gives before it is spent; always, where not given. */
  times?: number;
}

export interface LedgerEntry {
  bankTransactionId: string;
  billingRequestId: string;
  reference: string;
  lookupID: string;
  /** In kobo, as text: the bank's accounts are all in naira. */
  amount: string;
  currency: string;
  /**
   * `reversed`: the network said that the charge had ended otherwise, so the money was given back.
   */
  state: 'debited' | 'reversed';
}

export interface BankAnswer {
  on: Rule['on'];
  sent: Record<string, unknown>;
  /** HTTP status; 0 where no answer came. */
  status: number;
  body: unknown;
}

export interface BankSettings extends Credentials {
  apiUrl: string;
  webhookSecret: string;
}

/**
 * A bank as the network sees one: an HTTP server that is told of intents and charges, and answers
 * each through the API. It debits first and reports then, as banks do, and takes the debit back
 * when told that it came too late; its ledger is the other half of any reconciliation.
 */
export class SimulatedBank {
  private readonly rules: Rule[] = [];
  private readonly ledger: LedgerEntry[] = [];
  private readonly answers: BankAnswer[] = [];
  private readonly network: ApiClient;
  private readonly receiver: Receiver;

  constructor(settings: BankSettings) {
    this.network = new ApiClient(settings.apiUrl, settings);
    this.receiver = new Receiver(settings.webhookSecret, (event) => this.hear(event), {
      controls: {
        'POST /control/rules': (rule) => this.rules.unshift(rule as Rule),
        'GET /control/ledger': () => this.ledger,
        'GET /control/answers': () => this.answers,
      },
    });
  }

  listen(port: number): Promise<number> {
    return this.receiver.listen(port);
  }

  close(): Promise<void> {
    return this.receiver.close();
  }

  /** The webhook is answered at once; what the customer says follows in its own time. */
  private hear({ type, batchId, item }: ReceivedEvent): void {
    if (type !== 'billing.intent' && type !== 'billing.request') return;
    const rule = this.ruleFor(type, item);
    if (rule?.answer === 'silence') return;
    void (type === 'billing.intent' ? this.answerIntent(item, rule) : this.answerCharge(item, batchId, rule));
  }

  private ruleFor(on: Rule['on'], item: Record<string, unknown>): Rule | undefined {
    const rule = this.rules.find(
      (one) =>
        one.on === on &&
        (one.lookupID ?? item['lookupID']) === item['lookupID'] &&
        (one.description ?? item['description']) === item['description'] &&
        one.times !== 0,
    );
    if (rule?.times !== undefined) rule.times -= 1;
    return rule;
  }

  private async answerIntent(item: Record<string, unknown>, rule: Rule | undefined): Promise<void> {
    await this.say('billing.intent', '/v1/billing/intent-response', {
      customerId: item['customerId'],
      entityId: (item['merchant'] as { id: string }).id,
      lookupID: item['lookupID'],
      customerDecision: rule?.answer ?? 'approve_recurring',
      ...(rule?.spendingLimits && { spendingLimits: rule.spendingLimits }),
    });
  }

  /**
   * Decisions go in the guide's form, and where no customer was asked, the plain form reports the
   * debit.
   */
  private async answerCharge(
    item: Record<string, unknown>,
    batchId: string | undefined,
    rule: Rule | undefined,
  ): Promise<void> {
    const { billingRequestId } = item;
    const answer = rule?.answer ?? (item['approvalRequired'] === true ? 'approve_once' : undefined);
    if (answer === 'deny' || answer === 'suspended') {
      await this.say('billing.request', '/v1/billing/bank-response', { billingRequestId, action: answer });
      return;
    }
    if (answer !== undefined && answer !== 'approve_once' && answer !== 'approve_recurring') {
      await this.say('billing.request', '/v1/billing/bank-response', {
        billingRequestId,
        batchId,
        declineReason: answer,
      });
      return;
    }
    const debit = this.debit(item);
    const { bankTransactionId } = debit;
    const { status } = await this.say('billing.request', '/v1/billing/bank-response', {
      billingRequestId,
      ...(answer === undefined ? { batchId } : { action: answer }),
      bankTransactionId,
    });
    if (status === 409) debit.state = 'reversed';
  }

  private debit(item: Record<string, unknown>): LedgerEntry {
    const entry: LedgerEntry = {
      bankTransactionId: `bank-tx-${randomUUID()}`,
      billingRequestId: String(item['billingRequestId']),
      reference: String(item['reference']),
      lookupID: String(item['lookupID']),
      amount: kobo(item['amount'] as number).toString(),
      currency: String(item['currency']),
      state: 'debited',
    };
    this.ledger.push(entry);
    return entry;
  }

  private async say(on: Rule['on'], path: string, sent: Record<string, unknown>): Promise<BankAnswer> {
    const { status, body } = await this.network
      .answer(path, sent)
      .catch((error: unknown) => ({ status: 0, body: String(error) }));
    const answer = { on, sent, status, body };
    this.answers.push(answer);
    return answer;
  }
}
