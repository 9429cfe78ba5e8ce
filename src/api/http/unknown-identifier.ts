import type { Config } from '../../settings/config';
import { overdrawTokens, type Bucket } from '../../database/call/rate-limit';
import type { Transaction } from '../../database/pool/connection';
import type { Failure } from '../../domain/failures';
import type { Accepted, Call } from './call';
import type { Caller } from './caller';
import type { ApiDeps } from './deps';
import { answerItems } from './items';
import { ownerBucket, tooManyRequests } from './rate-limit';
import type { IdentifierKind } from './request-metrics';

/**
 * Bounds how fast a caller finds out which lookupIDs, paymentIDs, e-mail addresses and devices
 * exist.
 *
 * Each identifier that names nothing takes a token of the caller's bucket, and of its owner's. A
 * known identifier is free. While a bucket is empty every call that names identifiers is refused
 * (`route.ts`): a refusal of unknown ones alone would tell which are known.
 *
 * A call of a hundred identifiers is answered with one token left, and the rest is a debt, which
 * flows in before the next call. One statement takes the tokens, so concurrent calls gain nothing.
 */

/** The buckets that pay for a caller's unknown identifiers. */
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
  // The refusal of all items undoes the transaction, and the count with it.
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
