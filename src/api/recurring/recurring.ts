import type { z } from 'zod';
import { recurringRules, type Config } from '../../settings/config';
import type { Transaction } from '../../database/pool/connection';
import {
  cancelSchedule,
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
} from '../../database/schedule/change-schedule';
import { schedulesDueOn } from '../../database/recurring/forecast-billings';
import type { Party } from '../../database/query/party';
import { skipBilling } from '../../database/schedule/skip-billing';
import { createSchedule } from '../../database/schedule/create-schedule';
import {
  listSchedules,
  readBillings,
  readSchedule,
  readSchedules,
  type BillingRecord,
  type ScheduleRecord,
} from '../../database/schedule/list-schedules';
import type { Role } from '../../domain/entity';
import { formatAmount, inDecimals } from '../../domain/money';
import { ANYONE, BANK, BILLERS } from '../http/callers';
import { listAnswer } from '../http/list';
import type { BodyCall, Call, PathCall, QueryCall } from '../http/call';
import type { ApiDeps } from '../http/deps';
import { rowsOf } from '../http/download';
import { section } from '../http/route';
import { countUnknown } from '../http/unknown-identifier';
import type { Operation } from '../http/operation';
import { fieldsOf, pageOf } from '../http/response-fields';
import { forecastRoutes, RECKON_WITHIN_MS } from './forecast';
import * as schema from './recurring-schema';

/**
 * Recurring schedules: a merchant, or its provider for it, has a customer billed again and again.
 */

async function createRecurring(call: BodyCall<ReturnType<typeof schema.scheduleBody>>) {
  const { body, caller } = call;
  const { entityId, role } = caller;
  if (role === 'bank') throw new Error('a bank makes no schedules');
  const work = async (trx: Transaction) => {
    const { paymentID: paymentId, startDate, endDate: endAt, metadata = {}, ...rest } = body;
    const terms = { ...rest, paymentId, startAt: startDate, endAt, metadata };
    const scheduleId = await createSchedule(trx, { entityId, role }, terms);
    return {
      message: 'The schedule is active; each charge is made when it is due',
      data: scheduleData(await readSchedule(trx, caller, scheduleId)),
    };
  };
  return call.accept(work, async ({ code }) => {
    if (code === 'not_found') await countUnknown(call, 'payment_id', 1);
  });
}

const showing =
  <Shown extends object>(shown: (schedule: ScheduleRecord) => Shown) =>
  async ({ caller, params, deps }: PathCall<typeof schema.schedulePath>) => {
    const found = await readSchedule(deps.db, caller, params.scheduleId);
    const billings = await readBillings(deps.db, found.id);
    return {
      message: `The schedule is ${found.status}`,
      data: { ...shown(found), billings: billingsData(found, billings) },
    };
  };

type ListCall = QueryCall<typeof schema.schedulesQuery>;

async function listRecurring(call: ListCall) {
  return listAnswer(['schedule', 'schedules'], await listOwn(call), call.query, scheduleData);
}

async function listSubscriptions(call: ListCall) {
  return listAnswer(['subscription', 'subscriptions'], await listOwn(call), call.query, subscriptionData);
}

const listOwn = ({ caller, query, deps }: ListCall) => listSchedules(deps.db, caller, query, query);

type SearchCall = Call<z.output<typeof schema.scheduleSearch>, z.output<typeof schema.schedulesPage>>;

/** The text stands in the body: it may be a person's name, and addresses are kept in logs. */
async function searchSchedules({ caller, body, query, prefersCsv, deps }: SearchCall) {
  const { format, dueOn, dueInDays: days, ...others } = body;
  const filter = { ...others, ...(dueOn !== undefined && { ids: await dueIds(deps, caller, dueOn, days) }) };
  if (format === 'csv' || (format === undefined && prefersCsv)) {
    const hidden = caller.role === 'bank' ? 'metadata' : 'customerName';
    return {
      fileName: 'schedules.csv',
      columns: Object.keys(schema.foundSchedule.shape).filter((name) => name !== hidden),
      timeZone: deps.config.NETWORK_TIMEZONE,
      pages: rowsOf(readSchedules(deps.db, caller, filter), (one) => ({
        ...foundData(one, caller.role),
        amount: inDecimals(one.amount, one.currency),
        lastDecline: one.lastDecline?.reason,
      })),
    };
  }
  const found = await listSchedules(deps.db, caller, filter, query);
  return listAnswer(['schedule', 'schedules'], found, query, (one) => foundData(one, caller.role));
}

function dueIds({ db, config }: ApiDeps, party: Party, date: string, days: number) {
  const deadline = performance.now() + RECKON_WITHIN_MS;
  return schedulesDueOn(db.until(deadline), recurringRules(config), { party }, date, { days, deadline });
}

function foundData(record: ScheduleRecord, role: Role) {
  const { metadata, ...data } = scheduleData(record);
  const { customerName } = record;
  return role === 'bank' ? { ...data, customerName } : { ...data, customerName: null, metadata };
}

/** Acts on a schedule, and answers with it as it then is. */
const action =
  <Shown extends object>(change: typeof cancelSchedule, shown: (schedule: ScheduleRecord) => Shown) =>
  (call: PathCall<typeof schema.schedulePath>) =>
    act(call, shown, (trx) => change(trx, call.caller, call.params.scheduleId));

const skipping =
  (skips: boolean) =>
  (call: Call<z.output<typeof schema.billingToSkip>, unknown, z.output<typeof schema.schedulePath>>) => {
    const { body, caller, deps, params } = call;
    const rules = recurringRules(deps.config);
    return act(call, subscriptionData, (trx) =>
      skipBilling(trx, rules, { caller, scheduleId: params.scheduleId }, { n: body.n, skips }),
    );
  };

function changeRecurring(
  call: Call<z.output<typeof schema.scheduleChange>, unknown, z.output<typeof schema.schedulePath>>,
) {
  const { body, caller, deps, params } = call;
  const { endDate: endAt, ...rest } = body;
  const rules = recurringRules(deps.config);
  return act(call, scheduleData, (trx) =>
    changeSchedule(trx, rules, { caller, scheduleId: params.scheduleId }, { ...rest, endAt }),
  );
}

function act<Shown extends object>(
  { accept, caller, params }: PathCall<typeof schema.schedulePath>,
  shown: (schedule: ScheduleRecord) => Shown,
  work: (trx: Transaction) => Promise<void>,
) {
  return accept(async (trx) => {
    await work(trx);
    const schedule = await readSchedule(trx, caller, params.scheduleId);
    return { message: messageOf(schedule), data: shown(schedule) };
  });
}

function messageOf({ status }: ScheduleRecord): string {
  return status === 'suspended'
    ? 'The schedule is suspended: the customer or the network does not allow its charges now'
    : `The schedule is ${status}`;
}

function scheduleData(record: ScheduleRecord) {
  return {
    ...fieldsOf(schema.schedule, record),
    scheduleId: record.id,
    amount: formatAmount(record.amount, record.currency),
    startDate: record.startAt,
    endDate: record.endAt,
    nextBillingDate: record.nextDueAt,
    lastDecline: declineOf(record),
    billingsCompleted: record.ran,
  };
}

function subscriptionData(record: ScheduleRecord) {
  const { merchantId, merchantName: name, bankName: _, metadata: __, ...shown } = scheduleData(record);
  const { customerName, lookupId: lookupID } = record;
  return { ...shown, merchant: { id: merchantId, name }, customerName, lookupID };
}

function declineOf({ lastDecline }: ScheduleRecord) {
  if (lastDecline === null) return null;
  const { atMs, ...decline } = lastDecline;
  return { ...decline, at: new Date(atMs) };
}

/** The billings so far and, as `scheduled`, the next one. */
function billingsData({ nextN, nextDueAt }: ScheduleRecord, billings: BillingRecord[]) {
  const past = billings.map(({ n, dueAt, status, reason, attempts }) => ({
    n,
    dueDate: dueAt,
    status,
    ...((status === 'skipped' || status === 'failed') && { reason }),
    attempts: attempts.map(({ limit, ...attempt }) => ({ ...attempt, ...(limit && { limit }) })),
  }));
  if (nextDueAt === null || past.some(({ n }) => n === nextN)) return past;
  const next = { n: nextN, dueDate: nextDueAt, status: 'scheduled' as const, attempts: [] };
  return [...past, next].sort((one, other) => one.n - other.n);
}

const route = section('Recurring billing');

const SCHEDULE = '/v1/billing/recurring/:scheduleId';
const SUBSCRIPTIONS = '/v1/bank/customer/subscriptions';

const ended = {
  refusals: { schedule_ended: 'The schedule has ended (`data.status`)' },
  refusedWith: { 409: { data: schema.endedSchedule, example: { status: 'cancelled' } } },
} satisfies Partial<Operation>;

const tooLate = {
  refusals: {
    too_late_to_skip: 'Your bank was asked for the billing, or it has ended (`data.status`)',
    not_found: 'There is no such schedule, or it will have no such billing',
  },
  refusedWith: { 409: { data: schema.begunBilling, example: { status: 'pending' } } },
} satisfies Partial<Operation>;

const changed = (example?: object) => ({
  200: { description: 'The schedule after the change', data: schema.schedule, ...(example && { example }) },
});

export const recurringRoutes = (config: Config) => [
  route('post', '/v1/billing/recurring/create', {
    id: 'createSchedule',
    summary: 'Create a recurring schedule',
    description:
      'Charges a customer automatically at `startDate` and then every `interval` days, weeks, months or years. Needs the customer’s standing approval (`approve_recurring`). Due dates are counted from `startDate`, so a monthly schedule that starts on 31 January is due on 28 February and 31 March. The result of each charge arrives by the webhook `billing.response`.',
    takes: {
      ...BILLERS,
      scope: 'bill',
      namesIdentifiers: true,
      body: schema.scheduleBody(config),
      idempotent: true,
    },
    answers: {
      201: {
        description: 'The schedule is active; each charge is made when it is due',
        data: schema.schedule,
        example: {
          nextBillingDate: '2026-03-02T08:00:00.000Z',
          billingsCompleted: 0,
          updatedAt: '2026-03-01T10:00:00.000Z',
        },
      },
    },
    refusals: {
      not_approved: 'The customer has not approved recurring billing by this merchant',
      limit_reached: 'The amount is above the customer’s `perCharge`',
      consent_expired: 'The schedule would begin at or after the customer’s `validUntil`',
      merchant_not_trusted: 'The merchant is not trusted',
      party_disabled: 'The merchant or the bank is disabled',
      not_found: 'There is no agreement with this paymentID and customerId',
    },
    refusedWith: { 403: { data: schema.refusedByLimits } },
    handle: createRecurring,
  }),
  route('get', '/v1/billing/recurring', {
    id: 'listSchedules',
    summary: 'List schedules',
    description: 'A merchant’s schedules, or for a provider those of its merchants.',
    takes: { ...BILLERS, query: schema.schedulesQuery },
    answers: { 200: { description: '1 schedule', data: pageOf('schedules', schema.schedule) } },
    handle: listRecurring,
  }),
  route('post', '/v1/billing/recurring/search', {
    id: 'searchSchedules',
    summary: 'Search schedules',
    description:
      'A merchant’s schedules, for a provider those of its merchants, for a bank those by which its customers are billed. The text stands in the body, because a name must be in no address. With `format: csv` or the header `Accept: text/csv` the answer is a CSV file of all that match, oldest first, with times in the network’s zone.',
    takes: { ...ANYONE, scope: 'read', body: schema.scheduleSearch, query: schema.schedulesPage },
    answers: {
      200: { description: '1 schedule', data: pageOf('schedules', schema.foundSchedule), csv: 'offered' },
    },
    handle: searchSchedules,
  }),
  ...forecastRoutes,
  route('get', SCHEDULE, {
    id: 'getSchedule',
    summary: 'Retrieve a schedule',
    description: 'With its `billings`: the latest 4 000 and the next one.',
    takes: { ...BILLERS, params: schema.schedulePath },
    answers: { 200: { description: 'The schedule is active', data: schema.scheduleWithBillings } },
    handle: showing(scheduleData),
  }),
  route('patch', SCHEDULE, {
    id: 'changeSchedule',
    summary: 'Update a schedule',
    description:
      'Fields that are left out stay as they are; `null` removes a value. The change applies from the next billing on: one that has begun keeps its amount when it is retried. A schedule that `maxBillings` or `endDate` leaves nothing to charge is `completed` at once.',
    takes: {
      ...BILLERS,
      scope: 'bill',
      person: 'admin',
      params: schema.schedulePath,
      body: schema.scheduleChange,
      idempotent: true,
    },
    answers: changed(),
    refusals: { ...ended.refusals, limit_reached: 'The amount is above the customer’s `perCharge`' },
    refusedWith: { ...ended.refusedWith, 403: { data: schema.refusedByLimits } },
    handle: changeRecurring,
  }),
  route('post', `${SCHEDULE}/pause`, {
    id: 'pauseSchedule',
    summary: 'Pause a schedule',
    description:
      'Stops charging until the schedule is resumed. Due dates in between are `skipped` and not charged later.',
    takes: { ...BILLERS, scope: 'bill', person: 'clerk', params: schema.schedulePath },
    answers: changed({ status: 'paused' }),
    ...ended,
    handle: action(pauseSchedule, scheduleData),
  }),
  route('post', `${SCHEDULE}/resume`, {
    id: 'resumeSchedule',
    summary: 'Resume a schedule',
    description:
      'Ends a pause. A `suspended` schedule cannot be resumed: it goes on when the customer’s decision and the merchant’s trust level allow it again, and neither merchant nor bank is disabled.',
    takes: { ...BILLERS, scope: 'bill', person: 'clerk', params: schema.schedulePath },
    answers: changed(),
    ...ended,
    refusals: { ...ended.refusals, schedule_suspended: 'The schedule is suspended' },
    handle: action(resumeSchedule, scheduleData),
  }),
  route('post', `${SCHEDULE}/cancel`, {
    id: 'cancelSchedule',
    summary: 'Cancel a schedule',
    description: 'Ends the schedule for good. A charge that is already pending is not withdrawn.',
    takes: { ...BILLERS, scope: 'bill', person: 'clerk', params: schema.schedulePath },
    answers: changed({ status: 'cancelled', nextBillingDate: null }),
    ...ended,
    handle: action(cancelSchedule, scheduleData),
  }),
  route('get', SUBSCRIPTIONS, {
    id: 'listSubscriptions',
    summary: 'List your customers’ subscriptions',
    description: 'The recurring schedules by which merchants bill your customers.',
    takes: { ...BANK, query: schema.schedulesQuery },
    answers: { 200: { description: '1 subscription', data: pageOf('subscriptions', schema.subscription) } },
    handle: listSubscriptions,
  }),
  route('get', `${SUBSCRIPTIONS}/:scheduleId`, {
    id: 'getSubscription',
    summary: 'Retrieve a customer’s subscription',
    description: 'With its `billings`: the latest 4 000 and the next one.',
    takes: { ...BANK, params: schema.schedulePath },
    answers: { 200: { description: 'The schedule is active', data: schema.subscriptionWithBillings } },
    handle: showing(subscriptionData),
  }),
  route('post', `${SUBSCRIPTIONS}/:scheduleId/cancel`, {
    id: 'cancelSubscription',
    summary: 'Cancel a customer’s subscription',
    description:
      'Ends the schedule for good at the customer’s request. The merchant receives the webhook `recurring.updated`.',
    takes: { ...BANK, scope: 'manage', person: 'clerk', params: schema.schedulePath },
    answers: {
      200: {
        description: 'The schedule is cancelled',
        data: schema.subscription,
        example: { status: 'cancelled', nextBillingDate: null },
      },
    },
    ...ended,
    handle: action(cancelSchedule, subscriptionData),
  }),
  route('post', `${SUBSCRIPTIONS}/:scheduleId/skip`, {
    id: 'skipBilling',
    summary: 'Skip one billing of a customer’s subscription',
    description:
      'At the customer’s request billing `n`, at most 1 000 after the next, is `skipped` for `customer_skipped`, and does not count in `maxBillings`. Possible until your bank is asked for it, and between two attempts. Both sides receive the webhook `recurring.updated` with `skipped`.',
    takes: { ...BANK, scope: 'manage', params: schema.schedulePath, body: schema.billingToSkip },
    answers: { 200: { description: 'The billing is skipped', data: schema.subscription } },
    ...tooLate,
    handle: skipping(true),
  }),
  route('post', `${SUBSCRIPTIONS}/:scheduleId/unskip`, {
    id: 'unskipBilling',
    summary: 'Unskip one billing of a customer’s subscription',
    description:
      'Billing `n` is charged after all, where it is not due yet. Both sides receive the webhook `recurring.updated` with `unskipped`.',
    takes: { ...BANK, scope: 'manage', params: schema.schedulePath, body: schema.billingToSkip },
    answers: { 200: { description: 'The billing is charged when it is due', data: schema.subscription } },
    ...tooLate,
    handle: skipping(false),
  }),
];
