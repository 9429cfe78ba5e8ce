import { createHmac } from 'node:crypto';

/**
 * The two signatures of a webhook.
 *
 * The network's own is a bare HMAC over the body, in the body itself and in `X-Service-Signature`:
 * a recorded request can be sent again. The Standard Webhooks signature
 * (https://www.standardwebhooks.com) also binds the delivery's id and the time of sending.
 *
 * A secret is `whsec_` and the base64 of 32 random bytes. The network's signature takes the whole
 * text as the key, the standard one the decoded bytes.
 */

const SECRET_PREFIX = 'whsec_';

/** `X-Service-Signature`: HMAC-SHA256 of the body's exact bytes, in lower-case hex. */
export function serviceSignature(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body, 'utf8').digest('hex');
}

/**
 * Serialises an envelope with its own `signature` as the last member. A receiver that removes it,
 * by parsing or by cutting the text, has the signed text left.
 */
export function bodyWithSignature(envelope: Record<string, unknown>, secret: string): string {
  const signature = serviceSignature(secret, JSON.stringify(envelope));
  return JSON.stringify({ ...envelope, signature });
}

/**
 * `webhook-signature`: one `v1,<base64>` for each secret, a space between them.
 *
 * @param sentAtS seconds since 1970, as in `webhook-timestamp`
 */
export function standardWebhookSignature(
  secrets: readonly string[],
  deliveryId: string,
  sentAtS: number,
  body: string,
): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
      const mac = createHmac('sha256', key).update(`${deliveryId}.${sentAtS}.${body}`, 'utf8');
      return `v1,${mac.digest('base64')}`;
    })
    .join(' ');
}

/**
 * The headers of a request that brings a webhook.
 *
 * @param sentAtS seconds since 1970
 * @param secrets the first makes the network’s own signature, each a standard one
 */
export function webhookHeaders(
  userAgent: string,
  type: string,
  deliveryId: string,
  sentAtS: number,
  { body, secrets }: { body: string; secrets: readonly [string, ...string[]] },
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': userAgent,
    'X-Service-Signature': serviceSignature(secrets[0], body),
    'X-Service-Event': type,
    'X-Service-Delivery': deliveryId,
    'webhook-id': deliveryId,
    'webhook-timestamp': String(sentAtS),
    'webhook-signature': standardWebhookSignature(secrets, deliveryId, sentAtS, body),
  };
}
