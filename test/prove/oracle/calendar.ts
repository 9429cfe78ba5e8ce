/**
 * The oracle's own calendar. It is made of `Date.UTC`, the table below and what `Intl` knows of
 * zones; the engine's is made of `Temporal`. So a mistake of the one is none of the other.
 *
 * Moments are milliseconds since 1970, UTC.
 */

export type Frequency = 'daily' | 'weekly' | 'monthly' | 'yearly';

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

interface Wall {
  year: number;
  month: number;
  day: number;
  /** Milliseconds since midnight, as if the day had 24 hours. */
  ofDayMs: number;
}

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function lastDayOf(year: number, month: number): number {
  return month === 2 && isLeapYear(year) ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0);
}

/** Zones change their offset at whole quarters of an hour. */
const QUARTER_MS = HOUR_MS / 4;

export class Zone {
  private readonly clock: Intl.DateTimeFormat;
  /** Minutes would be enough, and a run asks for the same few over and over. */
  private readonly offsets = new Map<number, number>();

  constructor(readonly name: string) {
    this.clock = new Intl.DateTimeFormat('en-GB', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** The wall clock is so far ahead of UTC. */
  offsetMs(at: number): number {
    const quarter = Math.floor(at / QUARTER_MS);
    const known = this.offsets.get(quarter);
    if (known !== undefined) return known;
    const from = quarter * QUARTER_MS;
    const parts = new Map(this.clock.formatToParts(from).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    const shown = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    this.offsets.set(quarter, shown - from);
    return shown - from;
  }

  private wall(at: number): Wall {
    const shown = at + this.offsetMs(at);
    const date = new Date(shown);
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      ofDayMs: shown - Math.floor(shown / DAY_MS) * DAY_MS,
    };
  }

  /**
   * When the wall clock shows it: where twice, the first; where never, later by what is skipped.
   */
  private moment({ year, month, day, ofDayMs }: Wall): number {
    const shown = Date.UTC(year, month - 1, day) + ofDayMs;
    // A zone changes at most once within two days.
    const [before, after] = [this.offsetMs(shown - DAY_MS), this.offsetMs(shown + DAY_MS)];
    const shows = [before, after]
      .map((offset) => shown - offset)
      .filter((at) => at + this.offsetMs(at) === shown);
    return shows.length > 0 ? Math.min(...shows) : shown - before;
  }

  /** @param hours of the wall clock, with fractions */
  at(year: number, month: number, day: number, hours: number): number {
    return this.moment({ year, month, day, ofDayMs: hours * HOUR_MS });
  }

  dayOf(at: number): string {
    return new Date(at + this.offsetMs(at)).toISOString().slice(0, 10);
  }

  /** The same time by the wall clock, so many days later. */
  plusDays(at: number, days: number): number {
    const { year, month, day, ofDayMs } = this.wall(at);
    return this.moment({ year, month, day: day + days, ofDayMs });
  }

  private plusMonths(at: number, months: number): number {
    const wall = this.wall(at);
    const count = wall.year * 12 + wall.month - 1 + months;
    const [year, month] = [Math.floor(count / 12), (count % 12) + 1];
    return this.moment({ ...wall, year, month, day: Math.min(wall.day, lastDayOf(year, month)) });
  }

  /** The n-th due date, n = 0, 1, 2 …, counted from the start and not from the one before. */
  due(start: number, frequency: Frequency, interval: number, n: number): number {
    const units = n * interval;
    switch (frequency) {
      case 'daily':
        return this.plusDays(start, units);
      case 'weekly':
        return this.plusDays(start, units * 7);
      case 'monthly':
        return this.plusMonths(start, units);
      case 'yearly':
    }
    return this.plusMonths(start, units * 12);
  }
}
