/** Limits and spending, as the API shows them. */

const NONE = { daily: null, weekly: null, monthly: null, yearly: null, total: null };
/** Without any limit. */
export const UNLIMITED = { perCharge: null, ...NONE, count: NONE, validFrom: null, validUntil: null };

const inEach = (value: number) => ({
  daily: value,
  weekly: value,
  monthly: value,
  yearly: value,
  total: value,
});
/** One charge of 1 200.50. */
export const SPENT_ONCE = { ...inEach(1200.5), count: inEach(1) };
