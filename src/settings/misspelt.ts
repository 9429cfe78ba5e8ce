/*
 * Finds names in an environment that were meant to be settings. `INTENT_WINDOW=5` would otherwise
 * be ignored in silence, and the window stay a day.
 *
 * Most names of an environment belong to others, so only three kinds count:
 * - a setting's name without its unit, or with another unit;
 * - its words joined, in the singular, or with `ASSENT_` in front;
 * - as many words, of which a single word is slightly off.
 */

/** Shorter names have no near names: `LOG_FILE` is too like `LOG_FILL`, and `PORT` like `PWD`. */
const LONG_ENOUGH = 9;
/** Endings that name a unit or a file. */
const UNITS =
  /_(PER_DAY|PER_SECOND|S|SEC|SECS|SECOND|SECONDS|MS|MIN|MINUTES|H|HOUR|HOURS|D|DAY|DAYS|FILE|PATH)$/;
/** Shorter names without their unit are too common to be meant for Assent. */
const BASE_LONG_ENOUGH = 6;
/** Values of `<SERVICE>_PORT` and the like, which Kubernetes sets for each service. */
const OF_A_SERVICE = /^(tcp|udp|sctp):\/\//;
/** No setting's name is half as long. The limit bounds the work of `edits`. */
const NAME_MAX = 60;

export interface Misspelt {
  name: string;
  meant: string;
}

/** @param settings the names of all settings */
export function misspeltSettings(environment: NodeJS.ProcessEnv, settings: readonly string[]): Misspelt[] {
  const isSet = (name: string) => (environment[name] ?? '') !== '';
  const absent = settings.filter((name) => !isSet(name));
  return Object.keys(environment)
    .filter((name) => isSet(name) && !settings.includes(name) && name.length <= NAME_MAX)
    .filter((name) => !OF_A_SERVICE.test(environment[name] ?? ''))
    .flatMap((name) => {
      // If the right name is set too, the near name means something else.
      const meant = absent.find((setting) => isNear(name.toUpperCase(), setting));
      return meant === undefined ? [] : [{ name, meant }];
    });
}

function isNear(name: string, setting: string): boolean {
  return (
    hasOtherUnit(name, setting) || isWrittenOtherwise(name, setting) || hasWordSlightlyOff(name, setting)
  );
}

function hasOtherUnit(name: string, setting: string): boolean {
  const base = setting.replace(UNITS, '');
  return base !== setting && base.length >= BASE_LONG_ENOUGH && name.replace(UNITS, '') === base;
}

function isWrittenOtherwise(name: string, setting: string): boolean {
  if (setting.length < LONG_ENOUGH) return false;
  return joined(name) === joined(setting) || name === `ASSENT_${setting}`;
}

/** Drops separators and plurals. */
function joined(name: string): string {
  return name
    .split(/[_.-]/)
    .map((word) => word.replace(/IES$/, 'Y').replace(/S$/, ''))
    .join('');
}

function hasWordSlightlyOff(name: string, setting: string): boolean {
  if (setting.length < LONG_ENOUGH) return false;
  const [given, wanted] = [name.split('_'), setting.split('_')];
  if (given.length !== wanted.length || wanted.length < 2) return false;
  const off = wanted.flatMap((word, i) => (word === given[i] ? [] : [[word, given[i] ?? ''] as const]));
  const [first, ...more] = off;
  if (first === undefined || more.length > 0) return false;
  const [word, instead] = first;
  // DATABASE_PORT and DATABASE_SSL are names of other programs, so a name of two words may have
  // one edit. In a longer name the right words show that Assent was meant.
  const most = wanted.length > 2 ? Math.min(2, Math.floor(word.length / 2)) : 1;
  return word.length > 1 && edits(word, instead) <= most;
}

/** Counts letters that were left out, inserted, replaced, or swapped with the next letter. */
function edits(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (__, j) => (i === 0 ? j : i)),
  );
  const at = (i: number, j: number) => table[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (same ? 0 : 1),
        swapped ? at(i - 2, j - 2) + 1 : Infinity,
      );
      const row = table[i];
      if (row) row[j] = least;
    }
  }
  return at(a.length, b.length);
}
