import { randomBytes } from 'node:crypto';
import { createWebhookConnector } from '../../../src/activities/webhook-connector';
import { newId } from '../../../src/database/identifier/new-id';
import type { SendOutcome } from '../../../src/database/webhook/attempt-delivery';
import { bodyWithSignature, webhookHeaders } from '../../../src/domain/webhook/webhook-signature';

/* Webhooks go through the engine's own connector, and can be forged or old on order. */

/** A webhook that can be sent repeatedly: its delivery id and its bytes stay the same. */
export interface Delivery {
  deliveryId: string;
  type: string;
  body: string;
}

interface Sending {
  /** Signs with another secret than the bank's. */
  forged?: true;
  /** Age of the webhook's timestamp. */
  agoS?: number;
  /** Time for the response; the network's answer timeout at a retry unless given. */
  withinMs?: number;
}

/** The network's answer timeout at the first attempt. */
export const AT_ONCE_MS = 2_000;
/** The network's answer timeout at a retry. Only checks of speed fail a slow bank. */
const ANSWER_WITHIN_MS = 10_000;

export class Sender {
  private readonly connector;
  private readonly bankId = newId('bank');

  constructor(
    private readonly url: string,
    private readonly secret: string,
    options: { allowPrivate: boolean },
  ) {
    this.connector = createWebhookConnector(options);
  }

  webhook(type: string, item: Record<string, unknown>): Delivery {
    const envelope = {
      entityId: this.bankId,
      entityType: 'bank',
      webhookType: type,
      timestamp: new Date().toISOString(),
      batchId: newId('batch'),
      data: [item],
      itemCount: 1,
    };
    return { deliveryId: newId('delivery'), type, body: bodyWithSignature(envelope, this.secret) };
  }

  async send(
    { deliveryId, type, body }: Delivery,
    { forged, agoS = 0, withinMs = ANSWER_WITHIN_MS }: Sending = {},
  ): Promise<SendOutcome> {
    const secret = forged ? `whsec_${randomBytes(32).toString('base64')}` : this.secret;
    const sentAtS = Math.floor(Date.now() / 1000) - agoS;
    const headers = webhookHeaders('assent-conformance', type, deliveryId, sentAtS, {
      body,
      secrets: [secret],
    });
    const outcome = await this.connector.send({ url: this.url, headers, body, timeoutMs: withinMs });
    if (!outcome) throw new Error('only a sender that asks before it begins is told no');
    return outcome;
  }

  close(): Promise<void> {
    return this.connector.close();
  }
}
