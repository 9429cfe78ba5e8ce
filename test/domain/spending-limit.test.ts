import * as fc from 'fast-check';
import {
  isSame,
  LIMITS,
  NO_LIMITS,
  requireSpan,
  tightest,
  type Limit,
  type SpendingLimits,
} from '../../src/domain/spending-limit';

const moment = fc.option(fc.integer({ min: 0, max: 5 }).map((day) => new Date(day * 86_400_000)));
const each = LIMITS.map((name) => [name, fc.option(fc.bigInt({ min: 1n, max: 4n }))] as const);
const limits: fc.Arbitrary<SpendingLimits> = fc.record({
  ...(Object.fromEntries(each) as Record<Limit, fc.Arbitrary<bigint | null>>),
  validFrom: moment,
  validUntil: moment,
});

const same = (one: SpendingLimits, other: SpendingLimits) => expect(isSame(one, other)).toBe(true);
const allows = (given: SpendingLimits, amount: bigint, at: Date) =>
  LIMITS.every((name) => (given[name] ?? amount) >= amount) &&
  (given.validFrom ?? at) <= at &&
  (given.validUntil === null || at < given.validUntil);
const momentOf = (day: number | null) => (day === null ? null : new Date(day));

describe('the tightest of what was asked and answered', () => {
  it('allows nothing that one of the two forbids, and forbids nothing that both allow', () => {
    const attempt = fc.record({
      amount: fc.bigInt({ min: 1n, max: 5n }),
      day: fc.integer({ min: 0, max: 5 }),
    });
    const property = fc.property(limits, limits, attempt, (one, other, { amount, day }) => {
      const now = new Date(day * 86_400_000);
      const both = allows(one, amount, now) && allows(other, amount, now);
      expect(allows(tightest(one, other), amount, now)).toBe(both);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('is the same in either order, and with what says nothing', () => {
    const property = fc.property(limits, limits, (one, other) => {
      same(tightest(one, other), tightest(other, one));
      same(tightest(one, NO_LIMITS), one);
    });
    fc.assert(property);
  });
});

it.each([
  [1, null, 2, true],
  [2, null, 2, false],
  [3, null, 2, false],
  [1, 1, 2, true],
  [1, 2, 2, false],
  [1, 3, 2, false],
  [3, 4, null, true],
])('at %p, a span from %p until %p can be asked for: %p', (now, from, until, can) => {
  const span = { ...NO_LIMITS, validFrom: momentOf(from), validUntil: momentOf(until) };
  const asking = () => requireSpan(span, new Date(now), 'spendingLimits');
  if (can) expect(asking).not.toThrow();
  else expect(asking).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
});
