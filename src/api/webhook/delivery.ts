import { z } from 'zod';
import {
  DELIVERY_SORTS,
  listDeliveries,
  readDelivery,
  redeliver,
  type DeliveryRecord,
} from '../../database/webhook/delivery';
import { formatInstant } from '../../domain/calendar';
import { Failure } from '../../domain/failures';
import { DELIVERY_STATUSES } from '../../domain/lifecycle';
import { WEBHOOK_TYPES } from '../../domain/webhook/webhook';
import { id, pagination } from '../http/fields';
import { listAnswer } from '../http/list';
import type { PathCall, QueryCall } from '../http/route';

/** What was sent to the caller's webhook URL, and how that went. */

export const deliveriesQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES).meta({ description: 'Only those with this status' }).optional(),
  webhookType: z.enum(WEBHOOK_TYPES).meta({ description: 'Only those of this type' }).optional(),
  ...pagination(Object.keys(DELIVERY_SORTS) as ['createdAt', 'webhookType']),
});

export async function listWebhookDeliveries({ caller, query, deps }: QueryCall<typeof deliveriesQuery>) {
  const { status, webhookType, ...page } = query;
  const found = await listDeliveries(deps.db, caller.entityId, { status, webhookType }, page);
  return listAnswer(['delivery', 'deliveries'], found, page, shown);
}

export const deliveryPath = z.strictObject({ deliveryId: id('delivery') });

export async function showWebhookDelivery({ caller, params, deps }: PathCall<typeof deliveryPath>) {
  const delivery = await readDelivery(deps.db, caller.entityId, params.deliveryId);
  if (!delivery) throw new Failure('not_found', 'You have no such delivery');
  return { message: `The delivery is ${delivery.status}`, data: shown(delivery) };
}

export async function redeliverWebhook({
  accept,
  caller,
  params: { deliveryId },
}: PathCall<typeof deliveryPath>) {
  return accept(async (trx) => {
    await redeliver(trx, caller.entityId, deliveryId);
    return { message: 'The delivery is sent once more', data: { deliveryId } };
  });
}

function shown({ withdrawnAt, ...delivery }: DeliveryRecord) {
  return {
    ...delivery,
    createdAt: formatInstant(delivery.createdAt),
    finishedAt: delivery.finishedAt && formatInstant(delivery.finishedAt),
    ...(withdrawnAt && { withdrawnAt: formatInstant(withdrawnAt) }),
    attempts: delivery.attempts.map(({ at, status, durationMs, error }) => ({
      at: formatInstant(at),
      status,
      durationMs,
      error,
    })),
  };
}
