/**
 * Characters of a name in a workflow's title or summary, for which Temporal takes 400 bytes in all.
 * Names may have 200 characters of four bytes.
 */
const SHOWN_MAX = 50;

/** SQL: the part of a name that titles and summaries show. */
export const shownPart = (name: string) => `left(${name}, ${SHOWN_MAX})`;

/** SQL: the same of the entity with this id. */
export const shownName = (id: string) => `(SELECT ${shownPart('name')} FROM entities WHERE id = ${id})`;
