import type { ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import { to } from './address';
import { ask, query, Refusal } from './api';
import { Show, useAnswered, useNotice, type Done } from './loaded';
import { AllOf } from './parts';
import { Payment } from './payment';
import { paymentsAt } from './payment-filter';
import { AgreementFound, BankFileFound, IntentFound } from './record-found';

/** The record of a reference or an id. */
export function RecordFound({ what }: { what: string }) {
  const loaded = useAnswered(what, search);
  // Kept while the record is loaded again.
  const { notice, done } = useNotice(loaded);
  return (
    <>
      <AllOf page="payments" />
      {notice}
      <Show loaded={loaded} what="What was found">
        {(found) => found(done)}
      </Show>
    </>
  );
}

/** Shows a record; `done` is told of what the reader has done to it. */
type Found = (done: Done) => ComponentChild;

/** Finds the caller's own records by a reference or an id. */
async function search(what: string): Promise<Found> {
  try {
    return await lookUp(what);
  } catch (error) {
    if (!(error instanceof Refusal && isNotFound(error))) throw error;
    return () => (
      <p class="card" role="status">
        Nothing of yours goes by “{what}”. Look whether it is whole: references have 24 letters and digits.
      </p>
    );
  }
}

/** The API refuses a role that may not ask; to the reader that is "not found" as well. */
const isNotFound = ({ status, code }: Refusal) => [400, 404].includes(status) || code === 'forbidden';

async function lookUp(what: string): Promise<Found> {
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
    case 'dlv_':
      return elsewhere(to('webhooks', what));
    case 'int_': {
      const intent = await ask<'getIntent'>(`/v1/billing/intents/${id}`);
      return () => <IntentFound intent={intent} />;
    }
    case 'agr_': {
      const agreement = await ask<'getAgreement'>(`/v1/agreements/${id}`);
      return () => <AgreementFound agreement={agreement} />;
    }
    case 'stm_': {
      const statement = await ask<'getBankStatement'>(`/v1/bank/statements/${id}`);
      return () => <BankFileFound statement={statement} />;
    }
    case 'txn_':
      return transactionOf(what);
    case 'cus_':
      return elsewhere(to('customers', what));
    case 'mch_':
      return elsewhere(paymentsAt({ merchantId: what }));
    default:
      return transactionOf(what.toUpperCase());
  }
}

/** @param reference of the transaction, or the transaction's id */
async function transactionOf(reference: string): Promise<Found> {
  const transaction = await ask<'getTransaction'>(`/v1/transaction-details${query({ reference })}`);
  return (done) => <Payment of={transaction} done={done} />;
}

const elsewhere =
  (at: string): Found =>
  () => <Elsewhere at={at} />;

/** In place of this page, so that going back does not lead here again. */
function Elsewhere({ at }: { at: string }) {
  useEffect(() => location.replace(at), [at]);
  return null;
}
