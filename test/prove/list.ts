import { expected } from '../storm/cast';
import type { Caller } from '../storm/caller';

/** The longest page that the API gives. */
export const PAGE = 100;

/** All of a list. */
export async function list(network: Caller, path: string, name: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  const and = path.includes('?') ? '&' : '?';
  for (let page = 1; ; page++) {
    const data = expected(200, await network.get(`${path}${and}limit=${PAGE}&page=${page}`));
    const some = data[name] as Record<string, unknown>[];
    found.push(...some);
    if (some.length < PAGE) return found;
  }
}
