import { setImmediate as letOthersRun } from 'node:timers/promises';
import { calendarDay } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import { chargesAhead, type ScheduleAhead } from '../../domain/recurring/forecast';
import { permitted } from '../../domain/recurring/recurring';
import type { RecurringRules, Schedule } from '../../domain/recurring/schedule-facts';
import type { Executor } from '../pool/connection';
import { raw, sql } from '../pool/statement';
import { allOf } from '../query/list-page';
import { dayBegin } from '../clock/day-begin';
import { FURTHEST } from '../clock/moment';
import { pages } from '../query/pages';
import { ownedBy, type Party } from '../query/party';
import { IN_HAND, JOIN_IN_HAND, openBilling, startsOf, type InHandRow } from './read-billings';
import { AGREEMENT_OF_SCHEDULE, HELD_BY_AGREEMENT } from '../schedule/lock-schedules';

/**
 * The charges that schedules will make, summed up per day of the network's zone and currency.
 *
 * Each schedule follows its merchant's clock: its days begin with the merchant's today. All are
 * read in pages, and nothing of a page is kept but its sums.
 */

/** Which schedules are meant: a party's own, or one merchant's; all, where neither is given. */
interface ForecastOf {
  party?: Party | undefined;
  merchantId?: string | undefined;
}

const partiesOf = ({ party, merchantId }: ForecastOf) => [
  party !== undefined && ownedBy(party),
  merchantId !== undefined && sql`merchant_id = ${merchantId}`,
];

interface ForecastLine {
  /** `2026-11-21`. */
  date: string;
  currency: string;
  count: number;
  amount: bigint;
}

/** Schedules in memory at once, and for how long one statement reads: some tens of milliseconds. */
const PAGE = 500;

/** Steps reckoned before others have their turn: a few milliseconds of this process. */
const STEPS_AT_ONCE = 100;

/**
 * Most lines. In production the days times the currencies are fewer; in a sandbox each merchant's
 * clock has days of its own.
 */
const LINES_MAX = 20_000;

/**
 * The latest spans of a schedule that a forecast reads: more than a person's pauses during an
 * outage.
 */
const HOLDS_MAX = 100;

interface Window {
  /** From today on. */
  days: number;
  /** Of `performance.now()`. */
  deadline: number;
  /** Told of each charge. */
  each?: (scheduleId: string, date: string) => void;
}

/** Ids of schedules with a charge on a day of the forecast. @throws as `forecast` */
export async function schedulesDueOn(
  db: Executor,
  rules: RecurringRules,
  of: ForecastOf,
  day: string,
  window: Window,
): Promise<string[]> {
  const due = new Set<string>();
  await forecast(db, rules, of, { ...window, each: (id, date) => void (date === day && due.add(id)) });
  return [...due];
}

/**
 * @throws Failure invalid_request where there is more than can be told, or reckoned until then
 */
export async function forecast(
  db: Executor,
  rules: RecurringRules,
  of: ForecastOf,
  { days, deadline, each }: Window,
): Promise<ForecastLine[]> {
  const lines = new Map<string, ForecastLine>();
  let steps = 0;
  for await (const page of readAhead(db, rules, of, days)) {
    for (const one of page) {
      const { until } = one;
      const open = openBilling(one);
      if (!open && (one.nextDueAt === null || one.nextDueAt >= until)) continue;
      // Its agreement, or a party, has changed since it last looked.
      if (permitted(one.agreement, one.currency) !== 'charge') continue;
      for (const charge of chargesAhead(aheadOf(one, open), one.now, until, rules)) {
        steps += 1;
        if (steps >= STEPS_AT_ONCE) {
          steps = 0;
          await letOthersRun();
          if (performance.now() > deadline) throw tooMuch('takes too long');
        }
        if (!charge) continue;
        const { at, amount } = charge;
        const date = calendarDay(at, rules.timeZone);
        each?.(one.id, date);
        const key = JSON.stringify([date, one.currency]);
        const line = lines.get(key) ?? { date, currency: one.currency, count: 0, amount: 0n };
        line.count += 1;
        line.amount += amount;
        lines.set(key, line);
      }
      if (lines.size > LINES_MAX) throw tooMuch(`has more than ${LINES_MAX} lines`);
    }
    if (performance.now() > deadline) throw tooMuch('takes too long');
  }
  return [...lines.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
}

function tooMuch(what: string): Failure {
  const message = `a forecast of so many schedules ${what}: ask for fewer days, or name a merchant`;
  return new Failure('invalid_request', `The request is not valid: query.days: ${message}`, {
    problems: [{ path: 'query.days', message }],
  });
}

/** A schedule that is neither paused nor suspended, and the billing that it has in hand. */
interface Ahead
  extends
    InHandRow,
    Pick<Schedule, 'frequency' | 'interval' | 'startAt' | 'endAt' | 'maxBillings' | 'nextN'> {
  id: string;
  merchantId: string;
  bankId: string;
  scheduleAmount: bigint;
  nextAmount: bigint;
  currency: string;
  createdAt: Date;
  scheduleStatus: 'active' | 'past_due';
  ran: number;
  failedInARow: number;
  nextDueAt: Date | null;
  agreement: Parameters<typeof permitted>[0];
  /** Business time of the merchant. */
  now: Date;
  /** The end of the forecast by the merchant's clock. */
  until: Date;
  starts: Date[];
  holds: { reason: 'paused' | 'suspended'; from: string; to: string | null }[];
  skips: number[];
}

function aheadOf(one: Ahead, open: ReturnType<typeof openBilling>): ScheduleAhead {
  return {
    schedule: { ...one, status: one.scheduleStatus, noticedN: null },
    amount: one.scheduleAmount,
    nextAmount: one.nextAmount,
    open,
    starts: one.starts,
    skips: one.skips,
    holds: one.holds.map(({ reason, from, to }) => ({
      reason,
      from: new Date(from),
      to: to === null ? null : new Date(to),
    })),
  };
}

/**
 * By id, in any state: each state has an index in that order, and a page takes its first rows. So
 * no schedule is read twice, and an ended schedule never.
 */
function readAhead(
  db: Executor,
  rules: RecurringRules,
  of: ForecastOf,
  days: number,
): AsyncGenerator<Ahead[], void, undefined> {
  // Schedules whose next action is later charge nothing in the window.
  const actsInTime = sql`s.acts_at < ${raw(FURTHEST)} + (${days}::int + 1) * interval '1 day'`;
  const inState = (status: 'active' | 'past_due', after: string) => {
    const whose = allOf(...partiesOf(of), sql`s.id > ${after}`, actsInTime);
    return sql`(SELECT s.id FROM schedules s WHERE ${whose} AND s.status = '${raw(status)}'
      ORDER BY s.id LIMIT ${PAGE})`;
  };
  const { timeZone } = rules;
  const lastDay = sql`(business_now(s.merchant_id) AT TIME ZONE ${timeZone})::date + ${days}::int`;
  const readPage = (after: string) => db.rows<Ahead>`
    SELECT s.id, s.merchant_id, s.bank_id, s.amount::bigint AS schedule_amount,
      least(s.amount, s.noticed_amount)::bigint AS next_amount, s.currency, s.frequency,
      s.every AS "interval", s.start_at, s.end_at, s.max_billings, s.next_n, s.created_at,
      s.status AS schedule_status, s.ran, s.failed_in_a_row, s.next_due_at,
      ${raw(AGREEMENT_OF_SCHEDULE)} AS agreement, business_now(s.merchant_id) AS now,
      ${dayBegin(lastDay, timeZone)} AS until,
      ${startsOf(rules)},
      -- Only what was missed can lie in a span that has ended.
      CASE WHEN s.next_due_at < business_now(s.merchant_id) THEN (
        SELECT coalesce(jsonb_agg(held), '[]') FROM (
          SELECT reason, from_at AS "from", to_at AS "to" FROM schedule_holds WHERE schedule_id = s.id
            AND (to_at IS NULL OR to_at > s.next_due_at)
          UNION ALL
          SELECT 'suspended', from_at, to_at FROM entity_holds
          WHERE entity_id IN (s.merchant_id, s.bank_id) AND merchant_id = s.merchant_id
            AND (to_at IS NULL OR to_at > s.next_due_at)
          ORDER BY "from" DESC LIMIT ${raw(HOLDS_MAX)}) AS held)
      ELSE '[]' END || (
        SELECT coalesce(jsonb_agg(jsonb_build_object('reason', reason, 'from', from_at, 'to', to_at)), '[]')
        FROM (${raw(HELD_BY_AGREEMENT)}) AS held
        WHERE to_at IS NULL OR to_at > s.next_due_at) AS holds,
      ARRAY(SELECT n FROM billing_skips WHERE schedule_id = s.id AND n >= s.next_n) AS skips,
      ${raw(IN_HAND)}
    FROM (SELECT id FROM (${inState('active', after)} UNION ALL ${inState('past_due', after)}) AS either
          ORDER BY id LIMIT ${PAGE}) AS page
      JOIN schedules s ON s.id = page.id
      JOIN agreements a ON a.id = s.agreement_id
      JOIN entities m ON m.id = s.merchant_id ${raw(JOIN_IN_HAND)}
    ORDER BY s.id`;
  return pages(PAGE, '', (one) => one.id, readPage);
}

/** Charges of schedules that a rate looks at, the latest: beyond them it hardly changes. */
const RATE_REACH = 10_000;
/** Charges of any kind among which it finds them, in some hundred milliseconds of Postgres. */
const RATE_LOOKED_THROUGH = 100_000;

/**
 * The part, from 0 to 1, of the last three months' billings that the bank paid, at any attempt;
 * null without billings. Months go by each merchant's clock.
 */
export async function successRate(db: Executor, of: ForecastOf): Promise<number | null> {
  const whose = allOf(
    ...partiesOf(of),
    // No merchant's clock is behind. The bound keeps the index scan to the three months.
    sql`created_at >= (SELECT clock_timestamp()) - interval '3 months'`,
  );
  const found = await db.row<{ rate: number | null }>`
    WITH latest AS MATERIALIZED (
      SELECT schedule_id, billing_n, merchant_id, created_at FROM (
        SELECT id, schedule_id, billing_n, merchant_id, created_at FROM billing_requests WHERE ${whose}
        ORDER BY created_at DESC, id DESC LIMIT ${raw(RATE_LOOKED_THROUGH)}) AS looked
      WHERE schedule_id IS NOT NULL
      ORDER BY created_at DESC, id DESC LIMIT ${raw(RATE_REACH)}),
    clocks AS (
      SELECT id, business_now(id) AS now FROM (SELECT DISTINCT merchant_id AS id FROM latest) AS own)
    SELECT avg(CASE WHEN status = 'successful' THEN 1 ELSE 0 END)::float8 AS rate
    FROM (SELECT DISTINCT b.schedule_id, b.n, b.status
          FROM latest JOIN clocks ON clocks.id = latest.merchant_id
            JOIN billings b ON b.schedule_id = latest.schedule_id AND b.n = latest.billing_n
          WHERE latest.created_at >= clocks.now - interval '3 months'
            AND b.status IN ('successful', 'failed')) AS ended`;
  return found?.rate ?? null;
}
