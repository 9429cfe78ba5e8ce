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
import { WEBHOOK_DELIVERY, type DeliveryStatus } from '../../domain/lifecycle';
import { WEBHOOK_TYPES } from '../../domain/webhook';
import { id, pagination } from '../http/fields';
import { listAnswer } from '../http/list';
import type { Call } from '../http/route';

/** What was sent to the caller's webhook URL, and how that went. */

export const deliveriesQuery = z.strictObject({
  status: z
    .enum(Object.keys(WEBHOOK_DELIVERY) as [DeliveryStatus, ...DeliveryStatus[]])
    .meta({ description: 'Only those with this status' })
    .optional(),
  webhookType: z.enum(WEBHOOK_TYPES).meta({ description: 'Only those of this type' }).optional(),
  ...pagination(Object.keys(DELIVERY_SORTS) as ['createdAt', 'webhookType']),
});

export async function listWebhookDeliveries({
  caller,
  query,
  deps,
}: Call<unknown, z.output<typeof deliveriesQuery>>) {
  const { status, webhookType, ...page } = query;
  const found = await listDeliveries(deps.db, caller.entityId, { status, webhookType }, page);
  return listAnswer(['delivery', 'deliveries'], found, page, shown);
}

export const deliveryPath = z.strictObject({ deliveryId: id('delivery') });

export async function showWebhookDelivery({
  caller,
  params,
  deps,
}: Call<unknown, unknown, z.output<typeof deliveryPath>>) {
  const delivery = await readDelivery(deps.db, caller.entityId, params.deliveryId);
  if (!delivery) throw new Failure('not_found', 'You have no such delivery');
  return { message: `The delivery is ${delivery.status}`, data: shown(delivery) };
}

export async function redeliverWebhook({
  accept,
  caller,
  params: { deliveryId },
}: Call<unknown, unknown, z.output<typeof deliveryPath>>) {
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
    attempts: delivery.attempts.map((attempt) => ({ ...attempt, at: formatInstant(attempt.at) })),
  };
}
