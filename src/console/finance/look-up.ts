import type {
  BankStatement,
  Delivery,
  Intent,
  ScheduleWithBillings,
  Transaction,
  TransactionWithEvents,
} from '../../../packages/client/src/api.generated';
import { ask, query, Refusal, type Session } from './api';

export type Found =
  | { is: 'transaction'; transaction: TransactionWithEvents }
  | { is: 'transactions'; transactions: Transaction[]; total: number }
  | { is: 'schedule'; schedule: ScheduleWithBillings }
  | { is: 'intent'; intent: Intent }
  | { is: 'delivery'; delivery: Delivery }
  | { is: 'statement'; statement: BankStatement }
  | { is: 'nothing' };

const NOTHING: Found = { is: 'nothing' };

/** Finds the caller's own records by a reference or an id. */
export async function search(what: string, role: Session['role']): Promise<Found> {
  try {
    return await lookUp(what, role);
  } catch (error) {
    // The API refuses a role that may not ask; to the reader that is "not found" as well.
    if (error instanceof Refusal && [400, 403, 404].includes(error.status)) return NOTHING;
    throw error;
  }
}

async function lookUp(what: string, role: Session['role']): Promise<Found> {
  const id = encodeURIComponent(what);
  switch (what.slice(0, 4)) {
    case 'brq_':
      return transactionOf((await ask<'getBillingRequest'>(`/v1/billing/requests/${id}`)).reference);
    case 'rfd_':
      return transactionOf((await ask<'getRefund'>(`/v1/refunds/${id}`)).reference);
    case 'exc_':
      return transactionOf((await ask<'getException'>(`/v1/reconciliation/exceptions/${id}`)).reference);
    case 'sch_':
      return { is: 'schedule', schedule: await ask<'getSchedule'>(`/v1/billing/recurring/${id}`) };
    case 'int_':
      return { is: 'intent', intent: await ask<'getIntent'>(`/v1/billing/intents/${id}`) };
    case 'dlv_':
      return { is: 'delivery', delivery: await ask<'getDelivery'>(`/v1/webhooks/deliveries/${id}`) };
    case 'stm_':
      return { is: 'statement', statement: await ask<'getBankStatement'>(`/v1/bank/statements/${id}`) };
    case 'txn_':
      return transactionOf(what);
    case 'cus_':
      return listed({ customerId: what });
    case 'mch_':
      return listed({ merchantId: what });
    default:
      return (await byReference(what)) ?? (role === 'bank' ? listed({ bankTransactionId: what }) : NOTHING);
  }
}

async function byReference(what: string): Promise<Found | undefined> {
  return transactionOf(what.toUpperCase()).catch((error: unknown) => {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  });
}

/** @param reference of the transaction, or the transaction's id */
async function transactionOf(reference: string | null): Promise<Found> {
  if (reference === null) return NOTHING;
  const transaction = await ask<'getTransaction'>(`/v1/transaction-details${query({ reference })}`);
  return { is: 'transaction', transaction };
}

async function listed(filter: Record<string, string>): Promise<Found> {
  const { transactions, total } = await ask<'listTransactions'>(`/v1/transaction-history${query(filter)}`);
  const [only] = transactions;
  if (only === undefined) return NOTHING;
  return transactions.length === 1
    ? transactionOf(only.reference)
    : { is: 'transactions', transactions, total };
}
