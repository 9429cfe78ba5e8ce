import type { BillingRules } from '../../domain/billing-rules';
import { Failure } from '../../domain/failures';
import type { Executor } from '../pool/connection';
import { sql } from '../pool/statement';
import { dayBegin } from '../clock/day-begin';
import { sweep } from '../query/sweep';

/**
 * Limits on a customer's prompts of one calendar day from all merchants together. A merchant's own
 * limits do not keep a telephone from ringing all day.
 *
 * Days are in real time, not by test clocks: people are asked in real time.
 */

/**
 * One statement decides between callers at the same time; a rollback undoes its counts.
 *
 * @returns the customers that may not be asked again today, and why
 */
export async function takePrompts(
  trx: Executor,
  kind: 'intent' | 'approval',
  { timeZone, intentsPerCustomerDay, approvalsPerCustomerDay }: BillingRules,
  customerIds: string[],
): Promise<Map<string, Failure>> {
  if (customerIds.length === 0) return new Map();
  const perDay = kind === 'intent' ? intentsPerCustomerDay : approvalsPerCustomerDay;
  // Inserted in one order everywhere, so that two calls with the same customers cannot deadlock.
  const counted = await trx.rows<{ customerId: string }>`
    INSERT INTO customer_prompts AS p (customer_id, day, kind, prompts)
    SELECT c.id, today, ${kind}, 1
    FROM CAST(clock_timestamp() AT TIME ZONE ${timeZone} AS date) AS today,
      unnest(${customerIds}::text[]) AS c (id)
    ORDER BY c.id
    ON CONFLICT (customer_id, day, kind) DO UPDATE SET prompts = p.prompts + 1 WHERE p.prompts < ${perDay}
    RETURNING customer_id`;
  const asked = new Set(counted.map(({ customerId }) => customerId));
  const refused = customerIds.filter((id) => !asked.has(id));
  if (refused.length === 0) return new Map();
  const retryAfterS = await untilTomorrow(trx);
  return new Map(
    refused.map((id) => [
      id,
      new Failure(
        'asked_too_often',
        'The customer has been asked often enough for today. Try again tomorrow.',
        {
          retryAfterS,
        },
      ),
    ]),
  );
}

async function untilTomorrow(trx: Executor): Promise<number> {
  const { timeZone } = trx;
  const tomorrow = sql`CAST(now AT TIME ZONE ${timeZone} AS date) + 1`;
  const { seconds } = await trx.oneRow<{ seconds: number }>`
    SELECT extract(epoch FROM ${dayBegin(tomorrow, timeZone)} - now)::float8 AS seconds
    FROM clock_timestamp() AS now`;
  return seconds;
}

/** @returns whether there may be more */
export function forgetPrompts(db: Executor): Promise<boolean> {
  const today = sql`(SELECT CAST(clock_timestamp() AT TIME ZONE ${db.timeZone} AS date))`;
  return sweep(db, 'customer_prompts', sql`day < ${today} ORDER BY day`);
}
