import type { Listed } from '../../database/query/list-page';

/**
 * One page of a list. Its total may be a lower bound, and says so.
 *
 * @param names one of the things, and the array of them
 */
export function listAnswer<Many extends string, Item, Shown>(
  [one, many]: [one: string, many: Many],
  { items, total, more }: Listed<Item>,
  { page, limit }: { page: number; limit: number },
  shown: (item: Item) => Shown,
) {
  const count = `${more ? 'more than ' : ''}${total}`;
  const shownItems = { [many]: items.map(shown) } as Record<Many, Shown[]>;
  return {
    message: `${count} ${total === 1 ? one : many}`,
    data: { ...shownItems, total, ...(more && { totalIsMinimum: true as const }), page, limit },
  };
}
