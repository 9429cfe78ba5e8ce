import {
  nextAmount,
  nextBilling,
  type RecurringRules,
  type Schedule,
} from '../../domain/recurring/schedule-facts';
import type { Executor } from '../pool/connection';

/** Most billings shown ahead: a page of a phone. */
export const UPCOMING_MAX = 10;

interface Upcoming {
  scheduleId: string;
  n: number;
  amount: bigint;
  currency: string;
  dueDate: Date;
}

type Ahead = Schedule &
  Omit<Upcoming, 'n' | 'dueDate'> & {
    /** The agreement's. */
    validUntil: Date | null;
    noticedAmount: bigint | null;
    inHand: boolean;
    /** Billings to come that the customer has skipped. */
    skips: number[];
    /** The billing in hand, where it is tried again; with the amount of its first attempt. */
    retry: { n: number; amount: string; dueAt: string } | null;
  };

/**
 * The next billings of an agreement's schedules, as if nothing changed; none of a schedule that is
 * held.
 */
export async function upcomingBillings(
  db: Executor,
  rules: RecurringRules,
  agreementId: string,
): Promise<Upcoming[]> {
  // Schedules that are due first have the first billings.
  const schedules = await db.rows<Ahead>`
    SELECT s.id AS schedule_id, s.amount::bigint, s.currency, (a.limits)."validUntil" AS valid_until,
      s.frequency, s.every AS "interval", s.start_at, s.end_at, s.max_billings, s.created_at, s.status, s.next_n,
      s.noticed_n, s.noticed_amount::bigint, s.ran, s.failed_in_a_row, b.n IS NOT NULL AS in_hand,
      ARRAY(SELECT n FROM billing_skips WHERE schedule_id = s.id AND n >= s.next_n) AS skips,
      CASE b.status WHEN 'retrying' THEN (
        SELECT jsonb_build_object('n', b.n, 'amount', r.amount::text, 'dueAt', b.due_at) FROM billing_requests r
        WHERE r.schedule_id = s.id AND r.billing_n = b.n AND r.attempt = 1) END AS retry
    FROM schedules s JOIN agreements a ON a.id = s.agreement_id
      LEFT JOIN billings b ON b.schedule_id = s.id AND b.status IN ('pending', 'retrying')
    WHERE s.agreement_id = ${agreementId} AND s.status IN ('active', 'past_due')
    ORDER BY CASE b.status WHEN 'retrying' THEN b.due_at ELSE s.next_due_at END, s.id LIMIT ${UPCOMING_MAX}`;
  const ahead = schedules.flatMap((schedule) => [...billingsOf(schedule, rules)]);
  return ahead.toSorted((a, b) => a.dueDate.getTime() - b.dueDate.getTime()).slice(0, UPCOMING_MAX);
}

function* billingsOf(schedule: Ahead, rules: RecurringRules): Generator<Upcoming, void, void> {
  const { scheduleId, amount, currency, retry, inHand, validUntil, skips } = schedule;
  const ofSchedule = { scheduleId, currency };
  if (retry)
    yield { ...ofSchedule, n: retry.n, amount: BigInt(retry.amount), dueDate: new Date(retry.dueAt) };
  let skipped = 0;
  for (let n = schedule.nextN; n < schedule.nextN + skipped + UPCOMING_MAX; n++) {
    if (skips.includes(n)) {
      skipped += 1;
      continue;
    }
    const next = nextBilling(schedule, inHand, rules, { n, skipped });
    if (!next || (validUntil !== null && next.dueAt >= validUntil)) return;
    yield {
      ...ofSchedule,
      n,
      amount: n === schedule.nextN ? nextAmount(schedule) : amount,
      dueDate: next.dueAt,
    };
  }
}
