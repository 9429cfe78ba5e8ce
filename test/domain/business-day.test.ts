import { addBusinessDays, holidaysRunningOut, isBusinessDay } from '../../src/domain/business-day';

const LAGOS = 'Africa/Lagos';

test.each([
  ['a Thursday', '2026-11-19', true],
  ['a Saturday', '2026-11-21', false],
  ['a Sunday', '2026-11-22', false],
  ['Independence Day', '2026-10-01', false],
  ['Boxing Day of a year when it is a Monday', '2022-12-26', false],
  ['Good Friday of 2026', '2026-04-03', false],
  ['Easter Monday of 2026', '2026-04-06', false],
  ['the Tuesday after Easter', '2026-04-07', true],
  ['Easter Monday of 2038, as late as it can be', '2038-04-26', false],
  ['Eid al-Adha as foreseen', '2026-05-27', false],
])('banks of Nigeria on %s (%s): %s', (_, day, open) => {
  expect(isBusinessDay(day, 'NG')).toBe(open);
});

test('a country without a table has weekends only', () => {
  expect(isBusinessDay('2026-10-01', 'GH')).toBe(true);
  expect(isBusinessDay('2026-10-03', 'GH')).toBe(false);
});

test.each([
  ['within a week', '2026-11-16T09:30:00.000Z', '2026-11-19T09:30:00.000Z'],
  ['over a weekend', '2026-11-19T09:30:00.000Z', '2026-11-24T09:30:00.000Z'],
  [
    'from a Saturday, which counts as little as Sunday',
    '2026-11-21T09:30:00.000Z',
    '2026-11-25T09:30:00.000Z',
  ],
  ['over two holidays and a weekend', '2026-12-23T09:30:00.000Z', '2026-12-29T09:30:00.000Z'],
  ['over Easter', '2026-04-02T09:30:00.000Z', '2026-04-09T09:30:00.000Z'],
  // In Lagos it is Monday already.
  ['by the days of the zone', '2026-11-15T23:30:00.000Z', '2026-11-18T23:30:00.000Z'],
])('three business days are counted %s', (_, from, to) => {
  expect(addBusinessDays(new Date(from), 3, 'NG', LAGOS).toISOString()).toBe(to);
});

test('the wall clock keeps its time when the zone’s offset changes in between', () => {
  // New York sets its clocks back on 1 November 2026.
  expect(addBusinessDays(new Date('2026-10-30T13:00:00Z'), 1, 'US', 'America/New_York').toISOString()).toBe(
    '2026-11-02T14:00:00.000Z',
  );
});

test.each([
  ['2030-12-29', []],
  ['2030-12-31', ['NG']],
  ['2040-01-01', ['NG']],
])('on %s the tables that end within a year are those of %j', (day, countries) => {
  expect(holidaysRunningOut(new Date(`${day}T00:00:00Z`))).toEqual(countries);
});

test('the tables of holidays reach a year ahead: add the days of later years where this fails', () => {
  expect(holidaysRunningOut(new Date())).toEqual([]);
});
