import { z } from 'zod';
import type { Differing } from '../../../src/api/openapi/webhook';
import type { Announcement } from '../../../src/database/webhook/announce-webhooks';
import type { WebhookItem } from '../../../src/domain/webhook/webhook-item';

/*
 * The compiler runs these tests, by `npm run check:types`: a line below `@ts-expect-error` must not
 * compile. An announced item has each field of its webhook's schema, by its name and in its type,
 * and so has the document.
 */

declare function announced(webhook: Announcement): void;

const reversal = {
  billingRequestId: 'brq_1',
  sequence: 2,
  reference: 'QX7M',
  reversalReference: 'RX7M',
  amount: 150_050n,
  currency: 'NGN',
  metadata: undefined,
};
const entityId = 'mch_1';
const webhookType = 'billing.reversed';
const { reversalReference: _, metadata: __, ...partly } = reversal;

announced({ entityId, webhookType, items: [reversal] });
// @ts-expect-error: a field is missing
announced({ entityId, webhookType, items: [{ ...partly, metadata: {} }] });
// @ts-expect-error: a field is misspelt
announced({ entityId, webhookType, items: [{ ...partly, metadata: {}, reversalReferenze: 'RX7M' }] });
// @ts-expect-error: a field that a bank does not see must be named all the same
announced({ entityId, webhookType, items: [{ ...partly, reversalReference: 'RX7M' }] });
// @ts-expect-error: a field is too many
announced({ entityId, webhookType, items: [{ ...reversal, customerEmail: 'ada@example.com' }] });
// @ts-expect-error: an amount in major units
announced({ entityId, webhookType, items: [{ ...reversal, amount: 1500.5 }] });
// @ts-expect-error: an amount without its currency
announced({ entityId, webhookType, items: [{ ...reversal, currency: undefined }] });
// @ts-expect-error: an item of another webhook
announced({ entityId, webhookType: 'billing.credit', items: [reversal] });

const notice: WebhookItem<'recurring.upcoming'> = {
  scheduleId: 'sch_1',
  sequence: 1,
  customerId: 'cus_1',
  amount: 150_050n,
  currency: 'NGN',
  n: 1,
  description: null,
  dueDate: new Date(),
  withinLimits: true,
  limit: undefined,
};
announced({ entityId, webhookType: 'recurring.upcoming', items: [notice] });
// @ts-expect-error: a time that is a text already
announced({ entityId, webhookType: 'recurring.upcoming', items: [{ ...notice, dueDate: '2026-03-02' }] });

interface Item {
  amount: bigint;
  at: Date | null;
  reason: 'expired' | 'denied' | undefined;
}
const document = {
  amount: z.number(),
  at: z.union([z.date(), z.string()]).nullable(),
  reason: z.enum(['expired', 'denied']).optional(),
};
const { at: ___, ...timeless } = document;
declare function documented<Shape extends z.ZodRawShape>(
  shape: Shape & Record<Differing<Item, Shape>, never>,
): void;

documented(document);
// @ts-expect-error: the document lacks a field
documented(timeless);
// @ts-expect-error: the document has a field too many
documented({ ...document, email: z.string() });
// @ts-expect-error: the document has an amount in minor units
documented({ ...document, amount: z.bigint() });
// @ts-expect-error: the document lets a field have any value
documented({ ...document, reason: z.string().optional() });
// @ts-expect-error: the document lacks a value that is announced
documented({ ...document, reason: z.literal('expired').optional() });
// @ts-expect-error: the document requires a field that may be left out
documented({ ...document, reason: z.enum(['expired', 'denied']) });
