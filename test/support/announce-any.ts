import type { Executor } from '../../src/database/pool/connection';
import { announce, type Announcement } from '../../src/database/webhook/announce-webhooks';
import type { WebhookType } from '../../src/domain/webhook/webhook';

interface Webhook extends Omit<Announcement, 'webhookType' | 'items'> {
  webhookType: WebhookType;
  items: object[];
}

/** Announces items of any form, in tests of the delivery, which does not depend on them. */
export function announceAny(trx: Executor, webhooks: Webhook[]): Promise<string[]> {
  return announce(trx, webhooks as Announcement[]);
}
