import { counted } from './counted';

/** A span of time as people say it: "0.4 s", "15 minutes", "24 hours", "32 days". */
export function spanInWords(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 100) return `${Math.round(seconds * 10) / 10} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return counted(minutes, 'minutes');
  const hours = Math.round(minutes / 60);
  return hours < 72 ? counted(hours, 'hours') : counted(Math.round(hours / 24), 'days');
}
