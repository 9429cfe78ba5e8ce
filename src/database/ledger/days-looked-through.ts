import { STATEMENT_FORM } from '../../domain/books/statement';
import { row, rows, type Executor } from '../connection';
import { dayBegin } from '../day-begin';
import { NONE_REOPENED } from './statement';

/** A settlement day that is final for all, and how often its month has been reopened. */
export interface FinalDay {
  date: string;
  edition: number;
}

/**
 * Days that are asked whether they are final, the latest first. What still settles in one keeps one
 * or two from it, for the ten seconds that a transaction may take.
 */
const CANDIDATES = 10;

/**
 * The latest day that anything was posted to, that is final by real time, and that nobody has
 * looked through in this edition, in the form of now and for statements as long as these. What is
 * read of it in later statements of SQL never changes while its month is not reopened. Test clocks
 * only run ahead: what is final by real time is final for all.
 *
 * It asks an index about each day since the first, some ten milliseconds for ten years.
 *
 * @param timeZone of the network
 * @param hashedMax lines that the statements have more than
 */
export async function nextDayToLookThrough(
  db: Executor,
  timeZone: string,
  hashedMax: number,
): Promise<FinalDay | undefined> {
  return row<FinalDay>(
    db,
    `WITH yet AS MATERIALIZED (
       SELECT series.day::date AS day, coalesce(p.reopenings, 0) AS edition
       FROM (SELECT min(settlement_day) AS first,
               least(max(settlement_day), (clock_timestamp() AT TIME ZONE :timeZone)::date - 1) AS last
             FROM ledger_entries) AS posted
         CROSS JOIN LATERAL generate_series(posted.last, posted.first, interval '-1 day') AS series (day)
         CROSS JOIN LATERAL (SELECT date_trunc('month', series.day)::date AS month) AS of_day
         LEFT JOIN ledger_periods p USING (month)
       WHERE EXISTS (SELECT FROM ledger_entries e WHERE e.settlement_day = series.day::date)
         AND NOT EXISTS (
           SELECT FROM days_looked_through d
           WHERE (d.day, d.reopenings, d.form, d.hashed_max)
             = (series.day::date, coalesce(p.reopenings, 0), :form, :hashedMax))
         AND ${NONE_REOPENED}
       ORDER BY 1 DESC LIMIT ${CANDIDATES})
     SELECT day::text AS date, edition FROM yet
     WHERE NOT may_settle_before(${dayBegin('yet.day + 1')}, NULL) ORDER BY day DESC LIMIT 1`,
    { timeZone, form: STATEMENT_FORM, hashedMax },
    'anew',
  );
}

/** It is not looked at again in this edition, in the form of now and for statements as long. */
export async function noteLookedThrough(
  db: Executor,
  { date, edition }: FinalDay,
  hashedMax: number,
): Promise<void> {
  await rows(
    db,
    `INSERT INTO days_looked_through (day, reopenings, form, hashed_max)
     VALUES (:date, :edition, :form, :hashedMax) ON CONFLICT DO NOTHING`,
    { date, edition, form: STATEMENT_FORM, hashedMax },
  );
}
