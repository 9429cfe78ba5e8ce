import { Command } from 'commander';
import { ConfigError, readConfigUntraced, type Config } from '../config';
import { isUnavailable, refusedAppLogin } from '../database/availability';
import { DeploymentError } from '../database/engine/deployment';
import { CommandRefusal, Failure } from '../domain/failures';
import { KeyringError } from '../database/keys/keyring';
import { ForeignNamespaceError } from '../temporal/foreign-namespace';
import { StartError } from '../start/start-error';
import { claimRing } from '../database/keys/sealing-key';
import { databaseFault } from './database-fault';
import { anyRing, embeddedEngine, openEngine, type AdmitRing, type Engine } from './engine';
import { progress } from './progress';

/** What a command has to tell: the object for programs, and the same in words. */
export interface Outcome {
  json: object;
  text: string;
}

/** Something that the operator can mend. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Of a command that was given an id that no entity has. */
export function unknownEntity(): CommandError {
  return new CommandError('there is no such entity: see "assent entity list"');
}

type Action = (...given: unknown[]) => Promise<void>;

/** A command below `parent` that takes `--json`. */
export function command(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--json', 'print one JSON object and nothing else');
}

/**
 * An action that prints its outcome, as words or as JSON. Its arguments are the command's, then its
 * options.
 */
export function reporting(work: (config: Config, ...args: never[]) => Promise<Outcome>): Action {
  return async (...given) => {
    const self = given.at(-1);
    const json = self instanceof Command && self.opts<{ json?: boolean }>().json === true;
    if (json) progress.silence();
    const outcome = await work(readConfigUntraced(process.env), ...(given as never[])).finally(() =>
      progress.end(),
    );
    process.stdout.write(`${json ? JSON.stringify(outcome.json) : outcome.text}\n`);
  };
}

/**
 * The same for a command that works on a running engine.
 *
 * @param admitRing what it needs of the ring
 */
export function onEngine(
  work: (engine: Engine, config: Config, ...args: never[]) => Promise<Outcome>,
  admitRing: AdmitRing = claimRing,
): Action {
  return reporting((config, ...args) =>
    withEngine(config, admitRing, (engine) => work(engine, config, ...args)),
  );
}

/**
 * The same for one that writes what is in clear, as it goes, for it may be more than fits into
 * memory.
 */
export function onEngineWriting(
  work: (engine: Engine, config: Config, ...args: never[]) => Promise<void>,
): Action {
  return async (...given) => {
    const config = readConfigUntraced(process.env);
    const working = withEngine(config, anyRing, (engine) => work(engine, config, ...(given as never[])));
    await working.finally(() => progress.end());
  };
}

async function withEngine<Result>(
  config: Config,
  admitRing: AdmitRing,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  const engine = openEngine(config, admitRing);
  try {
    return await work(engine);
  } catch (cause) {
    if (isUnavailable(cause)) throw new CommandError(databaseFault(cause) ?? unreachable(config), { cause });
    throw cause;
  } finally {
    await engine.db.destroy();
  }
}

/** What to do about a database that does not answer, by whose it is. */
function unreachable({ DATABASE_URL }: Pick<Config, 'DATABASE_URL'>): string {
  if (DATABASE_URL !== undefined) return 'the database does not answer. Start it, or correct DATABASE_URL.';
  const embedded = embeddedEngine();
  return embedded && lives(embedded.pid)
    ? `the database of "npm start" does not answer. It starts it again when it dies; see ${embedded.logFile}.`
    : 'the database does not answer. Run "npm start" in this folder, or set DATABASE_URL.';
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Postgres's code for a table that is not there. */
const UNDEFINED_TABLE = '42P01';

/** What went wrong, in words that help; a fault of ours with all that is known about it. */
export function explained(error: unknown): string {
  if (
    error instanceof CommandError ||
    error instanceof CommandRefusal ||
    error instanceof Failure ||
    error instanceof ConfigError ||
    error instanceof DeploymentError ||
    error instanceof KeyringError ||
    error instanceof StartError ||
    error instanceof ForeignNamespaceError
  ) {
    return error.message;
  }
  if (isUnavailable(error)) {
    return (
      databaseFault(error) ??
      'the database does not answer. Start it, or correct DATABASE_OWNER_URL or DATABASE_URL.'
    );
  }
  const refused = refusedAppLogin(error);
  if (refused !== undefined) return refused;
  if (error instanceof Error && 'code' in error && error.code === UNDEFINED_TABLE) {
    return 'the database has no schema yet: run "assent migrate"';
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
