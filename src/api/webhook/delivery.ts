import {
  listDeliveries,
  readDelivery,
  redeliver,
  type DeliveryRecord,
} from '../../database/webhook/list-deliveries';
import { openBody, readBodies } from '../../database/webhook/read-body';
import { Failure } from '../../domain/failures';
import { ANYONE } from '../http/callers';
import { listAnswer } from '../http/list';
import type { PathCall, QueryCall } from '../http/call';
import { section } from '../http/route';
import { pageOf } from '../http/response-fields';
import * as schema from './webhook-schema';

/** Deliveries to the caller's webhook URL, with their attempts. */

async function listWebhookDeliveries({ caller, query, deps }: QueryCall<typeof schema.deliveriesQuery>) {
  const found = await listDeliveries(deps.db, caller.entityId, query, query);
  return listAnswer(['delivery', 'deliveries'], found, query, shown);
}

async function showWebhookDelivery({ caller, params, deps }: PathCall<typeof schema.deliveryPath>) {
  const delivery = await readDelivery(deps.db, caller.entityId, params.deliveryId);
  if (!delivery) throw new Failure('not_found', 'You have no such delivery');
  const [stored] = await readBodies(deps.db, [params.deliveryId]);
  const body = (stored && openBody(deps.db.keyring, stored)) ?? null;
  return { message: `The delivery is ${delivery.status}`, data: { ...shown(delivery), body } };
}

async function redeliverWebhook({ accept, caller, params }: PathCall<typeof schema.deliveryPath>) {
  const { deliveryId } = params;
  return accept(async (trx) => {
    await redeliver(trx, caller.entityId, deliveryId);
    return { message: 'The delivery is sent once more', data: { deliveryId } };
  });
}

const shown = ({ withdrawnAt, ...delivery }: DeliveryRecord) => ({
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
    takes: { ...ANYONE, query: schema.deliveriesQuery },
    answers: { 200: { description: '1 delivery', data: pageOf('deliveries', schema.delivery) } },
    handle: listWebhookDeliveries,
  }),
  route('get', DELIVERY, {
    id: 'getDelivery',
    summary: 'Retrieve a webhook delivery',
    description: 'One webhook that was sent to you, with its body and the attempts to deliver it.',
    takes: { ...ANYONE, params: schema.deliveryPath },
    answers: { 200: { description: 'The delivery is delivered', data: schema.deliveryWithBody } },
    handle: showWebhookDelivery,
  }),
  route('post', `${DELIVERY}/redeliver`, {
    id: 'redeliver',
    summary: 'Redeliver a webhook',
    description:
      'Sends the same webhook again, with the same `deliveryId` and body, whether it was delivered before or not. An attempt that is under way is followed by another. A webhook that was withdrawn (`withdrawnAt`), because the charge or intent that it asks for ended first, is not sent any more: the merchant may have billed again. While you have no webhook URL, nothing is sent either: set one first.',
    takes: { ...ANYONE, params: schema.deliveryPath, idempotent: true },
    answers: { 202: { description: 'The delivery is sent once more', data: schema.sentDelivery } },
    refusals: {
      delivery_withdrawn:
        'What this webhook asks for ended before it was sent, so it is not sent any more; how it ended is in your events',
      no_webhook_url: 'You have no webhook URL: set one first',
    },
    refusedWith: { 409: { data: schema.unsentDelivery } },
    handle: redeliverWebhook,
  }),
];
