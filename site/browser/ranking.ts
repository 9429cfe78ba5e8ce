import MiniSearch from 'minisearch';

/** Which page of the documentation answers what somebody types. */

/** A heading, an operation, or a word that a table or the glossary explains. */
export interface Entry {
  /** Its address. */
  id: string;
  page: string;
  title: string;
  text: string;
  code: string;
}

/** An entry that matches, with how well. */
export type Found = Omit<Entry, 'code'> & { score: number };

/** Words of questions that are on every page: they would outweigh what is asked about. */
const SAY_NOTHING = new Set(
  'a an and are can do does for how i in is it mean my of on the to what with'.split(' '),
);
/** A title says what the text below it is about. */
const BOOST = { title: 3, page: 2, code: 0.1 };
/** A row explains one word, and a page more than a section of it. */
const OF_TERM = 0.6;
const OF_PAGE = 1.3;
/** Decisions and the schema come last: they are for who changes the engine. */
const INSIDE = /^\/docs\/(?:decisions|schema)\b/;
/** The next best entry of its page counts in part: a page about something says more than one. */
const OF_NEXT = 0.3;
/** A shorter word is another word when a letter differs: "lost" and "post". */
const FUZZY_FROM = 6;

/** Letters and digits; an identifier stays whole. */
const tokenize = (text: string) => text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '');

const termOf = (word: string): string | null =>
  SAY_NOTHING.has(word.toLowerCase()) ? null : stemOf(word.toLowerCase());

/** Without the ending that a verb or a plural has: "declines", "declined" and "decline" are one. */
function stemOf(word: string): string {
  if (word.length < 5) return word;
  return word
    .replace(/ie[sd]$/, 'y')
    .replace(/(?:(?<!s)s|ed|ing)$/, '')
    .replace(/e$/, '');
}

/** The word and its stem; in a text also the parts of `past_due` and `declineReason`. */
function indexed(word: string, field?: string): string[] | null {
  if (SAY_NOTHING.has(word.toLowerCase())) return null;
  const parts =
    field === 'text' ? word.split(/_|(?<=[a-z])(?=[A-Z])/).map((part) => stemOf(part.toLowerCase())) : [];
  return [...new Set([word.toLowerCase(), stemOf(word.toLowerCase()), ...parts])].filter((part) => part);
}

export function indexOf(entries: Entry[]): MiniSearch<Entry> {
  const index = new MiniSearch<Entry>({
    // An example has the words of each field, and explains none.
    fields: ['title', 'page', 'text', 'code'],
    storeFields: ['page', 'title', 'text'],
    tokenize,
    processTerm: indexed,
  });
  // An address may come twice, as of two headings with one name.
  index.addAll([...new Map(entries.map((one) => [one.id, one])).values()]);
  return index;
}

/** Best first. */
export function found(index: MiniSearch<Entry>, words: string): Found[] {
  const all = index
    .search(words, {
      processTerm: termOf,
      // The last word may still be typed.
      prefix: (_, n, terms) => n === terms.length - 1,
      fuzzy: (word) => (word.length < FUZZY_FROM ? false : 0.15),
      boost: BOOST,
      boostDocument: (id: string) => weightOf(id),
    })
    // An entry with each of the words comes before one that repeats some.
    .map((one) => ({ ...(one as unknown as Found), score: one.score * one.queryTerms.length }))
    .toSorted((a, b) => b.score - a.score);
  const ofPage = new Map<string, number[]>();
  for (const { id, score } of all)
    ofPage.set(pageOf(id), [...(ofPage.get(pageOf(id)) ?? []), score].slice(0, 2));
  return all
    .map((one) => {
      const [best = 0, next = 0] = ofPage.get(pageOf(one.id)) ?? [];
      return { ...one, score: one.score + OF_NEXT * (one.score === best ? next : best) };
    })
    .toSorted((a, b) => Number(INSIDE.test(a.id)) - Number(INSIDE.test(b.id)) || b.score - a.score);
}

const pageOf = (id: string) => id.split('#')[0] ?? id;

function weightOf(id: string): number {
  if (id.includes('#term-')) return OF_TERM;
  return id.includes('#') ? 1 : OF_PAGE;
}
