import { z } from 'zod';
import { KINDS_OF_REASON } from '../../domain/charge';
import type { Operation } from './operation';
import { calendarDay, count, currencyCode, exact, words } from './parts';

const sum = {
  count: count('How many', 2),
  amount: z.number().min(0).meta({
    description: 'Their sum; in major units. Rounded to 15 digits where it has more',
    example: 3001,
  }),
  exact,
};

const moved = (description: string) => z.strictObject(sum).meta({ description });

const reason = z
  .strictObject({
    reason: z.enum(KINDS_OF_REASON).meta({
      description: '`other`: what a bank has put in words of its own',
      example: 'insufficient_funds',
    }),
    ...sum,
  })
  .meta({ id: 'DeclinedFor' });

const activity = {
  currency: currencyCode,
  charged: moved('Charges that succeeded; of a bank, of its customers'),
  declined: z
    .strictObject({
      ...sum,
      reasons: z.array(reason).meta({ description: 'The same by reason, in order of the reason’s name' }),
    })
    .meta({ description: 'Charges that did not succeed' }),
  refunded: moved('Refunds that were completed'),
  returned: moved('Completed refunds whose money came back'),
  reversed: moved('Charges whose money did not stay'),
  successRate: z.number().min(0).max(1).nullable().meta({
    description:
      'Part of all charges of these days that succeeded, from 0 to 1; `null` where none was decided',
    example: 0.9524,
  }),
};

const summaryDay = z
  .strictObject({ date: calendarDay('The day, in the network’s time zone', '2026-03-02'), ...activity })
  .meta({ id: 'SummaryDay' });

export const SUMMARY = {
  'GET /v1/summary': {
    id: 'getSummary',
    tag: 'Statements',
    summary: 'Summarize days',
    description:
      'How many and how much was charged, declined and by which reason, refunded, returned and reversed, per day and currency: for a merchant its own, for a provider all its merchants together, for a bank what its customers have paid. What moved money counts on its settlement day, as in statements; what was declined, on the day that it was. Without `from` and `to`: this month until today.',
    answers: {
      200: {
        description: 'From 2026-03-01 to 2026-03-31',
        data: z.strictObject({
          timezone: words('The time zone in which days begin', 'Africa/Lagos'),
          today: calendarDay('The day that it is by your clock', '2026-03-31'),
          from: calendarDay('The first day', '2026-03-01'),
          to: calendarDay('The last day', '2026-03-31'),
          totals: z
            .array(z.strictObject(activity).meta({ id: 'SummaryTotal' }))
            .meta({ description: 'All days together, in order of currency' }),
          days: z
            .array(summaryDay)
            .meta({ description: 'In order of date and currency; a day without any is left out' }),
        }),
      },
    },
  },
} satisfies Record<string, Operation>;
