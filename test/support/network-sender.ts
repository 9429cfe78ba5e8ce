import {
  bodyWithSignature,
  serviceSignature,
  standardWebhookSignature,
} from '../../src/domain/webhook/webhook-signature';

export interface Signing {
  /** Makes `X-Service-Signature`. */
  service: string;
  /** Makes the standard `webhook-signature`. */
  standard: string;
  /** Makes the `signature` inside the body. */
  inside: string;
  /** `webhook-timestamp`, seconds since 1970. */
  sentAtS: number;
}

/** A webhook as the network sends it, except where `spoilt` says otherwise. */
export function webhookRequest(
  secret: string,
  webhookType: string,
  data: Record<string, unknown>[],
  spoilt: Partial<Signing> = {},
): { method: 'POST'; headers: Record<string, string>; body: string } {
  const nowS = Math.floor(Date.now() / 1000);
  const signing = { service: secret, standard: secret, inside: secret, sentAtS: nowS, ...spoilt };
  const deliveryId = 'dlv_of_a_test';
  const envelope = {
    entityId: 'bnk_00000000000000000000000001',
    entityType: 'bank',
    webhookType,
    timestamp: new Date(nowS * 1000).toISOString(),
    batchId: 'bat_00000000000000000000000001',
    data,
    itemCount: data.length,
  };
  const body = bodyWithSignature(envelope, signing.inside);
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-service-event': webhookType,
      'x-service-delivery': deliveryId,
      'x-service-signature': serviceSignature(signing.service, body),
      'webhook-id': deliveryId,
      'webhook-timestamp': String(signing.sentAtS),
      'webhook-signature': standardWebhookSignature([signing.standard], deliveryId, signing.sentAtS, body),
    },
    body,
  };
}
