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
    event: `agreement.${'decided' | 'paused' | 'resumed' | 'expiring' | 'expired'}`;
    cause: Cause;
    /** The merchant is told by the intent's end. */
    byIntent?: boolean;
    details: Record<string, unknown>;
  },
): Promise<void> {
  const { event, cause, byIntent = false, details } = change;
  const tells = { merchant: !byIntent, bank: cause !== 'bank' };
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
  const item = {
    id,
    customerId: changed.customerId,
    lookupID: changed.lookupId,
    paymentID: makePaymentId(trx.keyring, changed.paymentIdKey, id, merchantId),
    customerDecision: decision,
    state,
    currency,
    spendingLimits: shownLimits(limitsFrom(limits), currency),
  };
  const told = <More extends object>(more: More) => [
    ...(tells.merchant
      ? [{ entityId: merchantId, item: { ...item, ...more, sequence: changed.announced } }]
      : []),
    ...(tells.bank
      ? [{ entityId: bankId, item: { ...item, ...more, sequence: changed.announcedToBank } }]
      : []),
  ];
  const recorded = {
    cause,
    row: { id, sequence, at },
    details: { ...details, decision, blocked, state, terms: { currency, limits } },
  };
  const { validUntil } = limitsFrom(limits);
  await writeTransitions(
    trx,
    event === 'agreement.expiring'
      ? { ...recorded, event, announces: { 'decision.expiring': told({ validUntil: validUntil as Date }) } }
      : { ...recorded, event, announces: { 'decision.updated': told({}) } },
  );
}
