/** A sum as the API tells it: in major units, and in full where it had to be rounded. */
export interface Sum {
  amount: number;
  exact?: string | undefined;
}

const formats = new Map<string, Intl.NumberFormat>();

/** Major units with their currency: `NGN 1,500.00`, in one piece. */
export function money(sum: number | Sum, currency: string): string {
  const { amount, exact }: Sum = typeof sum === 'number' ? { amount: sum } : sum;
  const form = { style: 'currency', currency, currencyDisplay: 'code' } as const;
  const format = formats.get(currency) ?? new Intl.NumberFormat('en-NG', form);
  formats.set(currency, format);
  // A decimal in text keeps all its digits.
  return format.format((exact as `${number}` | undefined) ?? amount);
}
