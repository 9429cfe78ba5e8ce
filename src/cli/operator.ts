import { Option } from 'commander';
import type { Actor } from '../database/audit';
import { parseText } from '../domain/plain-text';
import { operatorActor } from '../operator';
import { CommandError } from './command';

/** Who works at the command line, for the record of what is done there. */

/** As long as any other description. */
const REASON_MAX = 500;

/** Options of every command that puts an act on record. */
export interface Explained {
  reason?: string;
}

/** A new one for each command, for commander keeps in it what was given. */
export function reasonOption(): Option {
  return new Option(
    '--reason <text>',
    'why, for the audit record: a ticket, say; no secrets or personal data',
  );
}

/** @throws CommandError for a reason that the record does not take */
export function operator({ reason }: Explained): Actor {
  const parsed = reason === undefined ? undefined : parseText(reason, REASON_MAX);
  if (parsed?.ok === false) throw new CommandError(`--reason ${parsed.reason}`);
  return operatorActor(parsed?.value ?? null);
}
