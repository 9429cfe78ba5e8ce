/* Moments in a given zone, wherever the reader sits. They come as RFC 3339. */

const DAY = { day: 'numeric', month: 'short', year: 'numeric' } as const;
const MINUTE = { ...DAY, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

const DETAIL = {
  /** `21 Nov 2026`. */
  day: DAY,
  /** `21 Nov 2026, 14:05`. */
  minute: MINUTE,
  /** `21 Nov 2026, 14:05:09`. */
  second: { ...MINUTE, second: '2-digit' },
} as const;

export function momentIn(timeZone: string, detail: keyof typeof DETAIL): (at: string) => string {
  const format = new Intl.DateTimeFormat('en-GB', { ...DETAIL[detail], timeZone });
  return (at) => format.format(new Date(at));
}
