import { z } from 'zod';
import type { Config } from '../../config';
import type { Transaction } from '../../database/connection';
import { createSchedule } from '../../database/recurring/create';
import {
  listSchedules,
  readBillings,
  readSchedule,
  SCHEDULE_SORTS,
  type BillingRecord,
  type ScheduleRecord,
} from '../../database/recurring/read';
import { enqueueStarts } from '../../database/outbox';
import { formatInstant, maxInterval, type Frequency } from '../../domain/calendar';
import { formatAmount } from '../../domain/money';
import { SCHEDULE_STATUSES } from '../../domain/recurring/recurring';
import { workflowIds } from '../../domain/workflow/workflow-id';
import { workflowSummary } from '../../domain/workflow/workflow-summary';
import {
  amountIn,
  currency,
  DESCRIPTION_MAX,
  id,
  idFilter,
  instant,
  pagination,
  paymentId,
  textFor,
  withAmount,
} from '../http/fields';
import { metadata } from '../http/metadata';
import { listAnswer } from '../http/list';
import type { Call, QueryCall } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';

/**
 * Recurring schedules: a merchant, or its provider for it, has a customer billed again and again.
 */

/** Far more billings than anybody agrees to at once: 27 years of daily ones. */
export const MAX_BILLINGS = 10_000;

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

export const scheduleBody = (config: Config) =>
  withAmount(
    z
      .strictObject({
        customerId: id('customer'),
        paymentID: paymentId,
        amount: amountIn(config),
        currency: currency(config),
        frequency: z.enum(FREQUENCIES).meta({ description: 'The unit of `interval`', example: 'monthly' }),
        interval: z
          .int()
          .min(1)
          .default(1)
          .meta({
            maximum: maxInterval('daily'),
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
        maxBillings: z
          .int()
          .min(1)
          .max(MAX_BILLINGS)
          .meta({
            description: 'The schedule is completed after this many billings, successful or failed',
            example: 12,
          })
          .optional(),
        description: textFor(
          'What is billed; shown to the customer',
          DESCRIPTION_MAX,
          'Gold plan',
        ).optional(),
        metadata: metadata.optional(),
      })
      .refine(({ frequency, interval }) => interval <= maxInterval(frequency), {
        path: ['interval'],
        when: ({ value }) => hasInterval(value),
        error: ({ input }) =>
          hasInterval(input)
            ? `must be at most ${maxInterval(input.frequency)}, which is three years`
            : undefined,
      })
      .refine((body) => !hasBothDates(body) || body.endDate > body.startDate, {
        path: ['endDate'],
        when: ({ value }) => hasBothDates(value),
        error: 'must be after the start date',
      }),
  );

type ScheduleBody = z.output<ReturnType<typeof scheduleBody>>;

export async function createRecurring(call: Call<ScheduleBody>) {
  const { body, caller, deps } = call;
  const { entityId, role } = caller;
  if (role === 'bank') throw new Error('a bank makes no schedules');
  const work = async (trx: Transaction) => {
    const {
      id: scheduleId,
      merchantId,
      bankId,
      startAt,
    } = await createSchedule(
      trx,
      deps.ring,
      { entityId, role },
      {
        ...body,
        paymentId: body.paymentID,
        startAt: body.startDate,
        endAt: body.endDate,
        maxBillings: body.maxBillings,
        description: body.description,
        metadata: body.metadata ?? {},
      },
    );
    await enqueueStarts(trx, [
      {
        workflowId: workflowIds.recurring(scheduleId),
        attributes: { status: 'active', merchantId, bankId, nextBillingDate: formatInstant(startAt) },
        summary: workflowSummary.recurring({ ...body, merchantId }),
      },
    ]);
    return {
      message: 'The schedule is active; each charge is made when it is due',
      data: scheduleData(await readSchedule(trx, caller, scheduleId)),
    };
  };
  return call.accept(work, async ({ code }) => {
    if (code === 'not_found') await countUnknown(call, 'payment_id', 1);
  });
}

export const schedulePath = z.strictObject({ scheduleId: id('schedule') });

export type SchedulePath = z.output<typeof schedulePath>;

export async function showRecurring({ caller, params, deps }: Call<unknown, unknown, SchedulePath>) {
  const schedule = await readSchedule(deps.db, caller, params.scheduleId);
  const billings = await readBillings(deps.db, schedule.id);
  return {
    message: `The schedule is ${schedule.status}`,
    data: { ...scheduleData(schedule), billings: billingsData(schedule, billings) },
  };
}

export const schedulesQuery = z.strictObject({
  ...pagination(Object.keys(SCHEDULE_SORTS) as [keyof typeof SCHEDULE_SORTS]),
  status: z.enum(SCHEDULE_STATUSES).meta({ description: 'Only those with this status' }).optional(),
  customerId: idFilter('customer').optional(),
});

type ListCall = QueryCall<typeof schedulesQuery>;

export async function listRecurring(call: ListCall) {
  return listAnswer(['schedule', 'schedules'], await listOwn(call), call.query, scheduleData);
}

/** The schedules of a bank's customers. */
export async function listSubscriptions(call: ListCall) {
  return listAnswer(['subscription', 'subscriptions'], await listOwn(call), call.query, subscriptionData);
}

async function listOwn({ caller, query, deps }: ListCall) {
  const { page, limit, sortBy, sortOrder, ...filter } = query;
  return listSchedules(deps.db, caller, filter, { page, limit, sortBy, sortOrder });
}

export function scheduleData(schedule: ScheduleRecord) {
  return {
    scheduleId: schedule.id,
    merchantId: schedule.merchantId,
    customerId: schedule.customerId,
    ...termsData(schedule),
    metadata: schedule.metadata,
    ...progressData(schedule),
  };
}

/**
 * A schedule as the customer's bank sees it: with names to show, and without the merchant's own
 * notes.
 */
export function subscriptionData(schedule: ScheduleRecord) {
  return {
    scheduleId: schedule.id,
    merchant: { id: schedule.merchantId, name: schedule.merchantName },
    customerId: schedule.customerId,
    lookupID: schedule.lookupId,
    ...termsData(schedule),
    ...progressData(schedule),
  };
}

function termsData(schedule: ScheduleRecord) {
  return {
    amount: formatAmount(schedule.amount, schedule.currency),
    currency: schedule.currency,
    frequency: schedule.frequency,
    interval: schedule.interval,
    startDate: formatInstant(schedule.startAt),
    endDate: instantOrNull(schedule.endAt),
    maxBillings: schedule.maxBillings,
    description: schedule.description,
  };
}

function progressData(schedule: ScheduleRecord) {
  return {
    status: schedule.status,
    nextBillingDate: instantOrNull(schedule.nextDueAt),
    retryAt: instantOrNull(schedule.retryAt),
    lastDecline: declineData(schedule.lastDecline),
    billingsCompleted: schedule.ran,
    createdAt: formatInstant(schedule.createdAt),
    updatedAt: formatInstant(schedule.updatedAt),
  };
}

function declineData(decline: ScheduleRecord['lastDecline']) {
  if (decline === null) return null;
  const { reference, reason, atMs } = decline;
  return { reference, reason, at: formatInstant(new Date(atMs)) };
}

function instantOrNull(moment: Date | null): string | null {
  return moment && formatInstant(moment);
}

/** What has been billed so far and, as `scheduled`, what comes next. */
function billingsData({ nextN, nextDueAt }: ScheduleRecord, billings: BillingRecord[]) {
  const past = billings.map(({ n, dueAt, status, reason, attempts }) => ({
    n,
    dueDate: formatInstant(dueAt),
    status,
    ...((status === 'skipped' || status === 'failed') && { reason }),
    attempts: attempts.map(({ at, ...attempt }) => ({ ...attempt, at: formatInstant(at) })),
  }));
  if (nextDueAt === null) return past;
  return [
    ...past,
    { n: nextN, dueDate: formatInstant(nextDueAt), status: 'scheduled' as const, attempts: [] },
  ];
}
