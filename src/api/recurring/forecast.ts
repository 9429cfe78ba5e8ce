import { z } from 'zod';
import { recurringRules } from '../../settings/config';
import { forecast, successRate } from '../../database/recurring/forecast-billings';
import { FORECAST_DAYS, FORECAST_DAYS_MAX } from '../../domain/recurring/forecast';
import { shownSum } from '../../domain/money';
import { ANYONE } from '../http/callers';
import { idFilter, wholeNumber } from '../http/request-fields';
import type { QueryCall } from '../http/call';
import { section } from '../http/route';
import * as shown from '../http/response-fields';

/** The charges that schedules will make, for each party its own. */

const forecastQuery = z.strictObject({
  days: wholeNumber(1, FORECAST_DAYS_MAX, FORECAST_DAYS, 'Number of days; today is the first'),
  merchantId: idFilter('merchant').optional(),
});

const forecastDay = z
  .strictObject({
    date: shown.day('The calendar day in the network’s time zone', '2026-03-31'),
    count: z.int().min(1).meta({ description: 'Number of charges', example: 2 }),
    amount: z.number().positive().meta({
      description: 'Sum of the charges; in major units. Rounded to 15 digits where it has more',
      example: 3001,
    }),
    currency: shown.currency,
    exact: shown.exact,
  })
  .meta({ id: 'ForecastDay' });

const forecastShown = z.strictObject({
  days: z
    .array(forecastDay)
    .meta({ description: 'In order of date and currency; a day without charges is left out' }),
  successRate: shown.successRate(
    'What of it may be expected to be paid: of the billings of schedules that ended in the last three months, the part that was successful, at whatever attempt. Of the same schedules as the days, by their latest 10 000 charges among the latest 100 000 of any kind. `null` where none has ended',
    0.97,
  ),
});

/** Some hundred thousand schedules, while other requests have their turn. */
export const RECKON_WITHIN_MS = 10_000;

async function showForecast({ caller: party, query, deps }: QueryCall<typeof forecastQuery>) {
  const own = { party, merchantId: query.merchantId };
  const deadline = performance.now() + RECKON_WITHIN_MS;
  const db = deps.db.until(deadline);
  const lines = await forecast(db, recurringRules(deps.config), own, { days: query.days, deadline });
  return {
    message: lines.length === 0 ? 'No schedule will charge in this time' : 'Charges that schedules will make',
    data: {
      days: lines.map(({ amount, ...line }) => ({ ...line, ...shownSum(amount, line.currency) })),
      successRate: await successRate(db, own),
    },
  };
}

export const forecastRoutes = [
  section('Recurring billing')('get', '/v1/forecast', {
    id: 'getForecast',
    summary: 'Forecast the charges of schedules',
    description:
      'The charges that recurring schedules will make, summed up per day and currency: for a merchant its own, for a provider those of its merchants, for a bank those to its customers. `merchantId` narrows it to one merchant. The first day is today, with what is still to come, by the test clock of each merchant. Each charge counts on the day on which it is due, a declined one on the day of its retry, as if every charge succeeded at once and nothing changed meanwhile. Paused and suspended schedules charge nothing.',
    takes: { ...ANYONE, query: forecastQuery },
    answers: { 200: { description: 'Charges that schedules will make', data: forecastShown } },
    handle: showForecast,
  }),
];
