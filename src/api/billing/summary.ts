import { z } from 'zod';
import { readDailyTotals } from '../../database/ledger/read-summary';
import { todayOf } from '../../database/clock/moment';
import { shownSum } from '../../domain/money';
import type { Movement } from '../../domain/books/statement';
import { firstOfMonth } from '../../domain/calendar';
import { KINDS_OF_REASON } from '../../domain/charge';
import {
  daysBetween,
  successRate,
  SUMMARY_DAYS_MAX,
  summarized,
  type Activity,
} from '../../domain/books/summary';
import { ANYONE } from '../http/callers';
import { day, oneOf } from '../http/request-fields';
import type { QueryCall } from '../http/call';
import { section } from '../http/route';
import { invalidRequest } from '../http/validation';
import * as parts from '../http/response-fields';

/** Sums of charges, declines and money given back, per day: for each party its own. */

const summaryQuery = z.strictObject({
  from: day
    .meta({
      description: 'First day, in the network’s time zone; left out, the first of the month of `to`',
      example: '2026-03-01',
    })
    .optional(),
  to: day
    .meta({
      description: `Last day, at most ${SUMMARY_DAYS_MAX} days with \`from\`; left out, today by your clock`,
      example: '2026-03-31',
    })
    .optional(),
});

const sum = {
  count: parts.count('How many', 2),
  amount: z.number().min(0).meta({
    description: 'Their sum; in major units. Rounded to 15 digits where it has more',
    example: 3001,
  }),
  exact: parts.exact,
};

const moved = (description: string) => z.strictObject(sum).meta({ description });

const declinedFor = z
  .strictObject({
    reason: oneOf(KINDS_OF_REASON, '`other`: what a bank has put in words of its own', 'insufficient_funds'),
    ...sum,
  })
  .meta({ id: 'DeclinedFor' });

const activityShown = {
  currency: parts.currency,
  charged: moved('Charges that succeeded; of a bank, of its customers'),
  declined: z
    .strictObject({
      ...sum,
      reasons: z
        .array(declinedFor)
        .meta({ description: 'The same by reason, in order of the reason’s name' }),
    })
    .meta({ description: 'Charges that did not succeed' }),
  refunded: moved('Refunds that were completed'),
  returned: moved('Completed refunds whose money came back'),
  reversed: moved('Charges whose money did not stay'),
  successRate: parts.successRate(
    'Part of all charges of these days that succeeded, from 0 to 1; `null` where none was decided',
    0.9524,
  ),
};

const summaryDay = z
  .strictObject({
    date: parts.day('The day, in the network’s time zone', '2026-03-02'),
    ...activityShown,
  })
  .meta({ id: 'SummaryDay' });

const summary = z.strictObject({
  timezone: parts.timezone,
  today: parts.day('The day that it is by your clock', '2026-03-31'),
  from: parts.day('The first day', '2026-03-01'),
  to: parts.day('The last day', '2026-03-31'),
  totals: z
    .array(z.strictObject(activityShown).meta({ id: 'SummaryTotal' }))
    .meta({ description: 'All days together, in order of currency' }),
  days: z
    .array(summaryDay)
    .meta({ description: 'In order of date and currency; a day without any is left out' }),
});

async function showSummary({ caller, query, deps: { db } }: QueryCall<typeof summaryQuery>) {
  const today = await todayOf(db, caller.entityId);
  const to = query.to ?? today;
  const from = query.from ?? firstOfMonth(to);
  if (from > to) throw invalidRequest([{ path: 'query.from', message: 'must not be after the last day' }]);
  if (daysBetween(from, to) > SUMMARY_DAYS_MAX) {
    throw invalidRequest([
      { path: 'query.from', message: `must be at most ${SUMMARY_DAYS_MAX} days before the last day` },
    ]);
  }
  const { days, totals } = summarized(await readDailyTotals(db, caller, { from, to }));
  return {
    message: `From ${from} to ${to}`,
    data: {
      timezone: db.timeZone,
      today,
      from,
      to,
      totals: totals.map(shown),
      days: days.map(({ date, ...activity }) => ({ date, ...shown(activity) })),
    },
  };
}

function shown(activity: Activity) {
  const { currency, declined } = activity;
  return {
    currency,
    charged: written(activity.charged, currency),
    declined: {
      ...written(declined, currency),
      reasons: declined.reasons.map(({ reason, ...one }) => ({ reason, ...written(one, currency) })),
    },
    refunded: written(activity.refunded, currency),
    returned: written(activity.returned, currency),
    reversed: written(activity.reversed, currency),
    successRate: successRate(activity),
  };
}

const written = ({ count, amount }: Movement, currency: string) => ({ count, ...shownSum(amount, currency) });

export const summaryRoutes = [
  section('Statements')('get', '/v1/summary', {
    id: 'getSummary',
    summary: 'Summarize days',
    description:
      'How many and how much was charged, declined and by which reason, refunded, returned and reversed, per day and currency: for a merchant its own, for a provider all its merchants together, for a bank what its customers have paid. What moved money counts on its settlement day, as in statements; what was declined, on the day that it was. Without `from` and `to`: this month until today.',
    takes: { ...ANYONE, query: summaryQuery },
    answers: { 200: { description: 'From 2026-03-01 to 2026-03-31', data: summary } },
    handle: showSummary,
  }),
];
