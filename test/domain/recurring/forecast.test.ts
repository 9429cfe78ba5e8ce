import { chargesAhead, type ScheduleAhead } from '../../../src/domain/recurring/forecast';
import type { Schedule } from '../../../src/domain/recurring/schedule-facts';
import { daily, inHand as first, rules, START } from '../../support/schedule-facts';

const hour = (hours: number) => new Date(START.getTime() + hours * 3_600_000);
const day = (days: number) => hour(days * 24);

/** `hours since the start×amount` of each. */
function ahead(
  now: Date,
  until: Date,
  terms: Partial<Schedule> = {},
  more: Partial<Omit<ScheduleAhead, 'schedule'>> = {},
): string[] {
  const one = {
    schedule: { ...daily, ...terms },
    amount: 5n,
    nextAmount: 5n,
    open: undefined,
    starts: [],
    holds: [],
    skips: [],
    ...more,
  };
  return [...chargesAhead(one, now, until, rules)]
    .filter((charge) => charge !== undefined)
    .map(({ at, amount }) => `${(at.getTime() - START.getTime()) / 3_600_000}×${amount}`);
}

const inHand = { ...first, amount: 3n };
const declined = { ...inHand, chargeStatus: 'declined', declineReason: 'insufficient_funds' } as const;
const retrying = { ...declined, status: 'retrying', retryAt: day(1) } as const;

describe('the charges to come', () => {
  it('have a raise after the notice from the billing after on', () => {
    expect(ahead(hour(1), day(3), { nextN: 1 }, { nextAmount: 4n })).toEqual(['24×4', '48×5']);
  });

  it('have none that the customer has skipped, and one more at the end of those that were agreed', () => {
    const terms = { maxBillings: 2 };
    expect(ahead(hour(1), day(5), { ...terms, nextN: 1 }, { skips: [1, 3] })).toEqual(['48×5', '96×5']);
  });

  it('are three a day of what an outage has left, so that later ones are put off as they will be', () => {
    // Five are overdue, and the sixth is due in an hour.
    expect(ahead(hour(119), day(7))).toEqual(['119×5', '119×5', '119×5', '143×5', '143×5', '143×5', '167×5']);
  });

  it('are put off too where three were charged in the last 24 hours already', () => {
    expect(ahead(hour(23), day(2), { nextN: 1 }, { starts: [hour(22), hour(22), hour(22)] })).toEqual([
      '46×5',
    ]);
  });

  it('have none that came due too long ago', () => {
    expect(ahead(new Date(day(36).getTime() + 1), day(36.5))).toHaveLength(3);
    const last = { maxBillings: null, endAt: day(0) };
    expect(ahead(day(35), day(40), last)).toHaveLength(1);
    expect(ahead(new Date(day(35).getTime() + 1), day(40), last)).toEqual([]);
  });

  it('have a retry at its own moment and for its own amount, and it is one of those that were agreed', () => {
    const terms = { frequency: 'monthly', nextN: 1, maxBillings: 2 } as const;
    expect(ahead(hour(1), day(90), terms, { open: retrying })).toEqual(['24×3', `${28 * 24}×5`]);
    expect(ahead(hour(1), day(90), { ...terms, maxBillings: 1 }, { open: retrying })).toEqual(['24×3']);
  });

  it('have no retry of what the bank may have debited, and end with the third failure in a row', () => {
    const terms = { frequency: 'monthly', nextN: 1 } as const;
    const open = { ...retrying, maybeDebited: true };
    expect(ahead(hour(1), day(30), terms, { open })).toEqual([`${28 * 24}×5`]);
    expect(ahead(hour(1), day(30), { ...terms, ran: 2, failedInARow: 2 }, { open })).toEqual([]);
  });
});

it('lets its caller go on between the steps of years that were missed', () => {
  const one = {
    schedule: daily,
    amount: 5n,
    nextAmount: 5n,
    open: undefined,
    starts: [],
    holds: [],
    skips: [],
  };
  let steps = 0;
  for (const charge of chargesAhead(one, day(3_650), day(3_651), rules)) {
    if (charge) break;
    steps += 1;
  }
  expect(steps).toBeGreaterThan(3_000);
});
