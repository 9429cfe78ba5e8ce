import type { Frequency } from '../../domain/calendar';
import type { permitted, ScheduleStatus, SuspendedReason } from '../../domain/recurring/recurring';
import { spanCases } from '../agreement/spending-limit';
import { shownName } from '../shown-name';
import type { Executor } from '../pool/connection';
import { raw } from '../pool/statement';

/** A schedule as its transaction reads it under its lock. */
export interface ScheduleRow {
  id: string;
  agreementId: string;
  merchantId: string;
  customerId: string;
  bankId: string;
  bankName: string;
  amount: bigint;
  currency: string;
  description: string | null;
  frequency: Frequency;
  interval: number;
  startAt: Date;
  endAt: Date | null;
  maxBillings: number | null;
  status: ScheduleStatus;
  suspendedReason: SuspendedReason | null;
  paused: boolean;
  nextN: number;
  nextDueAt: Date | null;
  noticedN: number | null;
  noticedAmount: bigint | null;
  ran: number;
  failedInARow: number;
  sequence: number;
  /** Announcements to both sides so far. */
  announced: number;
  createdAt: Date;
  /** A billing has been declined at least once and has not ended yet. */
  overdue: boolean;
  agreement: Parameters<typeof permitted>[0];
  /**
   * The schedule is in a span of its own, from its customer's decision; spans of its merchant and
   * bank are stored elsewhere.
   */
  heldByAgreement: boolean;
  /** Business time of the merchant. */
  now: Date;
  /**
   * Whether business time is real time: the merchant's test clock is neither ahead nor about to be.
   */
  inRealTime: boolean;
  /** The workflow waits, and needs a signal. */
  waiting: boolean;
  /**
   * Milliseconds after the next due moment at which the workflow wakes; null until that is known.
   */
  delayMs: number | null;
}

/** Business time of the merchant `m` is real time. */
const IN_REAL_TIME = `(m.clock_offset = '0' AND m.clock_target IS NULL)`;

/** SQL: the spans in which the agreement of a schedule `s` allows no charge. */
export const HELD_BY_AGREEMENT = `SELECT 'suspended' AS reason, from_at, to_at FROM agreement_holds
  WHERE agreement_id = s.agreement_id`;

/**
 * The facts that `permitted` asks for, of a schedule `s`, its agreement `a` and its merchant `m`.
 */
export const AGREEMENT_OF_SCHEDULE = `jsonb_build_object('decision', a.decision, 'blocked', a.blocked,
  'currency', a.currency, 'span', CASE ${spanCases('business_now(s.merchant_id)')} END,
  'merchantTrusted', m.trust_level = 'trusted', 'merchantActive', m.status = 'active', 'bankActive', (SELECT status = 'active' FROM entities WHERE id = s.bank_id))`;

const COLUMNS = `s.id, s.agreement_id, s.merchant_id,
  s.customer_id, s.bank_id, ${shownName('s.bank_id')} AS bank_name,
  s.amount::bigint, s.currency, s.description, s.frequency, s.every AS "interval", s.start_at, s.end_at,
  s.max_billings, s.status, s.suspended_reason, s.paused, s.next_n, s.next_due_at, s.noticed_n, s.noticed_amount::bigint, s.ran, s.failed_in_a_row,
  s.sequence, s.announced, s.created_at,
  EXISTS (SELECT FROM billings b WHERE b.schedule_id = s.id
          AND (b.status = 'retrying' OR b.status = 'pending' AND b.attempts > 1)) AS overdue,
  ${AGREEMENT_OF_SCHEDULE} AS agreement,
  EXISTS (SELECT FROM schedule_holds h
          WHERE h.schedule_id = s.id AND h.reason = 'suspended' AND h.to_at IS NULL) AS held_by_agreement,
  business_now(s.merchant_id) AS now, ${IN_REAL_TIME} AS in_real_time, s.waiting, s.delay_ms`;

/** Locks schedules until the transaction ends. The caller holds their agreements locked. */
export async function lockSchedules(trx: Executor, scheduleIds: string[]): Promise<ScheduleRow[]> {
  return trx.rows<ScheduleRow>`
    SELECT ${raw(COLUMNS)} FROM schedules s JOIN agreements a ON a.id = s.agreement_id
      JOIN entities m ON m.id = s.merchant_id
    WHERE s.id = ANY(${scheduleIds}) ORDER BY s.id FOR UPDATE OF s`;
}
