import { Big } from 'big.js';

/**
 * Naira as the API writes them, in kobo: 1250.35 → 125035n.
 *
 * @throws SyntaxError where the amount has a fraction of a kobo
 */
export function kobo(naira: number): bigint {
  return BigInt(new Big(naira).times(100).toFixed());
}

const NAIRA = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** For people: 125035n → `NGN 1,250.35`, and below nothing −NGN 1,250.35. */
export function inNaira(amount: bigint): string {
  if (amount < 0n) return `−${inNaira(-amount)}`;
  const fraction = (amount % 100n).toString().padStart(2, '0');
  return `NGN ${NAIRA.format(amount / 100n).replace(/\d\d$/, fraction)}`;
}
