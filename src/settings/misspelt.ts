/**
 * Finds names in an environment that were meant to be settings. `INTENT_WINDOW=5` would otherwise
 * be ignored, and the window stay a day, without a word.
 *
 * The environment is full of names that are none of ours, so only three kinds of name count: a
 * setting's name with its unit missing or another, the name with its words joined, in the singular
 * or with `ASSENT_` in front, and a name of as many words of which one is slightly off. Short
 * names, such as PORT and HOST, are near to too many others to have a neighbourhood.
 */

/**
 * A name of fewer characters has no near ones: `LOG_FILE` is too like `LOG_FILL`, and `PORT` like
 * `PWD`.
 */
const LONG_ENOUGH = 9;
/** How a name may end to say in what it is counted, or that it names a file. */
const UNITS =
  /_(PER_DAY|PER_SECOND|S|SEC|SECS|SECOND|SECONDS|MS|MIN|MINUTES|H|HOUR|HOURS|D|DAY|DAYS|FILE|PATH)$/;
/** What is left without a unit must say enough to be ours. */
const BASE_LONG_ENOUGH = 6;
/** Kubernetes sets `<SERVICE>_PORT` and more for every service that it has, with such values. */
const OF_A_SERVICE = /^(tcp|udp|sctp):\/\//;
/** No setting's name is half as long; what compares words must not be given endless ones. */
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
      // Who has set the right name as well means something else by this one.
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

/** Without what stands between the words, and all of them in the singular. */
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
  // DATABASE_PORT and DATABASE_SSL are names of others; of three words, two right ones say whose
  // the third is.
  const most = wanted.length > 2 ? Math.min(2, Math.floor(word.length / 2)) : 1;
  return word.length > 1 && edits(word, instead) <= most;
}

/** How many letters were left out, put in, replaced, or swapped with the next one. */
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
