import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { kobo } from '../../examples/demo/kobo';
import type { ReceivedEvent } from '../../examples/demo/parties/receiver';
import type { Caller, Reply } from './caller';
import type { ChargeAnswer, IntentAnswer, RefundAnswer } from './plan';

/** One movement on a customer's account: a debit for a charge, or a credit for a refund. */
export interface BookEntry {
  bankTransactionId: string;
  /** The charge, or the refund. */
  about: string;
  kobo: bigint;
  /** `reversed`: the network refused the answer that told of it, so that it was taken back. */
  state: 'standing' | 'reversed';
}

/** What the bank said of a charge or a refund, and what the network said to that. */
export interface Said {
  about: string;
  sent: Record<string, unknown>;
  status: number;
  /** The true state of it, by the network's answer. */
  told: unknown;
}

type Item = ReceivedEvent['item'];

/** A slow answer comes after so long: beyond any first attempt, within any window. */
const SLOWLY_MS = 3_000;

/** What the bank has been told to do, by what it is asked. */
export interface Script {
  /** @param turn how often it has been asked for this, with this time */
  charge(item: Item, turn: number): ChargeAnswer;
  refund(item: Item): RefundAnswer;
  /** The limits of a standing approval; undefined where the intent is to be answered otherwise. */
  standing(item: Item): { daily?: number; monthly?: number } | undefined;
}

/** Of the storm: each operation says in its own text what comes of it. */
const BY_DESCRIPTION: Script = {
  charge: (item) => wordOf(String(item['description'])) as ChargeAnswer,
  refund: (item) => wordOf(String(item['reason'])) as RefundAnswer,
  standing(item) {
    // Before the storm: the standing approval, with the limit that the merchant's page says.
    const limit = /^limit (\d+)$/.exec(String(item['description']))?.[1];
    if (limit === undefined) return undefined;
    const daily = Number(limit) / 100;
    return daily > 0 ? { daily } : {};
  },
};

/**
 * A bank as banks are: it debits when it approves, keeps a book of its own, tells the network until
 * it gets a certain answer, and takes back what is refused. It drops repeats of a webhook by
 * `X-Service-Delivery` and by nothing else, as the contract has it: were the same charge announced
 * twice, it would debit twice, and the book would show it.
 */
export class Bank {
  readonly book: BookEntry[] = [];
  readonly said: Said[] = [];
  /** Answers that nobody took. */
  readonly unheard: string[] = [];
  /** Answers on their way. */
  answering = 0;
  /** Of these, those that wait for the network to close their charge. */
  tooLate = 0;
  private readonly closed = new Set<string>();
  private readonly untilClosed = new Map<string, () => void>();
  private readonly asked = new Map<string, number>();

  constructor(
    private readonly network: Caller,
    private readonly script = BY_DESCRIPTION,
  ) {}

  hear({ type, item }: Pick<ReceivedEvent, 'type' | 'item'>): void {
    if (type === 'billing.request')
      this.answer(this.answerCharge(item), `charge ${String(item['billingRequestId'])}`);
    else if (type === 'billing.intent')
      this.answer(this.answerIntent(item), `intent ${String(item['reference'])}`);
    else if (type === 'refund.request')
      this.answer(this.answerRefund(item), `refund ${String(item['refundId'])}`);
    else if (type === 'billing.closed') {
      const id = String(item['billingRequestId']);
      this.closed.add(id);
      this.untilClosed.get(id)?.();
    }
  }

  private answer(answering: Promise<void>, about: string): void {
    this.answering += 1;
    void answering
      .catch((error: unknown) => this.unheard.push(`${about}: ${String(error)}`))
      .finally(() => (this.answering -= 1));
  }

  private async answerCharge(item: Item): Promise<void> {
    const asked = `${String(item['description'])} ${String(item['dueDate'])}`;
    const turn = (this.asked.get(asked) ?? 0) + 1;
    this.asked.set(asked, turn);
    switch (this.script.charge(item, turn)) {
      case 'pay':
        return this.report(item, this.debit(item));
      case 'paySlowly': {
        const debit = this.debit(item);
        await wait(SLOWLY_MS);
        return this.report(item, debit);
      }
      case 'payTwice': {
        const debit = this.debit(item);
        await this.report(item, debit);
        return this.report(item, debit);
      }
      case 'payAgain':
        await this.report(item, this.debit(item));
        return this.report(item, this.debit(item));
      case 'payThenDecline':
        await this.report(item, this.debit(item));
        return this.decline(item, 'insufficient_funds');
      case 'declineThenPay':
        await this.decline(item, 'account_closed');
        return this.report(item, this.debit(item));
      case 'payTooLate': {
        const debit = this.debit(item);
        this.tooLate += 1;
        await this.isClosed(String(item['billingRequestId']));
        this.tooLate -= 1;
        return this.report(item, debit);
      }
      case 'noFunds':
        return this.decline(item, 'insufficient_funds');
      case 'unavailable':
        return this.decline(item, 'temporarily_unavailable');
      case 'closedAccount':
        return this.decline(item, 'account_closed');
      case 'noFundsFirst':
        return turn === 1 ? this.decline(item, 'insufficient_funds') : this.report(item, this.debit(item));
      case 'silence':
    }
  }

  private debit(item: Item): BookEntry {
    return this.enter(String(item['billingRequestId']), item['amount'] as number);
  }

  private enter(about: string, amount: number): BookEntry {
    const entry: BookEntry = {
      bankTransactionId: randomUUID(),
      about,
      kobo: kobo(amount),
      state: 'standing',
    };
    this.book.push(entry);
    return entry;
  }

  private async report(item: Item, { bankTransactionId }: BookEntry): Promise<void> {
    const { status } = await this.sayOf(String(item['billingRequestId']), '/v1/billing/bank-response', {
      billingRequestId: item['billingRequestId'],
      ...(item['approvalRequired'] === true && { action: 'approve_once' }),
      bankTransactionId,
    });
    this.takeBackIfRefused(status, bankTransactionId);
  }

  /**
   * The money of a charge or a refund is back, by the bank's own word. Of two debits the second
   * went back when it was refused, and the first stands.
   */
  takeBack(about: string): void {
    const debits = this.book.filter((entry) => entry.about === about);
    if (debits.length === 1) for (const entry of debits) entry.state = 'reversed';
  }

  private takeBackIfRefused(status: number, bankTransactionId: string): void {
    if (status !== 409) return;
    const entry = this.book.find((one) => one.bankTransactionId === bankTransactionId);
    if (entry) entry.state = 'reversed';
  }

  private async decline(item: Item, declineReason: string): Promise<void> {
    const { billingRequestId } = item;
    await this.sayOf(String(billingRequestId), '/v1/billing/bank-response', {
      billingRequestId,
      declineReason,
    });
  }

  private async isClosed(billingRequestId: string): Promise<void> {
    if (this.closed.has(billingRequestId)) return;
    await new Promise<void>((resolve) => this.untilClosed.set(billingRequestId, resolve));
  }

  private async answerRefund(item: Item): Promise<void> {
    const refundId = String(item['refundId']);
    const complete = async (credit: BookEntry) => {
      const { bankTransactionId } = credit;
      const sent = { refundId, action: 'completed', bankTransactionId };
      const { status } = await this.sayOf(refundId, '/v1/bank/refund-response', sent);
      this.takeBackIfRefused(status, bankTransactionId);
    };
    const reject = () =>
      this.sayOf(refundId, '/v1/bank/refund-response', {
        refundId,
        action: 'rejected',
        reason: 'no account',
      });
    const credit = () => this.enter(refundId, item['amount'] as number);
    switch (this.script.refund(item)) {
      case 'complete':
        return complete(credit());
      case 'completeSlowly': {
        const made = credit();
        await wait(SLOWLY_MS);
        return complete(made);
      }
      case 'completeTwice': {
        const made = credit();
        await complete(made);
        return complete(made);
      }
      case 'reject':
        await reject();
        return;
      case 'rejectThenComplete':
        await reject();
        return complete(credit());
      case 'completeThenReject':
        await complete(credit());
        await reject();
        return;
      case 'silence':
    }
  }

  private async answerIntent(item: Item): Promise<void> {
    const say = (customerDecision: string, more = {}) =>
      this.network.post('/v1/billing/intent-response', {
        customerId: item['customerId'],
        entityId: (item['merchant'] as { id: string }).id,
        lookupID: item['lookupID'],
        customerDecision,
        ...more,
      });
    const spendingLimits = this.script.standing(item);
    if (spendingLimits !== undefined) {
      await say('approve_recurring', Object.keys(spendingLimits).length > 0 ? { spendingLimits } : {});
      return;
    }
    switch (wordOf(String(item['description'])) as IntentAnswer) {
      case 'approveOnce':
        await say('approve_once');
        return;
      case 'approveRecurring':
        await say('approve_recurring');
        return;
      case 'approveSlowly':
        await wait(SLOWLY_MS);
        await say('approve_once');
        return;
      case 'approveTwice':
        await say('approve_once');
        await say('approve_once');
        return;
      case 'approveThenDeny':
        await say('approve_once');
        await say('deny');
        return;
      case 'deny':
        await say('deny');
        return;
      case 'silence':
    }
  }

  private async sayOf(about: string, path: string, sent: Record<string, unknown>): Promise<Reply> {
    const reply = await this.network.post(path, sent);
    this.said.push({ about, sent, status: reply.status, told: reply.data['status'] });
    return reply;
  }
}

/** Of `storm 17 pay`. */
function wordOf(text: string): string | undefined {
  return /^storm \d+ (\w+)$/.exec(text)?.[1];
}
