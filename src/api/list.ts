import type { Listed } from '../database/list';
import type { Answer } from './answer';

/**
 * One page of a list. Where there are more than are counted, it says so beside the total, and only there.
 *
 * @param names one of the things, and the array of them
 */
export function listAnswer<Item>(
  [one, many]: [one: string, many: string],
  { items, total, more }: Listed<Item>,
  { page, limit }: { page: number; limit: number },
  shown: (item: Item) => object,
): Answer {
  const count = `${more ? 'more than ' : ''}${total}`;
  return {
    message: `${count} ${total === 1 ? one : many}`,
    data: { [many]: items.map(shown), total, ...(more && { totalIsMinimum: true }), page, limit },
  };
}
