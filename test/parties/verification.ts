import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';

/** A webhook to a bank or a merchant, with one item per customer or charge. */
export interface WebhookBody {
  entityId: string;
  entityType: 'bank' | 'merchant';
  webhookType: string;
  timestamp: string;
  batchId?: string;
  data: Record<string, unknown>[];
  itemCount: number;
  signature?: string;
}

/**
 * Checks all three proofs that a webhook comes from the network, as a careful receiver would: the
 * signature of the exact bytes, the Standard Webhooks headers (which also refuse a replay older
 * than five minutes), and the signature inside the body. Not by `@assent/client`, on purpose: that
 * and the engine would agree in a mistake of both.
 *
 * @param secret the receiver's `webhookSecret`, with its `whsec_`
 * @returns what does not hold, or undefined where all does
 */
export function forgeryIn(secret: string, headers: IncomingHttpHeaders, bytes: Buffer): string | undefined {
  if (!sameText(hexHmac(secret, bytes), headerText(headers, 'x-service-signature'))) {
    return 'X-Service-Signature does not match the body';
  }
  try {
    new Webhook(secret).verify(bytes.toString('utf8'), {
      'webhook-id': headerText(headers, 'webhook-id'),
      'webhook-timestamp': headerText(headers, 'webhook-timestamp'),
      'webhook-signature': headerText(headers, 'webhook-signature'),
    });
  } catch (error) {
    if (error instanceof WebhookVerificationError) return `webhook-signature: ${error.message}`;
    return 'the body is not JSON';
  }
  if (headerText(headers, 'webhook-id') !== headerText(headers, 'x-service-delivery')) {
    return 'webhook-id and X-Service-Delivery differ';
  }
  const { signature, ...unsigned } = JSON.parse(bytes.toString('utf8')) as WebhookBody;
  if (!sameText(hexHmac(secret, JSON.stringify(unsigned)), signature ?? '')) {
    return 'the signature inside the body does not match the rest of it';
  }
  return undefined;
}

/** The key is the secret's text as it was shown, prefix and all. */
function hexHmac(secret: string, message: Buffer | string): string {
  return createHmac('sha256', secret).update(message).digest('hex');
}

function sameText(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** @returns the header's value, and an empty text for a missing one, which no signature equals */
function headerText(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}
