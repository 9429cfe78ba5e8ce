import { Bank, type Said, type Script } from './bank';
import { ApiClient, type Credentials } from './client';
import { Receiver } from './receiver';
import type { Item, ReceivedItem } from './received-item';

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

export interface BankSettings extends Credentials {
  apiUrl: string;
  webhookSecret: string;
}

const APPROVALS: readonly string[] = ['approve_once', 'approve_recurring'];

/**
 * A bank as the network sees one: an HTTP server that is told of intents and charges, and answers
 * each by its rules. It leaves refunds to its owner.
 */
export class SimulatedBank {
  private readonly rules: Rule[] = [];
  private readonly charges = new Map<string, Item>();
  private readonly bank: Bank;
  private readonly receiver: Receiver;

  constructor(settings: BankSettings) {
    this.bank = new Bank(new ApiClient([settings.apiUrl], settings), this.script());
    this.receiver = new Receiver(settings.webhookSecret, (event) => this.receive(event), {
      controls: {
        'POST /control/rules': (rule) => this.rules.unshift(rule as Rule),
        'GET /control/ledger': () => this.ledger(),
        'GET /control/answers': (): Said[] => this.bank.said,
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
  private receive(received: ReceivedItem): void {
    if (received.type === 'billing.request')
      this.charges.set(String(received.item['billingRequestId']), received.item);
    this.bank.receive(received);
  }

  private script(): Script {
    return {
      charge: (item) => {
        const answer = this.ruleFor('billing.request', item)?.answer;
        if (answer === 'silence') return { steps: [] };
        if (answer !== undefined && !APPROVALS.includes(answer)) return { steps: [answer] };
        return { steps: ['book', 'report'], ...(answer !== undefined && { action: answer }) };
      },
      intent: (item) => {
        const { answer = 'approve_recurring', spendingLimits: limits } =
          this.ruleFor('billing.intent', item) ?? {};
        return { steps: answer === 'silence' ? [] : [answer], ...(limits && { limits }) };
      },
      refund: () => ({ steps: [] }),
    };
  }

  private ruleFor(on: Rule['on'], item: Item): Rule | undefined {
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

  private ledger(): LedgerEntry[] {
    return this.bank.book.map(({ bankTransactionId, about, kobo, state }) => {
      const { reference, lookupID, currency } = this.charges.get(about) ?? {};
      return {
        bankTransactionId,
        billingRequestId: about,
        reference: String(reference),
        lookupID: String(lookupID),
        amount: kobo.toString(),
        currency: String(currency),
        state: state === 'standing' ? 'debited' : 'reversed',
      };
    });
  }
}
