import type { Direction, ReadLine } from '../../domain/books/bank-file';
import { calendarDay, parseDay, parseInstant } from '../../domain/calendar';
import { minorUnitDigits } from '../../domain/currency';
import { parseDecimalAmount } from '../../domain/money';
import { accept, refuse, type Parsed } from '../../domain/parsed';
import { NAME_MAX, ownText, parseText } from '../../domain/plain-text';

export const REQUIRED = ['bankTransactionId', 'bookingDate', 'amount', 'currency', 'direction'] as const;
type Field = (typeof REQUIRED)[number] | 'reference' | 'isReversal';

/** A line as it is written, in either format; an absent field is empty or left out. */
export type WrittenLine = Partial<Record<Field, string | undefined>>;

/** Days that a booking may be of, by the calendar of the network. */
export interface BookableDays {
  timeZone: string;
  /** A day before it is a mistake in writing. */
  first: string;
}

export type LineReader = (line: number, written: WrittenLine) => ReadLine;

export function createLineReader({ timeZone, first }: BookableDays): LineReader {
  // Most lines have the day of the line before, and to read one takes longer than all the rest.
  let before: { text: string; day: Parsed<string> } | undefined;
  function bookableDay(text: string): Parsed<string> {
    if (before?.text === text) return before.day;
    const day = bookingDay(text, timeZone);
    const isOld = day.ok && day.value < first;
    before = {
      text,
      day: isOld ? refuse(`is before ${first}, and so no day that anything is booked of now`) : day,
    };
    return before.day;
  }

  return (line, written) => {
    const problems: string[] = [];
    function field<T>(name: Field, parse: (text: string) => Parsed<T>): T | undefined {
      const text = written[name]?.trim() ?? '';
      const parsed = text === '' ? refuse('is missing') : parse(text);
      if (parsed.ok) return parsed.value;
      problems.push(`${name} ${parsed.reason}`);
      return undefined;
    }
    const bankTransactionId = field('bankTransactionId', parseOwn);
    const bookingDate = field('bookingDate', bookableDay);
    const currency = field('currency', parseCurrency);
    const amount = currency && field('amount', (text) => parseDecimalAmount(text, currency));
    const direction = field('direction', parseDirection);
    const isNamed = (written.reference?.trim() ?? '') !== '';
    const reference = isNamed ? field('reference', parseOwn) : null;
    if (
      bankTransactionId === undefined ||
      bookingDate === undefined ||
      currency === undefined ||
      typeof amount !== 'bigint' ||
      direction === undefined ||
      reference === undefined
    ) {
      return { line, problem: problems.join('; ') };
    }
    // A day and a time both begin with the day.
    const bookedOn = written.bookingDate?.trim().slice(0, 'YYYY-MM-DD'.length) ?? bookingDate;
    const isReversal = written.isReversal === 'true';
    return {
      line,
      bankTransactionId,
      bookingDate,
      bookedOn,
      amount,
      currency,
      direction,
      reference,
      isReversal,
    };
  };
}

/** A text that is kept with its line, and without what else arrived with it. */
function parseOwn(text: string): Parsed<string> {
  const parsed = parseText(text, NAME_MAX);
  return parsed.ok ? accept(ownText(parsed.value)) : parsed;
}

/** A day, or a time without an offset: the wall clock's where it was booked. */
const BY_WALL_CLOCK = /^([\d-]{10})(?:T[\d:.]{8,18}|Z|[+-][01]\d:[0-5]\d)$/;

/** The day in the network's zone. */
export function bookingDay(text: string, timeZone: string): Parsed<string> {
  const moment = parseInstant(text);
  if (moment.ok) return accept(calendarDay(moment.value, timeZone));
  return parseDay(BY_WALL_CLOCK.exec(text)?.[1] ?? text);
}

function parseCurrency(text: string): Parsed<string> {
  return minorUnitDigits(text) === undefined ? refuse('must be a code of ISO 4217, as NGN') : accept(text);
}

function parseDirection(text: string): Parsed<Direction> {
  const direction = text.toLowerCase();
  return direction === 'debit' || direction === 'credit'
    ? accept(direction)
    : refuse('must be debit or credit');
}
