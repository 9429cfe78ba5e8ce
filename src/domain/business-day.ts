import { addCalendarDays, addDays, calendarDay } from './calendar';

/**
 * The days on which banks of a country move money: not Saturdays, Sundays, nor the public holidays
 * in this file. A country without a table has weekends only. The country is the customer's; the
 * network's zone only says when a day begins.
 */

/** Yearly days (`MM-DD`), days counted from Easter Sunday, and by year days that are proclaimed. */
interface Holidays {
  yearly: readonly string[];
  fromEaster: readonly number[];
  /** A year beyond the last would count its holidays as business days. */
  proclaimed: Readonly<Record<number, readonly string[]>>;
}

const HOLIDAYS: Readonly<Record<string, Holidays>> = {
  NG: {
    // New Year, Workers' Day, Democracy Day, Independence Day, Christmas, Boxing Day.
    yearly: ['01-01', '05-01', '06-12', '10-01', '12-25', '12-26'],
    // Good Friday and Easter Monday.
    fromEaster: [-2, 1],
    // Eid al-Fitr, Eid al-Adha and Mawlid follow the moon: correct them once proclaimed.
    proclaimed: {
      2026: ['03-20', '05-27', '05-28', '08-26'],
      2027: ['03-10', '05-17', '05-18', '08-16'],
      2028: ['02-28', '05-05', '08-03'],
      2029: ['02-14', '02-15', '04-24', '04-25', '07-24'],
      2030: ['02-04', '02-05', '04-15', '07-15'],
      2031: ['01-24', '04-02', '04-03', '07-02'],
    },
  },
};

const DAY_MS = 86_400_000;
const YEAR_MS = 366 * DAY_MS;

/** Countries whose table of holidays ends within a year: a release has to extend it. */
export function holidaysRunningOut(now: Date): string[] {
  const inAYear = new Date(now.getTime() + YEAR_MS).getUTCFullYear();
  return Object.keys(HOLIDAYS).filter((country) => !HOLIDAYS[country]?.proclaimed[inAYear]);
}

/** @param day `2026-11-21` */
export function isBusinessDay(day: string, country: string): boolean {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const weekday = new Date(midnight).getUTCDay();
  if (weekday === 0 || weekday === 6) return false;
  const holidays = HOLIDAYS[country];
  if (!holidays) return true;
  const year = Number(day.slice(0, 4));
  const proclaimed = holidays.proclaimed[year] ?? [];
  const fromEaster = Math.round((midnight - easterSunday(year)) / DAY_MS);
  return (
    ![...holidays.yearly, ...proclaimed].includes(day.slice(5)) && !holidays.fromEaster.includes(fromEaster)
  );
}

/**
 * The same wall-clock time in the zone, `days` business days after the day of the moment.
 *
 * @param country ISO 3166-1 alpha-2
 */
export function addBusinessDays(moment: Date, days: number, country: string, timeZone: string): Date {
  let left = days;
  let after = 0;
  let result = moment;
  // Ends, because every year of a table has business days.
  while (left > 0) {
    after += 1;
    result = addCalendarDays(moment, after, timeZone);
    if (isBusinessDay(calendarDay(result, timeZone), country)) left -= 1;
  }
  return result;
}

/**
 * The latest day that is followed by `days` business days up to the given day.
 *
 * @param day `2026-11-21`
 */
export function businessDaysBefore(day: string, days: number, country: string): string {
  let result = day;
  // Ends, because every year of a table has business days.
  for (let left = days; left > 0; result = addDays(result, -1)) {
    if (isBusinessDay(result, country)) left -= 1;
  }
  return result;
}

/** By the Gregorian rule, after Meeus; midnight in UTC. */
function easterSunday(year: number): number {
  const a = year % 19;
  const century = Math.floor(year / 100);
  const c = year % 100;
  const g = Math.floor((8 * century + 13) / 25);
  const h = (19 * a + century - Math.floor(century / 4) - g + 15) % 30;
  const l = (32 + 2 * (century % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7;
  const m = Math.floor((a + 11 * h + 22 * l) / 451);
  const n = h + l - 7 * m + 114;
  return Date.UTC(year, Math.floor(n / 31) - 1, (n % 31) + 1);
}
