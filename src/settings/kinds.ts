import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { minorUnitDigits } from '../domain/currency';

/*
 * Kinds of settings' values. Each error completes a sentence that begins with the setting's name.
 * No error shows the refused value, which may be a password.
 */

/** Digits on either side of the point; no setting needs more. */
const DIGITS = 9;

/** Digits only: `Number` alone would also accept ' ', '0x10' and '1e3'. */
function written(pattern: RegExp, fits: (value: number) => boolean, error: string) {
  return z.string({ error }).regex(pattern, { error, abort: true }).transform(Number).refine(fits, { error });
}

const WHOLE = new RegExp(`^\\d{1,${DIGITS}}$`);
const DECIMAL = new RegExp(`^\\d{1,${DIGITS}}(\\.\\d{1,${DIGITS}})?$`);

export function wholeNumber(min: number, max: number, unit = '') {
  const error = `must be a whole number ${unit && `of ${unit} `}from ${min} to ${max}`;
  return written(WHOLE, (value) => value >= min && value <= max, error);
}

/** Decimals are allowed. Without `min` the number must be above 0. */
export function decimal(max: number, unit: string, min?: number) {
  const least = min === undefined ? 'above 0 and at most' : `from ${min} to`;
  const fits = (value: number) => (min === undefined ? value > 0 : value >= min) && value <= max;
  return written(DECIMAL, fits, `must be a number of ${unit} ${least} ${max}, decimals allowed`);
}

/** Part of the traces that a sampler keeps. */
export const ratio = written(
  DECIMAL,
  (value) => value <= 1,
  'must be a part of all traces, from 0 to 1, for example 0.05',
);

export const seconds = (fallback: number) => wholeNumber(1, 31_536_000, 'seconds').default(fallback);
export const port = (fallback: number) => wholeNumber(1, 65_535).default(fallback);

export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true');

export function choice<const Choices extends readonly [string, ...string[]]>(choices: Choices) {
  return z.enum(choices, { error: `must be one of ${choices.join(', ')}` });
}

/** `readConfig` treats an empty text as not set. */
export const text = z.string();

/** @param wanted completes "must be …" */
export function patterned(pattern: RegExp, wanted: string) {
  return z.string().regex(pattern, { error: `must be ${wanted}` });
}

export const address = z.union([z.ipv4(), z.ipv6()], { error: 'must be an address, for example 0.0.0.0' });

/**
 * `rate/burst`: tokens added per second, and the most that a caller can save up.
 *
 * @param what the things that cost a token each
 * @param leastBurst tokens that a single call may cost
 */
export function rate(fallback: string, what = 'requests', leastBurst = 1) {
  const least = leastBurst > 1 ? ` and at least ${leastBurst}` : '';
  const error = `must be rate/burst: ${what} per second, and no fewer${least} at once, for example 50/100`;
  return z
    .string()
    .regex(/^\d{1,6}\/\d{1,7}$/, { error, abort: true })
    .transform((given) => {
      const [perSecond, burst] = given.split('/').map(Number) as [number, number];
      return { perSecond, burst };
    })
    .refine(({ perSecond, burst }) => perSecond > 0 && burst >= Math.max(perSecond, leastBurst), { error })
    .prefault(fallback);
}

/** Most entries of a list. */
const LISTED_MAX = 50;

/** @param wanted names the entries; completes "must be …" */
function list<Part extends z.ZodType<unknown, string>>(part: Part, wanted: string) {
  return z
    .string()
    .transform((given) => (given === '' ? [] : given.split(',').map((one) => one.trim())))
    .refine((parts) => parts.length <= LISTED_MAX && parts.every((one) => part.safeParse(one).success), {
      error: `must be ${wanted}, at most ${LISTED_MAX}, with commas between`,
      abort: true,
    })
    .pipe(z.array(part));
}

/** Each number is above 0. */
export function numbers(fallback: string, max: number, unit: string) {
  return list(decimal(max, unit), `numbers of ${unit} above 0 and at most ${max}`).prefault(fallback);
}

const currency = z.string().refine((code) => minorUnitDigits(code) !== undefined);
export const currencies = list(currency, 'ISO 4217 codes, for example NGN,JPY');

/** Refuses offsets such as +01:00: Postgres reads their sign the other way round. */
export const timezone = z.string().refine(
  (zone) => {
    if (zone.startsWith('+') || zone.startsWith('-')) return false;
    try {
      return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
    } catch {
      return false;
    }
  },
  { error: 'must be an IANA time zone, for example Africa/Lagos' },
);

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/**
 * A trusted proxy may claim any address for its clients, so a range of half the world would trust
 * everyone. The widest ranges that a party can own are private: 10.0.0.0/8 and fc00::/7.
 */
export const networks = list(network, 'addresses or networks, for example 10.0.0.0/8,::1')
  .refine((given) => given.every(isOwnable), {
    error:
      'must be no wider than 10.0.0.0/8 or fc00::/7: name your balancers alone, for what they say is believed',
  })
  .prefault('');

const PRIVATE_V6_BITS = 7;
const NARROW_V4_BITS = 8;
const NARROW_V6_BITS = 16;
/** IPv4 addresses begin here within IPv6: ::ffff:0:0/96. */
const MAPPED_BITS = 96;

function isOwnable(given: string): boolean {
  if (!given.includes('/')) return true;
  const [first, bits] = ipaddr.parseCIDR(given);
  if (first instanceof ipaddr.IPv4) return bits >= NARROW_V4_BITS;
  if (first.isIPv4MappedAddress()) return bits >= MAPPED_BITS + NARROW_V4_BITS;
  return bits >= (first.range() === 'uniqueLocal' ? PRIVATE_V6_BITS : NARROW_V6_BITS);
}
