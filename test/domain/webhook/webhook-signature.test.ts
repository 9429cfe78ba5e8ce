import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import {
  bodyWithSignature,
  serviceSignature,
  standardWebhookSignature,
} from '../../../src/domain/webhook/webhook-signature';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const older = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;

const envelope = fc.record({
  entityId: fc.string(),
  data: fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
  itemCount: fc.nat(),
});

describe('the signature in X-Service-Signature', () => {
  it('is HMAC-SHA256 in lower-case hex, keyed with the secret as it is written', () => {
    // From `printf '{"a":"é"}' | openssl dgst -sha256 -hmac whsec_BwcH…`
    const known = '4ae62692e5bec659480315754a3e6718e27166ed32133db284c36a220495b2e1';
    expect(serviceSignature(secret, '{"a":"é"}')).toBe(known);
    expect(serviceSignature(older, '{"a":"é"}')).not.toBe(known);
    expect(serviceSignature(secret, '{"a":"e"}')).not.toBe(known);
  });
});

describe('the signature within the body', () => {
  it('is the last member, so that cutting it off the end gives the signed bytes back too', () => {
    fc.assert(
      fc.property(envelope, (sent) => {
        const body = bodyWithSignature(sent, secret);
        const [, head, signature] = /^(.*),"signature":"([0-9a-f]{64})"\}$/s.exec(body) ?? [];
        expect(createHmac('sha256', secret).update(`${head}}`).digest('hex')).toBe(signature);
      }),
    );
  });
});

function headers(id: string, sentAtS: number, signature: string): Record<string, string> {
  return { 'webhook-id': id, 'webhook-timestamp': String(sentAtS), 'webhook-signature': signature };
}

describe('the signature of Standard Webhooks', () => {
  const body = '{"entityId":"mch_1","name":"Ọlá"}';
  const nowS = Math.floor(Date.now() / 1000);

  it('is accepted with the old and with the new secret while both are valid, and with no third', () => {
    const both = standardWebhookSignature([older, secret], 'dlv_1', nowS, body);
    expect(both.split(' ')).toHaveLength(2);
    for (const valid of [older, secret]) {
      expect(() => new Webhook(valid).verify(body, headers('dlv_1', nowS, both))).not.toThrow();
    }
    const third = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    expect(() => new Webhook(third).verify(body, headers('dlv_1', nowS, both))).toThrow(
      'No matching signature',
    );
  });

  it('is refused once body, id or time differ, so that no request can be sent again as another', () => {
    const signature = standardWebhookSignature([secret], 'dlv_1', nowS, body);
    const receiver = new Webhook(secret);
    expect(() => receiver.verify(`${body} `, headers('dlv_1', nowS, signature))).toThrow(
      'No matching signature',
    );
    expect(() => receiver.verify(body, headers('dlv_2', nowS, signature))).toThrow('No matching signature');
    expect(() => receiver.verify(body, headers('dlv_1', nowS + 1, signature))).toThrow(
      'No matching signature',
    );
    const longAgo = standardWebhookSignature([secret], 'dlv_1', nowS - 3600, body);
    expect(() => receiver.verify(body, headers('dlv_1', nowS - 3600, longAgo))).toThrow('timestamp too old');
  });
});
