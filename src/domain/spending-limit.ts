import { invalidRequest, type Problem } from './failures';
import type { AgreementState } from './lifecycle';
import { formatIfAny, parseAmount } from './money';

/**
 * What a customer allows a merchant: limits, and the span in which charges are accepted. Charges
 * race, so SQL decides them, in `database/agreement/spending-limit.ts`.
 */

/**
 * The network's time zone bounds every window: a week begins on Monday. `total` begins with the
 * agreement's terms.
 */
export const WINDOWS = ['daily', 'weekly', 'monthly', 'yearly', 'total'] as const;
export type Window = (typeof WINDOWS)[number];

type Count = `count.${Window}`;
export type Limit = 'perCharge' | Window | Count;

const COUNTS = WINDOWS.map((window): Count => `count.${window}`);
/** In the order in which they are judged. */
export const LIMITS: readonly [Limit, ...Limit[]] = ['perCharge', ...WINDOWS, ...COUNTS];
const AMOUNT_LIMITS = ['perCharge', ...WINDOWS] as const;

/** The most charges that a window may be limited to. */
export const COUNT_MAX = 10_000;

/** Minor units, or numbers of charges; null where there is no limit. */
export type SpendingLimits = Record<Limit, bigint | null> & {
  /** Charges are accepted from then on. */
  validFrom: Date | null;
  /** Charges are accepted before then. */
  validUntil: Date | null;
};

/** Sums of the charges in the current windows, and their number. */
export type Spent = Record<Window | Count, bigint>;

export const NO_LIMITS = Object.fromEntries(
  [...LIMITS, 'validFrom', 'validUntil'].map((name) => [name, null]),
) as SpendingLimits;

export const isCount = (limit: Limit): limit is Count => limit.startsWith('count.');

/** A limit that another day lifts. The others refuse the same charge for good. */
export const isLiftedByTime = (limit: Limit): boolean =>
  limit !== 'perCharge' && limit !== 'total' && limit !== 'count.total';

interface Standing {
  state: AgreementState;
  limits: SpendingLimits;
  spent: Spent;
}

/** The largest amount that would be accepted now; null where no limit bounds it. */
export function chargeableNow({ state, limits, spent }: Standing): bigint | null {
  const isUsedUp = COUNTS.some((count) => spent[count] >= (limits[count] ?? Infinity));
  if (state !== 'active' || isUsedUp) return 0n;
  const left = AMOUNT_LIMITS.flatMap((name) => {
    const limit = limits[name];
    return limit === null ? [] : [limit - (name === 'perCharge' ? 0n : spent[name])];
  });
  if (left.length === 0) return null;
  const least = left.reduce((one, other) => (other < one ? other : one));
  return least < 0n ? 0n : least;
}

/** The tighter of the two, member by member. */
export function tightest(one: SpendingLimits, other: SpendingLimits): SpendingLimits {
  return {
    ...(Object.fromEntries(LIMITS.map((name) => [name, extreme(one[name], other[name], 'least')])) as Record<
      Limit,
      bigint | null
    >),
    validFrom: extreme(one.validFrom, other.validFrom, 'most'),
    validUntil: extreme(one.validUntil, other.validUntil, 'least'),
  };
}

function extreme<Value extends bigint | Date>(
  one: Value | null,
  other: Value | null,
  which: 'least' | 'most',
) {
  if (one === null || other === null) return one ?? other;
  return one < other === (which === 'least') ? one : other;
}

export const membersSet = (limits: SpendingLimits): Partial<SpendingLimits> =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));

/** The limits without amounts: after a change of currency, the amounts are in the former one. */
export const withoutAmounts = (limits: SpendingLimits): SpendingLimits => ({
  ...limits,
  ...Object.fromEntries(AMOUNT_LIMITS.map((name) => [name, null])),
});

export const isSame = (one: SpendingLimits, other: SpendingLimits): boolean =>
  LIMITS.every((name) => one[name] === other[name]) &&
  one.validFrom?.getTime() === other.validFrom?.getTime() &&
  one.validUntil?.getTime() === other.validUntil?.getTime();

/** As people send them: amounts in major units; a member that is left out or null says nothing. */
export interface GivenLimits extends Partial<
  Record<(typeof AMOUNT_LIMITS)[number], number | null | undefined>
> {
  count?: Partial<Record<Window, number | null | undefined>> | null | undefined;
  validFrom?: Date | null | undefined;
  validUntil?: Date | null | undefined;
}

/**
 * @param path of `spendingLimits` in the body
 * @returns the members that were sent; `count: null` sends all of `count`
 * @throws Failure invalid_request with each limit that is not an amount of the currency
 */
export function readLimits(
  given: GivenLimits | undefined,
  currency: string,
  path: string,
): Partial<SpendingLimits> {
  if (given === undefined) return {};
  const problems: Problem[] = [];
  const read: Partial<SpendingLimits> = {};
  for (const name of AMOUNT_LIMITS) {
    const value = given[name];
    if (value === undefined) continue;
    const parsed = value === null ? null : parseAmount(value, currency);
    if (parsed?.ok === false) problems.push({ path: `${path}.${name}`, message: parsed.reason });
    else read[name] = parsed?.value ?? null;
  }
  for (const window of WINDOWS) {
    const count = given.count === null ? null : given.count?.[window];
    if (count !== undefined) read[`count.${window}`] = count === null ? null : BigInt(count);
  }
  if (given.validFrom !== undefined) read.validFrom = given.validFrom;
  if (given.validUntil !== undefined) read.validUntil = given.validUntil;
  if (problems.length > 0) throw invalidRequest(problems);
  return read;
}

/** @throws Failure invalid_request for a span that is over, or ends before it begins */
export function requireSpan({ validFrom, validUntil }: SpendingLimits, now: Date, path: string): void {
  if (validUntil === null) return;
  const message =
    validUntil <= now
      ? 'must be in the future'
      : validFrom !== null && validUntil <= validFrom
        ? 'must be after validFrom'
        : undefined;
  if (message !== undefined) throw invalidRequest([{ path: `${path}.validUntil`, message }]);
}

/** As the API shows them, so that what was read can be sent back. */
export type ShownLimits = Record<(typeof AMOUNT_LIMITS)[number], number | null> & {
  count: Record<Window, number | null>;
  validFrom: Date | string | null;
  validUntil: Date | string | null;
};

export function shownLimits(limits: SpendingLimits, currency: string): ShownLimits {
  const { validFrom, validUntil } = limits;
  const amounts = AMOUNT_LIMITS.map((name) => [name, formatIfAny(limits[name], currency)]);
  return {
    ...(Object.fromEntries(amounts) as Record<(typeof AMOUNT_LIMITS)[number], number | null>),
    count: eachWindow((window) => {
      const count = limits[`count.${window}`];
      return count === null ? null : Number(count);
    }),
    validFrom,
    validUntil,
  };
}

export const eachWindow = <Value>(of: (window: Window) => Value) =>
  Object.fromEntries(WINDOWS.map((window) => [window, of(window)])) as Record<Window, Value>;
