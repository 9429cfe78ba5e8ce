import { z } from 'zod';
import type { Config } from '../../settings/config';
import { SCHEDULE_SORTS } from '../../database/schedule/list-schedules';
import { MAX_INTERVAL, type Frequency } from '../../domain/calendar';
import { BILLING_REQUEST_STATUSES, BILLING_STATUSES } from '../../domain/lifecycle';
import { FORECAST_DAYS, FORECAST_DAYS_MAX } from '../../domain/recurring/forecast';
import { SCHEDULE_STATUSES, SUSPENDED_REASONS } from '../../domain/recurring/recurring';
import {
  amount,
  amountIn,
  currency,
  day,
  DESCRIPTION_MAX,
  id,
  idFilter,
  instant,
  NAME_MAX,
  oneOf,
  pagination,
  paymentId,
  textFor,
  withAmount,
} from '../http/request-fields';
import { declinedLimit, limit } from '../customer/spending-limits';
import { metadataGiven } from '../http/metadata';
import * as shown from '../http/response-fields';
import { formatAsked } from '../billing/transaction-schema';

/** Far more billings than anybody agrees to at once: 27 years of daily ones. */
const MAX_BILLINGS = 10_000;

const FREQUENCIES = ['daily', 'weekly', 'monthly', 'yearly'] as const satisfies Frequency[];

/** Whether the interval can be judged, even when other fields are wrong. */
function hasInterval(value: unknown): value is { frequency: Frequency; interval: number } {
  const { frequency, interval } = (value ?? {}) as Record<string, unknown>;
  return FREQUENCIES.some((one) => one === frequency) && typeof interval === 'number';
}

/** Whether the dates can be judged, even when other fields are wrong. */
function hasBothDates(value: unknown): value is { startDate: Date; endDate: Date } {
  const { startDate, endDate } = (value ?? {}) as Record<string, unknown>;
  return startDate instanceof Date && endDate instanceof Date;
}

const BILLINGS = {
  description: 'The schedule is completed after this many billings, successful or failed',
  example: 12,
};
const maxBillings = z.int().min(1).max(MAX_BILLINGS);
const description = textFor('What is billed; shown to the customer', DESCRIPTION_MAX, 'Gold plan');

export const scheduleBody = (config: Config) =>
  withAmount(
    z
      .strictObject({
        customerId: id('customer'),
        paymentID: paymentId,
        amount: amountIn(config),
        currency: currency(config),
        frequency: oneOf(FREQUENCIES, 'The unit of `interval`', 'monthly'),
        interval: z.int().min(1).default(1).meta({
          maximum: MAX_INTERVAL.daily,
          description:
            'Number of `frequency` units between charges; at most three years: 1095 days, 156 weeks, 36 months or 3 years',
        }),
        startDate: instant
          .meta({
            description: 'Due date of the first charge, at most 5 minutes in the past; now if left out',
          })
          .optional(),
        endDate: instant
          .meta({
            description: 'Last moment at which a charge can be due',
            example: '2027-03-01T09:00:00+01:00',
          })
          .optional(),
        maxBillings: maxBillings.meta(BILLINGS).optional(),
        description: description.optional(),
        metadata: metadataGiven.optional(),
      })
      .refine(({ frequency, interval }) => interval <= MAX_INTERVAL[frequency], {
        path: ['interval'],
        when: ({ value }) => hasInterval(value),
        error: ({ input }) =>
          hasInterval(input)
            ? `must be at most ${MAX_INTERVAL[input.frequency]}, which is three years`
            : undefined,
      })
      .refine((body) => !hasBothDates(body) || body.endDate > body.startDate, {
        path: ['endDate'],
        when: ({ value }) => hasBothDates(value),
        error: 'must be after the start date',
      }),
  );

/** A field that is left out stays as it is; `null` removes the value. */
export const scheduleChange = z
  .strictObject({
    // Its decimals are the schedule's currency's.
    amount: amount
      .meta({ description: 'Amount of each charge in major units of the schedule’s currency' })
      .optional(),
    endDate: instant.nullable().meta({ description: 'Last moment at which a charge can be due' }).optional(),
    maxBillings: maxBillings.nullable().meta(BILLINGS).optional(),
    description: description.nullable().optional(),
    metadata: metadataGiven.optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'must name at least one field to change')
  .meta({ minProperties: 1, example: { amount: 1750, endDate: null } });

export const schedulePath = z.strictObject({ scheduleId: id('schedule') });

const pages = pagination(Object.keys(SCHEDULE_SORTS) as [keyof typeof SCHEDULE_SORTS]);
const filter = {
  status: oneOf(SCHEDULE_STATUSES, 'Only those with this status').optional(),
  customerId: idFilter('customer').optional(),
};

export const schedulesQuery = z.strictObject({ ...pages, ...filter });
export const schedulesPage = z.strictObject(pages);

export const scheduleSearch = z.strictObject({
  ...filter,
  search: textFor(
    'A part of the description or of a merchant’s name, a whole id of a schedule or customer, or the last six characters or more of a customer’s; for a bank also words of its customer’s name, for others a whole value of `metadata`',
    NAME_MAX,
    'gold plan',
  ).optional(),
  dueOn: day.meta({ description: 'Only those with a charge on this day of the forecast' }).optional(),
  dueInDays: z
    .int()
    .min(1)
    .max(FORECAST_DAYS_MAX)
    .default(FORECAST_DAYS)
    .meta({ description: 'With `dueOn`: the `days` of that forecast' }),
  format: formatAsked,
});

export const scheduleStatus = oneOf(
  SCHEDULE_STATUSES,
  '`paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s trust level does not allow charges, or merchant or bank is disabled; `past_due`: a declined charge is being retried; `completed`, `cancelled` and `failed` are final',
  'active',
);

const terms = {
  amount: shown.money('The amount of each charge'),
  currency: shown.currency,
  frequency: z.enum(FREQUENCIES).meta({ example: 'monthly' }),
  interval: z.int().min(1).meta({ description: 'Number of `frequency` units between charges', example: 1 }),
  startDate: shown.moment('Due date of the first charge; the later ones are counted from it'),
  endDate: shown.moment('Last moment at which a charge can be due', '2027-03-02T08:00:00.000Z').nullable(),
  maxBillings: z
    .int()
    .min(1)
    .nullable()
    .meta({ description: 'The schedule is completed after this many billings', example: 12 }),
  description: shown.wordsOrNull('Text shown to the customer', 'Gold plan'),
};

const progress = {
  status: scheduleStatus,
  suspendedReason: oneOf(
    SUSPENDED_REASONS,
    'Why it is `suspended`: the first that holds; otherwise `null`',
    'consent_paused',
  )
    .nullable()
    .meta({ example: null }),
  nextBillingDate: shown
    .moment(
      'Next regular due date; the oldest of those that are made up for after an outage',
      '2026-06-02T08:00:00.000Z',
    )
    .nullable(),
  billingsCompleted: shown.count('Billings that ran, successful or failed', 3),
  retryAt: shown
    .moment('When a declined charge is retried next, while it is `past_due`')
    .nullable()
    .meta({ example: null }),
  lastDecline: z
    .strictObject({
      reference: shown.reference,
      reason: shown.words('Why it was declined, as in `declineReason`', 'insufficient_funds'),
      at: shown.moment('When it was declined'),
    })
    .nullable()
    .meta({ description: 'The latest decline of a schedule that is `past_due`', example: null }),
  createdAt: shown.moment('When it was created', '2026-03-01T10:00:00.000Z'),
  updatedAt: shown.moment('When it last changed', '2026-05-02T08:00:00.000Z'),
};

export const schedule = z
  .strictObject({
    scheduleId: shown.id('schedule'),
    merchantId: shown.id('merchant'),
    merchantName: shown.words('Name of the merchant', 'Palm Grocers'),
    customerId: shown.id('customer'),
    bankName: shown.words('Name of the customer’s bank', 'Harbour Bank'),
    ...terms,
    metadata: shown.metadata,
    ...progress,
  })
  .meta({ id: 'Schedule' });

/** As a search finds it, for each party. */
export const foundSchedule = schedule
  .extend({
    customerName: shown.wordsOrNull('Name of your customer; `null` for all but the bank', 'Ada Obi'),
    metadata: shown.metadataForMerchants,
  })
  .meta({ id: 'FoundSchedule' });

/** The same for the customer's bank: with names to show, without the merchant's own notes. */
export const subscription = z
  .strictObject({
    scheduleId: shown.id('schedule'),
    merchant: shown.named('merchant', 'Palm Grocers'),
    customerId: shown.id('customer'),
    customerName: shown.words('Name of your customer', 'Ada Obi'),
    lookupID: shown.lookupID,
    ...terms,
    ...progress,
  })
  .meta({ id: 'Subscription' });

export const billingN = z.int().min(0).meta({ description: 'Number of the due date, from 0', example: 0 });

export const skippedBilling = (what: string) =>
  z.strictObject({ n: billingN, dueDate: shown.moment('Due date') }).meta({ description: what });

export const billingToSkip = z.strictObject({ n: billingN });

const billing = z
  .strictObject({
    n: billingN,
    dueDate: shown.moment('Due date'),
    status: oneOf(
      BILLING_STATUSES,
      '`scheduled`: the next one, not yet due; `skipped` ones may still be to come',
      'successful',
    ),
    reason: shown.seldom(z.string().nullable(), 'Why it was `skipped` or `failed`; otherwise left out'),
    attempts: z
      .array(
        z.strictObject({
          billingRequestId: shown.id('billingRequest'),
          reference: shown.reference,
          at: shown.moment('When the charge was made'),
          status: z.enum(BILLING_REQUEST_STATUSES).meta({ example: 'successful' }),
          declineReason: shown.declineReason,
          limit: declinedLimit,
        }),
      )
      .meta({ description: 'The charges made for it, oldest first' }),
  })
  .meta({ id: 'Billing' });

export const scheduleWithBillings = schedule
  .extend({ billings: z.array(billing).meta({ description: 'Oldest first' }) })
  .meta({ id: 'ScheduleWithBillings' });

export const subscriptionWithBillings = subscription
  .extend({ billings: scheduleWithBillings.shape.billings })
  .meta({ id: 'SubscriptionWithBillings' });

export const endedSchedule = z.strictObject({ status: scheduleStatus });
export const begunBilling = z.strictObject({ status: billing.shape.status });
export const refusedByLimits = z.strictObject({
  limit: shown.seldom(limit, 'The limit that refuses each charge; only with `limit_reached`'),
});
