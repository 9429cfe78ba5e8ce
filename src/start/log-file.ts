import { renameSync, statSync } from 'node:fs';

/**
 * Weeks of a sandbox. With the one set aside, the log takes at most about twice this, plus one run.
 */
const LONG_BYTES = 50 * 1024 * 1024;

/** Begins a new log when the old one is long; the one before is kept as `….1`. */
export function setAsideIfLong(file: string): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat && stat.size > LONG_BYTES) renameSync(file, `${file}.1`);
}
