/** A change as oasdiff tells it. */
export interface ApiChange {
  id: string;
  text: string;
  /** 1 is information, 2 a warning, 3 breaks. */
  level: number;
  section: string;
  operation?: string;
  path?: string;
}

/** A change of more operations than this is one of all of them, as of a schema that they share. */
const NAMED_MAX = 3;
const NOTHING = 'Nothing.';
/** A new word of an error's code stands in docs/errors.md, and would be told of each operation. */
const NEW_CODE = /enum value to the `(?:\S.*\/)?code` response property/;

/**
 * The changelog with the section of what has changed since a release made anew. Sections of the
 * releases before stay as they are.
 *
 * @param next the release that brings the changes
 */
export function apiChangelog(
  kept: string,
  version: string,
  changes: readonly ApiChange[],
  next?: string,
): string {
  const heading = `## Since ${version}\n`;
  const [before = '', after = ''] = kept.split(heading);
  const end = after.indexOf('\n## ');
  const older = end === -1 ? '' : after.slice(end);
  const told = changes.filter(({ text }) => !NEW_CODE.test(text));
  const made = `\n${linesOf(told).join('\n')}\n${older}`;
  const begun = next === undefined ? heading : `## Since ${next}\n\n${NOTHING}\n\n## ${next}\n`;
  return `${before.trimEnd()}\n\n${begun}${made}`;
}

function linesOf(changes: readonly ApiChange[]): string[] {
  if (changes.length === 0) return [NOTHING];
  const places = grouped(
    changes.map(({ id, text, operation, path, level }) => [
      // Which operations are new is of interest, however many they are.
      `${id === 'endpoint-added' ? placeOf(operation, path) : ''}${level > 1 ? '**Look here:** ' : ''}${shortened(text)}`,
      placeOf(operation, path),
    ]),
  );
  // Changes that the same operations share stand in one line.
  const texts = grouped(
    [...places].map(([told, at]) => {
      const named = [...new Set(at)].toSorted();
      const where =
        named.length > NAMED_MAX ? `${named.length} operations (${named[0]} …)` : named.join(', ');
      return [where, told.replace(/^`[^`]*`(?=endpoint)/, '')];
    }),
  );
  return [...texts].map(([where, told]) => `- ${where}: ${told.join('; ')}`);
}

const shortened = (text: string) =>
  text.replace(
    /^added the (?:required|optional) property (`.*?`) to the response with the `2\d\d` status/,
    'new $1',
  );

function grouped(pairs: readonly (readonly [key: string, value: string])[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, value] of pairs) groups.set(key, [...(groups.get(key) ?? []), value]);
  return groups;
}

function placeOf(operation: string | undefined, path = 'all'): string {
  return path.startsWith('/webhook ')
    ? `\`${path.slice('/webhook '.length)}\``
    : `\`${[operation, path].filter(Boolean).join(' ')}\``;
}
