import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from 'pg';
import { makeKeyring, readKeyring } from '../../src/database/keyring/keyring';
import { migrateUp } from '../../src/database/migrate';
import type { EngineFacts } from '../../src/database/pool/connection';
import { onDatabase } from '../../src/database/pool/one-connection';
import { poll } from '../../src/process/poll';
import { preparePostgres } from '../../src/start/postgres';
import { Supervisor } from '../../src/start/supervisor';
import { say } from '../../scripts/command';
import { freePorts } from '../../test/launch/ports';

/** A Postgres of the benchmark's own, in a folder that may be kept and measured again. */
export interface Server {
  /** As the superuser, with everything written down that the server says of a plan. */
  superuserUrl: string;
  /** As API and worker. */
  databaseUrl: string;
  /** The same, by a login whose every statement is explained. */
  explainedUrl: string;
  facts: EngineFacts;
  stop(): Promise<void>;
}

const READY_MS = 120_000;
/** A checkpoint of gigabytes comes before the end. */
const STOP_MS = 300_000;

/** Nothing of it need survive a crash: what is half made is made anew. */
const WHILE_GENERATING = [
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=16GB',
  'checkpoint_timeout=1h',
  'autovacuum=off',
  'maintenance_work_mem=2GB',
  'work_mem=1GB',
  'max_parallel_workers=0',
];

/**
 * As a small production server has it; what is not named here is as Postgres comes, fsync among it.
 */
export const WHILE_MEASURING = ['shared_buffers=1GB', 'effective_cache_size=8GB', 'random_page_cost=1.1'];

export interface Folder {
  path: string;
  /** It was there, with all of its data. */
  complete: boolean;
  /** To be called when all is generated. */
  finish(): void;
  remove(): void;
}

/** @param kept where the data stays; without it, it goes with the process */
export function openFolder(kept: string | undefined, scale: number): Folder {
  const folder = kept === undefined ? mkdtempSync(path.join(tmpdir(), 'assent-growth-')) : path.resolve(kept);
  mkdirSync(folder, { recursive: true });
  // Postgres does not run as root: the user that it runs as then must get through to its data.
  chmodSync(folder, 0o711);
  const mark = path.join(folder, 'generated');
  const complete = existsSync(mark);
  if (complete && Number(readFileSync(mark, 'utf8')) !== scale) {
    throw new Error(`${folder} holds data of another scale: ${readFileSync(mark, 'utf8')}`);
  }
  // Half of the data is of no use.
  if (!complete) {
    for (const part of ['postgres', 'postgres-logins.json', 'keys']) {
      rmSync(path.join(folder, part), { recursive: true, force: true });
    }
  }
  return {
    path: folder,
    complete,
    finish: () => writeFileSync(mark, String(scale)),
    remove: () => {
      if (kept === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

export async function startServer(
  folder: string,
  mode: 'generating' | 'measuring',
  signal: AbortSignal,
): Promise<Server> {
  const [port = 0] = await freePorts(1);
  const embedded = await preparePostgres(folder, port, () => undefined);
  const settings = mode === 'generating' ? [...WHILE_GENERATING, 'shared_buffers=2GB'] : WHILE_MEASURING;
  const { program } = embedded;
  const server = new Supervisor(path.join(folder, 'postgres.log'), say);
  const stop = () => server.stop();
  server.start({
    ...program,
    args: [...program.args, ...settings.flatMap((setting) => ['-c', setting])],
    endsWithinMs: STOP_MS,
  });
  try {
    const ended = AbortSignal.any([signal, server.failing]);
    await poll('Postgres', READY_MS, ended, () => embedded.setUp());
    await migrateUp(embedded.ownerUrl, 'sandbox', 'Africa/Lagos');
    const logins = JSON.parse(readFileSync(path.join(folder, 'postgres-logins.json'), 'utf8')) as {
      postgres: string;
    };
    const superuserUrl = loginTo(embedded.databaseUrl, 'postgres', logins.postgres);
    await onDatabase(superuserUrl, (client) => makeExplainedLogin(client, logins.postgres));
    return {
      superuserUrl,
      databaseUrl: embedded.databaseUrl,
      explainedUrl: loginTo(embedded.databaseUrl, EXPLAINED, logins.postgres),
      facts: { keyring: readKeyring(keyringOf(folder)), timeZone: 'Africa/Lagos' },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const EXPLAINED = 'growth_explained';

/** Plans come to the client as notices, in JSON, also those of triggers and of functions. */
async function makeExplainedLogin(client: Client, password: string): Promise<void> {
  await client.query(`
    DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${EXPLAINED}') THEN CREATE ROLE ${EXPLAINED} LOGIN; END IF;
    END $$;
    ALTER ROLE ${EXPLAINED} PASSWORD ${client.escapeLiteral(password)};
    GRANT assent_app TO ${EXPLAINED};
    ALTER ROLE ${EXPLAINED} SET session_preload_libraries = 'auto_explain';
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_min_duration = 0;
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_analyze = on;
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_buffers = on;
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_timing = off;
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_nested_statements = on;
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_format = 'json';
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_level = 'notice';
    ALTER ROLE ${EXPLAINED} SET auto_explain.log_parameter_max_length = 0;
  `);
}

function loginTo(url: string, user: string, password: string): string {
  const changed = new URL(url);
  changed.username = user;
  changed.password = password;
  return changed.href;
}

function keyringOf(folder: string): string {
  const file = path.join(folder, 'keys');
  if (!existsSync(file)) writeFileSync(file, makeKeyring(), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}
