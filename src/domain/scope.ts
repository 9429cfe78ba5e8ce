import { accept, refuse, type Parsed } from './parsed';

/** Rights of a client. Each operation of the API needs one of them. */
export const SCOPES = ['read', 'bill', 'refund', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];

/** @param words such as `read` and `bill`, each of which must be among those there are */
export function parseScopes(words: readonly string[], all: readonly Scope[] = SCOPES): Parsed<Scope[]> {
  const scopes = all.filter((scope) => words.includes(scope));
  const isKnown = words.every((word) => all.some((scope) => scope === word));
  return isKnown ? accept(scopes) : refuse(`takes some of ${all.join(',')}`);
}
