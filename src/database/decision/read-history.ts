import type { AgreementState, BillingRequestStatus, Decision } from '../../domain/lifecycle';
import type { Cause } from '../../domain/words/timeline';
import type { StoredLimits } from '../agreement/spending-limit';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';

/** An agreement after a change, by the change's event. */
interface Change {
  at: Date;
  /** A bank speaks for its customer. */
  by: Exclude<Cause, 'bank'> | 'customer';
  state: AgreementState;
  customerDecision: Decision;
  currency: string;
  limits: StoredLimits | null;
}

/** Most changes of an agreement that are shown, the latest: more than a person makes in years. */
export const HISTORY_MAX = 100;

/** Oldest first. */
export async function readHistory(db: Executor, agreementId: string): Promise<Change[]> {
  const latest = await db.rows<Change>`
    SELECT business_at AS at, CASE cause WHEN 'bank' THEN 'customer' ELSE cause END AS by,
      details->>'state' AS state, details->>'decision' AS customer_decision,
      details->'terms'->>'currency' AS currency, details->'terms'->'limits' AS limits
    FROM events WHERE resource_id = ${agreementId} AND type <> 'agreement.expiring' ORDER BY sequence DESC LIMIT ${raw(HISTORY_MAX)}`;
  return latest.toReversed();
}

interface LastCharge {
  reference: string;
  amount: bigint;
  currency: string;
  at: Date;
  status: BillingRequestStatus;
}

/** By the customer, whose charges have an index in their order. */
export function readLastCharge(
  db: Executor,
  { id, customerId }: { id: string; customerId: string },
): Promise<LastCharge | undefined> {
  return db.row<LastCharge>`
    SELECT reference, amount::bigint, currency, created_at AS at, status FROM billing_requests
    WHERE customer_id = ${customerId} AND agreement_id = ${id} ORDER BY created_at DESC, id DESC LIMIT 1`;
}
