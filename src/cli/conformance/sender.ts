import { randomBytes } from 'node:crypto';
import { createWebhookConnector, type SendOutcome } from '../../activities/webhook-connector';
import { newId } from '../../database/ids';
import {
  bodyWithSignature,
  serviceSignature,
  standardWebhookSignature,
} from '../../domain/webhook/webhook-signature';

/** Webhooks as the engine sends them, through the same connector, and wrong ones on order. */

/** A webhook that may be sent as often as wanted: its delivery and its bytes stay the same. */
export interface Delivery {
  deliveryId: string;
  type: string;
  body: string;
}

interface Sending {
  /** Signs with a secret that is not the bank's. */
  forged?: true;
  /** Its time of sending, before now. */
  agoS?: number;
  /** For the answer; the network's patience at a retry unless given. */
  withinMs?: number;
}

/** What the network waits at the first attempt. */
export const AT_ONCE_MS = 2_000;
/** What it waits at a retry: only where it matters is a slow bank told that it is one. */
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
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'assent-conformance',
      'x-service-event': type,
      'x-service-delivery': deliveryId,
      'x-service-signature': serviceSignature(secret, body),
      'webhook-id': deliveryId,
      'webhook-timestamp': String(sentAtS),
      'webhook-signature': standardWebhookSignature([secret], deliveryId, sentAtS, body),
    };
    const outcome = await this.connector.send(this.url, headers, body, { timeoutMs: withinMs });
    if (!outcome) throw new Error('only a sender that asks before it begins is told no');
    return outcome;
  }

  close(): Promise<void> {
    return this.connector.close();
  }
}
