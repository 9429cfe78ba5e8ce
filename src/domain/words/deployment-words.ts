import { formatInstant } from '../calendar';
import type { Mode } from '../mode';

/**
 * Reasons why a process must not work on a database, in words for operators, each with its remedy.
 */

const OTHER_DATABASE = 'or correct DATABASE_URL';

const ANOTHER_ZONE =
  'Take the IANA name of a city, such as Europe/Brussels; or, where it is one, bring the time zone data of the older of the two up to date.';

/** Powers of a login that get round the grants of `assent_app`, in words that follow its name. */
const POWERS = {
  superuser: 'is a superuser',
  schema_owner: 'owns the schema, or is a member of the role that does',
  database_owner: 'owns the database, or is a member of the role that does',
  create_role: 'may create roles',
  replication: 'may replicate the server',
  write_all: 'may write all tables, or the files and programs of the server',
} as const;

export type LoginPower = keyof typeof POWERS;

export const deploymentWords = {
  otherMode: (found: Mode, wanted: Mode) =>
    `ASSENT_MODE: is ${wanted}, but the database was created for ${found}. Set ASSENT_MODE=${found}, ` +
    `${OTHER_DATABASE}: the mode of a database is never changed.`,
  otherTimeZone: (found: string, wanted: string) =>
    `NETWORK_TIMEZONE: is ${wanted}, but the days of this database begin in ${found}. Set NETWORK_TIMEZONE=${found}, ` +
    `${OTHER_DATABASE}. Where it was migrated with the wrong zone, see docs/operations.md, "Stop and deploy".`,
  loginOfPower: (login: string, power: LoginPower) =>
    `DATABASE_URL: the login "${login}" ${POWERS[power]}, and could change the record of the money. In production log in ` +
    'as one that is a member of the role assent_app and nothing else (docs/operations.md, "Make the logins"); ' +
    'DATABASE_OWNER_URL is for migrate alone.',
  otherRole: (found: string, wanted: string) =>
    `DATABASE_URL: connections work as "${found}" and not as ${wanted}, the role that may not change the record of ` +
    'the money. Something between here and Postgres sets another: take that away.',
  creates: (login: string, toRevoke: string[]) =>
    `DATABASE_URL: the login "${login}" may create tables or functions that would stand for ours. In production it may ` +
    `not: run ${toRevoke.join('; ')} as a superuser, or as the owner of the database.`,
  clockMoved:
    'DATABASE_URL: a test clock has been moved in this database, and production judges windows and limits by it. ' +
    'Production begins with a database of its own: correct DATABASE_URL.',
  timeZoneUnknown: (timeZone: string) =>
    `NETWORK_TIMEZONE: Postgres does not know ${timeZone}. ${ANOTHER_ZONE}`,
  /** @param here a wall clock, and which program says so @param there the same of another */
  clocksDiffer: (timeZone: string, at: Date, here: string, there: string) =>
    `NETWORK_TIMEZONE: at ${formatInstant(at)} the clocks of ${timeZone} show ${here}, but ${there}: what is charged ` +
    `around midnight would count for the wrong day. ${ANOTHER_ZONE}`,
  otherSchema:
    'DATABASE_URL: another build created the schema of this database, and this build has no upgrade from it. Run the ' +
    'build that created it, or name an empty database.',
  tableInUse: (migration: string) =>
    `${migration} needs a table that another session does not let go of: a back-up, or an open transaction. docs/operations.md, "The events feed stands still", names it and ends it; or migrate later.`,
};
