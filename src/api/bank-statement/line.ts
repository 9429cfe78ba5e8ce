import { calendarDay, parseDay, parseInstant } from '../../domain/calendar';
import type { Direction, ReadLine } from '../../domain/books/bank-statement';
import { minorUnitDigits } from '../../domain/currency';
import { parseDecimalAmount } from '../../domain/money';
import { accept, refuse, type Parsed } from '../../domain/parsed';
import { ownText, parseText } from '../../domain/plain-text';
import { NAME_MAX } from '../http/fields';
import { invalidRequest } from '../http/validation';

/** Each is kept with what is wrong about it. Who has more has sent something else. */
export const MALFORMED_MAX = 100_000;

export const tooManyMalformed = () =>
  invalidRequest([{ path: 'body', message: `has more than ${MALFORMED_MAX} lines that cannot be read` }]);

/** A line as it is written, whatever the format; what is not there is empty or left out. */
export interface WrittenLine {
  line: number;
  bankTransactionId?: string | undefined;
  bookingDate?: string | undefined;
  amount?: string | undefined;
  currency?: string | undefined;
  direction?: string | undefined;
  reference?: string | undefined;
  /** What the file says that its bookings are of; an end that it does not say is open. */
  period?: StatedPeriod;
}

/** Both days are of it. */
export interface StatedPeriod {
  from?: string;
  to?: string;
}

/** Days that a booking may be of, by the calendar of the network. */
export interface BookableDays {
  timeZone: string;
  /** A day before it is a mistake in writing. */
  first: string;
}

export function createLineReader(days: BookableDays): (written: WrittenLine) => ReadLine {
  // Most lines have the day of the line before, and to read one takes longer than all the rest.
  let day: { text: string; parsed: Parsed<string> } | undefined;
  const parseBooking = (text: string): Parsed<string> => {
    if (day?.text !== text) day = { text, parsed: bookableDay(text, days) };
    return day.parsed;
  };

  return ({ line, period, ...written }) => {
    const problems: string[] = [];
    const field = <T>(name: keyof typeof written, parse: (text: string) => Parsed<T>): T | undefined => {
      const text = written[name]?.trim() ?? '';
      const parsed = text === '' ? refuse('is missing') : parse(text);
      if (parsed.ok) return parsed.value;
      problems.push(`${name} ${parsed.reason}`);
      return undefined;
    };
    const bankTransactionId = field('bankTransactionId', (text) => parseOwn(text, NAME_MAX));
    const bookingDate = field('bookingDate', (text) => inPeriod(parseBooking(text), period));
    const currency = field('currency', parseCurrency);
    const amount =
      currency === undefined ? undefined : field('amount', (text) => parseDecimalAmount(text, currency));
    const direction = field('direction', parseDirection);
    const isNamed = (written.reference?.trim() ?? '') !== '';
    const reference = isNamed ? field('reference', (text) => parseOwn(text, NAME_MAX)) : null;
    return bankTransactionId === undefined ||
      bookingDate === undefined ||
      currency === undefined ||
      amount === undefined ||
      direction === undefined ||
      reference === undefined
      ? { line, problem: problems.join('; ') }
      : { line, bankTransactionId, bookingDate, amount, currency, direction, reference };
  };
}

/** A text that is kept with its line, and without what else arrived with it. */
function parseOwn(text: string, maxLength: number): Parsed<string> {
  const parsed = parseText(text, maxLength);
  return parsed.ok ? accept(ownText(parsed.value)) : parsed;
}

/**
 * A time without an offset is the wall clock's where it was booked: its day is the day. So is a day
 * with one, as XML has it.
 */
const BY_WALL_CLOCK = /^([\d-]{10})(?:T[\d:.]{8,18}|Z|[+-][01]\d:[0-5]\d)$/;

function bookableDay(text: string, { timeZone, first }: BookableDays): Parsed<string> {
  const day = bookingDay(text, timeZone);
  if (!day.ok || day.value >= first) return day;
  return refuse(`is before ${first}, and so no day that anything is booked of now`);
}

function inPeriod(day: Parsed<string>, { from, to }: StatedPeriod = {}): Parsed<string> {
  if (!day.ok) return day;
  const isIn = (from === undefined || day.value >= from) && (to === undefined || day.value <= to);
  return isIn ? day : refuse('is not in the period that the statement is of');
}

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
