import {
  nextBilling,
  type Billings,
  type InHand,
  type RecurringRules,
} from '../../domain/recurring/schedule-facts';
import type { Charge } from '../billing-request/accept-billing-requests';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { afterS } from '../clock/moment';
import { HELD_BY_AGREEMENT, type ScheduleRow } from '../schedule/lock-schedules';

/** The billings of one schedule, as the rule asks for them. */

/** The billing in hand, with the amount and description of its first attempt. */
export type BillingInHand = InHand &
  Pick<Charge, 'amount' | 'description'> & {
    /** The latest attempt's. */
    billingRequestId: string;
    /** Seconds of business time until the bank answered the latest attempt; 0 without an answer. */
    afterS: number;
  };

/** The billing in hand as a row has it: where `n` is null, all of it is. */
export type InHandRow = { [Column in keyof BillingInHand]: BillingInHand[Column] | null };

/** When the latest billings of a schedule `s` were first charged, newest first. */
export const startsOf = ({ catchUpPerDay }: RecurringRules) => sql`ARRAY(SELECT first_attempt_at FROM billings
  WHERE schedule_id = s.id AND first_attempt_at IS NOT NULL ORDER BY n DESC LIMIT ${catchUpPerDay}) AS starts`;

/** Joins to a schedule `s` its billing in hand `b`, with its latest and its first attempt. */
export const JOIN_IN_HAND = `
  LEFT JOIN billings b ON b.schedule_id = s.id AND b.status IN ('pending', 'retrying')
  LEFT JOIN billing_requests r ON r.schedule_id = b.schedule_id AND r.billing_n = b.n AND r.attempt = b.attempts
  LEFT JOIN billing_requests first
    ON first.schedule_id = b.schedule_id AND first.billing_n = b.n AND first.attempt = 1`;

/**
 * The columns of `InHandRow`. Times are the attempt's own: callers count the days to a retry from
 * them.
 */
export const IN_HAND = `
  b.n, b.attempts, b.status, first.created_at AS first_attempt_at, r.created_at AS last_attempt_at,
  b.retry_at, r.status AS charge_status, r.decline_reason, r.declined_limit,
  r.id AS billing_request_id, r.expires_at, r.amount::bigint, r.description,
  ${afterS('r')},
  EXISTS (SELECT FROM billing_requests a JOIN reconciliation_exceptions x ON x.billing_request_id = a.id
          WHERE a.schedule_id = b.schedule_id AND a.billing_n = b.n
            AND ((EXISTS (SELECT FROM exception_answers s WHERE s.exception_id = x.id AND s.says = 'approved')
                -- A statement has booked the charge, if with another amount.
                OR (x.kind = 'amount_differs' AND x.refund_id IS NULL AND x.direction = 'debit'))
              -- A write-off does not prove that the customer was not debited.
              AND (x.state <> 'resolved' OR x.resolution = 'written_off')
              OR (x.kind = 'unknown_here' AND x.refund_id IS NULL AND NOT x.withdrawn
                AND x.resolution NOT IN ('no_money_moved', 'reversed')))) AS maybe_debited,
  EXISTS (SELECT FROM agreement_holds h WHERE h.agreement_id = s.agreement_id
            AND h.from_at <= business_now(s.merchant_id) AND (h.to_at IS NULL OR h.to_at > r.created_at)) AS lapsed,
  EXISTS (SELECT FROM billing_requests a LEFT JOIN reconciliation_exceptions x
            ON x.billing_request_id = a.id AND x.refund_id IS NULL
          WHERE a.schedule_id = b.schedule_id AND a.billing_n = b.n AND (
            (x.kind = 'unknown_here' AND x.state <> 'resolved')
            -- A line of a file is there before its exception, which may find no room.
            OR (x.id IS NULL AND EXISTS (SELECT FROM extra_bookings e
              WHERE e.billing_request_id = a.id AND e.refund_id IS NULL AND e.stands)))) AS is_booked`;

export interface BillingsSeen extends Billings {
  open: BillingInHand | undefined;
}

/** Notes the business time of the reading in the schedule. */
export async function readBillingsSeen(
  trx: Executor,
  schedule: ScheduleRow,
  rules: RecurringRules,
): Promise<BillingsSeen> {
  const dueAt = nextBilling(schedule, false, rules)?.dueAt ?? null;
  const seen = await trx.row<InHandRow & Omit<Billings, 'open'> & { now: Date }>`
    SELECT business_now(s.merchant_id) AS now,
      ${startsOf(rules)},
      -- A suspension outranks a pause, as it does in the status.
      CASE WHEN EXISTS (SELECT FROM billing_skips WHERE schedule_id = s.id AND n = ${schedule.nextN})
        THEN 'customer_skipped' ELSE (SELECT max(reason) FROM (
         SELECT reason, from_at, to_at FROM schedule_holds WHERE schedule_id = s.id
         UNION ALL
         SELECT 'suspended', from_at, to_at FROM entity_holds
         WHERE entity_id IN (s.merchant_id, s.bank_id) AND merchant_id = s.merchant_id
         UNION ALL ${raw(HELD_BY_AGREEMENT)}) AS held
       WHERE from_at <= ${dueAt} AND (to_at IS NULL OR to_at > ${dueAt})) END AS held_for,
      ${raw(IN_HAND)}
    FROM schedules s ${raw(JOIN_IN_HAND)}
    WHERE s.id = ${schedule.id}`;
  if (!seen) throw new Error(`there is no schedule ${schedule.id}`);
  schedule.now = seen.now;
  return { open: openBilling(seen), starts: seen.starts, heldFor: seen.heldFor };
}

export function openBilling(row: InHandRow): BillingInHand | undefined {
  return row.n === null ? undefined : (row as BillingInHand);
}
