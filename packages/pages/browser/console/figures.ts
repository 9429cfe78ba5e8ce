/** `1.5M`: short enough for an axis. */
export function shortAmount(amount: number): string {
  return new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 }).format(amount);
}

export function wholeNumber(count: number): string {
  return new Intl.NumberFormat('en-GB').format(count);
}

/** `1 charge`, `2 charges`. */
export const counted = (count: number, one: string) =>
  `${wholeNumber(count)} ${count === 1 ? one : `${one}s`}`;

/** `95.2 %` for 0.952. */
export function percent(part: number): string {
  return `${new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 }).format(part * 100)} %`;
}
