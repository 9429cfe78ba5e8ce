import { Command } from 'commander';
import type { Config } from '../settings/config';
import { claimRing } from '../database/key-rotation/claim-keyring';
import { OperatorError } from '../domain/failures';
import type { Database } from '../database/pool/connection';
import { openEngine, readSettings, whereAway, type AdmitRing } from './engine';
import { factsOf, progress, write } from './output';

/** The result of a command: an object for programs, and the same in words. */
export interface Outcome {
  json: object;
  text: string;
}

/** An outcome with a secret. */
export const shownOnce = (made: object, advice = 'Keep what is secret now'): Outcome => ({
  json: made,
  text: `${factsOf(Object.entries(made) as [string, string][])}\n${advice}: it is not shown again.`,
});

export const unknownEntity = (what = 'entity') =>
  new OperatorError(`there is no such ${what}: see "assent entity list"`);

type Action = (...given: unknown[]) => Promise<void>;

export function command(parent: Command, name: string, description: string): Command {
  return takingJson(parent.command(name).description(description));
}

export function takingJson(self: Command): Command {
  return self.option('--json', 'print one JSON object and nothing else');
}

/**
 * An action that prints its outcome, as words or as JSON. Its arguments are the command's, then its
 * options. An action without an outcome has printed already, because its output may exceed the
 * memory.
 */
export function reporting(work: (config: Config, ...args: never[]) => Promise<Outcome | void>): Action {
  return async (...given) => {
    const self = given.at(-1);
    const json = self instanceof Command && self.opts<{ json?: boolean }>().json === true;
    if (json) progress.silence();
    const outcome = await work(readSettings(process.env), ...(given as never[])).finally(() =>
      progress.end(),
    );
    if (outcome) await write(`${json ? JSON.stringify(outcome.json) : outcome.text}\n`);
  };
}

/**
 * Does the same for a command that works on a running engine.
 *
 * @param admitRing what it needs of the ring
 */
export function onEngine(
  work: (db: Database, config: Config, ...args: never[]) => Promise<Outcome | void>,
  admitRing: AdmitRing = claimRing,
): Action {
  return reporting(async (config, ...args) => {
    const db = openEngine(config, admitRing);
    try {
      return await work(db, config, ...args);
    } catch (error) {
      throw whereAway(error, config);
    } finally {
      await db.destroy();
    }
  });
}
