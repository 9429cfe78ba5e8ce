/** @param moment RFC 3339 */
export function day(moment: string, timeZone: string): string {
  return inZone(moment, timeZone, { day: 'numeric', month: 'short', year: 'numeric' });
}

/** @param moment RFC 3339 */
export function dayAndTime(moment: string, timeZone: string): string {
  return inZone(moment, timeZone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
}

function inZone(moment: string, timeZone: string, parts: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone }).format(new Date(moment));
}
