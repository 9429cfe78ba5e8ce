import { minorUnitDigits } from '../../../../src/domain/currency';

/** `amount` in major units; `exact` has all digits where `amount` had to be rounded. */
interface Sum {
  amount: number;
  exact?: string | undefined;
}

const formats = new Map<string, Intl.NumberFormat>();

/** `NGN 1,500.00`, with no-break spaces. */
export function money(sum: number | Sum, currency: string): string {
  const { amount, exact }: Sum = typeof sum === 'number' ? { amount: sum } : sum;
  const format = formats.get(currency) ?? formatOf(currency);
  formats.set(currency, format);
  // Intl keeps all digits of a decimal in text, and not of a number.
  return format.format((exact as `${number}` | undefined) ?? amount);
}

/** Intl has its own decimals, as people write prices: it rounds sixteen currencies of ISO 4217. */
function formatOf(currency: string): Intl.NumberFormat {
  const digits = minorUnitDigits(currency);
  return new Intl.NumberFormat('en-NG', {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
    ...(digits !== undefined && { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  });
}
