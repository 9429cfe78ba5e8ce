import { z } from 'zod';
import { BILLING_REQUEST_STATUSES, BILLING_STATUSES } from '../../domain/lifecycle';
import { SCHEDULE_STATUSES } from '../../domain/recurring/recurring';
import type { Operation } from './operation';
import {
  currencyCode,
  declineReason,
  lookupID,
  metadata,
  moment,
  money,
  pageOf,
  reference,
  shownId,
  words,
} from './parts';

export const scheduleStatus = z.enum(SCHEDULE_STATUSES).meta({
  description:
    '`paused`: by the merchant; `suspended`: the customer’s decision or the merchant’s trust level does not allow charges, or merchant or bank is disabled; `past_due`: a declined charge is being retried; `completed`, `cancelled` and `failed` are final',
  example: 'active',
});

const terms = {
  amount: money('The amount of each charge'),
  currency: currencyCode,
  frequency: z.enum(['daily', 'weekly', 'monthly', 'yearly']).meta({ example: 'monthly' }),
  interval: z.int().min(1).meta({ description: 'Number of `frequency` units between charges', example: 1 }),
  startDate: moment('Due date of the first charge; the later ones are counted from it'),
  endDate: moment('Last moment at which a charge can be due', '2027-03-02T08:00:00.000Z').nullable(),
  maxBillings: z
    .int()
    .min(1)
    .nullable()
    .meta({ description: 'The schedule is completed after this many billings', example: 12 }),
  description: z
    .string()
    .nullable()
    .meta({ description: 'Text shown to the customer', example: 'Gold plan' }),
};

const progress = {
  status: scheduleStatus,
  nextBillingDate: moment(
    'Next regular due date; the oldest of those that are made up for after an outage',
    '2026-06-02T08:00:00.000Z',
  ).nullable(),
  retryAt: moment('When a declined charge is retried next').nullable().meta({ example: null }),
  lastDecline: z
    .strictObject({
      reference,
      reason: words('Why it was declined, as in `declineReason`', 'insufficient_funds'),
      at: moment('When it was declined'),
    })
    .nullable()
    .meta({ description: 'The latest decline of a schedule that is `past_due`', example: null }),
  billingsCompleted: z
    .int()
    .min(0)
    .meta({ description: 'Billings that ran, successful or failed', example: 3 }),
  createdAt: moment('When it was created', '2026-03-01T10:00:00.000Z'),
  updatedAt: moment('When it last changed', '2026-05-02T08:00:00.000Z'),
};

const schedule = z
  .strictObject({
    scheduleId: shownId('schedule'),
    merchantId: shownId('merchant'),
    customerId: shownId('customer'),
    ...terms,
    metadata,
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
    n: z.int().min(0).meta({ description: 'Number of the due date, from 0', example: 0 }),
    dueDate: moment('Due date'),
    status: z
      .enum(BILLING_STATUSES)
      .meta({ description: '`scheduled`: the next one, not yet due', example: 'successful' }),
    reason: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Why it was `skipped` or `failed`; otherwise left out', examples: [] }),
    attempts: z
      .array(
        z.strictObject({
          billingRequestId: shownId('billingRequest'),
          reference,
          at: moment('When the charge was made'),
          status: z.enum(BILLING_REQUEST_STATUSES).meta({ example: 'successful' }),
          declineReason,
        }),
      )
      .meta({ description: 'The charges made for it, oldest first' }),
  })
  .meta({ id: 'Billing' });

const ended = {
  refusals: { schedule_ended: 'The schedule has ended (`data.status`)' },
  refusedWith: {
    409: { data: z.strictObject({ status: scheduleStatus }), example: { status: 'cancelled' } },
  },
};

const action = (id: string, summary: string, description: string, example?: object) =>
  ({
    id,
    tag: 'Recurring billing',
    summary,
    description,
    answers: {
      200: { description: 'The schedule after the change', data: schedule, ...(example && { example }) },
    },
    ...ended,
  }) satisfies Operation;

export const SCHEDULES = {
  'POST /v1/billing/recurring/create': {
    id: 'createSchedule',
    tag: 'Recurring billing',
    summary: 'Create a recurring schedule',
    description:
      'Charges a customer automatically at `startDate` and then every `interval` days, weeks, months or years. Needs the customer’s standing approval (`approve_recurring`). Due dates are counted from `startDate`, so a monthly schedule that starts on 31 January is due on 28 February and 31 March. The result of each charge arrives by the webhook `billing.response`.',
    answers: {
      201: {
        description: 'The schedule is active; each charge is made when it is due',
        data: schedule,
        example: {
          nextBillingDate: '2026-03-02T08:00:00.000Z',
          billingsCompleted: 0,
          updatedAt: '2026-03-01T10:00:00.000Z',
        },
      },
    },
    refusals: {
      not_approved: 'The customer has not approved recurring billing by this merchant',
      merchant_not_trusted: 'The merchant is not trusted',
      party_disabled: 'The merchant or the bank is disabled',
      not_found: 'There is no agreement with this paymentID and customerId',
    },
  },
  'GET /v1/billing/recurring': {
    id: 'listSchedules',
    tag: 'Recurring billing',
    summary: 'List schedules',
    description: 'A merchant’s schedules, or for a provider those of its merchants.',
    answers: { 200: { description: '1 schedule', data: pageOf('schedules', schedule) } },
  },
  'GET /v1/billing/recurring/:scheduleId': {
    id: 'getSchedule',
    tag: 'Recurring billing',
    summary: 'Retrieve a schedule',
    description: 'With its `billings`: the latest 4 000 and the next one.',
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
    'Update a schedule',
    'Fields that are left out stay as they are; `null` removes a value. The change applies from the next billing on: one that has begun keeps its amount when it is retried. A schedule that `maxBillings` or `endDate` leaves nothing to charge is `completed` at once.',
  ),
  'POST /v1/billing/recurring/:scheduleId/pause': action(
    'pauseSchedule',
    'Pause a schedule',
    'Stops charging until the schedule is resumed. Due dates in between are `skipped` and not charged later.',
    { status: 'paused' },
  ),
  'POST /v1/billing/recurring/:scheduleId/resume': {
    ...action(
      'resumeSchedule',
      'Resume a schedule',
      'Ends a pause. A `suspended` schedule cannot be resumed: it goes on when the customer’s decision and the merchant’s trust level allow it again, and neither merchant nor bank is disabled.',
    ),
    refusals: { ...ended.refusals, schedule_suspended: 'The schedule is suspended' },
  },
  'POST /v1/billing/recurring/:scheduleId/cancel': action(
    'cancelSchedule',
    'Cancel a schedule',
    'Ends the schedule for good. A charge that is already pending is not withdrawn.',
    { status: 'cancelled', nextBillingDate: null },
  ),
  'GET /v1/bank/customer/subscriptions': {
    id: 'listSubscriptions',
    tag: 'Recurring billing',
    summary: 'List your customers’ subscriptions',
    description: 'The recurring schedules by which merchants bill your customers.',
    answers: { 200: { description: '1 subscription', data: pageOf('subscriptions', subscription) } },
  },
  'POST /v1/bank/customer/subscriptions/:scheduleId/cancel': {
    id: 'cancelSubscription',
    tag: 'Recurring billing',
    summary: 'Cancel a customer’s subscription',
    description:
      'Ends the schedule for good at the customer’s request. The merchant receives the webhook `recurring.updated`.',
    answers: {
      200: {
        description: 'The schedule is cancelled',
        data: subscription,
        example: { status: 'cancelled', nextBillingDate: null },
      },
    },
    ...ended,
  },
} satisfies Record<string, Operation>;
