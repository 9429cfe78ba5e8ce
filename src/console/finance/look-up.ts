import type {
  BankStatement,
  Intent,
  TransactionWithEvents,
} from '../../../packages/client/src/api.generated';
import { to } from './address';
import { ask, query, Refusal, type Session } from './api';
import { paymentsAt } from './payment-filter';

export type Found =
  | { is: 'transaction'; transaction: TransactionWithEvents }
  | { is: 'intent'; intent: Intent }
  | { is: 'delivery' }
  | { is: 'statement'; statement: BankStatement }
  /** It has a page of its own. */
  | { is: 'elsewhere'; at: string }
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
    case 'sch_':
      return elsewhere(to('schedules', what));
    case 'exc_':
      return elsewhere(to('exceptions', what));
    case 'int_':
      return { is: 'intent', intent: await ask<'getIntent'>(`/v1/billing/intents/${id}`) };
    case 'dlv_':
      await ask<'getDelivery'>(`/v1/webhooks/deliveries/${id}`);
      return { is: 'delivery' };
    case 'stm_':
      return { is: 'statement', statement: await ask<'getBankStatement'>(`/v1/bank/statements/${id}`) };
    case 'txn_':
      return transactionOf(what);
    case 'cus_':
      return elsewhere(role === 'bank' ? to('customers', what) : paymentsAt({ customerId: what }));
    case 'mch_':
      return elsewhere(paymentsAt({ merchantId: what }));
    default:
      return transactionOf(what.toUpperCase());
  }
}

const elsewhere = (at: string): Found => ({ is: 'elsewhere', at });

/** @param reference of the transaction, or the transaction's id */
async function transactionOf(reference: string): Promise<Found> {
  const transaction = await ask<'getTransaction'>(`/v1/transaction-details${query({ reference })}`);
  return { is: 'transaction', transaction };
}
