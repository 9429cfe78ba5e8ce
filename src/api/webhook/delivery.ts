import {
  listDeliveries,
  readDelivery,
  redeliver,
  type DeliveryRecord,
  DELIVERY_SORTS,
} from '../../database/webhook/list-deliveries';
import { openBody, readBodies } from '../../database/webhook/read-body';
import { Failure } from '../../domain/failures';
import { momentIn } from '../billing/transaction';
import { ANYONE } from '../http/callers';
import { listAnswer } from '../http/list';
import type { PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import * as shown from '../http/response-fields';
import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../domain/lifecycle';
import { WEBHOOK_TYPES } from '../../domain/webhook/webhook';
import { dayOrInstant, id, oneOf, pagination } from '../http/request-fields';

const deliveriesQuery = z.strictObject({
  status: oneOf(
    [...DELIVERY_STATUSES, 'withdrawn'],
    'Only those with this status; `failed` leaves out those that were `withdrawn`',
  ).optional(),
  webhookType: oneOf(WEBHOOK_TYPES, 'Only those of this type').optional(),
  from: dayOrInstant
    .meta({ description: 'Only those created on this day, or at this time, or later' })
    .optional(),
  to: dayOrInstant
    .meta({ description: 'Only those created on this day or before, or before this time' })
    .optional(),
  ...pagination(Object.keys(DELIVERY_SORTS) as ['createdAt', 'webhookType']),
});

const deliveryPath = z.strictObject({ deliveryId: id('delivery') });

const deliveryIdShown = shown.id('delivery', 'As in `X-Service-Delivery`');

const attempt = z.strictObject({
  at: shown.moment('When the attempt ended'),
  status: z.int().nullable().meta({
    description: 'HTTP status that your server answered; `null` if it did not answer',
    example: 200,
  }),
  durationMs: z.int().min(0).meta({ description: 'Duration in milliseconds', example: 84 }),
  error: shown.wordsOrNull('What went wrong; `null` if the attempt succeeded'),
});

const deliveryShown = z
  .strictObject({
    deliveryId: deliveryIdShown,
    eventId: shown.id('event'),
    webhookType: oneOf(WEBHOOK_TYPES, 'Type of the webhook', 'billing.response'),
    batchId: shown.id('batch', 'The API request that caused it').nullable(),
    status: oneOf(DELIVERY_STATUSES, 'Status of the delivery', 'delivered'),
    createdAt: shown.moment('When it was created'),
    finishedAt: shown.moment('When it was delivered or given up', '2026-03-02T08:00:01.000Z').nullable(),
    withdrawnAt: shown
      .moment(
        'There only where what it asks for ended before it was sent: it is `failed` then, and is not sent any more',
        '2026-03-02T08:15:00.000Z',
      )
      .optional(),
    attempts: z.array(attempt).meta({ description: 'The latest 50, oldest first' }),
  })
  .meta({ id: 'Delivery' });

const deliveryWithBody = deliveryShown
  .extend({
    body: shown.wordsOrNull(
      'The body, byte for byte as it is sent; `null` where its key is no more. Of a webhook that was withdrawn, what is left of it',
      '{"webhookType":"billing.response"}',
    ),
  })
  .meta({ id: 'DeliveryWithBody' });

export const sentDelivery = z.strictObject({ deliveryId: deliveryIdShown });

const unsentDelivery = sentDelivery.extend({
  status: oneOf(DELIVERY_STATUSES, 'Status of the delivery, which stays', 'failed'),
});

/** Deliveries to the caller's webhook URL, with their attempts. */

async function listWebhookDeliveries({ caller, query, deps }: QueryCall<typeof deliveriesQuery>) {
  const begin = momentIn(deps.config.NETWORK_TIMEZONE);
  const filter = { ...query, from: begin(query.from), to: begin(query.to, 1) };
  const found = await listDeliveries(deps.db, caller.entityId, filter, query);
  return listAnswer(['delivery', 'deliveries'], found, query, shownDelivery);
}

async function showWebhookDelivery({ caller, params, deps }: PathCall<typeof deliveryPath>) {
  const delivery = await readDelivery(deps.db, caller.entityId, params.deliveryId);
  if (!delivery) throw new Failure('not_found', 'You have no such delivery');
  const [stored] = await readBodies(deps.db, [params.deliveryId]);
  const body = (stored && openBody(deps.db.keyring, stored)) ?? null;
  return { message: `The delivery is ${delivery.status}`, data: { ...shownDelivery(delivery), body } };
}

async function redeliverWebhook({ accept, caller, params }: PathCall<typeof deliveryPath>) {
  const { deliveryId } = params;
  return accept(async (trx) => {
    await redeliver(trx, caller.entityId, deliveryId);
    return { message: 'The delivery is sent once more', data: { deliveryId } };
  });
}

const shownDelivery = ({ withdrawnAt, ...delivery }: DeliveryRecord) => ({
  ...delivery,
  ...(withdrawnAt && { withdrawnAt }),
  attempts: delivery.attempts.map(({ at, status, durationMs, error }) => ({ at, status, durationMs, error })),
});

const route = section('Webhook settings');
const DELIVERY = '/v1/webhooks/deliveries/:deliveryId';

export const deliveryRoutes = [
  route('get', '/v1/webhooks/deliveries', {
    id: 'listDeliveries',
    summary: 'List webhook deliveries',
    description: 'The webhooks that were sent to you, with the attempts to deliver each.',
    takes: { ...ANYONE, query: deliveriesQuery },
    answers: { 200: { description: '1 delivery', data: shown.pageOf('deliveries', deliveryShown) } },
    handle: listWebhookDeliveries,
  }),
  route('get', DELIVERY, {
    id: 'getDelivery',
    summary: 'Retrieve a webhook delivery',
    description: 'One webhook that was sent to you, with its body and the attempts to deliver it.',
    takes: { ...ANYONE, params: deliveryPath },
    answers: { 200: { description: 'The delivery is delivered', data: deliveryWithBody } },
    handle: showWebhookDelivery,
  }),
  route('post', `${DELIVERY}/redeliver`, {
    id: 'redeliver',
    summary: 'Redeliver a webhook',
    description:
      'Sends the same webhook again, with the same `deliveryId` and body, whether it was delivered before or not. An attempt that is under way is followed by another. A webhook that was withdrawn (`withdrawnAt`), because the charge or intent that it asks for ended first, is not sent any more: the merchant may have billed again. While you have no webhook URL, nothing is sent either: set one first.',
    takes: { ...ANYONE, scope: 'manage', person: 'clerk', params: deliveryPath, idempotent: true },
    answers: { 202: { description: 'The delivery is sent once more', data: sentDelivery } },
    refusals: {
      delivery_withdrawn:
        'What this webhook asks for ended before it was sent, so it is not sent any more; how it ended is in your events',
      no_webhook_url: 'You have no webhook URL: set one first',
    },
    refusedWith: { 409: { data: unsentDelivery } },
    handle: redeliverWebhook,
  }),
];
