import { Failure, FAILURES } from '../../domain/failures';

/** One item of an answer to several identifiers: the envelope's fields, and its own. */
export function acceptedItem<Status extends number, More>(statusCode: Status, message: string, more: More) {
  return { statusCode, success: true as const, message, ...more };
}

/** @throws Failure the same one, where it is about the whole call */
export function refusedItem<More>(failure: Failure, more: More) {
  const statusCode = BY_RELEVANCE[rank(failure)];
  if (statusCode === undefined) throw failure;
  return { statusCode, success: false as const, code: failure.code, message: failure.message, ...more };
}

/** Statuses of one refused identifier, the most telling first. */
const BY_RELEVANCE = [403, 409, 400, 429, 404] as const;
const rank = (failure: Failure) =>
  BY_RELEVANCE.findIndex((status) => status === FAILURES[failure.code].status);

/**
 * @param refusals the failures behind the refused items
 * @throws Failure the most telling refusal, with the items as `data`, where none was accepted
 */
export function answerItems<Item>(items: Item[], refusals: Failure[]): { items: Item[] } {
  if (refusals.length < items.length) return { items };
  const [foremost] = refusals.toSorted((a, b) => rank(a) - rank(b));
  if (!foremost) throw new Error('an answer needs at least one item');
  const { code, message, retryAfterS } = foremost;
  throw new Failure(code, message, { data: items, ...(retryAfterS !== undefined && { retryAfterS }) });
}
