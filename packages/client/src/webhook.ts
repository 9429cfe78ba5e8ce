import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookItems } from './api.generated';

/** The items of a webhook of one type. */
interface WebhookOf<Type extends string, Name extends string, Item> {
  /** Tells one kind from another: `switch (event.type)`. */
  type: Type;
  /** As the network names it, also where this client does not know it. */
  webhookType: Name;
  /** The same at every attempt: handle each once. */
  deliveryId: string;
  /** You. */
  entityId: string;
  entityType: 'bank' | 'merchant' | 'provider';
  /** When it happened, RFC 3339 in UTC. */
  timestamp: string;
  /** The request that it comes from. */
  batchId: string;
  data: Item[];
}

type KnownWebhook = {
  [Type in keyof WebhookItems]: WebhookOf<Type, Type, WebhookItems[Type]>;
}[keyof WebhookItems];

/** New types are added: answer those that you do not know like the others, and do nothing. */
export type UnknownWebhook = WebhookOf<'unknown', string, Record<string, unknown>>;
export type WebhookEvent = KnownWebhook | UnknownWebhook;
/** The event of one type, as `WebhookEventOf<'billing.request'>`. */
export type WebhookEventOf<Type extends keyof WebhookItems> = Extract<KnownWebhook, { type: Type }>;

export interface VerifyOptions {
  /** How far its time of sending may be from now; 300 unless given. */
  toleranceSeconds?: number;
  /** The present unless given. */
  now?: Date;
  /**
   * `standard` (`webhook-signature`) unless given. `service` is the network's own
   * (`X-Service-Signature`), which a recorded request passes for ever, under any `deliveryId`:
   * neither that nor the time of sending is signed. Remember a hash of each body instead.
   */
  scheme?: 'standard' | 'service';
}

/** Why a request is not taken for one of the network. */
export type WebhookErrorCode =
  | 'header_missing'
  | 'header_malformed'
  /** Sent too long ago: a recording, or a clock that is wrong. */
  | 'too_old'
  /** Sent in the future. */
  | 'too_new'
  | 'signature_mismatch'
  /** Genuine, and yet no webhook. */
  | 'body_malformed';

/** Answer it with a 401. It holds neither secret nor signature nor body. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  constructor(
    message: string,
    readonly code: WebhookErrorCode,
  ) {
    super(message);
  }
}

/** Of Node's `request.headers`, or of the Web's `Headers`. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;
const DEFAULT_TOLERANCE_S = 300;
/** Two while a secret is being rotated, and some more of a change of the endpoint. */
const MOST_SIGNATURES = 20;
const TYPES: Record<keyof WebhookItems, true> = {
  'billing.intent': true,
  'billing.intent.closed': true,
  'billing.intent.response': true,
  'billing.request': true,
  'billing.closed': true,
  'billing.credit': true,
  'billing.reversed': true,
  'billing.response': true,
  'decision.updated': true,
  'decision.expiring': true,
  'refund.request': true,
  'refund.response': true,
  'refund.returned': true,
  'exception.opened': true,
  'exception.resolved': true,
  'recurring.upcoming': true,
  'recurring.updated': true,
  'migration.completed': true,
  'webhook.test': true,
  'webhook.endpoint_changed': true,
};
const KNOWN: ReadonlySet<string> = new Set(Object.keys(TYPES));

/**
 * Checks that a request comes from the network, and says what it tells.
 *
 * @param rawBody its exact bytes, before anything parsed them
 * @param secret yours; several while you change it
 * @throws WebhookError where it is not genuine; TypeError for what is no secret
 */
export function verifyWebhook(
  rawBody: Buffer | Uint8Array | string,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_S, now = new Date(), scheme = 'standard' }: VerifyOptions = {},
): WebhookEvent {
  const secrets = checkedSecrets(secret);
  const body = Buffer.from(rawBody as Uint8Array);
  const deliveryId =
    scheme === 'standard'
      ? verifyStandard(body, headers, secrets, toleranceSeconds, now)
      : verifyService(body, headers, secrets);
  return eventOf(body, deliveryId);
}

/** @throws TypeError, which does not repeat what was given */
export function checkedSecrets(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length > 0 && secrets.every((one) => SECRET.test(one))) return secrets;
  throw new TypeError('a webhook secret is whsec_ and 44 characters of base64');
}

/** Standard Webhooks: over the delivery, the time of sending and the body. */
function verifyStandard(
  body: Buffer,
  headers: WebhookHeaders,
  secrets: readonly string[],
  toleranceSeconds: number,
  now: Date,
): string {
  const deliveryId = header(headers, 'webhook-id');
  const sentAt = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature').split(' ').slice(0, MOST_SIGNATURES);
  if (!/^\d{1,12}$/.test(sentAt)) throw malformed('webhook-timestamp');
  const ageS = now.getTime() / 1000 - Number(sentAt);
  // Written so that a time that is no number is refused, too.
  if (!(ageS <= toleranceSeconds)) throw new WebhookError('it was sent too long ago', 'too_old');
  if (!(ageS >= -toleranceSeconds)) throw new WebhookError('it was sent in the future', 'too_new');
  const signed = Buffer.concat([Buffer.from(`${deliveryId}.${sentAt}.`), body]);
  const given = signatures
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice('v1,'.length), 'base64'));
  const expected = secrets.map((one) => {
    const key = Buffer.from(one.slice('whsec_'.length), 'base64');
    return createHmac('sha256', key).update(signed).digest();
  });
  requireMatch(expected, given);
  return deliveryId;
}

/** The network's own: over the body alone. */
function verifyService(body: Buffer, headers: WebhookHeaders, secrets: readonly string[]): string {
  const deliveryId = header(headers, 'x-service-delivery');
  const given = header(headers, 'x-service-signature');
  if (!/^[0-9a-f]{64}$/.test(given)) throw malformed('X-Service-Signature');
  const expected = secrets.map((one) => createHmac('sha256', one).update(body).digest());
  requireMatch(expected, [Buffer.from(given, 'hex')]);
  return deliveryId;
}

/** Compares all of them, in a time that says nothing of how near one came. */
function requireMatch(expected: readonly Buffer[], given: readonly Buffer[]): void {
  const matches = expected.flatMap((one) =>
    given.map((other) => other.length === one.length && timingSafeEqual(one, other)),
  );
  if (matches.includes(true)) return;
  throw new WebhookError('no signature is made with this secret over this body', 'signature_mismatch');
}

function header(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (value === undefined || value === null || value === '') {
    throw new WebhookError(`${name} is missing`, 'header_missing');
  }
  if (typeof value !== 'string') throw malformed(name);
  return value;
}

function malformed(name: string): WebhookError {
  return new WebhookError(`${name} is malformed`, 'header_malformed');
}

function eventOf(body: Buffer, deliveryId: string): WebhookEvent {
  const said = parsed(body);
  const { webhookType, data } = said;
  const isOne =
    typeof webhookType === 'string' &&
    Array.isArray(data) &&
    data.every((item: unknown) => typeof item === 'object' && item !== null);
  if (!isOne) throw new WebhookError('its body is no webhook', 'body_malformed');
  return {
    type: KNOWN.has(webhookType) ? webhookType : 'unknown',
    webhookType,
    deliveryId,
    entityId: said['entityId'],
    entityType: said['entityType'],
    timestamp: said['timestamp'],
    batchId: said['batchId'],
    data,
  } as WebhookEvent;
}

function parsed(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    throw new WebhookError('its body is not JSON', 'body_malformed');
  }
}
