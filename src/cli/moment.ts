import { parseInstant } from '../domain/calendar';
import { CommandError } from './command';

/** The moment that an option names. @throws CommandError */
export function moment(option: string, text: string): Date {
  const parsed = parseInstant(text);
  if (!parsed.ok) throw new CommandError(`${option} ${parsed.reason}`);
  return parsed.value;
}
