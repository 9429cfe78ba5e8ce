import { z } from 'zod';
import type { Operation } from './operation';
import { calendarDay, currencyCode, exact } from './parts';

const day = z
  .strictObject({
    date: calendarDay('The calendar day in the network’s time zone', '2026-03-31'),
    count: z.int().min(1).meta({ description: 'Number of charges', example: 2 }),
    amount: z.number().positive().meta({
      description: 'Sum of the charges; in major units. Rounded to 15 digits where it has more',
      example: 3001,
    }),
    currency: currencyCode,
    exact,
  })
  .meta({ id: 'ForecastDay' });

export const FORECAST = {
  'GET /v1/forecast': {
    id: 'getForecast',
    tag: 'Recurring billing',
    summary: 'Forecast the charges of schedules',
    description:
      'The charges that recurring schedules will make, summed up per day and currency: for a merchant its own, for a provider those of its merchants, for a bank those to its customers. `merchantId` narrows it to one merchant. The first day is today, with what is still to come, by the test clock of each merchant. Each charge counts on the day on which it is due, a declined one on the day of its retry, as if every charge succeeded at once and nothing changed meanwhile. Paused and suspended schedules charge nothing.',
    answers: {
      200: {
        description: 'Charges that schedules will make',
        data: z.strictObject({
          days: z
            .array(day)
            .meta({ description: 'In order of date and currency; a day without charges is left out' }),
          successRate: z.number().min(0).max(1).nullable().meta({
            description:
              'What of it may be expected to be paid: of the billings of schedules that ended in the last three months, the part that was successful, at whatever attempt. Of the same schedules as the days, by their latest 10 000 charges. `null` where none has ended',
            example: 0.97,
          }),
        }),
      },
    },
  },
} satisfies Record<string, Operation>;
