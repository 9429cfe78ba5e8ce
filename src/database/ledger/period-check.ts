import type { FactsOf } from '../../domain/words/verify-words';
import type { Compared, Difference, Range } from '../compared';
import { rows, type Database } from '../connection';

/**
 * Compares the months that are closed, or open again, with the acts that made them so: all in one
 * statement, for there are twelve a year.
 */
export async function* comparePeriods(
  db: Database,
  { from, to }: Range,
): AsyncGenerator<Compared, void, undefined> {
  const found = await rows<{ month: string; differs: boolean } & FactsOf<'period_differs'>>(
    db,
    `WITH acts AS (
       SELECT DISTINCT ON (after->>'month') after->>'month' AS month, substr(action, 8) AS state, after->>'reopenings' AS reopenings
       FROM audit_events WHERE action IN ('period.closed', 'period.reopened') ORDER BY after->>'month', id DESC),
     months AS (
       SELECT to_char(month, 'YYYY-MM') AS month, state, reopenings::text AS reopenings FROM ledger_periods)
     SELECT month, to_jsonb(m) - 'month' AS row, to_jsonb(a) - 'month' AS acts,
       (m.state, m.reopenings) IS DISTINCT FROM (a.state, a.reopenings) AS differs
     FROM months m FULL JOIN acts a USING (month)
     WHERE month BETWEEN coalesce(left(:from::text, 7), '') AND coalesce(left(:to::text, 7), 'infinity')
     ORDER BY month`,
    { from, to },
  );
  const differences = found
    .filter(({ differs }) => differs)
    .map(({ month, row, acts }): Difference => ({ id: month, wrong: 'period_differs', row, acts }));
  yield { check: 'periods', checked: found.length, differences };
}
