import type { ClientBase } from 'pg';
import { dueDate, type Frequency } from '../../domain/calendar';
import type { Mode } from '../../domain/mode';
import { recordAct, type Actor } from '../audit';
import { LOCK_NOT_AVAILABLE } from '../availability';
import { APP_ROLE, executorOf, row, rows, type Executor } from '../connection';
import { pages } from '../pages';
import { DeploymentError, requireMigratable, requireSameCalendar } from './deployment';

/** The correction of the zone in which days begin: the first migration wrote down a wrong one. */

/** New connections wait meanwhile for a table that each of them reads first. */
const LOCK_WITHIN = '2s';

/**
 * What has settled stays on the day that it was posted to; so no day that is over may begin again,
 * by anybody's clock: its statement is final.
 *
 * @param connection of the owner of the schema, with no transaction begun
 * @returns the zone before; undefined where it is that already
 * @throws DeploymentError saying why not, with nothing changed
 */
export async function correctTimeZone(
  connection: ClientBase,
  by: Actor,
  mode: Mode,
  timeZone: string,
): Promise<string | undefined> {
  const trx = { ...executorOf(connection), isTransaction: true as const };
  await connection.query(`BEGIN; SET LOCAL lock_timeout = '${LOCK_WITHIN}'`);
  try {
    // Whoever connects reads this table before anything else, and waits: it is refused once the
    // zone is another. Whoever has connected already goes by the old one until it ends.
    await connection.query('LOCK TABLE deployment').catch((cause: unknown) => {
      throw (cause as { code?: string }).code === LOCK_NOT_AVAILABLE ? stillInUse(undefined, cause) : cause;
    });
    const before = (await row<{ timeZone: string }>(trx, `SELECT time_zone AS "timeZone" FROM deployment`))
      ?.timeZone;
    await requireMigratable(trx, { mode, timeZone: before ?? timeZone });
    await requireSameCalendar(trx, timeZone);
    if (before === timeZone) {
      await connection.query('ROLLBACK');
      return undefined;
    }
    const sessions = await row<Sessions>(trx, RUNNING);
    if (sessions) throw stillInUse(sessions);
    const again = await row<{ day: string; until: Date }>(trx, BEGUN_AGAIN, { timeZone });
    if (again) throw new DeploymentError({ wrong: 'day_is_over', timeZone, before, ...again });
    await requireSameDueDates(trx, timeZone);
    await row(trx, `UPDATE deployment SET time_zone = :timeZone`, { timeZone });
    await recordAct(trx, by, {
      action: 'time_zone.corrected',
      entityId: null,
      before: { timeZone: before },
      after: { timeZone },
    });
    await connection.query('COMMIT');
    return before;
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/**
 * Sessions that may be of API, worker or a command: whatever name the URL gives them, their login
 * takes on one of these roles. What only watches over the database has neither.
 */
const RUNNING = `
  SELECT count(*)::int AS count, min(usename::text) AS login
  FROM pg_stat_activity, pg_class
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND pg_class.oid = 'deployment'::regclass
    AND (pg_has_role(usesysid, '${APP_ROLE}', 'MEMBER') OR pg_has_role(usesysid, relowner, 'MEMBER'))
  HAVING count(*) > 0`;

/** Days that some clock has begun and the new zone has not: the one that waits longest. */
const BEGUN_AGAIN = `
  SELECT (now AT TIME ZONE time_zone)::date::text AS day,
    (((now AT TIME ZONE time_zone)::date)::timestamp AT TIME ZONE :timeZone) - clock_offset AS until
  FROM deployment, (SELECT DISTINCT clock_offset, clock_timestamp() + clock_offset AS now FROM entities) AS clocks
  WHERE (now AT TIME ZONE :timeZone)::date < (now AT TIME ZONE time_zone)::date
  ORDER BY until DESC LIMIT 1`;

/** Schedules that are read at once: a second or so of them. */
const PAGE = 1_000;

/**
 * Due dates are counted from the start by the clocks of the zone, and the next one has been told to
 * merchant and bank. What they were told counts, not the zone of before: processes older than the
 * record of the zone have reckoned by their own setting.
 *
 * @throws DeploymentError where schedules would fall due at another moment than was told
 */
async function requireSameDueDates(trx: Executor, timeZone: string): Promise<void> {
  let count = 0;
  let first: { id: string; dueAt: Date; announced: Date } | undefined;
  const read = (after: string) => rows<NextDue>(trx, NEXT_DUE, { after });
  for await (const page of pages(PAGE, '', ({ id }: NextDue) => id, read)) {
    for (const { id, nextN, nextDueAt, ...terms } of page) {
      const dueAt = dueDate({ ...terms, timeZone }, nextN);
      if (dueAt.getTime() === nextDueAt.getTime()) continue;
      first ??= { id, dueAt, announced: nextDueAt };
      count += 1;
    }
  }
  if (first) throw new DeploymentError({ wrong: 'due_dates_move', timeZone, count, first });
}

interface NextDue {
  id: string;
  startAt: Date;
  frequency: Frequency;
  interval: number;
  nextN: number;
  nextDueAt: Date;
}

/** One that has ended has none. */
const NEXT_DUE = `
  SELECT s.id, s.start_at AS "startAt", s.frequency, s.every AS "interval", s.next_n AS "nextN",
    s.next_due_at AS "nextDueAt"
  FROM schedules s WHERE s.next_due_at IS NOT NULL AND s.id > :after
  ORDER BY s.id LIMIT ${PAGE}`;

interface Sessions {
  count: number;
  login: string;
}

const stillInUse = (sessions: Sessions | undefined, cause?: unknown) =>
  new DeploymentError({ wrong: 'still_in_use', sessions }, { cause });
