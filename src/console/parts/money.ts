/** Major units with their currency: `NGN 1,500.00`. */
export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat('en-NG', { style: 'currency', currency, currencyDisplay: 'code' })
    .format(amount)
    .replace(' ', ' ');
}
