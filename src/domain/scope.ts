import { accept, refuse, type Parsed } from './parsed';

/** Rights of a client. Each operation of the API needs one of them. */
export const SCOPES = ['read', 'bill', 'refund', 'manage'] as const;
export type Scope = (typeof SCOPES)[number];

/** @param words such as `read` and `bill` */
export function parseScopes(words: readonly string[]): Parsed<Scope[]> {
  const scopes = SCOPES.filter((scope) => words.includes(scope));
  const isKnown = words.every((word) => SCOPES.some((scope) => scope === word));
  return isKnown ? accept(scopes) : refuse(`takes some of ${SCOPES.join(',')}`);
}
