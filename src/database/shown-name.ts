/**
 * Characters of a name in a workflow's title or summary, for which Temporal takes 400 bytes in all.
 * Names may have 200 characters of four bytes.
 */
const SHOWN_MAX = 50;

const CONTROL = String.raw`[\u0001-\u001f\u007f-\u009f]`;
/** An entity is markup, too: a link may be spelled `https&colon;//`. */
const MARKUP = String.raw`[\\\`*_\[\]<>|~]|&(?=#?[a-zA-Z0-9]+;)`;
/** A heading, an item of a list or a rule, at the beginning of a line. */
const BLOCK = String.raw`^([0-9]*)([#+=.)-])`;
/** Parts of an address that a reader of Markdown makes a link of, also where they are escaped. */
const LINK = String.raw`[:@]|(?<=www)\.`;
const ZERO_WIDTH_SPACE = '\u200b';

/**
 * SQL: the part of a name that titles, summaries and details show, escaped: Temporal's UI reads
 * Markdown, and a name makes no link, picture or line there.
 */
export function shownPart(name: string): string {
  const oneLine = `regexp_replace(left(${name}, ${SHOWN_MAX}), '${CONTROL}', ' ', 'g')`;
  const inline = String.raw`regexp_replace(${oneLine}, '${MARKUP}', '\\\&', 'g')`;
  const plain = String.raw`regexp_replace(${inline}, '${BLOCK}', '\1\\\2')`;
  return `regexp_replace(${plain}, '${LINK}', '${ZERO_WIDTH_SPACE}\\&', 'gi')`;
}

/** SQL: the same of the entity with this id. */
export const shownName = (id: string) => `(SELECT ${shownPart('name')} FROM entities WHERE id = ${id})`;
