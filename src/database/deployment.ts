import type { Mode } from '../domain/mode';

/** A database, or a login, that this process must not work on. The message says why, and what to do. */
export class DeploymentError extends Error {
  override readonly name = 'DeploymentError';
}

/** One connection, as pg has it. */
interface Connection {
  query(query: { text: string; values?: unknown[]; query_timeout?: number }): Promise<{ rows: unknown[] }>;
}

/** A connection that was just opened answers at once; one to a server that hangs must not be waited for. */
const ANSWERS_WITHIN_MS = 4_000;

const OTHER_DATABASE = 'or correct DATABASE_URL: the mode of a database is never changed';

/**
 * Asked of every new connection, before anything else is: after a failover, or with another address behind a name, it
 * may be another database than the last one.
 *
 * @throws DeploymentError where it was made for another mode, or in production, where a clock was moved or the login may
 * do more than it must; whatever Postgres fails with, also where it has no schema yet
 */
export async function requireDeployment(connection: Connection, mode: Mode): Promise<void> {
  const { rows } = await connection.query({
    text: `SELECT mode,
         EXISTS (SELECT FROM entities WHERE clock_offset <> '0' OR clock_target IS NOT NULL) AS "clockMoved",
         session_user AS login,
         (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS "isSuperuser",
         EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
           AND pg_has_role(session_user, relowner, 'MEMBER')) AS "isOwner"
       FROM deployment`,
    query_timeout: ANSWERS_WITHIN_MS,
  });
  const [found] = rows as {
    mode: Mode;
    clockMoved: boolean;
    login: string;
    isSuperuser: boolean;
    isOwner: boolean;
  }[];
  requireMode(found?.mode, mode);
  if (mode === 'sandbox' || found === undefined) return;
  if (found.clockMoved) throw clockMoved();
  if (found.isSuperuser || found.isOwner) {
    const what = found.isSuperuser
      ? 'is a superuser'
      : 'owns the schema, or is a member of the role that does';
    throw new DeploymentError(
      `DATABASE_URL: the login "${found.login}" ${what}, and could change the record of the money. In production log in ` +
        'as one that is a member of the role assent_app and nothing else (docs/operations.md, "Make the logins"); ' +
        'DATABASE_OWNER_URL is for migrate alone.',
    );
  }
}

/**
 * The same for a login that migrates: it may own the schema, which need not be there yet.
 *
 * @throws DeploymentError
 */
export async function requireMigratable(connection: Connection, mode: Mode): Promise<void> {
  const ask = async <Row>(text: string) => (await connection.query({ text })).rows as Row[];
  const [tables] = await ask<{ deployment: boolean; entities: boolean }>(
    `SELECT to_regclass('public.deployment') IS NOT NULL AS deployment,
            to_regclass('public.entities') IS NOT NULL AS entities`,
  );
  if (tables?.deployment) {
    const [found] = await ask<{ mode: Mode }>('SELECT mode FROM deployment');
    requireMode(found?.mode, mode);
  }
  if (tables?.entities && mode === 'production') {
    const moved = await ask(
      `SELECT FROM entities WHERE clock_offset <> '0' OR clock_target IS NOT NULL LIMIT 1`,
    );
    if (moved.length > 0) throw clockMoved();
  }
}

function requireMode(found: Mode | undefined, wanted: Mode): void {
  if (found === wanted) return;
  throw new DeploymentError(
    `ASSENT_MODE: is ${wanted}, but the database was made for ${found ?? 'none'}. Set ASSENT_MODE=${found ?? 'sandbox'}, ` +
      `${OTHER_DATABASE}.`,
  );
}

function clockMoved(): DeploymentError {
  return new DeploymentError(
    'DATABASE_URL: a test clock has been moved in this database, and production judges windows and limits by it. ' +
      'Production begins with a database of its own: correct DATABASE_URL.',
  );
}
