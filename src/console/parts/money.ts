/** Major units with their currency: `NGN 1,500.00`, in one piece. */
export function money(amount: number, currency: string): string {
  const form = { style: 'currency', currency, currencyDisplay: 'code' } as const;
  return new Intl.NumberFormat('en-NG', form).format(amount);
}
