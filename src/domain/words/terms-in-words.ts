import { calendarDay, startOfDay } from '../calendar';
import { inMoney } from '../money';
import { eachWindow, type SpendingLimits } from '../spending-limit';

const SPANS = { daily: 'a day', weekly: 'a week', monthly: 'a month', yearly: 'a year', total: 'in all' };

/**
 * What a customer allows, as a sentence to approve: "At most NGN 2,500 a charge and NGN 10,000 a
 * month, at most 2 charges a week, until 31 March 2027."
 */
export function termsInWords(limits: SpendingLimits, currency: string, timeZone: string): string {
  const { perCharge, validFrom, validUntil } = limits;
  // Decimals that are zero only lengthen the sentence.
  const money = (amount: bigint) => inMoney({ amount, currency }).replace(/\.0+$/, '');
  const sums = eachWindow((window) => limits[window]);
  const counts = inWindows(
    eachWindow((window) => limits[`count.${window}`]),
    charges,
  );
  const amounts = [
    ...(perCharge === null ? [] : [`${money(perCharge)} a charge`]),
    ...inWindows(sums, money),
  ];
  const span = [
    validFrom && `from ${momentInWords(validFrom, timeZone)}`,
    // A permission that ends at midnight holds until the day before.
    validUntil && `until ${momentInWords(validUntil, timeZone, new Date(validUntil.getTime() - 1))}`,
  ].filter((part) => part !== null);
  const sentence = [
    // Left out, it would look limited where only the number of charges is.
    amounts.length === 0 ? 'any amount' : `at most ${listed(amounts)}`,
    ...(counts.length === 0 ? [] : [`at most ${listed(counts)}`]),
    ...(span.length === 0 ? [] : [span.join(' ')]),
  ].join(', ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

const charges = (count: bigint) => (count === 1n ? '1 charge' : `${count.toLocaleString('en-US')} charges`);

const inWindows = (most: Record<keyof typeof SPANS, bigint | null>, words: (most: bigint) => string) =>
  Object.entries(SPANS).flatMap(([window, span]) => {
    const limit = most[window as keyof typeof SPANS];
    return limit === null ? [] : [`${words(limit)} ${span}`];
  });

const listed = (parts: string[]) => new Intl.ListFormat('en-GB').format(parts);

/**
 * `12:30 on 31 March 2027`; without the time where a day begins with the moment.
 *
 * @param inDay a moment of the day that is shown
 */
function momentInWords(moment: Date, timeZone: string, inDay = moment): string {
  const day = inDay.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone });
  if (startOfDay(calendarDay(moment, timeZone), timeZone).getTime() === moment.getTime()) return day;
  const time = moment.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', timeZone });
  return `${time} on ${day}`;
}
