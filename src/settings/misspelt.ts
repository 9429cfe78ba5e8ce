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

export interface Misspelt {
  name: string;
  meant: string;
}

/** @param settings the names of all settings */
export function misspeltSettings(environment: NodeJS.ProcessEnv, settings: readonly string[]): Misspelt[] {
  const isSet = (name: string) => (environment[name] ?? '') !== '';
  const absent = settings.filter((name) => !isSet(name));
  return Object.keys(environment)
    .filter((name) => isSet(name) && !settings.includes(name))
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
  const [off, ...more] = wanted.flatMap((word, i) => (word === given[i] ? [] : [[word, given[i] ?? '']]));
  const [word = '', instead = ''] = off ?? [];
  return more.length === 0 && word.length > 1 && isOneLetterOff(word, instead);
}

/** A letter was left out, inserted, replaced, or swapped with the next. */
function isOneLetterOff(word: string, instead: string): boolean {
  let same = 0;
  while (same < word.length && word[same] === instead[same]) same += 1;
  const [a, b] = [word.slice(same), instead.slice(same)];
  const [first = '', second = ''] = a;
  return [a, a.slice(1)].includes(b.slice(1)) || a.slice(1) === b || b === second + first + a.slice(2);
}
