import type { BillingRequestStatus } from '../../domain/lifecycle';
import {
  nextBilling,
  type Billings,
  type ChargeOutcome,
  type OpenBilling,
  type RecurringRules,
} from '../../domain/recurring/recurring-step';
import type { Charge } from '../billing-request/billing-request';
import { row, type Executor } from '../connection';
import { afterS } from '../moment';
import type { ScheduleRow } from './schedule';

/** The billings of one schedule, as the rule asks for them. */

/**
 * The billing in hand, and what it charges: that was settled by its first attempt, whatever is
 * agreed since.
 */
export type BillingInHand = OpenBilling &
  Pick<Charge, 'amount' | 'description'> & {
    /** The latest attempt's. */
    billingRequestId: string;
    /**
     * How long the bank took to answer the latest attempt, in seconds of business time; 0 where it
     * has not.
     */
    afterS: number;
  };

type Asked = BillingInHand & { status: 'pending'; charge: { status: 'pending'; expiresAt: Date } };

/** Its bank has been asked, and has not answered. */
export function isAsked(open: BillingInHand | undefined): open is Asked {
  return open?.status === 'pending' && open.charge.status === 'pending';
}

export type BillingsSeen = Billings & { open: BillingInHand | undefined };

interface Seen extends InHand {
  now: Date;
  starts: Date[];
  heldFor: 'paused' | 'suspended' | null;
}

/** The billing in hand as a row has it; where `n` is null, all of it is. */
export interface InHand {
  n: number | null;
  attempts: number;
  status: 'pending' | 'retrying';
  firstAttemptAt: Date;
  lastAttemptAt: Date;
  maybeDebited: boolean;
  retryAt: Date;
  reason: string;
  chargeStatus: BillingRequestStatus;
  declineReason: string;
  expiresAt: Date;
  billingRequestId: string;
  amount: bigint;
  description: string;
  afterS: number;
}

/** When the latest billings of a schedule `s` were first charged, newest first. */
export const STARTS = `ARRAY(SELECT first_attempt_at FROM billings
  WHERE schedule_id = s.id AND first_attempt_at IS NOT NULL ORDER BY n DESC LIMIT :starts) AS starts`;

/** Of a schedule `s` the billing in hand `b`, with its latest and its first attempt. */
export const JOIN_IN_HAND = `
  LEFT JOIN billings b ON b.schedule_id = s.id AND b.status IN ('pending', 'retrying')
  LEFT JOIN billing_requests r ON r.schedule_id = b.schedule_id AND r.billing_n = b.n AND r.attempt = b.attempts
  LEFT JOIN billing_requests first
    ON first.schedule_id = b.schedule_id AND first.billing_n = b.n AND first.attempt = 1`;

/**
 * The columns of `InHand`; times as the attempt itself has them, from which its caller counts the
 * days to a retry.
 */
export const IN_HAND = `
  b.n, b.attempts, b.status, first.created_at AS first_attempt_at, r.created_at AS last_attempt_at,
  b.retry_at, b.reason, r.status AS charge_status, r.decline_reason,
  r.id AS billing_request_id, r.expires_at, r.amount::bigint, r.description,
  ${afterS('r')},
  EXISTS (SELECT FROM billing_requests a JOIN reconciliation_exceptions x ON x.billing_request_id = a.id
          WHERE a.schedule_id = b.schedule_id AND a.billing_n = b.n
            AND (EXISTS (SELECT FROM exception_answers s WHERE s.exception_id = x.id AND s.says = 'approved')
              -- A statement has booked the charge, if with another amount.
              OR (x.kind = 'amount_differs' AND x.refund_id IS NULL AND x.direction = 'debit'))
            -- Who has written it off has not found that the customer was not debited.
            AND (x.state <> 'resolved' OR x.resolution = 'written_off')) AS maybe_debited`;

/** @param schedule locked, whose `now` becomes that of this reading */
export async function readBillingsSeen(
  trx: Executor,
  schedule: ScheduleRow,
  rules: RecurringRules,
): Promise<BillingsSeen> {
  const seen = await row<Seen>(
    trx,
    `SELECT business_now(s.merchant_id) AS now,
       ${STARTS},
       -- A suspension outranks a pause, as it does in the status.
       (SELECT max(reason) FROM (
          SELECT reason, from_at, to_at FROM schedule_holds WHERE schedule_id = s.id
          UNION ALL
          SELECT 'suspended', from_at, to_at FROM entity_holds
          WHERE entity_id IN (s.merchant_id, s.bank_id) AND merchant_id = s.merchant_id) AS held
        WHERE from_at <= :dueAt AND (to_at IS NULL OR to_at > :dueAt)) AS held_for,
       ${IN_HAND}
     FROM schedules s ${JOIN_IN_HAND}
     WHERE s.id = :id`,
    {
      id: schedule.id,
      starts: rules.catchUpPerDay,
      dueAt: nextBilling(schedule, false, rules)?.dueAt ?? null,
    },
  );
  if (!seen) throw new Error(`there is no schedule ${schedule.id}`);
  schedule.now = seen.now;
  return { open: openBilling(seen), starts: seen.starts, heldFor: seen.heldFor ?? undefined };
}

export function openBilling(seen: InHand): BillingInHand | undefined {
  if (seen.n === null) return undefined;
  const { status, n, retryAt, reason } = seen;
  return status === 'retrying'
    ? { ...seen, n, status, retryAt, reason }
    : { ...seen, n, status, charge: outcomeOf(seen) };
}

function outcomeOf(seen: InHand): ChargeOutcome {
  if (seen.chargeStatus === 'successful') return { status: 'successful' };
  return seen.chargeStatus === 'declined'
    ? { status: 'declined', reason: seen.declineReason }
    : { status: 'pending', expiresAt: seen.expiresAt };
}
