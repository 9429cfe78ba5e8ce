import { KINDS_OF_REASON } from '../../domain/charge';
import type { DailyTotal } from '../../domain/books/summary';
import type { Executor } from '../pool/connection';
import { customPlan, raw } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';
import type { Party } from '../query/party';
import { POSTED_TO } from './read-statement';

const moved = (parties: string) => `
  SELECT day::text, currency, CASE kind WHEN 'charge' THEN 'charged' WHEN 'refund' THEN 'refunded'
      WHEN 'refund_return' THEN 'returned' ELSE 'reversed' END AS what,
    '' AS reason, sum(count)::int AS count, sum(debits + credits)::text AS amount
  FROM ledger_balances
  WHERE party_id = ANY(${parties}) AND day BETWEEN :from AND :to AND account IN ('merchant', 'customer_bank')
    AND kind IN ('charge', 'refund', 'refund_return', 'reversal')
  GROUP BY 1, 2, 3`;

/** Each party has an index of its own: a merchant's declines, and a bank's. */
const declined = (party: 'merchant_id' | 'bank_id', parties: string) => `
  SELECT (closed_at AT TIME ZONE :timeZone)::date::text, currency, 'declined',
    CASE WHEN decline_reason = ANY(:reasons::text[]) THEN decline_reason ELSE 'other' END,
    count(*)::int, sum(amount)::text
  FROM billing_requests
  WHERE status = 'declined' AND ${party} = ANY(${parties})
    AND closed_at >= ${dayBegin(':from::date')} AND closed_at < ${dayBegin(':to::date + 1')}
  GROUP BY 1, 2, 4`;

/** Totals of each day. A provider's total is the sum over its merchants. */
export async function readDailyTotals(
  db: Executor,
  { entityId: partyId, role }: Party,
  { from, to, timeZone }: { from: string; to: string; timeZone: string },
): Promise<DailyTotal[]> {
  const parties = POSTED_TO[role];
  const found = await customPlan(db).rows<Omit<DailyTotal, 'amount'> & { amount: string }>`
    ${raw(moved(parties), { from, to, partyId })}
    UNION ALL ${raw(declined(role === 'bank' ? 'bank_id' : 'merchant_id', parties), { timeZone, reasons: KINDS_OF_REASON, from, to, partyId })}`;
  return found.map((line) => ({ ...line, amount: BigInt(line.amount) }) as DailyTotal);
}
