import type { ExceptionKind, Resolution } from '../books/reconciliation-exception';
import type { AgreementState, Decision, ExceptionState, RefundStatus } from '../lifecycle';
import type { Metadata } from '../metadata';
import { formatAmount } from '../money';
import type { ScheduleStatus, SuspendedReason } from '../recurring/recurring';
import type { Limit, ShownLimits } from '../spending-limit';
import type { WebhookType } from './webhook';

/**
 * The one schema of webhooks' items: amounts in minor units beside their currency, times as dates.
 * The OpenAPI document describes the same fields, or does not compile.
 *
 * A field that can be left out is `undefined`, and is named all the same: no author forgets it.
 */
interface Items {
  'billing.intent': Intent &
    Question & {
      paymentID: string;
      currency: string;
      merchant: Merchant;
      spendingLimits: ShownLimits;
      termsInWords: string;
      currentLimits: ShownLimits | undefined;
    };
  'billing.intent.closed': IntentEnd & { status: 'declined' | 'superseded' };
  'billing.intent.response': IntentEnd & {
    status: 'approved' | 'declined' | 'superseded';
    customerId: string;
    customerDecision: Decision | null;
    customerAction: 'approved' | 'declined';
    currency: string;
    paymentID: string | undefined;
    metadata: Metadata;
  };
  'billing.request': Charge &
    Question & {
      approvalRequired: boolean;
      paymentID: string | null;
      merchant: Merchant | undefined;
      payee: { bankId: string; lookupID: string; name: string } | undefined;
      scheduleId: string | undefined;
    };
  'billing.response': Charge & {
    status: 'successful' | 'declined';
    declineReason: string | null;
    limit: Limit | undefined;
    customerAction: 'approved' | 'declined';
    paymentID: string | undefined;
    lookupID: string | undefined;
    scheduleId: string | null;
    metadata: Metadata | undefined;
  };
  'billing.closed': Omit<Charge, keyof Money> & { status: 'declined'; declineReason: string };
  'billing.credit': Charge & { lookupID: string; payerBankId: string; bankTransactionId: string };
  'billing.reversed': Charge & { reversalReference: string; metadata: Metadata | undefined };
  'decision.updated': Agreement;
  'decision.expiring': Agreement & { validUntil: Date };
  'refund.request': Refund & {
    billingRequestId: string;
    bankTransactionId: string;
    reason: string | null;
    customerId: string;
    lookupID: string;
    merchant: Merchant;
    expectedBy: Date;
    overdue: boolean;
  };
  'refund.response': Refund & {
    status: Exclude<RefundStatus, 'returned'>;
    overdue: boolean;
    reason: string | null;
    expectedBy: Date;
    metadata: Metadata;
  };
  'refund.returned': Refund & { status: 'returned'; metadata: Metadata | undefined };
  'exception.opened': Exception;
  'exception.resolved': Exception;
  'recurring.upcoming': Schedule & {
    customerId: string;
    n: number;
    description: string | null;
    dueDate: Date;
    withinLimits: boolean;
    limit: Limit | undefined;
  };
  'recurring.updated': Schedule & {
    status: ScheduleStatus;
    previousStatus: ScheduleStatus;
    suspendedReason: SuspendedReason | null;
    nextBillingDate: Date | null;
    billingsCompleted: number;
    previousAmount: bigint | undefined;
    effectiveFrom: Date | null | undefined;
    skipped: SkippedBilling | undefined;
    unskipped: SkippedBilling | undefined;
  };
  'migration.completed': {
    batchId: string;
    status: 'processing' | 'completed' | 'failed';
    summary: { total: number; successful: number; failed: number; duplicates: number };
  };
  'webhook.test': { text: string };
  'webhook.endpoint_changed': { changedBy: 'api' | 'operator'; cleared: boolean };
}

type Money = { amount: bigint; currency: string };
type Intent = { intentId: string; reference: string };
type IntentEnd = Intent & { lookupID: string; reason: string | null };
type Charge = Money & { billingRequestId: string; reference: string };
type Refund = Money & { refundId: string; reference: string; originalReference: string };
type Schedule = Money & { scheduleId: string };
type SkippedBilling = { n: number; dueDate: Date | string };

type Agreement = {
  id: string;
  customerId: string;
  lookupID: string;
  paymentID: string;
  customerDecision: Decision;
  state: AgreementState;
  currency: string;
  spendingLimits: ShownLimits;
};

type Question = {
  customerId: string;
  customerEmail: string;
  lookupID: string;
  description: string;
  dueDate: Date;
};

type Merchant = {
  id: string;
  name: string;
  icon: string | null;
  email: string | null;
  website: string | null;
};

type Exception = Money & {
  exceptionId: string;
  kind: ExceptionKind;
  state: ExceptionState;
  reference: string | null;
  billingRequestId: string | null;
  refundId: string | null;
  merchantId: string | null;
  bankId: string;
  bankTransactionId: string | null | undefined;
  metadata: Metadata | undefined;
  openedAt: Date;
  resolvedAt: Date | null;
  resolution: Resolution | null;
};

export type WebhookItem<Type extends WebhookType = WebhookType> = Items[Type] & { sequence: number };

/** A type of webhook with items of that type. */
export type Webhook = {
  [Type in WebhookType]: { webhookType: Type; items: WebhookItem<Type>[] };
}[WebhookType];

/** An item as it goes out: amounts in major units of its currency, times in ISO 8601. */
export function itemOnWire(item: WebhookItem): Record<string, unknown> {
  const currency = 'currency' in item ? item.currency : '';
  return Object.fromEntries(
    Object.entries(item).map(([field, value]: [string, unknown]) => {
      if (typeof value === 'bigint') return [field, formatAmount(value, currency)];
      return [field, value instanceof Date ? value.toISOString() : value];
    }),
  );
}
