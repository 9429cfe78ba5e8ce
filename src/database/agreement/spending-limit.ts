import type { ChargeRefusal } from '../../domain/charge';
import { MAX_SUM_MINOR } from '../../domain/money';
import {
  isCount,
  LIMITS,
  membersSet,
  WINDOWS,
  type Limit,
  type SpendingLimits,
  type Spent,
  type Window,
} from '../../domain/spending-limit';
import type { Executor } from '../pool/connection';
import { jsonOf } from '../pool/json';
import { raw, sql, type Fragment } from '../pool/statement';

/**
 * Counts charges in the windows of an agreement `a`, and judges them by its limits.
 *
 * The row keeps a sum and a number of charges for each window, of the windows that hold `spent_on`,
 * the latest day counted. On a later day, those that have ended count as zero. A later day left by
 * a clock that was set back goes on: no sum ever restarts for an earlier day.
 */

/** SQL: the first day of the window of a day. */
const beginOf = (window: Exclude<Window, 'total'>, day: string): string =>
  `date_trunc('${window === 'daily' ? 'day' : window.slice(0, -2)}', ${day}::timestamp)::date`;

/** The columns of the row, each a sum of a window or its number of charges. */
const SUMS = WINDOWS.flatMap((window): Sum[] => [
  { window, column: `spent_${window}`, limit: window },
  { window, column: `charges_${window}`, limit: `count.${window}` },
]);

interface Sum {
  window: Window;
  column: string;
  limit: Limit;
}

const ALL_SUMS = SUMS.map(({ column }) => column).join(', ');

/** SQL: what a column of the row holds in the window of a `period`. */
const inPeriod = ({ window, column }: Sum): string =>
  window === 'total' ? `a.${column}` : `CASE WHEN a.spent_on >= period.${window} THEN a.${column} ELSE 0 END`;

/** The windows that hold the present of a merchant, by their first days. */
export const periodOf = (merchant: Fragment, timeZone: string, more = sql``): Fragment =>
  periodAt(sql`business_now(${merchant})`, timeZone, more);

const periodAt = (moment: Fragment, timeZone: string, more: Fragment): Fragment => sql`
  (SELECT at, day AS daily, ${raw(beginOf('weekly', 'day'))} AS weekly, ${raw(beginOf('monthly', 'day'))} AS monthly,
     ${raw(beginOf('yearly', 'day'))} AS yearly ${more}
   FROM (SELECT at, (at AT TIME ZONE ${timeZone})::date AS day FROM ${moment} AS at) AS clock)`;

/** SQL: what is counted in the windows of a `period`, by the names of their limits. */
export const SPENT = `jsonb_build_object(${SUMS.map((sum) => `'${sum.limit}', (${inPeriod(sum)})::text`).join(
  ', ',
)})`;

const refuses = (limit: Limit): string => {
  const allowed = `(a.limits)."${limit}"`;
  const sum = SUMS.find((one) => one.limit === limit);
  if (!sum) return `period.amount > ${allowed}`;
  return isCount(limit)
    ? `${inPeriod(sum)} + 1 > ${allowed}`
    : `${inPeriod(sum)} + period.amount > coalesce(${allowed}, ${MAX_SUM_MINOR})`;
};

/** SQL: the state of the row at the moment of a `period`. */
export const STATE = `CASE
  WHEN a.decision = 'deny' THEN 'revoked'
  WHEN a.decision IN ('suspended', 'pending') THEN a.decision
  WHEN period.at >= (a.limits)."validUntil" THEN 'expired'
  WHEN period.at < a.paused_until THEN 'paused'
  WHEN period.at < (a.limits)."validFrom" THEN 'not_yet_valid'
  ELSE 'active' END`;

/** SQL: the cases in which a moment lies in a span of the row without charges. */
export const spanCases = (at: string): string => `
  WHEN ${at} < (a.limits)."validFrom" THEN 'consent_not_yet_valid'
  WHEN ${at} >= (a.limits)."validUntil" THEN 'consent_expired'
  WHEN ${at} < a.paused_until THEN 'consent_paused'`;

/** SQL: why a charge is refused, in the order of the contract; null where it is not. */
const REFUSAL = `CASE
  WHEN a.decision NOT IN ('approve_once', 'approve_recurring') OR a.blocked THEN 'not_approved'
  WHEN a.currency <> period.currency THEN 'currency_mismatch'
  ${spanCases('period.at')}
  ${LIMITS.map((limit) => `WHEN ${refuses(limit)} THEN '${limit}'`).join('\n  ')} END`;

const COUNTED = SUMS.map(
  (sum) => `${sum.column} = ${inPeriod(sum)} + ${isCount(sum.limit) ? '1' : 'period.amount'}`,
).join(', ');

/** SQL: the sums of charges `b` in each window of the row, by the day and the terms of each. */
const addedUp = (amount: string, charges: string, before: (column: string) => string) =>
  SUMS.map(({ window, column, limit }) => {
    const isIn =
      window === 'total' ? `b.counted_terms = a.terms` : `b.counted_day >= ${beginOf(window, 'a.spent_on')}`;
    const each = isCount(limit) ? charges : amount;
    return `${before(column)} + coalesce(sum(${each}) FILTER (WHERE ${isIn}), 0)`;
  }).join(', ');

/** SQL: whether the money of a charge `b` has moved, or may have moved, and has not come back. */
const COUNTS = `(
  (b.status <> 'declined' AND NOT EXISTS (
    SELECT FROM reconciliation_exceptions x
    WHERE x.billing_request_id = b.id AND x.refund_id IS NULL AND x.undoes))
  OR EXISTS (
    SELECT FROM reconciliation_exceptions x
    WHERE x.billing_request_id = b.id AND x.refund_id IS NULL
      AND (x.state <> 'resolved' OR x.resolution = 'written_off')))`;

interface Amount {
  amount: bigint;
  currency: string;
}

const charged = ({ amount, currency }: Amount) =>
  sql`, ${amount}::bigint AS amount, ${currency}::text AS currency`;

/** Judges a charge of a later moment by what is counted now, and counts nothing. */
export async function judgeAt(trx: Executor, agreementId: string, charge: Amount, at: Date) {
  const { refusal } = await trx.oneRow<Pick<Judged, 'refusal'>>`
    SELECT ${raw(REFUSAL)} AS refusal
    FROM agreements a, ${periodAt(sql`CAST(${at} AS timestamptz)`, trx.timeZone, charged(charge))} AS period
    WHERE a.id = ${agreementId}`;
  return { withinLimits: refusal === null, limit: LIMITS.find((limit) => limit === refusal) };
}

export interface Judged {
  agreementId: string;
  /** The moment by which it was judged. */
  at: Date;
  /** The day in whose windows it counts, `2026-11-21`; null where it was refused. */
  day: string | null;
  /** The terms in whose total it counts. */
  terms: number | null;
  refusal: ChargeRefusal | null;
}

/**
 * Counts an amount against each agreement that allows it. One statement locks, judges and counts,
 * so no number of racing charges passes a limit. The caller locks the agreements in a statement
 * before, so that the moment of this statement is later than any change of their terms.
 */
export async function countSpending(
  trx: Executor,
  merchantId: string,
  agreementIds: string[],
  charge: Amount,
): Promise<Judged[]> {
  return trx.rows<Judged>`
    WITH period AS MATERIALIZED ${periodOf(sql`${merchantId}`, trx.timeZone, charged(charge))},
    judged AS MATERIALIZED (
      SELECT a.id, period.*, ${raw(REFUSAL)} AS refusal FROM agreements a, period
      WHERE a.id = ANY(${agreementIds}) AND a.merchant_id = ${merchantId} ORDER BY a.id FOR UPDATE OF a),
    counted AS (
      UPDATE agreements a SET spent_on = greatest(a.spent_on, period.daily), ${raw(COUNTED)}
      FROM judged AS period WHERE a.id = period.id AND period.refusal IS NULL
      RETURNING a.id, a.spent_on::text AS day, a.terms)
    SELECT judged.id AS agreement_id, judged.at, c.day, c.terms, judged.refusal
    FROM judged LEFT JOIN counted c ON c.id = judged.id`;
}

/**
 * Takes charges out of the windows that still hold them, or counts them there again, as their ends
 * and exceptions have it. A window that has ended, earlier terms, and an earlier currency no longer
 * hold them. The caller holds the agreements locked, and then the charges.
 */
export async function alignSpending(trx: Executor, billingRequestIds: string[]): Promise<void> {
  if (billingRequestIds.length === 0) return;
  await trx.rows`
    WITH b AS (
      UPDATE billing_requests b SET given_back = NOT given_back
      WHERE b.id = ANY(${billingRequestIds}) AND b.counted_day IS NOT NULL AND b.given_back = ${raw(COUNTS)}
      RETURNING b.*, CASE WHEN b.given_back THEN -1 ELSE 1 END AS charges)
    UPDATE agreements a SET (${raw(ALL_SUMS)}) = (
      SELECT ${raw(addedUp('b.amount * b.charges', 'b.charges', (column) => `a.${column}`))}
      FROM b WHERE b.agreement_id = a.id AND b.currency = a.currency)
    WHERE a.id IN (SELECT agreement_id FROM b)`;
}

/**
 * Counts an agreement anew in another currency, which may have had charges before. The caller holds
 * it locked, so none of its charges ends meanwhile.
 */
export async function recountSpending(trx: Executor, agreementId: string): Promise<void> {
  await trx.rows`
    UPDATE agreements a SET (${raw(ALL_SUMS)}) = (
      SELECT ${raw(addedUp('b.amount', '1', () => '0'))}
      FROM billing_requests b
      WHERE b.customer_id = a.customer_id AND b.agreement_id = a.id AND b.currency = a.currency
        AND NOT b.given_back)
    WHERE a.id = ${agreementId}`;
}

/** Limits as a column has them: without those that are null. */
export type StoredLimits = Partial<
  Record<Limit, number | null> & Record<'validFrom' | 'validUntil', string | null>
>;

/** SQL: a value of the column's type. */
export const storedLimits = (limits: SpendingLimits | undefined): Fragment =>
  sql`jsonb_populate_record(NULL::spending_limits, ${limits ? jsonOf(membersSet(limits)) : null}::jsonb)`;

/** @param stored `to_jsonb` of the column */
export function limitsFrom(stored: StoredLimits | null): SpendingLimits {
  const momentOf = (name: 'validFrom' | 'validUntil') => {
    const moment = stored?.[name];
    return moment == null ? null : new Date(moment);
  };
  const limits = LIMITS.map((name) => {
    const limit = stored?.[name];
    return [name, limit == null ? null : BigInt(limit)];
  });
  return {
    ...(Object.fromEntries(limits) as Record<Limit, bigint | null>),
    validFrom: momentOf('validFrom'),
    validUntil: momentOf('validUntil'),
  };
}

/** The limits of an agreement that the caller holds locked, and its merchant's time. */
export async function limitsOf(
  trx: Executor,
  agreementId: string,
): Promise<{ limits: SpendingLimits; now: Date }> {
  const found = await trx.oneRow<{ limits: StoredLimits | null; now: Date }>`
    SELECT to_jsonb(limits) AS limits, business_now(merchant_id) AS now FROM agreements
    WHERE id = ${agreementId}`;
  return { ...found, limits: limitsFrom(found.limits) };
}

/** A limit of an agreement that the caller holds locked, and what is counted of it. */
export async function countedOf(
  trx: Executor,
  agreementId: string,
  limit: Limit,
): Promise<{ allowed: string; counted: string | null }> {
  return trx.oneRow<{ allowed: string; counted: string | null }>`
    SELECT to_jsonb(a.limits) ->> ${limit} AS allowed, ${raw(SPENT)} ->> ${limit} AS counted
    FROM agreements a, LATERAL ${periodOf(sql`a.merchant_id`, trx.timeZone)} AS period
    WHERE a.id = ${agreementId}`;
}

/** @param stored as of `SPENT` */
export const spentFrom = (stored: Record<keyof Spent, string>): Spent =>
  Object.fromEntries(Object.entries(stored).map(([name, sum]) => [name, BigInt(sum)])) as unknown as Spent;
