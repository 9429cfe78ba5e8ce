import { MAX_SUM_MINOR } from '../../domain/money';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';

/**
 * SQL: spending on the period's day, and in its month; a sum of an earlier period counts as zero. A
 * sum of a later period, left by a clock that was set back, goes on: no sum ever restarts for an
 * earlier day.
 */
export const SPENT_TODAY = `CASE WHEN a.spent_day >= period.day THEN a.spent_day_total ELSE 0 END`;
export const SPENT_THIS_MONTH = `CASE WHEN a.spent_month >= period.month THEN a.spent_month_total ELSE 0 END`;

export interface Counted {
  agreementId: string;
  /** YYYY-MM-DD */
  day: string;
  month: string;
}

/**
 * Counts an amount against each agreement that allows it: approved, in this currency, and within
 * both limits (`domain/spending-limit.ts`). One guarded UPDATE decides, so no number of racing
 * charges passes a limit.
 *
 * @returns the agreements that counted the amount; the others refuse it
 */
export async function countSpending(
  trx: Executor,
  merchantId: string,
  agreementIds: string[],
  charge: { amount: bigint; currency: string },
): Promise<Counted[]> {
  return trx.rows<Counted>`
    UPDATE agreements a SET
      spent_day = greatest(a.spent_day, period.day), spent_day_total = ${raw(SPENT_TODAY)} + ${charge.amount},
      spent_month = greatest(a.spent_month, period.month),
      spent_month_total = ${raw(SPENT_THIS_MONTH)} + ${charge.amount}
    FROM (SELECT (at AT TIME ZONE ${trx.timeZone})::date AS day,
                 date_trunc('month', at AT TIME ZONE ${trx.timeZone})::date AS month
          FROM business_now(${merchantId}) AS at) AS period
    WHERE a.id = ANY(${agreementIds}) AND a.merchant_id = ${merchantId}
      AND a.decision IN ('approve_once', 'approve_recurring') AND NOT a.blocked
        AND a.currency = ${charge.currency}
      AND ${raw(SPENT_TODAY)} + ${charge.amount} <= coalesce(a.daily_limit, ${MAX_SUM_MINOR})
      AND ${raw(SPENT_THIS_MONTH)} + ${charge.amount} <= coalesce(a.monthly_limit, ${MAX_SUM_MINOR})
    RETURNING a.id AS agreement_id, a.spent_day::text AS day, a.spent_month::text AS month`;
}
