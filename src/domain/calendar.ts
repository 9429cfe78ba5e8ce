import { Temporal } from 'temporal-polyfill';
import { accept, refuse, type Parsed } from './parsed';

/**
 * Days, months and due dates by the calendar of a time zone. Moments are `Date`s (milliseconds of
 * UTC); a zone is an IANA name.
 */

export type Frequency = 'daily' | 'weekly' | 'monthly' | 'yearly';

const UNIT = { daily: 'days', weekly: 'weeks', monthly: 'months', yearly: 'years' } as const satisfies Record<
  Frequency,
  string
>;

/**
 * Most units between two charges: three years at the longest. Days stop at 1095, since only some
 * spans of three years have a 1096th.
 */
export const MAX_INTERVAL: Record<Frequency, number> = { daily: 1095, weekly: 156, monthly: 36, yearly: 3 };

/**
 * The due dates of a recurring charge: every `interval` units of `frequency`, counted from
 * `startAt`.
 */
interface Recurrence {
  startAt: Date;
  frequency: Frequency;
  /** A whole number from 1 to `MAX_INTERVAL[frequency]`. */
  interval: number;
  timeZone: string;
}

/**
 * The moment of the n-th billing, n = 0, 1, 2 …; n = 0 is `startAt` itself.
 *
 * Each is counted from the start, so that a short month does not shift later ones: 31 January, 28
 * February, 31 March. The wall clock keeps its time through changes of the zone's offset. A time
 * that a change skips moves forward by the gap; a time that it repeats is the first of the two.
 *
 * The moments rise strictly, with one exception: a zone may leave out a whole calendar day (Samoa,
 * 30 December 2011). A daily billing of that day falls on the same moment as the next day's.
 */
export function dueDate({ startAt, frequency, interval, timeZone }: Recurrence, n: number): Date {
  return toDate(zoned(startAt, timeZone).add({ [UNIT[frequency]]: n * interval }));
}

/** The calendar day in the zone, `2026-11-21`. */
export function calendarDay(moment: Date, timeZone: string): string {
  return zoned(moment, timeZone).toPlainDate().toString();
}

/** The wall-clock time in the zone, `2026-11-21T09:00:00`. */
export function wallClock(moment: Date, timeZone: string): string {
  return zoned(moment, timeZone).toPlainDateTime().toString({ smallestUnit: 'second' });
}

/** The beginning of a calendar day, `2026-11-21`, in the zone. */
export function startOfDay(day: string, timeZone: string): Date {
  return toDate(Temporal.PlainDate.from(day).toZonedDateTime(timeZone));
}

/** A calendar day, `2026-11-21`, moved by whole days. */
export function addDays(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}

/** The same wall-clock time in the zone, a whole number of calendar days later. */
export function addCalendarDays(moment: Date, days: number, timeZone: string): Date {
  return toDate(zoned(moment, timeZone).add({ days }));
}

const RFC_3339 =
  /^(\d{4})-\d\d-\d\d[Tt]\d\d:\d\d:(\d\d)(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const WITHOUT_OFFSET = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/;

/** A four-digit year in UTC can write the last, and no clock counts before the first. */
const FIRST_INSTANT = Date.UTC(1970, 0, 1);
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Reads RFC 3339 with its offset; digits beyond the millisecond are cut off. */
export function parseInstant(text: string): Parsed<Date> {
  const parts = RFC_3339.exec(text);
  if (!parts) {
    return refuse(
      WITHOUT_OFFSET.test(text)
        ? 'must name its offset from UTC, as in 2026-01-31T09:00:00+01:00'
        : 'must be a date and time of RFC 3339, as in 2026-01-31T09:00:00+01:00',
    );
  }
  // Our clocks have no leap seconds, so a second 60 would silently become another moment.
  if (parts[2] === '60') return refuse('must not be a leap second');
  let moment: Date;
  try {
    moment = new Date(Temporal.Instant.from(text).epochMilliseconds);
  } catch {
    return refuse('must be a day and time that exist');
  }
  if (moment.getTime() < FIRST_INSTANT || moment.getTime() > LAST_INSTANT) {
    return refuse('must be within the years 1970 to 9999');
  }
  return accept(moment);
}

const DAY = /^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\d$/;

/** Reads a calendar day, `2026-01-31`, of the years 1970 to 9999. */
export function parseDay(text: string): Parsed<string> {
  if (!DAY.test(text)) return refuse('must be a day, as in 2026-01-31');
  try {
    return accept(Temporal.PlainDate.from(text).toString());
  } catch {
    return refuse('must be a day that exists');
  }
}

/** Reads a calendar month, `2026-01`, of the years 1970 to 9999. */
export function parseMonth(text: string): Parsed<string> {
  return parseDay(`${text}-01`).ok ? accept(text) : refuse('must be a month, as in 2026-01');
}

/** Whether a day, `2026-01-31`, or month is a month. */
export const isMonth = (period: string) => period.length === '2026-01'.length;

/** The first day of a month, `2026-02`, or of a day's. */
export const firstOfMonth = (period: string) => `${period.slice(0, '2026-01'.length)}-01`;

/** The last day of a month, `2026-02`. */
export function lastOfMonth(month: string): string {
  return `${month}-${Temporal.PlainYearMonth.from(month).daysInMonth}`;
}

/** RFC 3339 in UTC with milliseconds, `2026-01-31T08:00:00.000Z`. */
export function formatInstant(moment: Date): string {
  return moment.toISOString();
}

/** Longer than the longest sensible duration with every unit in it. */
const MAX_DURATION_LENGTH = 100;
const MAX_DURATION = { years: 10 };

/**
 * Adds an ISO 8601 duration such as `P1M` or `P1DT12H`, by the calendar of the zone.
 *
 * @returns a moment later than `from`, by at most ten years
 */
export function addDuration(from: Date, duration: string, timeZone: string): Parsed<Date> {
  const malformed = refuse('must be a duration of ISO 8601, as in P1M or P1DT12H, of at most ten years');
  if (duration.length > MAX_DURATION_LENGTH) return malformed;
  const start = zoned(from, timeZone);
  let target: Date;
  try {
    target = toDate(start.add(Temporal.Duration.from(duration)));
  } catch {
    return malformed;
  }
  // A duration below a millisecond counts as zero.
  if (target.getTime() <= from.getTime()) return refuse('must be a duration greater than 0');
  if (target.getTime() > toDate(start.add(MAX_DURATION)).getTime()) {
    return refuse('must be a duration of at most ten years');
  }
  return accept(target);
}

function zoned(moment: Date, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(moment.getTime()).toZonedDateTimeISO(timeZone);
}

function toDate(moment: Temporal.ZonedDateTime): Date {
  return new Date(moment.epochMilliseconds);
}
