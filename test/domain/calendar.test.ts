import * as fc from 'fast-check';
import { eachDay } from '../../src/domain/books/statement';
import {
  addCalendarDays,
  addDuration,
  calendarDay,
  dueDate,
  formatInstant,
  lastOfMonth,
  MAX_INTERVAL,
  parseInstant,
  parseMonth,
  type Frequency,
} from '../../src/domain/calendar';
import type { Parsed } from '../../src/domain/parsed';

const LAGOS = 'Africa/Lagos';
const NEW_YORK = 'America/New_York';

const FREQUENCIES: Frequency[] = ['daily', 'weekly', 'monthly', 'yearly'];

/**
 * Among them: no change of offset, half-hour ones, at midnight, around Ramadan, a lost calendar
 * day.
 */
const ZONES = [
  LAGOS,
  NEW_YORK,
  'UTC',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Europe/Dublin',
  'Pacific/Apia',
  'Pacific/Auckland',
  'Pacific/Chatham',
];

function due(
  startAt: string,
  frequency: Frequency,
  interval: number,
  timeZone: string,
  count: number,
): string[] {
  return Array.from({ length: count }, (_, n) =>
    dueDate({ startAt: new Date(startAt), frequency, interval, timeZone }, n).toISOString(),
  );
}

/*
 * A second opinion on due dates that shares no code with the first: wall clocks come from `Intl`,
 * and calendar arithmetic from `Date.UTC`. A wall-clock time is a number, the milliseconds of UTC
 * that read the same.
 */

const formats = new Map<string, Intl.DateTimeFormat>();

function wallClock(moment: number, timeZone: string): number {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(timeZone, format);
  }
  const part = Object.fromEntries(
    format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = NaN, month = NaN, day = NaN, hour = NaN, minute = NaN, second = NaN } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second, moment % 1000);
}

const DAY_MS = 86_400_000;

function addToWallClock(wall: number, frequency: Frequency, count: number): number {
  if (frequency === 'daily') return wall + count * DAY_MS;
  if (frequency === 'weekly') return wall + count * 7 * DAY_MS;
  const from = new Date(wall);
  const months = from.getUTCMonth() + count * (frequency === 'yearly' ? 12 : 1);
  const lastDay = new Date(Date.UTC(from.getUTCFullYear(), months + 1, 0)).getUTCDate();
  const day = Math.min(from.getUTCDate(), lastDay);
  return Date.UTC(from.getUTCFullYear(), months, day) + (wall % DAY_MS);
}

/**
 * The first moment that reads so; where none does, the one that the offset before the gap gives.
 */
function momentOf(wall: number, timeZone: string): number {
  const moments = [wall - DAY_MS, wall + DAY_MS].map((near) => wall - (wallClock(near, timeZone) - near));
  const exact = moments.filter((moment) => wallClock(moment, timeZone) === wall);
  return exact.length > 0 ? Math.min(...exact) : Math.max(...moments);
}

const recurrence = (fromYear: number) =>
  fc
    .record({
      startAt: fc.oneof(
        fc.date({
          min: new Date(Date.UTC(fromYear, 0)),
          max: new Date(Date.UTC(2060, 0)),
          noInvalidDate: true,
        }),
        // On the hours and in the months in which clocks change.
        fc
          .tuple(
            fc.integer({ min: fromYear, max: 2059 }),
            fc.constantFrom(1, 2, 3, 8, 9, 10),
            fc.integer({ min: 1, max: 31 }),
            fc.integer({ min: 0, max: 95 }),
          )
          .map(([year, month, day, quarter]) => new Date(Date.UTC(year, month, day, 0, quarter * 15))),
      ),
      frequency: fc.constantFrom(...FREQUENCIES),
      interval: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 1095 })),
      timeZone: fc.constantFrom(...ZONES),
    })
    .map((one) => ({ ...one, interval: Math.min(one.interval, MAX_INTERVAL[one.frequency]) }));

describe('due dates', () => {
  it.each<[string, Frequency, number, string, string, string[]]>([
    [
      'return to the 31st after every month that is too short for it',
      'monthly',
      1,
      LAGOS,
      '2027-01-31T09:00:00Z',
      ['2027-02-28T09:00', '2027-03-31T09:00', '2027-04-30T09:00', '2027-05-31T09:00'],
    ],
    ['use 29 February when there is one', 'monthly', 1, LAGOS, '2028-01-31T09:00:00Z', ['2028-02-29T09:00']],
    [
      'come back to 29 February',
      'yearly',
      1,
      LAGOS,
      '2028-02-29T09:00:00Z',
      ['2029-02-28T09:00', '2030-02-28T09:00', '2031-02-28T09:00', '2032-02-29T09:00'],
    ],
    [
      "are counted by the zone's calendar: late on the 31st in UTC is the 1st in Lagos",
      'monthly',
      1,
      LAGOS,
      '2027-01-31T23:30:00Z',
      ['2027-02-28T23:30'],
    ],
    ['come every third day', 'daily', 3, LAGOS, '2026-11-21T08:00:00Z', ['2026-11-24T08:00']],
    ['come every second week', 'weekly', 2, LAGOS, '2026-11-21T08:00:00Z', ['2026-12-05T08:00']],
    ['come every third month', 'monthly', 3, LAGOS, '2026-11-21T08:00:00Z', ['2027-02-21T08:00']],
    ['come every second year', 'yearly', 2, LAGOS, '2026-11-21T08:00:00Z', ['2028-11-21T08:00']],
    [
      'keep the time of the wall clock, 09:00 in winter and in summer',
      'monthly',
      1,
      NEW_YORK,
      '2026-02-15T14:00:00Z',
      ['2026-03-15T13:00'],
    ],
    [
      'move forward by the gap on the day that skips their time, 02:30, and on that day only',
      'daily',
      1,
      NEW_YORK,
      '2026-03-07T07:30:00Z',
      ['2026-03-08T07:30', '2026-03-09T06:30'],
    ],
    [
      'move forward by half an hour where the clocks change by half an hour',
      'daily',
      1,
      'Australia/Lord_Howe',
      '2026-10-02T15:45:00Z',
      ['2026-10-03T15:45', '2026-10-04T15:15'],
    ],
    [
      'are the first of the two times when the clocks go back, and charge once',
      'daily',
      1,
      NEW_YORK,
      '2026-10-31T05:30:00Z',
      ['2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    [
      'go on from a start that is the second of two equal times',
      'daily',
      1,
      NEW_YORK,
      '2026-11-01T06:30:00Z',
      ['2026-11-02T06:30'],
    ],
    [
      'lose no billing to 30 December 2011, which Apia left out: it falls together with the next',
      'daily',
      1,
      'Pacific/Apia',
      '2011-12-28T20:00:00Z',
      ['2011-12-29T20:00', '2011-12-30T20:00', '2011-12-30T20:00', '2011-12-31T20:00'],
    ],
  ])('%s', (_, frequency, interval, timeZone, startAt, later) => {
    const [first, ...others] = due(startAt, frequency, interval, timeZone, 1 + later.length);
    expect(first).toBe(startAt.replace('Z', '.000Z'));
    expect(others).toEqual(later.map((minute) => `${minute}:00.000Z`));
  });

  it('rise strictly, over decades of starts, every frequency, interval and zone', () => {
    fc.assert(
      // Since 2012 no zone has left out a day.
      fc.property(recurrence(2012), fc.nat({ max: 500 }), (one, n) => {
        expect(dueDate(one, n + 1).getTime()).toBeGreaterThan(dueDate(one, n).getTime());
      }),
      { numRuns: 500 },
    );
  });

  it('fall once into each period, at the wall-clock time of the start', () => {
    fc.assert(
      fc.property(recurrence(1990), fc.integer({ min: 1, max: 500 }), (one, n) => {
        const wall = wallClock(one.startAt.getTime(), one.timeZone);
        const expected = momentOf(addToWallClock(wall, one.frequency, n * one.interval), one.timeZone);
        expect(dueDate(one, n).toISOString()).toBe(new Date(expected).toISOString());
      }),
      { numRuns: 500 },
    );
  });

  it('do not drift: the n-th is found without those before it', () => {
    expect(due('1996-08-31T12:00:00Z', 'monthly', 1, LAGOS, 481)[480]).toBe('2036-08-31T12:00:00.000Z');
  });
});

describe('the longest interval', () => {
  it.each(FREQUENCIES)('of a %s schedule stays within three years, and one more would not', (frequency) => {
    // A leap day lies in the one span and not in the other.
    for (const [start, end] of [
      ['2025-03-01T00:00:00Z', '2028-03-01T00:00:00Z'],
      ['2028-03-01T00:00:00Z', '2031-03-01T00:00:00Z'],
    ] as const) {
      const next = (interval: number) => due(start, frequency, interval, 'UTC', 2)[1] ?? '';
      expect(next(MAX_INTERVAL[frequency]) <= new Date(end).toISOString()).toBe(true);
    }
    const oneMore = due('2028-03-01T00:00:00Z', frequency, MAX_INTERVAL[frequency] + 1, 'UTC', 2)[1] ?? '';
    expect(oneMore > '2031-03-01T00:00:00.000Z').toBe(true);
  });
});

describe('the calendar of the zone', () => {
  it.each([
    ['2026-01-31T22:59:59.999Z', '2026-01-31'],
    ['2026-01-31T23:00:00.000Z', '2026-02-01'],
    ['2026-12-31T23:00:00.000Z', '2027-01-01'],
  ])('%s is on %s in Lagos', (moment, day) => {
    expect(calendarDay(new Date(moment), LAGOS)).toBe(day);
  });

  it('counts days by the wall clock: one day over the change to summer time is 23 hours', () => {
    expect(addCalendarDays(new Date('2026-03-07T17:00:00Z'), 1, NEW_YORK).toISOString()).toBe(
      '2026-03-08T16:00:00.000Z',
    );
  });
});

function outcome(parsed: Parsed<Date>): string {
  return parsed.ok ? parsed.value.toISOString() : parsed.reason;
}

describe('a date-time in a request', () => {
  it.each([
    ['2026-01-31T09:00:00+01:00', '2026-01-31T08:00:00.000Z'],
    ['2026-01-31T09:00:00Z', '2026-01-31T09:00:00.000Z'],
    ['2026-01-31T09:00:00-00:00', '2026-01-31T09:00:00.000Z'],
    ['2026-01-31T00:00:00+23:59', '2026-01-30T00:01:00.000Z'],
    ['2026-01-31T09:00:00.1Z', '2026-01-31T09:00:00.100Z'],
    ['2026-01-31T09:00:00.123999999Z', '2026-01-31T09:00:00.123Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, moment) => {
    expect(outcome(parseInstant(text))).toBe(moment);
  });

  const offset = 'must name its offset from UTC, as in 2026-01-31T09:00:00+01:00';
  const format = 'must be a date and time of RFC 3339, as in 2026-01-31T09:00:00+01:00';
  const nowhere = 'must be a day and time that exist';
  const years = 'must be within the years 1970 to 9999';
  it.each([
    ['2026-01-31T09:00:00', offset],
    ['2026-01-31', format],
    ['2026-01-31T09:00Z', format],
    ['2026-01-31 09:00:00Z', format],
    ['2026-01-31T09:00:00+0100', format],
    ['2026-01-31T09:00:00+24:00', format],
    ['2026-01-31T09:00:00Z[Africa/Lagos]', format],
    ['2026-01-31T09:00:00,5Z', format],
    ['', format],
    [' 2026-01-31T09:00:00Z', format],
    ['2026-01-31T09:00:00Z\n', format],
    ['2026-02-29T09:00:00Z', nowhere],
    ['2026-01-31T24:00:00Z', nowhere],
    ['2026-12-31T23:59:60Z', 'must not be a leap second'],
    ['1970-01-01T00:00:00+00:01', years],
    ['9999-12-31T23:59:59-00:01', years],
  ])('%j is refused: %s', (text, reason) => {
    expect(outcome(parseInstant(text))).toBe(reason);
  });

  it('comes back from an answer unchanged', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
        (moment) => {
          expect(formatInstant(moment)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
          expect(parseInstant(formatInstant(moment))).toEqual({ ok: true, value: moment });
        },
      ),
    );
  });
});

describe('a duration to move a test clock by', () => {
  const from = new Date('2028-01-31T12:00:00.000Z');

  it.each([
    ['P1M', '2028-02-29T12:00:00.000Z'],
    ['P2W', '2028-02-14T12:00:00.000Z'],
    ['PT90M', '2028-01-31T13:30:00.000Z'],
    ['PT0.5S', '2028-01-31T12:00:00.500Z'],
    ['P1Y2M3DT4H5M6S', '2029-04-03T16:05:06.000Z'],
    ['P10Y', '2038-01-31T12:00:00.000Z'],
    ['P3653D', '2038-01-31T12:00:00.000Z'],
  ])('%s goes to %s', (duration, moment) => {
    expect(outcome(addDuration(from, duration, LAGOS))).toBe(moment);
  });

  it('follows the calendar of the zone over a change of its offset', () => {
    const winter = new Date('2026-03-07T17:00:00Z');
    expect(outcome(addDuration(winter, 'P1D', NEW_YORK))).toBe('2026-03-08T16:00:00.000Z');
    expect(outcome(addDuration(winter, 'PT24H', NEW_YORK))).toBe('2026-03-08T17:00:00.000Z');
  });

  const malformed = 'must be a duration of ISO 8601, as in P1M or P1DT12H, of at most ten years';
  const tooLong = 'must be a duration of at most ten years';
  const nothing = 'must be a duration greater than 0';
  it.each([
    ['P0D', nothing],
    ['PT0.0009S', nothing],
    ['P10YT0.001S', tooLong],
    ['P3654D', tooLong],
    ['P4000000000Y', malformed],
    [`P${'0'.repeat(98)}1D`, malformed],
    ['P', malformed],
    ['P1.5D', malformed],
    ['P1M P1D', malformed],
    ['', malformed],
  ])('%j is refused: %s', (duration, reason) => {
    expect(outcome(addDuration(from, duration, LAGOS))).toBe(reason);
  });

  it('ends after its start, by ten years at most, and is refused only where it would not', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('2020-01-01'), max: new Date('2060-01-01'), noInvalidDate: true }),
        fc.record({ years: fc.nat(12), months: fc.nat(40), weeks: fc.nat(9), days: fc.nat(99) }),
        fc.constantFrom(...ZONES),
        (start, { years, months, weeks, days }, timeZone) => {
          const moved = addDuration(start, `P${years}Y${months}M${weeks}W${days}D`, timeZone);
          const elapsedDays = moved.ok ? (moved.value.getTime() - start.getTime()) / DAY_MS : NaN;
          const mostDays = years * 366 + months * 31 + weeks * 7 + days;
          const possible = mostDays > 0 && mostDays < 3652;
          if (moved.ok) {
            expect(elapsedDays).toBeGreaterThan(0);
            expect(elapsedDays).toBeLessThan(3654);
          }
          expect(moved.ok || !possible).toBe(true);
        },
      ),
    );
  });
});

describe('a month', () => {
  it.each([
    ['2026-01', '2026-01-31', 31],
    ['2027-02', '2027-02-28', 28],
    ['2028-02', '2028-02-29', 29],
    ['2026-12', '2026-12-31', 31],
  ])('%s has each of its days until %s', (month, last, count) => {
    expect(parseMonth(month)).toEqual({ ok: true, value: month });
    expect(lastOfMonth(month)).toBe(last);
    const days = eachDay({ first: `${month}-01`, last });
    expect([days.length, new Set(days).size, days[0], days.at(-1)]).toEqual([
      count,
      count,
      `${month}-01`,
      last,
    ]);
  });

  it.each(['2026-00', '2026-13', '1969-12', '2026-1', '2026', '2026-01-01', ''])('is not %j', (text) => {
    expect(parseMonth(text).ok).toBe(false);
  });
});
