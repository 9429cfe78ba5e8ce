/** A sum as the API tells it: in major units, and in full where it had to be rounded. */
export interface Sum {
  amount: number;
  exact?: string | undefined;
}

const formats = new Map<string, Intl.NumberFormat>();

/** `NGN 1,500.50`. */
export function money({ amount, exact }: Sum, currency: string): string {
  const format = formats.get(currency) ?? new Intl.NumberFormat('en-GB', { style: 'currency', currency });
  formats.set(currency, format);
  // A decimal in text keeps all its digits.
  return format.format((exact as `${number}` | undefined) ?? amount);
}

/** For an axis: `1.5M`. */
export function shortAmount(amount: number): string {
  return new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 }).format(amount);
}

export function wholeNumber(count: number): string {
  return new Intl.NumberFormat('en-GB').format(count);
}

/** `95.2 %` of a part of 1. */
export function percent(part: number): string {
  return `${new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 }).format(part * 100)} %`;
}
