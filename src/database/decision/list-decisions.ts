import { Failure } from '../../domain/failures';
import type { AgreementState, Decision } from '../../domain/lifecycle';
import type { Spent } from '../../domain/spending-limit';
import { periodOf, SPENT, STATE, type StoredLimits } from '../agreement/spending-limit';
import { FURTHEST } from '../clock/moment';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { allOf, listPage, literal, type Listed, type Page } from '../query/list-page';
import { ownedBy, type Party } from '../query/party';

export interface DecisionRecord {
  /** The agreement's id. */
  id: string;
  merchantId: string;
  merchantName: string;
  customerId: string;
  bankId: string;
  lookupId: string;
  decision: Decision;
  state: AgreementState;
  /** The agreement is or once was approved. */
  approved: boolean;
  paymentIdKey: string;
  blocked: boolean;
  currency: string;
  limits: StoredLimits | null;
  /** Pending or settled in the windows that hold the merchant's now, by the network's calendar. */
  spent: Record<keyof Spent, string>;
  termsSince: Date | null;
  /** Null where it is not paused, or paused without an end. */
  pausedUntil: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

const decisionsIn = (
  timeZone: string,
) => sql`SELECT a.id, a.merchant_id, m.name AS merchant_name, a.customer_id, a.bank_id, c.lookup_id,
    a.decision, ${raw(STATE)} AS state, a.approved, a.payment_id_key, a.blocked, a.currency, to_jsonb(a.limits) AS limits,
    ${raw(SPENT)} AS spent, a.terms_since,
    CASE WHEN period.at < a.paused_until THEN nullif(a.paused_until, 'infinity') END AS paused_until, a.created_at, a.updated_at
  FROM agreements a JOIN customers c ON c.id = a.customer_id JOIN entities m ON m.id = a.merchant_id,
    LATERAL ${periodOf(sql`a.merchant_id`, timeZone)} AS period`;

/** @throws Failure not_found */
export async function readDecision(db: Executor, party: Party, agreementId: string): Promise<DecisionRecord> {
  const found = await db.row<DecisionRecord>`
    ${decisionsIn(db.timeZone)}
    WHERE a.id = ${agreementId} AND a.${ownedBy(party)}`;
  if (!found) throw new Failure('not_found', 'There is no such agreement.');
  return found;
}

export const DECISION_SORTS = {
  createdAt: { by: 'a.id', indexed: true },
  updatedAt: { by: 'a.updated_at', indexed: false },
};

/**
 * SQL: the moments that bring an agreement into a state and out of it, in the order of an index. No
 * clock of a merchant is behind.
 */
const SPANS: { [State in AgreementState]?: { moment: string; holds: string } } = {
  expired: { moment: `(a.limits)."validUntil"`, holds: `<= ${FURTHEST}` },
  paused: { moment: 'a.paused_until', holds: '> now()' },
  not_yet_valid: { moment: `(a.limits)."validFrom"`, holds: '> now()' },
};

/** SQL: the decisions of a state, which have indexes; of any other state, approvals. */
const DECISIONS: { [State in AgreementState]?: string } = {
  revoked: `'deny'`,
  suspended: `'suspended'`,
  pending: `'pending'`,
};
const APPROVALS = `'approve_once', 'approve_recurring'`;

export async function listDecisions(
  db: Executor,
  party: Party,
  filter: {
    customerId?: string | undefined;
    merchantId?: string | undefined;
    decision?: Decision | undefined;
    state?: AgreementState | undefined;
  },
  page: Page<keyof typeof DECISION_SORTS>,
): Promise<Listed<DecisionRecord>> {
  const { customerId, merchantId, decision, state } = filter;
  const span = state && SPANS[state];
  const where = allOf(
    sql`a.${ownedBy(party)}`,
    customerId !== undefined && sql`a.customer_id = ${customerId}`,
    merchantId !== undefined && sql`a.merchant_id = ${merchantId}`,
    decision !== undefined && sql`a.decision = ${literal(decision)}`,
    span !== undefined && raw(`${span.moment} ${span.holds}`),
    state !== undefined &&
      sql`a.decision IN (${raw(DECISIONS[state] ?? APPROVALS)}) AND ${raw(STATE)} = ${literal(state)}`,
  );
  // An agreement that came into its state late may be old, so no index has the list's own order.
  const byId = span ? { by: 'a.created_at', indexed: false } : DECISION_SORTS.createdAt;
  return listPage<DecisionRecord>(
    db,
    {
      select: () => sql`${decisionsIn(db.timeZone)} WHERE ${where}`,
      counted: (limit) => sql`agreements a JOIN entities m ON m.id = a.merchant_id,
        LATERAL (SELECT now() + m.clock_offset AS at) AS period
        WHERE ${where} ORDER BY ${raw(span?.moment ?? 'a.id')} ${limit}`,
      id: 'a.id',
      sort: page.sortBy === 'createdAt' ? byId : DECISION_SORTS.updatedAt,
      instead: 'narrow it with customerId, merchantId or decision',
    },
    page,
  );
}
