import { z } from 'zod';
import { readDailyTotals } from '../../database/ledger/summary';
import { todayOf } from '../../database/today';
import { shownSum } from '../../domain/money';
import type { Movement } from '../../domain/books/statement';
import {
  daysBetween,
  firstOfMonth,
  successRate,
  SUMMARY_DAYS_MAX,
  summarized,
  type Activity,
} from '../../domain/books/summary';
import { day } from '../http/fields';
import type { QueryCall } from '../http/route';
import { invalidRequest } from '../http/validation';

/** What has been charged, declined and given back, per day: for each party its own. */

export const summaryQuery = z.strictObject({
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

export async function showSummary({ caller, query, deps: { db, config } }: QueryCall<typeof summaryQuery>) {
  const timezone = config.NETWORK_TIMEZONE;
  const today = await todayOf(db, caller.entityId, timezone);
  const to = query.to ?? today;
  const from = query.from ?? firstOfMonth(to);
  if (from > to) throw invalidRequest([{ path: 'query.from', message: 'must not be after the last day' }]);
  if (daysBetween(from, to) > SUMMARY_DAYS_MAX) {
    throw invalidRequest([
      { path: 'query.from', message: `must be at most ${SUMMARY_DAYS_MAX} days before the last day` },
    ]);
  }
  const { days, totals } = summarized(await readDailyTotals(db, caller, { from, to, timeZone: timezone }));
  return {
    message: `From ${from} to ${to}`,
    data: {
      timezone,
      today,
      from,
      to,
      totals: totals.map(shown),
      days: days.map(({ date, ...activity }) => ({ date, ...shown(activity) })),
    },
  };
}

/** In major units; what had to be rounded is beside it in full. */
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
