import type { FoundTransaction, TransactionWithEvents } from '../../../client/src/api.generated';
import { money } from '../parts/money';
import { Act } from './act';
import { act, ask, Refusal } from './api';
import { Show, useAnswered, type Done } from './loaded';
import { RecordLink } from './parts';

/*
 * A declined charge, made once more by a person. The new charge names in its metadata the charge
 * that it makes up for, so that every reader sees it; two at once have one idempotency key.
 */

const AGAIN = 'chargedAgainFor';

interface Against {
  why: string;
  reference?: string;
}

/** Charges of a customer that are compared; with more, a person looks. */
const COMPARED_MAX = 100;

/** Null where nothing speaks against a charge: no open question, and no like charge since. */
async function whyNot(one: TransactionWithEvents): Promise<Against | null> {
  for (const id of one.exceptionIds) {
    const { resolution } = await ask<'getException'>(`/v1/reconciliation/exceptions/${id}`);
    if (resolution !== 'no_money_moved' && resolution !== 'reversed')
      return { why: 'Its exception leaves open whether the money moved.' };
  }
  const { transactions, next } = await ask<'searchTransactions'>('/v1/transaction-history/search', {
    type: 'charge',
    customerId: one.customerId,
    from: one.createdAt,
    limit: COMPARED_MAX,
  });
  const others = transactions.filter(({ reference }) => reference !== one.reference);
  const again = others.find(({ metadata }) => metadata?.[AGAIN] === one.reference);
  if (again) return { why: 'It was charged again:', reference: again.reference };
  const same = others.find((other) => other.status !== 'declined' && isAlike(one, other));
  if (same) return { why: 'The customer was charged alike since:', reference: same.reference };
  return next === null ? null : { why: 'The customer was charged often since: look for this payment first.' };
}

/** Charges of the same amount, or of the same order: its number has a digit. */
const isAlike = (one: TransactionWithEvents, other: FoundTransaction) =>
  (other.amount === one.amount && other.currency === one.currency) ||
  Object.entries(one.metadata ?? {}).some(
    ([name, value]) => /\d/.test(String(value)) && other.metadata?.[name] === value,
  );

/** Keys that are passed over, each with a kept refusal. */
const KEPT_MAX = 50;

/** A kept refusal has charged nothing; every reader goes on to the same next key. */
async function chargeOnce(wish: object, reference: string): Promise<string> {
  for (let n = 0; ; n++) {
    try {
      return await act('/v1/customer/bill', wish, `again-${reference}-${n}`);
    } catch (error) {
      if (!(error instanceof Refusal && error.isReplayed && n < KEPT_MAX)) throw error;
    }
  }
}

interface Props {
  of: TransactionWithEvents;
  done: Done;
}

export function ChargeAgain({ of: one, done }: Props) {
  const loaded = useAnswered(one.reference, () => whyNot(one));
  const { reference, amount, currency, description, metadata } = one;
  return (
    <Show loaded={loaded} what="What was charged since">
      {(against) =>
        against ? (
          <p class="quiet small">
            {against.why} {against.reference !== undefined && <RecordLink of={against.reference} />}
          </p>
        ) : (
          <Act
            name="Charge again …"
            lowest="admin"
            title="Charge this again?"
            yes={`Yes, charge ${money(amount, currency)}`}
            send={async () => {
              const isLate = await whyNot(one);
              if (isLate) throw new Refusal(409, `${isLate.why} ${isLate.reference ?? ''}`);
              const { paymentID, lookupID } = await ask<'getBillingRequest'>(
                `/v1/billing/requests/${one.billingRequestId}`,
              );
              const message = await chargeOnce(
                {
                  ...(paymentID === undefined ? { lookupIDs: [lookupID] } : { paymentIDs: [paymentID] }),
                  amount,
                  currency,
                  description,
                  metadata: { ...metadata, [AGAIN]: reference },
                },
                reference,
              );
              loaded.reload();
              return message;
            }}
            done={done}
          >
            <p>A new charge, with the same description and metadata. This one stays declined.</p>
          </Act>
        )
      }
    </Show>
  );
}
