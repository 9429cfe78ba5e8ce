import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { Config } from '../settings/config';
import { APP_ROLE } from '../database/pool/connection';
import { OperatorError } from '../domain/failures';
import type { Outcome } from './command';

/**
 * `assent database logins`: what a superuser of Postgres runs once. It follows from the two URLs
 * that the processes are given anyway, so there is one place where names and passwords are written.
 *
 * No password is in it, only the verifier that Postgres keeps. So it may pass through a terminal, a
 * ticket and the server's log.
 */

interface Login {
  user: string;
  password: string;
  database: string;
  server: string;
}

export function loginStatements({ DATABASE_URL, DATABASE_OWNER_URL }: Config): Outcome {
  const login = loginOf('DATABASE_URL', DATABASE_URL);
  const schemaLogin = loginOf('DATABASE_OWNER_URL', DATABASE_OWNER_URL);
  if (login.user === schemaLogin.user) {
    throw new OperatorError(
      'DATABASE_OWNER_URL: logs in as DATABASE_URL does, and production wants two logins: name another user',
    );
  }
  if (login.database !== schemaLogin.database || login.server !== schemaLogin.server)
    throw new OperatorError('DATABASE_OWNER_URL: names another database than DATABASE_URL');
  const [schemaLoginName, appRole] = [escapeIdentifier(schemaLogin.user), escapeIdentifier(APP_ROLE)];
  const [loginName, database] = [escapeIdentifier(login.user), escapeIdentifier(schemaLogin.database)];
  const statements = [
    // All databases of a server share it, and another may have it already.
    `DO $$ BEGIN CREATE ROLE ${appRole} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
    `CREATE ROLE ${schemaLoginName} LOGIN PASSWORD ${verifierOf(schemaLogin.password)}`,
    `CREATE ROLE ${loginName} LOGIN PASSWORD ${verifierOf(login.password)} IN ROLE ${appRole}`,
    // An older Postgres lets everybody create in the schema of template1.
    `CREATE DATABASE ${database} OWNER ${schemaLoginName} TEMPLATE template0`,
    // Postgres lets every login into each database of a server, and the role has grants in each: a
    // sandbox's login could write a production.
    `GRANT CONNECT ON DATABASE ${database} TO ${schemaLoginName}, ${loginName}`,
    `REVOKE CONNECT, TEMPORARY ON DATABASE ${database} FROM PUBLIC, ${appRole}`,
  ];
  return { json: { statements }, text: statements.map((one) => `${one};`).join('\n') };
}

/** Postgres would bring others into a form of its own first (RFC 4013). */
const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/** @throws OperatorError, which never shows what was given */
function loginOf(setting: string, given: string | undefined): Login {
  if (given === undefined) {
    throw new OperatorError(
      `${setting} is not set: write DATABASE_URL and DATABASE_OWNER_URL first, as they shall be; the logins follow from them`,
    );
  }
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const { username = '', password = '', pathname = '' } = url ?? {};
  const login = {
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    server: url?.host ?? '',
  };
  if (login.user === '' || login.database === '' || !PRINTABLE_ASCII.test(login.password)) {
    throw new OperatorError(
      `${setting}: needs a user, a password of printable ASCII and a database: postgres://user:password@host:5432/assent`,
    );
  }
  if (login.user === APP_ROLE)
    throw new OperatorError(`${setting}: ${APP_ROLE} is the role, which nobody logs in as`);
  return login;
}

/** As Postgres makes them by itself. */
const ITERATIONS = 4_096;
const SALT_BYTES = 16;

/** A password as Postgres keeps it (SCRAM, RFC 5803), which it takes in the password's place. */
function verifierOf(password: string): string {
  const salt = randomBytes(SALT_BYTES);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const keyed = (words: string) => createHmac('sha256', salted).update(words).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  const serverKey = keyed('Server Key').toString('base64');
  return escapeLiteral(`SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`);
}
