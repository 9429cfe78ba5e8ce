import type { AgreementState, Decision } from '../../domain/lifecycle';
import { shownLimits } from '../../domain/spending-limit';
import type { Cause } from '../../domain/words/timeline';
import { makePaymentId } from '../agreement/payment-id';
import { limitsFrom, STATE, type StoredLimits } from '../agreement/spending-limit';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';
import type { Row } from '../transition/transition';
import { writeTransitions } from '../transition/write-transition';

interface Changed extends Row {
  decision: Decision;
  blocked: boolean;
  state: AgreementState;
  currency: string;
  limits: StoredLimits | null;
  merchantId: string;
  customerId: string;
  bankId: string;
  lookupId: string;
  paymentIdKey: string;
  announced: number;
  announcedToBank: number;
}

/** Records a change that the caller has made and counted in `sequence`, and tells of it. */
export async function recordChange(
  trx: Executor,
  { id, at }: { id: string; at: Date },
  change: {
    event: 'agreement.decided' | 'agreement.paused' | 'agreement.resumed';
    cause: Cause;
    tells: { merchant: boolean; bank: boolean };
    details: Record<string, unknown>;
  },
): Promise<void> {
  const { tells, details, ...recorded } = change;
  const changed = await trx.oneRow<Changed>`
    UPDATE agreements a SET announced = announced + ${tells.merchant ? 1 : 0},
      announced_to_bank = announced_to_bank + ${tells.bank ? 1 : 0}
    FROM (SELECT ${at}::timestamptz AS at) AS period
    WHERE a.id = ${id}
    RETURNING a.id, a.sequence, period.at, a.decision, a.blocked, ${raw(STATE)} AS state, a.currency,
      jsonb_strip_nulls(to_jsonb(a.limits)) AS limits, a.merchant_id, a.customer_id, a.bank_id,
      (SELECT lookup_id FROM customers WHERE id = a.customer_id) AS lookup_id, a.payment_id_key,
      a.announced, a.announced_to_bank`;
  const { merchantId, bankId, sequence, decision, blocked, state, currency, limits } = changed;
  const { announced, announcedToBank } = changed;
  const item = itemOf(trx, changed);
  const told = [
    ...(tells.merchant ? [{ entityId: merchantId, item: { ...item, sequence: announced } }] : []),
    ...(tells.bank ? [{ entityId: bankId, item: { ...item, sequence: announcedToBank } }] : []),
  ];
  await writeTransitions(trx, {
    ...recorded,
    row: { id, sequence, at },
    details: { ...details, decision, blocked, state, terms: { currency, limits } },
    announces: { 'decision.updated': told },
  });
}

function itemOf(trx: Executor, changed: Changed) {
  const { id, merchantId, customerId, lookupId, paymentIdKey, decision, state, currency, limits } = changed;
  return {
    id,
    customerId,
    lookupID: lookupId,
    paymentID: makePaymentId(trx.keyring, paymentIdKey, id, merchantId),
    customerDecision: decision,
    state,
    currency,
    spendingLimits: shownLimits(limitsFrom(limits), currency),
  };
}
