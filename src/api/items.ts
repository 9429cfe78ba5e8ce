import { Failure } from '../domain/failures';
import type { Answer } from './answer';
import { FAILURE_STATUS } from './failure-status';

/** One line of an answer to several identifiers: the envelope's fields and whatever belongs to the line. */
export interface Item {
  statusCode: number;
  success: boolean;
  message: string;
}

export function refusedItem<More extends object>(failure: Failure, more: More): Item & More {
  return { statusCode: FAILURE_STATUS[failure.code], success: false, message: failure.message, ...more };
}

/** Which refusal tells a caller most, when none of its identifiers was accepted. */
const MOST_TELLING = [403, 409, 400, 429, 404];
const rank = (failure: Failure) => MOST_TELLING.indexOf(FAILURE_STATUS[failure.code]);

/**
 * The answer to several identifiers: the items, in request order, when at least one was accepted.
 *
 * @param refusals the failures behind the items that were refused
 * @throws Failure the most telling of the refusals, with the items as `data`, where none was accepted
 */
export function answerItems(items: Item[], refusals: Failure[]): Answer {
  if (refusals.length < items.length) return { items };
  const [telling] = refusals.toSorted((a, b) => rank(a) - rank(b));
  if (!telling) throw new Error('an answer needs at least one item');
  const { code, message, retryAfterS } = telling;
  throw new Failure(code, message, { data: items, ...(retryAfterS !== undefined && { retryAfterS }) });
}
