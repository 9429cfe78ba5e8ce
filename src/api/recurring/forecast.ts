import { z } from 'zod';
import { recurringRules } from '../../config';
import { forecast, successRate } from '../../database/recurring/forecast';
import { FORECAST_DAYS, FORECAST_DAYS_MAX } from '../../domain/recurring/forecast';
import { shownSum } from '../../domain/money';
import { idFilter, wholeNumber } from '../http/fields';
import type { QueryCall } from '../http/route';

/** What schedules will charge, for each party its own. */

export const forecastQuery = z.strictObject({
  days: wholeNumber(1, FORECAST_DAYS_MAX, FORECAST_DAYS, 'Number of days; today is the first'),
  merchantId: idFilter('merchant').optional(),
});

/**
 * Longest that one forecast is reckoned: some hundred thousand schedules, while others have their
 * turn.
 */
const RECKON_WITHIN_MS = 10_000;

export async function showForecast({
  caller: { entityId, role },
  query: { days, merchantId },
  deps,
}: QueryCall<typeof forecastQuery>) {
  const own = {
    bank: { bankId: entityId, merchantId },
    provider: { providerId: entityId, merchantId },
    // Another's schedules are none of its own.
    merchant: { merchantId: (merchantId ?? entityId) === entityId ? entityId : '' },
  }[role];
  const deadline = performance.now() + RECKON_WITHIN_MS;
  const db = deps.db.until(deadline);
  const lines = await forecast(db, recurringRules(deps.config), own, days, deadline);
  return {
    message: lines.length === 0 ? 'No schedule will charge in this time' : 'Charges that schedules will make',
    data: {
      days: lines.map(({ date, count, amount, currency }) => ({
        date,
        count,
        ...shownSum(amount, currency),
        currency,
      })),
      successRate: await successRate(db, own),
    },
  };
}
