import { Zone } from './oracle/calendar';

const iso = (at: number) => new Date(at).toISOString();

/** The engine's calendar is not asked: these are what an almanac says. */
describe("the oracle's calendar", () => {
  const lagos = new Zone('Africa/Lagos');
  const berlin = new Zone('Europe/Berlin');

  it.each([
    ['monthly', 1, ['2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30', '2028-05-31']],
    ['monthly', 3, ['2028-01-31', '2028-04-30', '2028-07-31', '2028-10-31', '2029-01-31']],
    ['yearly', 1, ['2028-01-31', '2029-01-31', '2030-01-31', '2031-01-31', '2032-01-31']],
    ['weekly', 2, ['2028-01-31', '2028-02-14', '2028-02-28', '2028-03-13', '2028-03-27']],
    ['daily', 1, ['2028-01-31', '2028-02-01', '2028-02-02', '2028-02-03', '2028-02-04']],
  ] as const)('has a %s date, every %i, fall on days that there are', (frequency, interval, days) => {
    const start = lagos.at(2028, 1, 31, 9);
    const dues = days.map((_, n) => lagos.due(start, frequency, interval, n));
    expect(dues.map(iso)).toEqual(days.map((day) => `${day}T08:00:00.000Z`));
  });

  it('has a yearly date of 29 February fall on the 28th in other years', () => {
    const start = lagos.at(2028, 2, 29, 9);
    expect([1, 4].map((n) => iso(lagos.due(start, 'yearly', 1, n)))).toEqual([
      '2029-02-28T08:00:00.000Z',
      '2032-02-29T08:00:00.000Z',
    ]);
  });

  it('keeps the time on the wall, also where it moves', () => {
    const start = berlin.at(2028, 3, 25, 2.5);
    expect([0, 1, 2].map((n) => iso(berlin.due(start, 'daily', 1, n)))).toEqual([
      '2028-03-25T01:30:00.000Z',
      // Half past two is left out, and is half past three.
      '2028-03-26T01:30:00.000Z',
      '2028-03-27T00:30:00.000Z',
    ]);
  });

  it('takes the first of two times that the wall shows twice', () => {
    const start = berlin.at(2028, 10, 28, 2.5);
    expect(iso(berlin.due(start, 'daily', 1, 1))).toBe('2028-10-29T00:30:00.000Z');
  });

  it('begins a day when its zone does', () => {
    expect(lagos.dayOf(Date.parse('2028-02-28T22:59:59Z'))).toBe('2028-02-28');
    expect(lagos.dayOf(Date.parse('2028-02-28T23:00:00Z'))).toBe('2028-02-29');
  });
});
