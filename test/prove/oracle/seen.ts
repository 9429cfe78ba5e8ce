import type { ReceivedItem } from '../../storm/items';
import type { Kind } from './ledger';

/** The oracle compares its prediction with these: views by API, webhooks and the banks' books. */

export interface SeenSchedule {
  scheduleId: string;
  status: string;
  amount: number;
  nextBillingDate: string | null;
  billingsCompleted: number;
  billings: {
    n: number;
    dueDate: string;
    status: string;
    reason?: string | null;
    attempts: {
      billingRequestId: string;
      reference: string;
      at: string;
      status: string;
      declineReason: string | null;
      limit?: string;
    }[];
  }[];
}

export type SeenTransaction = Record<string, string | null>;

/** `creditsReversed` is there only if there are any. */
export interface SeenStatement extends Partial<Record<Kind, { count: number; amount: number }>> {
  timezone: string;
  openingBalance: number;
  closingBalance: number;
  exceptionsOpen: number;
  sha256: string | null;
  /** The file of the day, where it was taken, and what its bytes come to. */
  file?: { text: string; sha256: string };
}

export interface SeenPosition {
  counterpartyId: string;
  currency: string;
  owedToYou: number;
  owedByYou: number;
  net: number;
}

export interface SeenMerchant {
  entityId: string;
  answers: Map<number, number | undefined>;
  /** By their numbers in the plan. */
  schedules: Map<number, SeenSchedule>;
  customerIds: Map<number, string>;
  history: SeenTransaction[];
  /** By settlement day, each that should have anything and the day after it. */
  statements: Map<string, SeenStatement>;
  positions: Map<string, SeenPosition[]>;
  /** Each with the `answers` that its bank is shown. */
  exceptions: Record<string, unknown>[];
  received: ReceivedItem[];
  feed: ReceivedItem[];
  /** By their numbers in the plan. */
  desks: SeenDesk[];
}

export interface SeenAnswer {
  says: string;
  bankTransactionId: string | null;
}

export interface SeenPayments {
  /** By their numbers in the plan. */
  accounts: Map<number, { customerId: string; lookupID: string }>;
  /** How each was taken, and under which id. */
  asked: Map<number, { status: number; billingRequestId: string }>;
  /** How what a payer's bank said of an exception was answered. */
  responses: Map<number, number | undefined>;
  /** By their numbers in the plan. */
  banks: SeenPaymentsAtBank[];
}

export interface SeenPaymentsAtBank {
  bankId: string;
  book: SeenDesk['book'];
  credits: SeenCredit[];
  received: ReceivedItem[];
  history: SeenTransaction[];
  exceptions: Record<string, unknown>[];
}

/** A bank gave it to its customer, for it was told to. */
export interface SeenCredit {
  billingRequestId: string;
  lookupID: string;
  kobo: bigint;
  state: 'standing' | 'reversed';
}

export interface SeenDesk {
  bankId: string;
  book: { bankTransactionId: string; about: string; kobo: bigint; state: 'standing' | 'reversed' }[];
  decisions: Record<string, unknown>[];
  received: ReceivedItem[];
}

export interface SeenBankFile {
  status: string;
  summary: Record<string, unknown>;
  differences: Record<string, string | null>[];
}

export interface SeenBank {
  statements: Map<string, SeenStatement>;
  positions: Map<string, SeenPosition[]>;
  /** Different words that were never received, and that were received and are not in its feed. */
  unheard: number;
  unfed: number;
}
