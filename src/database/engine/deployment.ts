import { wallClock } from '../../domain/calendar';
import { OperatorError } from '../../domain/failures';
import { deploymentWords, type LoginPower } from '../../domain/words/deployment-words';
import type { Mode } from '../../domain/mode';
import { APP_ROLE } from '../pool/connection';
import { raw, type Statements } from '../pool/statement';
import { migrations } from './read-migrations';

/**
 * A database, or a login, that this process must not work on. The message says why, and what to do.
 */
export class DeploymentError extends OperatorError {
  override readonly name = 'DeploymentError';
}

/**
 * The mode and zone that a process and its database must agree on; the first `migrate` fixes both.
 */
export interface Deployment {
  mode: Mode;
  /** The network's IANA zone, in which days begin. */
  timeZone: string;
}

/**
 * Compares the schema with the migrations of this version of the code.
 *
 * @throws DeploymentError where each has migrations that the other lacks
 * @throws if the schema was never migrated
 */
export async function schemaDifference(db: Statements): Promise<{ missing: string[]; unknown: string[] }> {
  const wanted = migrations();
  const found = await db.rows<{ name: string }>`SELECT name FROM knex_migrations ORDER BY name`;
  const done = new Set(found.map(({ name }) => name));
  const missing = [...wanted.keys()].filter((name) => !done.has(name));
  const unknown = [...done].filter((name) => !wanted.has(name));
  if (missing.length > 0 && unknown.length > 0) throw new DeploymentError(deploymentWords.otherSchema);
  return { missing, unknown };
}

/**
 * Checks every new connection before any other statement: after a failover, or with another address
 * behind a name, it may reach another database.
 *
 * @throws DeploymentError where the database was migrated by another build, or for another mode or
 *   zone
 * @throws DeploymentError in production, where a clock was moved, or the login may do too much or
 *   works as another role
 * @throws whatever Postgres fails with, also where it has no schema yet
 */
export async function requireDeployment(connection: Statements, wanted: Deployment): Promise<void> {
  await schemaDifference(connection);
  const found = await connection.oneRow<
    Deployment & {
      clockMoved: boolean;
      login: string;
      role: string;
      powers: LoginPower[];
      toRevoke: string[];
    }
  >`
    SELECT mode, time_zone, ${raw(CLOCK_MOVED)} AS clock_moved, session_user AS login, current_user AS role,
      ARRAY(SELECT power FROM (${raw(POWERS)}) AS powers (power, has) WHERE has) AS powers,
      ARRAY(${raw(CREATES)}) AS to_revoke
    FROM deployment`;
  requireSame(found, wanted);
  if (wanted.mode === 'sandbox') return;
  if (found.clockMoved) throw new DeploymentError(deploymentWords.clockMoved);
  const [power] = found.powers;
  const { login, role, toRevoke } = found;
  if (power !== undefined) throw new DeploymentError(deploymentWords.loginOfPower(login, power));
  if (role !== APP_ROLE) throw new DeploymentError(deploymentWords.otherRole(role, APP_ROLE));
  if (toRevoke.length > 0) throw new DeploymentError(deploymentWords.creates(login, toRevoke));
}

const CLOCK_MOVED = `EXISTS (SELECT FROM entities WHERE clock_offset <> '0' OR clock_target IS NOT NULL)`;

/** Whether the login is a member of a role, directly or by another role, set or not. */
const isMember = (oid: string) => `pg_has_role(session_user, ${oid}, 'MEMBER')`;
const SCHEMA = `'public'::regnamespace`;

/** Powers by which a login gets round the grants of `assent_app`; the gravest first. */
const POWERS = `VALUES
  ('superuser', EXISTS (SELECT FROM pg_roles r WHERE r.rolsuper AND ${isMember('r.oid')})),
  ('schema_owner',
   EXISTS (SELECT FROM pg_class WHERE relnamespace = ${SCHEMA} AND ${isMember('relowner')})
   OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = ${SCHEMA} AND ${isMember('proowner')})
   OR EXISTS (SELECT FROM pg_namespace WHERE oid = ${SCHEMA} AND ${isMember('nspowner')})),
  ('database_owner',
   EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND ${isMember('datdba')})),
  ('create_role', EXISTS (SELECT FROM pg_roles r WHERE r.rolcreaterole AND ${isMember('r.oid')})),
  ('replication', EXISTS (SELECT FROM pg_roles r WHERE r.rolreplication AND ${isMember('r.oid')})),
  ('write_all',
   EXISTS (SELECT FROM pg_roles r WHERE r.rolname IN ('pg_write_all_data', 'pg_write_server_files',
     'pg_read_server_files', 'pg_execute_server_program', 'pg_create_subscription', 'pg_maintain') AND ${isMember('r.oid')}))`;

/**
 * SQL: the rights by which a login creates what Postgres finds before ours, each as the statement
 * that revokes it. A temporary table hides a table, and a function whose arguments fit better hides
 * a built-in function. In a cluster older than Postgres 15 a superuser owns the schema.
 */
const CREATES = `
  SELECT format('%sREVOKE %s ON %s %I FROM %s',
    CASE name WHEN 'public' THEN 'ALTER SCHEMA public OWNER TO pg_database_owner; ' END, privilege_type, kind, name,
    string_agg(CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, ', ' ORDER BY grantee))
  FROM (
    SELECT 'DATABASE', datname, coalesce(datacl, acldefault('d', datdba))
    FROM pg_database WHERE datname = current_database()
    UNION ALL
    SELECT 'SCHEMA', nspname, coalesce(nspacl, acldefault('n', nspowner))
    FROM pg_namespace WHERE nspname = ANY (current_schemas(true))) AS place (kind, name, acl), aclexplode(acl)
  WHERE privilege_type IN ('CREATE', 'TEMPORARY') AND CASE grantee WHEN 0 THEN true ELSE ${isMember('grantee')} END
  GROUP BY kind, name, privilege_type`;

/**
 * Checks a login that migrates: it may own the schema, which need not exist yet. A zone still to be
 * written must be read alike by Postgres and this process.
 *
 * @throws DeploymentError
 */
export async function requireMigratable(connection: Statements, wanted: Deployment): Promise<void> {
  const { migrated } = await connection.oneRow<{ migrated: boolean }>`
    SELECT to_regclass('public.deployment') IS NOT NULL AS migrated`;
  if (!migrated) return requireSameCalendar(connection, wanted.timeZone);
  await schemaDifference(connection);
  requireSame(await connection.oneRow<Deployment>`SELECT mode, time_zone FROM deployment`, wanted);
}

function requireSame(found: Deployment, { mode, timeZone }: Deployment): void {
  if (found.mode !== mode) throw new DeploymentError(deploymentWords.otherMode(found.mode, mode));
  if (found.timeZone !== timeZone)
    throw new DeploymentError(deploymentWords.otherTimeZone(found.timeZone, timeZone));
}

/** Postgres's code for a time zone that it does not know. */
const INVALID_PARAMETER = '22023';

/**
 * Due dates and retries are computed here, settlement days and limits by Postgres. Each has its own
 * time zone data, and Postgres takes CET, EET, MET and WET for offsets without summer time.
 *
 * @throws DeploymentError where the two do not read the zone alike, with the first moment
 */
export async function requireSameCalendar(connection: Statements, timeZone: string): Promise<void> {
  // A moment a day for two years, which shows a change of the clocks that one side has a day later.
  const clocks = await connection.rows<{ moment: Date; shown: string; version: string }>`
  SELECT moment, to_char(moment AT TIME ZONE ${timeZone}, 'YYYY-MM-DD"T"HH24":"MI":"SS') AS shown,
    current_setting('server_version') AS version
  FROM generate_series(clock_timestamp(), clock_timestamp() + interval '2 years', '1 day') AS moment
  ORDER BY moment`.catch((error: unknown) => {
    if ((error as { code?: string }).code !== INVALID_PARAMETER) throw error;
    throw new DeploymentError(deploymentWords.timeZoneUnknown(timeZone), { cause: error });
  });
  const apart = clocks.find(({ moment, shown }) => shown !== wallClock(moment, timeZone));
  if (!apart) return;
  const { moment: at, shown, version } = apart;
  const { node, tz } = process.versions;
  const here = `${wallClock(at, timeZone)} by Node ${node} (${tz})`;
  const there = `${shown} by Postgres ${version}`;
  throw new DeploymentError(deploymentWords.clocksDiffer(timeZone, at, here, there));
}
