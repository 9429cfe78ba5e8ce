import type { Config } from '../../config';
import { overdrawTokens, type Bucket } from '../../database/rate-limit';
import type { Transaction } from '../../database/connection';
import type { Failure } from '../../domain/failures';
import type { Caller } from '../access/authentication';
import type { ApiDeps } from '../deps';
import { answerItems } from './items';
import { ownerBucket, tooManyRequests } from './rate-limit';
import type { Accepted, Call } from './route';

/**
 * Bounds how fast a caller can find out which lookupIDs, paymentIDs, e-mail addresses and devices
 * there are.
 *
 * Each identifier that names nothing takes a token of the caller's bucket, and of its owner's,
 * who could otherwise make up merchants for it. Identifiers that name something are free, so honest
 * callers notice nothing. While a bucket is empty every call that names identifiers is refused
 * (`route.ts`): a refusal of unknown ones alone would tell which are known.
 *
 * A call may name a hundred identifiers, and is answered as long as there is one token left. What
 * it takes beyond that is a debt, which must flow in before the next call. So the rate bounds the
 * answers that anybody gets, but for one call. The statement that takes the tokens decides which
 * call that is, so calls at the same time gain nothing either.
 */

export type IdentifierKind = 'lookup_id' | 'payment_id' | 'email' | 'device';

/** Counts, for the metrics, identifiers that named nothing. */
export type MeasureUnknown = (kind: IdentifierKind, count: number) => void;

/** The buckets that a caller's unknown identifiers are paid from. */
export function unknownBuckets(
  { RATE_LIMIT_UNKNOWN: rate }: Pick<Config, 'RATE_LIMIT_UNKNOWN'>,
  caller: Caller,
): Bucket[] {
  return [{ key: `unknown:${caller.entityId}`, rate }, ...ownerBucket('unknown', rate, caller)];
}

type Counting = Pick<Call, 'caller'> & {
  deps: Pick<ApiDeps, 'config' | 'db' | 'measureUnknown'>;
};

/**
 * Counts identifiers that named nothing.
 *
 * @throws Failure rate_limited where the caller is not to learn that they do
 */
export async function countUnknown(call: Counting, kind: IdentifierKind, count: number): Promise<void> {
  if (count > 0) await call.deps.db.transaction((trx) => countUnknownWithin(trx, call, kind, count));
}

/** The same in a transaction, which must be undone where it throws. */
async function countUnknownWithin(
  trx: Transaction,
  { caller, deps }: Counting,
  kind: IdentifierKind,
  count: number,
): Promise<void> {
  if (count === 0) return;
  deps.measureUnknown(kind, count);
  const buckets = unknownBuckets(deps.config, caller);
  const states = await overdrawTokens(trx, buckets, count);
  const empty = states.findIndex(({ admitted }) => !admitted);
  const [bucket, state] = [buckets[empty], states[empty]];
  if (bucket && state) throw tooManyRequests(bucket.rate, state.retryAfterS, 'unknown identifiers');
}

/**
 * Accepts the work of a call that names identifiers, item by item, and answers with the items.
 *
 * @param work says also which failures are behind the items that were refused
 */
export async function acceptItems<Item extends object>(
  call: Call,
  kind: IdentifierKind,
  work: (trx: Transaction) => Promise<{ items: Item[]; refusals: Failure[] }>,
): Promise<{ items: Item[] } | Accepted> {
  // Of items that are all refused: their transaction is undone, and the count with it.
  let uncounted = 0;
  return call.accept(
    async (trx) => {
      const { items, refusals } = await work(trx);
      const unknown = refusals.filter(({ code }) => code === 'not_found').length;
      uncounted = unknown;
      const answer = answerItems(items, refusals);
      uncounted = 0;
      await countUnknownWithin(trx, call, kind, unknown);
      return answer;
    },
    () => countUnknown(call, kind, uncounted),
  );
}
