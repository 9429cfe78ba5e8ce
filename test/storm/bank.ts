import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { kobo } from '../../examples/demo/kobo';
import type { Caller } from './caller';
import type { ChargeAnswer, IntentAnswer, RefundAnswer } from './plan';
import type { Told } from './told';

export interface BookEntry {
  bankTransactionId: string;
  about: string;
  kobo: bigint;
  /** `reversed`: the network refused the answer that told of it, so that it was taken back. */
  state: 'standing' | 'reversed';
}

export interface Said {
  about: string;
  sent: Record<string, unknown>;
  status: number;
  told: unknown;
}

type Item = Told['item'];

export interface Script {
  /** @param turn how often it has been asked for this, with this time */
  charge(item: Item, turn: number): ChargeAnswer;
  refund(item: Item): RefundAnswer;
  /** The limits of a standing approval; undefined where the intent is to be answered otherwise. */
  standing(item: Item): { daily?: number; monthly?: number } | undefined;
}

/** Each operation of the storm says in its own text what comes of it. */
const BY_DESCRIPTION: Script = {
  charge: (item, turn) => {
    const answer = wordOf(item['description']) as ChargeAnswer;
    return answer === 'noFundsFirst' ? (turn === 1 ? 'noFunds' : 'pay') : answer;
  },
  refund: (item) => wordOf(item['reason']) as RefundAnswer,
  standing(item) {
    // Before the storm: the standing approval, with the limit that the merchant's page says.
    const limit = /^limit (\d+)$/.exec(String(item['description']))?.[1];
    if (limit === undefined) return undefined;
    const daily = Number(limit) / 100;
    return daily > 0 ? { daily } : {};
  },
};

/** A slow answer comes after so long: beyond any first attempt, within any window. */
const SLOWLY_MS = 3_000;

/**
 * Steps of the bank, in order. `book` moves the money, `report` tells of the last move. Any other
 * word is the reason, as the bank says it, why nothing moves.
 */
const CHARGE_STEPS: Record<ChargeAnswer, readonly string[]> = {
  pay: ['book', 'report'],
  paySlowly: ['book', 'wait', 'report'],
  payTwice: ['book', 'report', 'report'],
  payAgain: ['book', 'report', 'book', 'report'],
  payThenDecline: ['book', 'report', 'insufficient_funds'],
  declineThenPay: ['account_closed', 'book', 'report'],
  payTooLate: ['book', 'untilClosed', 'report'],
  noFunds: ['insufficient_funds'],
  noFundsFirst: ['insufficient_funds'],
  unavailable: ['temporarily_unavailable'],
  closedAccount: ['account_closed'],
  silence: [],
};
const REFUND_STEPS: Record<RefundAnswer, readonly string[]> = {
  complete: ['book', 'report'],
  completeSlowly: ['book', 'wait', 'report'],
  completeTwice: ['book', 'report', 'report'],
  completeThenReject: ['book', 'report', 'no account'],
  reject: ['no account'],
  rejectThenComplete: ['no account', 'book', 'report'],
  silence: [],
};
const INTENT_STEPS: Record<IntentAnswer, readonly string[]> = {
  approveOnce: ['approve_once'],
  approveRecurring: ['approve_recurring'],
  approveSlowly: ['wait', 'approve_once'],
  approveTwice: ['approve_once', 'approve_once'],
  approveThenDeny: ['approve_once', 'deny'],
  deny: ['deny'],
  silence: [],
};

interface Matter {
  about: string;
  amount: number;
  path: string;
  done: Record<string, unknown>;
  undone: (reason: string) => Record<string, unknown>;
}

/**
 * A bank as banks are: it debits when it approves, keeps a book of its own, tells the network until
 * it gets a certain answer, and takes back what is refused. It drops repeats of a webhook by
 * `X-Service-Delivery` and by nothing else, as the contract has it: were the same charge announced
 * twice, it would debit twice, and the book would show it.
 */
export class Bank {
  readonly book: BookEntry[] = [];
  readonly said: Said[] = [];
  readonly unheard: string[] = [];
  answering = 0;
  /** Answers that wait for the network to close their charge. */
  tooLate = 0;
  private readonly closed = new Set<string>();
  private readonly untilClosed = new Map<string, () => void>();
  private readonly asked = new Map<string, number>();

  constructor(
    private readonly network: Caller,
    private readonly script = BY_DESCRIPTION,
  ) {}

  hear({ type, item }: Told): void {
    const id = String(item['billingRequestId'] ?? item['refundId'] ?? item['reference']);
    if (type === 'billing.request') this.answer(this.answerCharge(id, item), `charge ${id}`);
    else if (type === 'billing.intent') this.answer(this.answerIntent(item), `intent ${id}`);
    else if (type === 'refund.request') this.answer(this.answerRefund(item), `refund ${id}`);
    else if (type === 'billing.closed') {
      this.closed.add(id);
      this.untilClosed.get(id)?.();
    }
  }

  /**
   * The money of a charge or a refund is back, by the bank's own word. Of two debits the second
   * went back when it was refused, and the first stands.
   */
  takeBack(about: string): void {
    const debits = this.book.filter((entry) => entry.about === about);
    if (debits.length === 1) for (const entry of debits) entry.state = 'reversed';
  }

  private answer(answering: Promise<void>, about: string): void {
    this.answering += 1;
    void answering
      .catch((error: unknown) => this.unheard.push(`${about}: ${String(error)}`))
      .finally(() => (this.answering -= 1));
  }

  private answerCharge(billingRequestId: string, item: Item): Promise<void> {
    const asked = `${String(item['description'])} ${String(item['dueDate'])}`;
    const turn = (this.asked.get(asked) ?? 0) + 1;
    this.asked.set(asked, turn);
    return this.act(CHARGE_STEPS[this.script.charge(item, turn)], {
      about: billingRequestId,
      amount: item['amount'] as number,
      path: '/v1/billing/bank-response',
      done: { billingRequestId, ...(item['approvalRequired'] === true && { action: 'approve_once' }) },
      undone: (declineReason) => ({ billingRequestId, declineReason }),
    });
  }

  private answerRefund(item: Item): Promise<void> {
    const refundId = String(item['refundId']);
    return this.act(REFUND_STEPS[this.script.refund(item)], {
      about: refundId,
      amount: item['amount'] as number,
      path: '/v1/bank/refund-response',
      done: { refundId, action: 'completed' },
      undone: (reason) => ({ refundId, action: 'rejected', reason }),
    });
  }

  private async act(steps: readonly string[], matter: Matter): Promise<void> {
    const { about, amount, done, undone } = matter;
    let entry: BookEntry | undefined;
    for (const step of steps) {
      if (step === 'book') {
        entry = { bankTransactionId: randomUUID(), about, kobo: kobo(amount), state: 'standing' };
        this.book.push(entry);
      } else if (step === 'wait') await wait(SLOWLY_MS);
      else if (step === 'untilClosed') await this.isClosed(about);
      else if (step === 'report') {
        const { bankTransactionId } = entry ?? {};
        const status = await this.say(matter, { ...done, bankTransactionId });
        if (status === 409 && entry) entry.state = 'reversed';
      } else await this.say(matter, undone(step));
    }
  }

  private async isClosed(billingRequestId: string): Promise<void> {
    this.tooLate += 1;
    if (!this.closed.has(billingRequestId))
      await new Promise<void>((resolve) => this.untilClosed.set(billingRequestId, resolve));
    this.tooLate -= 1;
  }

  private async say({ about, path }: Matter, sent: Record<string, unknown>): Promise<number> {
    const { status, data } = await this.network.post(path, sent);
    this.said.push({ about, sent, status, told: data['status'] });
    return status;
  }

  private async answerIntent(item: Item): Promise<void> {
    const limits = this.script.standing(item);
    const steps = limits ? ['approve_recurring'] : INTENT_STEPS[wordOf(item['description']) as IntentAnswer];
    for (const step of steps) {
      if (step === 'wait') await wait(SLOWLY_MS);
      else
        await this.network.post('/v1/billing/intent-response', {
          customerId: item['customerId'],
          entityId: (item['merchant'] as { id: string }).id,
          lookupID: item['lookupID'],
          customerDecision: step,
          ...(limits && Object.keys(limits).length > 0 && { spendingLimits: limits }),
        });
    }
  }
}

function wordOf(text: unknown): string | undefined {
  return /^storm \d+ (\w+)$/.exec(String(text))?.[1];
}
