import { KINDS_OF_REASON } from '../../domain/charge';
import type { DailyTotal } from '../../domain/books/summary';
import type { Executor } from '../pool/connection';
import { customPlan, raw, sql } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';
import type { Party } from '../query/party';
import { postedTo } from './read-statement';

interface Span {
  from: string;
  to: string;
}

const moved = (party: Party, { from, to }: Span) => sql`
  SELECT day::text, currency, CASE kind WHEN 'charge' THEN 'charged' WHEN 'refund' THEN 'refunded'
      WHEN 'refund_return' THEN 'returned' ELSE 'reversed' END AS what,
    '' AS reason, sum(count)::int AS count, sum(debits + credits) AS amount
  FROM ledger_balances
  WHERE party_id = ANY(${postedTo(party)}) AND day BETWEEN ${from} AND ${to} AND account IN ('merchant', 'customer_bank')
    AND kind IN ('charge', 'refund', 'refund_return', 'reversal')
  GROUP BY 1, 2, 3`;

/**
 * The query filters by one column, so that Postgres uses the merchant's or the bank's index of
 * declines.
 */
const declined = (party: Party, { from, to }: Span, timeZone: string) => sql`
  SELECT (closed_at AT TIME ZONE ${timeZone})::date::text, currency, 'declined',
    CASE WHEN decline_reason = ANY(${KINDS_OF_REASON}::text[]) THEN decline_reason ELSE 'other' END,
    count(*)::int, sum(amount)
  FROM billing_requests
  WHERE status = 'declined' AND ${raw(party.role === 'bank' ? 'bank_id' : 'merchant_id')} = ANY(${postedTo(party)})
    AND closed_at >= ${dayBegin(sql`${from}::date`, timeZone)}
    AND closed_at < ${dayBegin(sql`${to}::date + 1`, timeZone)}
  GROUP BY 1, 2, 4`;

/** Totals of each day. A provider's total is the sum over its merchants. */
export function readDailyTotals(db: Executor, party: Party, span: Span): Promise<DailyTotal[]> {
  return customPlan(db)
    .rows<DailyTotal>`${moved(party, span)} UNION ALL ${declined(party, span, db.timeZone)}`;
}
