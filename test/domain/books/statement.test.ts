import { eachDay, onDay } from '../../../src/domain/books/statement';

test('days of a statement end with its last day, also with the last of all days', () => {
  expect(eachDay({ first: '2026-02-27', last: '2026-03-02' })).toEqual([
    '2026-02-27',
    '2026-02-28',
    '2026-03-01',
    '2026-03-02',
  ]);
  expect(eachDay(onDay('9999-12-31'))).toEqual(['9999-12-31']);
  expect(eachDay({ first: '9999-12-30', last: '9999-12-31' })).toEqual(['9999-12-30', '9999-12-31']);
});
