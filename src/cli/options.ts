import { Argument, Option } from 'commander';
import type { Actor } from '../database/record/audit-event';
import { parseDay, parseInstant, parseMonth } from '../domain/calendar';
import { OperatorError } from '../domain/failures';
import { accept, refuse, type Parsed } from '../domain/parsed';
import { DESCRIPTION_MAX, parseText } from '../domain/plain-text';
import { operatorActor } from '../process/operator';

/** Options of every command that leaves an audit event. */
export interface Explained {
  reason?: string;
}

/** Options of a command that rotates a secret. */
export interface AtOnce extends Explained {
  now?: boolean;
}

export const atOnceOption = () => new Option('--now', 'the old one is dead at once: for one that has leaked');

/** A new one for each command, because commander keeps in it what was given. */
export const reasonOption = () =>
  parsedOption(
    '--reason <text>',
    'why, for the audit record: a ticket, say; no secrets or personal data',
    (given) => parseText(given, DESCRIPTION_MAX),
  );

export function operator({ reason }: Explained): Actor {
  return operatorActor(reason ?? null);
}

const reading = (parse: (given: string) => Parsed<string>, otherwise: string) => (given: string) =>
  parse(given).ok ? accept(given) : refuse(otherwise);

const readDay = reading(parseDay, 'is no day: write it as in 2026-11-01');
const readMonth = reading(parseMonth, 'is no month: write it as in 2026-11');

export const dayOption = (flags: string, description: string) =>
  parsedOption(flags, `${description}, as in 2026-11-01`, readDay);

export const dayArgument = () =>
  new Argument('<day>', '2026-11-01').argParser((given) => accepted(given, readDay(given)));

export const monthOption = () =>
  parsedOption('--month <month>', 'a month of the network’s zone, as in 2026-11', readMonth);

export const monthArgument = () =>
  new Argument('<month>', '2026-11').argParser((given) => accepted(given, readMonth(given)));

export const momentOption = (flags: string, description: string) =>
  parsedOption(flags, `${description}, as in 2026-01-31T09:00:00Z`, parseInstant);

export function parsedOption<Value>(
  flags: string,
  description: string,
  parse: (given: string) => Parsed<Value>,
): Option {
  const option = new Option(flags, description);
  return option.argParser((given) => accepted(option.long, parse(given)));
}

/** @throws OperatorError naming the option */
export function accepted<Value>(option: string | undefined, parsed: Parsed<Value>): Value {
  if (!parsed.ok) throw new OperatorError(`${option} ${parsed.reason}`);
  return parsed.value;
}
