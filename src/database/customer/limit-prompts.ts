import type { BillingRules } from '../../domain/billing-rules';
import { Failure } from '../../domain/failures';
import { blockersOf } from '../agreement/agreement';
import { payersByLookupId, type Payer } from '../entity/read-parties';
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

type Kind = 'intent' | 'approval';

/** Payers by their lookupID, or why they are not asked. */
type PayersToAsk = Map<string, Payer | Failure>;

/**
 * Reads payers, and counts a prompt for each. A merchant whom the payer has blocked does not reach
 * them, so it uses up no prompt.
 *
 * @param merchantId left out, a customer's bank asks
 */
export async function payersToAsk(
  trx: Executor,
  rules: BillingRules,
  kind: Kind,
  lookupIds: string[],
  merchantId?: string,
): Promise<PayersToAsk> {
  const payers = await payersByLookupId(trx, lookupIds);
  const ids = payers.map((payer) => payer.customerId);
  const blockers = merchantId === undefined ? new Set() : await blockersOf(trx, merchantId, ids);
  const unblocked = ids.filter((id) => !blockers.has(id));
  const askedEnough = await takePrompts(trx, kind, rules, unblocked);
  return new Map(
    payers.map((payer) => {
      const { customerId, lookupId } = payer;
      return [lookupId, blockers.has(customerId) ? blocked() : (askedEnough.get(customerId) ?? payer)];
    }),
  );
}

export const payerOrRefusal = (payers: PayersToAsk, lookupId: string): Payer | Failure =>
  payers.get(lookupId) ??
  new Failure('not_found', 'There is no customer with this lookupID. Check the spelling with the customer.');

export const payersAsked = (payers: PayersToAsk): Payer[] =>
  [...payers.values()].flatMap((payer) => (payer instanceof Failure ? [] : [payer]));

export const blocked = () => new Failure('not_approved', 'The customer has blocked this merchant.');

/**
 * One statement decides between callers at the same time; a rollback undoes its counts.
 *
 * @returns the customers that may not be asked again today, and why
 */
async function takePrompts(
  trx: Executor,
  kind: Kind,
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
        { retryAfterS },
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
