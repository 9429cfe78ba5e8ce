import { inspect } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookError, type VerifyOptions } from '@assent/client';
import { WEBHOOK_TYPES } from '../../src/domain/webhook/webhook';
import { serviceSignature, standardWebhookSignature } from '../../src/domain/webhook/webhook-signature';
import { blocksRunBy } from '../support/code-blocks';

interface Vector {
  secret: string;
  previousSecret: string;
  body: string;
  headers: Record<string, string>;
  duringRotation: Record<string, string>;
}

const [vectors] = blocksRunBy('test/client/webhook.test.ts', 'docs/webhooks.md');
const vector = JSON.parse(vectors?.text ?? '') as Vector;
const { secret, previousSecret, body } = vector;
const rotating = { ...vector.headers, ...vector.duringRotation };
const sentAtS = Number(vector.headers['webhook-timestamp']);
const at = (offsetS: number) => new Date((sentAtS + offsetS) * 1000);

function verify(given: {
  body?: string | Buffer;
  headers?: Record<string, string | undefined>;
  secret?: string | string[];
  options?: VerifyOptions;
}) {
  const headers = { ...vector.headers, ...given.headers };
  return verifyWebhook(given.body ?? body, headers, given.secret ?? secret, { now: at(0), ...given.options });
}

function codeOf(given: Parameters<typeof verify>[0]): string {
  try {
    verify(given);
    return 'accepted';
  } catch (error) {
    return error instanceof WebhookError ? error.code : String(error);
  }
}

const SERVICE = { scheme: 'service' } as const;

describe('the test vectors of docs/webhooks.md', () => {
  test('are what the network sends', () => {
    const id = vector.headers['webhook-id'] ?? '';
    const made = {
      'x-service-signature': serviceSignature(secret, body),
      'webhook-signature': standardWebhookSignature([secret], id, sentAtS, body),
    };
    expect(vector.headers).toMatchObject(made);
    expect(rotating).toMatchObject({
      'x-service-signature': serviceSignature(previousSecret, body),
      'webhook-signature': standardWebhookSignature([previousSecret, secret], id, sentAtS, body),
    });
    expect(new Webhook(secret).sign(id, at(0), body)).toBe(vector.headers['webhook-signature']);
  });

  test('are verified by either scheme', () => {
    for (const options of [{}, SERVICE]) {
      expect(verify({ options })).toMatchObject({
        type: 'webhook.test',
        deliveryId: 'dlv_01kahw3v7mfz4tsq2w8q5y1c3e',
        entityType: 'bank',
        data: [{ sequence: 1, text: 'Ẹ káàárọ̀, ₦1 500' }],
      });
    }
    expect(verifyWebhook(Buffer.from(body), new Headers(vector.headers), secret, { now: at(0) }).type).toBe(
      'webhook.test',
    );
  });

  test('are refused with any one byte changed', () => {
    const bytes = Buffer.from(body);
    const accepted = [...bytes.keys()].filter((i) => {
      const changed = Buffer.from(bytes);
      changed[i] = (changed[i] ?? 0) ^ 1;
      return (
        codeOf({ body: changed }) === 'accepted' || codeOf({ body: changed, options: SERVICE }) === 'accepted'
      );
    });
    expect(accepted).toEqual([]);
  });
});

test.each<[string, Parameters<typeof verify>[0], string]>([
  ['at its time', {}, 'accepted'],
  ['as late as is tolerated', { options: { now: at(300) } }, 'accepted'],
  ['a second later: it may be a recording', { options: { now: at(301) } }, 'too_old'],
  ['as early as is tolerated', { options: { now: at(-300) } }, 'accepted'],
  ['a second earlier', { options: { now: at(-301) } }, 'too_new'],
  ['with a tolerance of its own', { options: { now: at(11), toleranceSeconds: 10 } }, 'too_old'],
  ['at no time', { options: { now: new Date(NaN) } }, 'too_old'],
  ['without its time', { headers: { 'webhook-timestamp': undefined } }, 'header_missing'],
  ['with a time that is none', { headers: { 'webhook-timestamp': '1e9' } }, 'header_malformed'],
  ['with another time', { headers: { 'webhook-timestamp': String(sentAtS + 1) } }, 'signature_mismatch'],
  ['with another delivery', { headers: { 'webhook-id': 'dlv_2' } }, 'signature_mismatch'],
  [
    'without its signature, though the other is there',
    { headers: { 'webhook-signature': undefined } },
    'header_missing',
  ],
  [
    'with a signature of another version',
    { headers: { 'webhook-signature': 'v1a,AAAA' } },
    'signature_mismatch',
  ],
  [
    'with the beginning of its signature',
    { headers: { 'webhook-signature': 'v1,Wtos' } },
    'signature_mismatch',
  ],
  ['with another secret', { secret: previousSecret }, 'signature_mismatch'],
  ['with both secrets', { secret: [previousSecret, secret] }, 'accepted'],
  ['while the secret is changed, by a receiver of the new', { headers: rotating }, 'accepted'],
  [
    'while the secret is changed, by a receiver of the old',
    { headers: rotating, secret: previousSecret },
    'accepted',
  ],
  [
    'by the own scheme while the secret is changed, by a receiver of the new',
    { headers: rotating, options: SERVICE },
    'signature_mismatch',
  ],
  [
    'by the own scheme while the secret is changed, by a receiver of both',
    { headers: rotating, secret: [secret, previousSecret], options: SERVICE },
    'accepted',
  ],
  [
    'by the own scheme in capitals',
    {
      headers: { 'x-service-signature': vector.headers['x-service-signature']?.toUpperCase() },
      options: SERVICE,
    },
    'header_malformed',
  ],
  [
    'by the own scheme without it',
    { headers: { 'x-service-signature': undefined }, options: SERVICE },
    'header_missing',
  ],
])('a webhook %s: %#', (_how, given, expected) => {
  expect(codeOf(given)).toBe(expected);
});

test.each([[''], ['whsec_'], [secret.slice(6)], [`${secret} `], [[]], [[secret, 'other']]])(
  'what is no secret is refused, and not repeated: %#',
  (wrong) => {
    expect(() => verifyWebhook(body, vector.headers, wrong)).toThrow(
      'a webhook secret is whsec_ and 44 characters of base64',
    );
  },
);

test('an error tells neither secret nor signature nor body', () => {
  const error = (() => {
    try {
      return verify({ secret: previousSecret });
    } catch (thrown) {
      return thrown;
    }
  })();
  const shown = inspect(error, { showHidden: true });
  for (const hidden of [previousSecret, vector.headers['webhook-signature'] ?? '', 'káàárọ̀']) {
    expect(shown).not.toContain(hidden);
  }
});

function signed(text: string) {
  const id = 'dlv_1';
  return {
    'webhook-id': id,
    'webhook-timestamp': String(sentAtS),
    'webhook-signature': standardWebhookSignature([secret], id, sentAtS, text),
  };
}

test('a type that the client does not know yet is no error, and cannot be taken for one that it knows', () => {
  for (const webhookType of ['billing.new', 'constructor', 'unknown']) {
    const text = JSON.stringify({ webhookType, data: [{ sequence: 1 }] });
    expect(verify({ body: text, headers: signed(text) })).toMatchObject({ type: 'unknown', webhookType });
  }
  for (const webhookType of WEBHOOK_TYPES) {
    const text = JSON.stringify({ webhookType, data: [] });
    expect(verify({ body: text, headers: signed(text) }).type).toBe(webhookType);
  }
});

test.each([
  '',
  '[]',
  'null',
  '{"webhookType":1,"data":[]}',
  '{"webhookType":"a"}',
  '{"webhookType":"a","data":[1]}',
])('what is genuine and yet no webhook is said to be none: %j', (text) => {
  expect(codeOf({ body: text, headers: signed(text) })).toBe('body_malformed');
});
