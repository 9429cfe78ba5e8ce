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
