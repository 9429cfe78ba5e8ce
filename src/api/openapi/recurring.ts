import { z } from 'zod';
import type { Operation } from './operation';
import {
  currencyCode,
  declineReason,
  lookupID,
  moment,
  money,
  pageOf,
  reference,
  shownId,
  words,
} from './parts';

export const scheduleStatus = z
  .enum(['active', 'paused', 'suspended', 'past_due', 'completed', 'cancelled', 'failed'])
  .meta({
    description:
      '`paused` by the merchant, `suspended` by the customer or the network, `past_due` while a declined charge is retried; the last three are ends',
    example: 'active',
  });

const terms = {
  amount: money('Of each charge'),
  currency: currencyCode,
  frequency: z.enum(['daily', 'weekly', 'monthly', 'yearly']).meta({ example: 'monthly' }),
  interval: z.int().min(1).meta({ description: 'Every so many days, weeks, months or years', example: 1 }),
  startDate: moment('When the first charge falls due; the others are counted from it'),
  endDate: moment('After it nothing falls due').nullable(),
  maxBillings: z.int().min(1).nullable().meta({ description: 'Ends after so many charges', example: 12 }),
  description: z.string().nullable().meta({ description: 'What is billed', example: 'Gold plan' }),
};

const progress = {
  status: scheduleStatus,
  nextBillingDate: moment('The next regular due date').nullable(),
  retryAt: moment('The next attempt at a declined charge').nullable(),
  billingsCompleted: z
    .int()
    .min(0)
    .meta({ description: 'Billings that ran, successful or failed', example: 3 }),
  createdAt: moment('When it was made'),
  updatedAt: moment('When it last changed'),
};

const schedule = z
  .strictObject({
    scheduleId: shownId('schedule'),
    merchantId: shownId('merchant'),
    customerId: shownId('customer'),
    ...terms,
    metadata: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .meta({ description: 'The merchant’s own notes', example: { branch: 'Ikeja' } }),
    ...progress,
  })
  .meta({ id: 'Schedule' });

const subscription = z
  .strictObject({
    scheduleId: shownId('schedule'),
    merchant: z.strictObject({ id: shownId('merchant'), name: words('Name', 'Palm Grocers') }),
    customerId: shownId('customer'),
    lookupID,
    ...terms,
    ...progress,
  })
  .meta({ id: 'Subscription' });

const billing = z
  .strictObject({
    n: z.int().min(0).meta({ description: 'Counts due dates from 0', example: 0 }),
    dueDate: moment('When it fell, or falls, due'),
    status: z
      .enum(['scheduled', 'pending', 'retrying', 'successful', 'failed', 'skipped'])
      .meta({ description: '`scheduled` is the next one', example: 'successful' }),
    reason: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Why it was skipped or failed; only then', example: 'paused' }),
    attempts: z
      .array(
        z.strictObject({
          billingRequestId: shownId('billingRequest'),
          reference,
          at: moment('When it was made'),
          status: z.enum(['pending', 'successful', 'declined']).meta({ example: 'successful' }),
          declineReason,
        }),
      )
      .meta({ description: 'The charges that were tried, oldest first' }),
  })
  .meta({ id: 'Billing' });

const ended = {
  description: 'The schedule has ended, or is in another state than this needs; `data.status` says which',
  data: z.strictObject({ status: scheduleStatus }),
};

const action = (id: string, summary: string, description: string): Operation => ({
  id,
  tag: 'Schedules',
  summary,
  description,
  answers: { 200: { description: 'The schedule as it now is', data: schedule } },
  refusals: { 409: ended },
});

export const SCHEDULES = {
  'POST /v1/billing/recurring/create': {
    id: 'createSchedule',
    tag: 'Schedules',
    summary: 'Make a recurring schedule',
    description:
      'Charges a customer again and again under a standing approval (`approve_recurring`), at `startDate` and then every `interval` days, weeks, months or years, counted from the start: 31 January, 28 February, 31 March. Each charge is made when it is due and told by `billing.response`.',
    answers: {
      201: { description: 'The schedule is active; each charge is made when it is due', data: schedule },
    },
    refusals: {
      403: 'The customer has not approved recurring billing by this merchant, or the merchant is not trusted',
      404: 'There is no agreement with this paymentID and customerId',
    },
  },
  'GET /v1/billing/recurring': {
    id: 'listSchedules',
    tag: 'Schedules',
    summary: 'List schedules',
    description: 'Your own, and for a provider those of its merchants.',
    answers: { 200: { description: '1 schedules', data: pageOf('schedules', schedule) } },
  },
  'GET /v1/billing/recurring/:scheduleId': {
    id: 'getSchedule',
    tag: 'Schedules',
    summary: 'Look at a schedule and its billings',
    description: 'With the latest 4 000 billings and what comes next.',
    answers: {
      200: {
        description: 'The schedule is active',
        data: schedule
          .extend({ billings: z.array(billing).meta({ description: 'Oldest first' }) })
          .meta({ id: 'ScheduleWithBillings' }),
      },
    },
  },
  'PATCH /v1/billing/recurring/:scheduleId': action(
    'changeSchedule',
    'Change a schedule',
    'What is left out stays, `null` takes away. The new terms hold from the next billing on.',
  ),
  'POST /v1/billing/recurring/:scheduleId/pause': action(
    'pauseSchedule',
    'Pause a schedule',
    'Due dates that come meanwhile are `skipped` and not charged later.',
  ),
  'POST /v1/billing/recurring/:scheduleId/resume': action(
    'resumeSchedule',
    'Resume a schedule',
    'Ends a pause. A suspension is the customer’s or the network’s, and only they end it.',
  ),
  'POST /v1/billing/recurring/:scheduleId/cancel': action(
    'cancelSchedule',
    'Cancel a schedule',
    'For good. A charge that the bank has been asked for runs to its end.',
  ),
  'GET /v1/bank/customer/subscriptions': {
    id: 'listSubscriptions',
    tag: 'Schedules',
    summary: 'List your customers’ subscriptions',
    description: 'The schedules by which your customers are billed.',
    answers: { 200: { description: '1 subscriptions', data: pageOf('subscriptions', subscription) } },
  },
  'POST /v1/bank/customer/subscriptions/:scheduleId/cancel': {
    id: 'cancelSubscription',
    tag: 'Schedules',
    summary: 'Cancel a customer’s subscription',
    description: 'For good, on the customer’s wish; the merchant is told by `recurring.updated`.',
    answers: { 200: { description: 'The schedule is cancelled', data: subscription } },
    refusals: { 409: ended },
  },
} satisfies Record<string, Operation>;
