import { Big } from 'big.js';
import { minorUnitDigits } from './currency';
import { accept, refuse, type Parsed } from './parsed';

/**
 * Converts amounts: JSON numbers in major units on the wire (1500.5 naira), `bigint` minor units
 * everywhere else (150050n kobo). No arithmetic happens on the outer side.
 */

/** Far above any payment of a person, and far below the last exact digit of a JSON number. */
export const MAX_AMOUNT_MINOR = 1_000_000_000_000n;

/**
 * Limit of a sum, a little below Postgres' bigint. After nine million charges of the highest amount
 * in a month, the next is refused as over a limit.
 */
export const MAX_SUM_MINOR = 9_000_000_000_000_000_000n;

/** A double keeps decimals of up to 15 digits apart; with 16, two can look the same. */
export const EXACT_DIGITS = 15;

/** Longer than any number that a caller means. */
const MAX_NUMBER_TEXT = 100;

/**
 * Whether a JSON number is read exactly as it was written: `100.00000000000000001` would be read as
 * 100, and no later check could tell.
 *
 * @param text a number as JSON writes it; one of up to `EXACT_DIGITS` characters always is
 */
export function isReadExactly(text: string): boolean {
  // An overflow shows as infinite.
  if (!Number.isFinite(Number(text))) return true;
  return text.length <= MAX_NUMBER_TEXT && new Big(text).eq(Number(text));
}

/** @returns minor units, greater than 0 and at most `MAX_AMOUNT_MINOR` */
export function parseAmount(value: unknown, currency: string): Parsed<bigint> {
  const digits = minorUnitDigits(currency);
  if (digits === undefined) return NO_CURRENCY;
  if (typeof value !== 'number' || !Number.isFinite(value)) return refuse('must be a number');
  return minorOf(value, currency, digits);
}

const NO_CURRENCY = refuse('must be in a currency of ISO 4217');
const DECIMAL = /^\d{1,20}(\.\d{1,20})?$/;

/** Parses an amount in a file, `1500.00`, as `parseAmount` does. */
export function parseDecimalAmount(text: string, currency: string): Parsed<bigint> {
  const digits = minorUnitDigits(currency);
  if (digits === undefined) return NO_CURRENCY;
  if (!DECIMAL.test(text)) return refuse('must be a decimal number, as in 1500.00');
  return minorOf(text, currency, digits);
}

function minorOf(value: number | string, currency: string, digits: number): Parsed<bigint> {
  // Big drops trailing zeros, so 100.00 and 1e2 have one digit and no decimals.
  const exact = new Big(value);
  if (exact.lte(0)) return refuse('must be greater than 0');
  if (exact.c.length > EXACT_DIGITS) return refuse(`must have at most ${EXACT_DIGITS} significant digits`);
  const decimals = exact.c.length - 1 - exact.e;
  if (decimals > digits) {
    return refuse(
      digits === 0
        ? `must have no decimals in ${currency}`
        : `must have at most ${digits} decimals in ${currency}`,
    );
  }
  const minor = BigInt(exact.times(`1e${digits}`).toFixed(0));
  if (minor > MAX_AMOUNT_MINOR) {
    return refuse(`must be at most ${inMoney({ amount: MAX_AMOUNT_MINOR, currency })}`);
  }
  return accept(minor);
}

/**
 * @returns major units; `JSON.stringify` writes exactly the decimal that is meant
 * @throws RangeError for an unknown currency, or a sum of more than 15 digits, which would be
 *   rounded
 */
export function formatAmount(minor: bigint, currency: string): number {
  const { major } = inMajor(minor, currency);
  if (major.c.length > EXACT_DIGITS) throw new RangeError(`${minor} ${currency} does not fit a JSON number`);
  return major.toNumber();
}

/** The same of an amount that may not be there, or is text. */
export const formatIfAny = (minor?: bigint | string | null, currency?: string | null): number | null =>
  minor == null || currency == null ? null : formatAmount(BigInt(minor), currency);

function inMajor(minor: bigint, currency: string): { major: Big; digits: number } {
  const digits = minorUnitDigits(currency);
  if (digits === undefined) throw new RangeError(`${currency} is no currency of ISO 4217`);
  return { major: new Big(minor.toString()).times(`1e-${digits}`), digits };
}

/** An amount as people write it, `NGN 1,500.50`. @throws RangeError for what is no currency */
export function inMoney({ amount, currency }: { amount: bigint; currency: string }): string {
  const [whole = '', decimals] = inDecimals(amount < 0n ? -amount : amount, currency).split('.');
  const grouped = BigInt(whole).toLocaleString('en-US');
  return `${currency} ${amount < 0n ? '-' : ''}${grouped}${decimals === undefined ? '' : `.${decimals}`}`;
}

/** Major units with all decimals of the currency, `-1500.50`, as files have them. */
export function inDecimals(minor: bigint, currency: string): string {
  const { major, digits } = inMajor(minor, currency);
  return major.toFixed(digits);
}

/**
 * A sum of any size in major units: unlike `formatAmount` it rounds, because showing a sum must not
 * fail.
 *
 * @returns `exact`, the decimal in full, only if rounding lost something
 * @throws RangeError for an unknown currency
 */
export function shownSum(minor: bigint, currency: string): { amount: number; exact?: string } {
  const { major, digits } = inMajor(minor, currency);
  const rounded = major.prec(EXACT_DIGITS);
  return { amount: rounded.toNumber(), ...(!rounded.eq(major) && { exact: major.toFixed(digits) }) };
}

export function shownSums<Name extends string>(sums: Record<Name, bigint>, currency: string) {
  const amounts = {} as Record<Name, number>;
  const exact: Partial<Record<Name, string>> = {};
  for (const name of Object.keys(sums) as Name[]) {
    const shown = shownSum(sums[name], currency);
    amounts[name] = shown.amount;
    if (shown.exact !== undefined) exact[name] = shown.exact;
  }
  return { ...amounts, ...(Object.keys(exact).length > 0 && { exact }) };
}

/** A sum in major units for a file, never rounded. */
export function sumInFull(minor: bigint, currency: string): string {
  const { amount, exact } = shownSum(minor, currency);
  return exact ?? String(amount);
}

export function sumsInFull<Name extends string>(sums: Record<Name, bigint>, currency: string) {
  const texts = {} as Record<Name, string>;
  for (const name of Object.keys(sums) as Name[]) texts[name] = sumInFull(sums[name], currency);
  return texts;
}
