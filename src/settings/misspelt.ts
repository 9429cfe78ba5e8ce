/*
 * Finds names in an environment that were meant to be settings. `INTENT_WINDOW=5` would otherwise
 * be ignored in silence, and the window stay a day.
 *
 * Most names of an environment belong to other programs. A near name has one letter off, or another
 * unit, separator, plural, or an `ASSENT_` in front.
 */

/** Shorter names have no near names: `LOG_FILE` is too like `LOG_FILL`, and `PORT` like `PWD`. */
const LONG_ENOUGH = 9;
/** Endings that name a unit or a file. */
const UNITS =
  /_(PER_DAY|PER_SECOND|S|SEC|SECS|SECOND|SECONDS|MS|MIN|MINUTES|H|HOUR|HOURS|D|DAY|DAYS|FILE|PATH)$/;
/** Values of `<SERVICE>_PORT` and the like, which Kubernetes sets for each service. */
const OF_A_SERVICE = /^(tcp|udp|sctp):\/\//;

/** @param settings the names of all settings */
export function misspeltSettings(environment: NodeJS.ProcessEnv, settings: readonly string[]) {
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
  if (setting.length < LONG_ENOUGH) return false;
  return plain(name.replace(/^ASSENT_/, '')) === plain(setting) || isOneLetterOff(setting, name);
}

/** Drops unit, separators and plurals. */
function plain(name: string): string {
  return name
    .replace(UNITS, '')
    .split(/[_.-]/)
    .map((word) => word.replace(/IES$/, 'Y').replace(/S$/, ''))
    .join('');
}

/** A letter was left out, inserted, replaced, or swapped with the next. */
function isOneLetterOff(word: string, instead: string): boolean {
  let same = 0;
  while (same < word.length && word[same] === instead[same]) same += 1;
  const [a, b] = [word.slice(same), instead.slice(same)];
  const [first = '', second = ''] = a;
  return [a, a.slice(1)].includes(b.slice(1)) || a.slice(1) === b || b === second + first + a.slice(2);
}
