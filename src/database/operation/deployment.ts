import { formatInstant, wallClock } from '../../domain/calendar';
import type { Mode } from '../../domain/mode';
import { APP_ROLE, row, rows, type Executor } from '../connection';

/**
 * A database, or a login, that this process must not work on. The message says why, and what to do.
 */
export class DeploymentError extends Error {
  override readonly name: string = 'DeploymentError';
}

/** A database whose days begin in another zone than this process' do. */
export class OtherTimeZoneError extends DeploymentError {
  override readonly name = 'OtherTimeZoneError';

  constructor(
    readonly found: string,
    readonly wanted: string,
  ) {
    super(
      `NETWORK_TIMEZONE: is ${wanted}, but the days of this database begin in ${found}. Set NETWORK_TIMEZONE=${found}, ` +
        `${OTHER_DATABASE}. Where it was migrated with the wrong zone, "assent database zone ${wanted}" corrects that.`,
    );
  }
}

/** What a process and its database must agree on; both are said by whoever migrates it first. */
export interface Deployment {
  mode: Mode;
  /** Of the network, in which days begin. */
  timeZone: string;
}

const OTHER_DATABASE = 'or correct DATABASE_URL';

/**
 * Asked of every new connection, before anything else is: after a failover, or with another address
 * behind a name, it may be another database than the last one.
 *
 * @throws DeploymentError where it was made for another mode or zone, or in production, where a
 *   clock was moved, or the login may do more than it must, or works as another role than it is to;
 *   whatever Postgres fails with, also where it has no schema yet
 */
export async function requireDeployment(connection: Executor, { mode, timeZone }: Deployment): Promise<void> {
  const found = await row<{
    mode: Mode;
    timeZone: string | null;
    clockMoved: boolean;
    login: string;
    role: string;
    powers: string[];
  }>(
    connection,
    `SELECT mode, ${TIME_ZONE} AS "timeZone", ${CLOCK_MOVED} AS "clockMoved", session_user AS login, current_user AS role,
       ARRAY(SELECT power FROM (${POWERS}) AS powers (power, has) WHERE has) AS powers
     FROM deployment`,
  );
  requireMode(found?.mode, mode);
  requireTimeZone(found?.timeZone, timeZone);
  if (mode === 'sandbox' || found === undefined) return;
  if (found.clockMoved) throw clockMoved();
  const [power] = found.powers;
  if (power !== undefined) {
    throw new DeploymentError(
      `DATABASE_URL: the login "${found.login}" ${power}, and could change the record of the money. In production log in ` +
        'as one that is a member of the role assent_app and nothing else (docs/operations.md, "Make the logins"); ' +
        'DATABASE_OWNER_URL is for migrate alone.',
    );
  }
  if (found.role !== APP_ROLE) {
    throw new DeploymentError(
      `DATABASE_URL: connections work as "${found.role}" and not as ${APP_ROLE}, the role that may not change the record of ` +
        'the money. Something between here and Postgres sets another: take that away.',
    );
  }
}

/** Null where the schema is of a version before it had one: `migrate` says it then. */
const TIME_ZONE = `to_jsonb(deployment)->>'time_zone'`;

const CLOCK_MOVED = `EXISTS (SELECT FROM entities WHERE clock_offset <> '0' OR clock_target IS NOT NULL)`;

/** Whatever the login has itself, or by a role that it is a member of, taken on or not. */
const isMember = (oid: string) => `pg_has_role(session_user, ${oid}, 'MEMBER')`;
const SCHEMA = `'public'::regnamespace`;

/**
 * What lets a login get round the grants of `assent_app`, in words that follow its name; the
 * gravest first.
 */
const POWERS = `VALUES
  ('is a superuser', EXISTS (SELECT FROM pg_roles r WHERE r.rolsuper AND ${isMember('r.oid')})),
  ('owns the schema, or is a member of the role that does',
   EXISTS (SELECT FROM pg_class WHERE relnamespace = ${SCHEMA} AND ${isMember('relowner')})
   OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = ${SCHEMA} AND ${isMember('proowner')})
   OR EXISTS (SELECT FROM pg_namespace WHERE oid = ${SCHEMA} AND ${isMember('nspowner')})),
  ('owns the database, or is a member of the role that does',
   EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND ${isMember('datdba')})),
  ('may make roles', EXISTS (SELECT FROM pg_roles r WHERE r.rolcreaterole AND ${isMember('r.oid')})),
  ('may replicate the server', EXISTS (SELECT FROM pg_roles r WHERE r.rolreplication AND ${isMember('r.oid')})),
  ('may write all tables, or the files and programs of the server',
   EXISTS (SELECT FROM pg_roles r WHERE r.rolname IN ('pg_write_all_data', 'pg_write_server_files',
     'pg_read_server_files', 'pg_execute_server_program', 'pg_create_subscription', 'pg_maintain') AND ${isMember('r.oid')}))`;

/**
 * The same for a login that migrates: it may own the schema, which need not be there yet. A zone
 * that is still to be written must be one that Postgres and this process read alike.
 *
 * @throws DeploymentError
 */
export async function requireMigratable(connection: Executor, { mode, timeZone }: Deployment): Promise<void> {
  const tables = await row<{ deployment: boolean; entities: boolean }>(
    connection,
    `SELECT to_regclass('public.deployment') IS NOT NULL AS deployment,
            to_regclass('public.entities') IS NOT NULL AS entities`,
  );
  const found = tables?.deployment
    ? await row<{ mode: Mode; timeZone: string | null }>(
        connection,
        `SELECT mode, ${TIME_ZONE} AS "timeZone" FROM deployment`,
      )
    : undefined;
  if (tables?.deployment) {
    requireMode(found?.mode, mode);
    requireTimeZone(found?.timeZone, timeZone);
  }
  // Before it is written. A database that has it is not kept from its next migration.
  if (typeof found?.timeZone !== 'string') await requireSameCalendar(connection, timeZone);
  if (tables?.entities && mode === 'production') {
    const clock = await row<{ clockMoved: boolean }>(connection, `SELECT ${CLOCK_MOVED} AS "clockMoved"`);
    if (clock?.clockMoved) throw clockMoved();
  }
}

function requireMode(found: Mode | undefined, wanted: Mode): void {
  if (found === wanted) return;
  throw new DeploymentError(
    `ASSENT_MODE: is ${wanted}, but the database was made for ${found ?? 'none'}. Set ASSENT_MODE=${found ?? 'sandbox'}, ` +
      `${OTHER_DATABASE}: the mode of a database is never changed.`,
  );
}

function requireTimeZone(found: string | null | undefined, wanted: string): void {
  if (found === undefined || found === null || found === wanted) return;
  throw new OtherTimeZoneError(found, wanted);
}

/** One moment a day for two years: a change of the clocks that one side has a day later is seen. */
const WALL_CLOCKS = `
  SELECT moment, to_char(moment AT TIME ZONE :timeZone, 'YYYY-MM-DD"T"HH24":"MI":"SS') AS shown,
    current_setting('server_version') AS version
  FROM generate_series(clock_timestamp(), clock_timestamp() + interval '2 years', '1 day') AS moment
  ORDER BY moment`;

/** Postgres' code for a time zone that it does not know. */
const INVALID_PARAMETER = '22023';

const ANOTHER_ZONE =
  'Take the IANA name of a city, such as Europe/Brussels; or, where it is one, bring the time zone data of the older of the two up to date.';

/**
 * Due dates and retries are reckoned here, settlement days and limits by Postgres. Each has time
 * zone data of its own, and Postgres takes CET, EET, MET and WET for offsets without summer time.
 *
 * @throws DeploymentError where they do not read the zone alike, with the first moment
 */
export async function requireSameCalendar(connection: Executor, timeZone: string): Promise<void> {
  const clocks = await rows<{ moment: Date; shown: string; version: string }>(connection, WALL_CLOCKS, {
    timeZone,
  }).catch((error: unknown) => {
    if ((error as { code?: string }).code !== INVALID_PARAMETER) throw error;
    throw new DeploymentError(`NETWORK_TIMEZONE: Postgres does not know ${timeZone}. ${ANOTHER_ZONE}`, {
      cause: error,
    });
  });
  const apart = clocks.find(({ moment, shown }) => shown !== wallClock(moment, timeZone));
  if (!apart) return;
  throw new DeploymentError(
    `NETWORK_TIMEZONE: at ${formatInstant(apart.moment)} the clocks of ${timeZone} show ${wallClock(apart.moment, timeZone)} by Node ` +
      `${process.versions.node} (${process.versions.tz}), but ${apart.shown} by Postgres ${apart.version}: what is charged ` +
      `around midnight would count for the wrong day. ${ANOTHER_ZONE}`,
  );
}

function clockMoved(): DeploymentError {
  return new DeploymentError(
    'DATABASE_URL: a test clock has been moved in this database, and production judges windows and limits by it. ' +
      'Production begins with a database of its own: correct DATABASE_URL.',
  );
}
