import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient } from './client';
import { kobo } from './kobo';
import type { Item, ReceivedItem } from './received-item';

export interface BookEntry {
  bankTransactionId: string;
  about: string;
  kobo: bigint;
  /** `reversed`: the network refused the answer that told of it, so that it was taken back. */
  state: 'standing' | 'reversed';
}

/** An answer to the network. */
export interface Said {
  on: 'charge' | 'intent' | 'refund';
  about: string;
  sent: Record<string, unknown>;
  /** 0 where no answer came. */
  status: number;
  told: unknown;
}

/** What comes of a matter, step by step. */
interface Steps {
  /**
   * `book` moves the money, `report` tells of the last move, `wait` lets a first attempt pass, and
   * `untilClosed` the whole window. Any other word is said to the network: a decision of the
   * customer, or the reason why nothing moves.
   */
  steps: readonly string[];
}

export interface Script {
  /**
   * @param turn how often it has been asked for this, with this time
   * @returns with the customer's decision, where it is not simply an approval
   */
  charge(item: Item, turn: number): Steps & { action?: string };
  refund(item: Item): Steps;
  /** With the limits of an approval. */
  intent(item: Item): Steps & { limits?: Record<string, unknown> };
}

/** A slow answer comes after so long: beyond any first attempt, within any window. */
const SLOWLY_MS = 3_000;

const DECISIONS = ['deny', 'suspended'];

interface Matter {
  on: Said['on'];
  about: string;
  path: string;
  /** Absent where none moves. */
  money?: { amount: unknown; moved: (bankTransactionId: string | undefined) => Record<string, unknown> };
  said: (word: string) => Record<string, unknown>;
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
    private readonly network: ApiClient,
    private readonly script: Script,
  ) {}

  receive({ type, batchId, item }: ReceivedItem): void {
    const id = String(item['billingRequestId'] ?? item['refundId'] ?? item['reference']);
    if (type === 'billing.request') this.answer(this.answerCharge(id, item, batchId), `charge ${id}`);
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

  /** A refund is paid all the same, and counts from then on. */
  payAllTheSame(refundId: string): void {
    for (const entry of this.book) if (entry.about === refundId) entry.state = 'standing';
  }

  private answer(answering: Promise<void>, about: string): void {
    this.answering += 1;
    void answering
      .catch((error: unknown) => this.unheard.push(`${about}: ${String(error)}`))
      .finally(() => (this.answering -= 1));
  }

  /**
   * Decisions go in the guide's form, and where no customer was asked, the plain form reports the
   * debit.
   */
  private async answerCharge(billingRequestId: string, item: Item, batchId?: string): Promise<void> {
    const asked = `${String(item['description'])} ${String(item['dueDate'])}`;
    const turn = (this.asked.get(asked) ?? 0) + 1;
    this.asked.set(asked, turn);
    const { steps, action = item['approvalRequired'] === true ? 'approve_once' : undefined } =
      this.script.charge(item, turn);
    const plain = { billingRequestId, ...(batchId !== undefined && { batchId }) };
    const decided = (decision: string) => ({ billingRequestId, action: decision });
    await this.act(steps, {
      on: 'charge',
      about: billingRequestId,
      path: '/v1/billing/bank-response',
      money: {
        amount: item['amount'],
        moved: (bankTransactionId) => ({
          ...(action === undefined ? plain : decided(action)),
          bankTransactionId,
        }),
      },
      said: (word) => (DECISIONS.includes(word) ? decided(word) : { ...plain, declineReason: word }),
    });
  }

  private async answerRefund(item: Item): Promise<void> {
    const refundId = String(item['refundId']);
    await this.act(this.script.refund(item).steps, {
      on: 'refund',
      about: refundId,
      path: '/v1/bank/refund-response',
      money: {
        amount: item['amount'],
        moved: (bankTransactionId) => ({ refundId, action: 'completed', bankTransactionId }),
      },
      said: (reason) => ({ refundId, action: 'rejected', reason }),
    });
  }

  private async answerIntent(item: Item): Promise<void> {
    const { steps, limits = {} } = this.script.intent(item);
    const about = { customerId: item['customerId'], lookupID: item['lookupID'] };
    await this.act(steps, {
      on: 'intent',
      about: String(item['intentId']),
      path: '/v1/billing/intent-response',
      said: (customerDecision) => ({
        ...about,
        entityId: (item['merchant'] as { id: string }).id,
        customerDecision,
        ...(Object.keys(limits).length > 0 && { spendingLimits: limits }),
      }),
    });
  }

  private async act(steps: readonly string[], matter: Matter): Promise<void> {
    const { about, money, said } = matter;
    let entry: BookEntry | undefined;
    for (const step of steps) {
      if (step === 'wait') await wait(SLOWLY_MS);
      else if (step === 'untilClosed') await this.isClosed(about);
      else if (step === 'book' && money) {
        const amount = kobo(money.amount as number);
        entry = { bankTransactionId: randomUUID(), about, kobo: amount, state: 'standing' };
        this.book.push(entry);
      } else if (step === 'report' && money) {
        const status = await this.say(matter, money.moved(entry?.bankTransactionId));
        if (status === 409 && entry) entry.state = 'reversed';
      } else await this.say(matter, said(step));
    }
  }

  private async isClosed(billingRequestId: string): Promise<void> {
    this.tooLate += 1;
    if (!this.closed.has(billingRequestId))
      await new Promise<void>((resolve) => this.untilClosed.set(billingRequestId, resolve));
    this.tooLate -= 1;
  }

  /** @returns the status of the network's answer */
  private async say({ on, about, path }: Matter, sent: Record<string, unknown>): Promise<number> {
    let said: Said = { on, about, sent, status: 0, told: undefined };
    try {
      const { status, data } = await this.network.answer(path, sent);
      said = { ...said, status, told: data['status'] };
    } finally {
      this.said.push(said);
    }
    return said.status;
  }
}
