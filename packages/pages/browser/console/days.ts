/* Days of the network's zone, wherever the reader sits, in the API's form: `2026-11-21`. */

const DAY_MS = 86_400_000;

const midnight = (day: string) => new Date(`${day}T00:00:00Z`);
const inUtc = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' });

const LONG_DAY = inUtc({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
const SHORT_DAY = inUtc({ day: 'numeric', month: 'short' });
const MONTH = inUtc({ month: 'long', year: 'numeric' });

/** `Sat, 21 Nov 2026`. */
export const longDay = (day: string) => LONG_DAY.format(midnight(day));
/** `21 Nov`. */
export const shortDay = (day: string) => SHORT_DAY.format(midnight(day));
/** `November 2026`. */
export const monthOf = (day: string) => MONTH.format(midnight(day));

/** Both ends included. */
export const spanInWords = (from: string, to: string) =>
  from === to ? `on ${longDay(from)}` : `between ${longDay(from)} and ${longDay(to)}`;

/** A hand-typed address may name anything. */
export const isDay = (text: string) => !Number.isNaN(midnight(text).getTime());
/** A month as in `2026-11`. */
export const isMonth = (text: string) => /^\d{4}-\d\d$/.test(text) && isDay(`${text}-01`);

export const addDays = (day: string, days: number) =>
  dayOf(new Date(midnight(day).getTime() + days * DAY_MS));

export const monthIn = (day: string) => day.slice(0, 7);

/** The month before (-1), or after (1). */
export const monthBeside = (month: string, by: 1 | -1) =>
  monthIn(by === 1 ? addDays(lastOfMonth(firstOfMonth(month)), 1) : addDays(firstOfMonth(month), -1));

export const firstOfMonth = (day: string) => `${day.slice(0, 7)}-01`;

export function lastOfMonth(day: string): string {
  const first = midnight(firstOfMonth(day));
  return dayOf(new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)));
}

/** Both ends included. */
export function daysFrom(from: string, to: string): string[] {
  const count = Math.round((midnight(to).getTime() - midnight(from).getTime()) / DAY_MS) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => addDays(from, i));
}

const dayOf = (date: Date) => date.toISOString().slice(0, 10);
