import {
  bucketState,
  type BucketRate,
  type TakenState,
  type TokenWish,
} from '../../database/call/rate-limit';
import { remember } from '../../domain/remember';

/**
 * Tokens that this process has taken ahead, for callers that call often: one statement then does
 * for many calls. They are taken from the shared bucket, so all processes together never admit more
 * than its rate. A bucket that is less than half full gives none ahead, so near its limit each
 * token is counted at once.
 */

/** A block is at most this part of the burst: what several processes hold back stays small. */
const PART_OF_BURST = 0.1;
const BLOCK_MAX = 20;
/** A bucket whose last call is longer ago gets no block, for it would not be used up. */
const OFTEN_MS = 200;
/** Tokens that were not used by then are lost; the bucket fills meanwhile. */
const KEPT_MS = 1_000;
/** Callers whose last call is remembered; the least recent are counted token by token. */
const CALLERS_MAX = 10_000;

interface Held {
  tokens: number;
  /** By the process's clock: when the tokens are lost. */
  until: number;
  /** By the process's clock: when the shared bucket, and its owner's, will be full. */
  fullAt: number;
  alsoFullAt: number | undefined;
  lastAt: number;
  /** A block is being taken. */
  taking: boolean;
}

const NOTHING: Held = {
  tokens: 0,
  until: -Infinity,
  fullAt: -Infinity,
  alsoFullAt: undefined,
  lastAt: -Infinity,
  taking: false,
};

export function createTokenBlocks(
  take: (wish: TokenWish) => Promise<TakenState>,
  now: () => number,
): (wish: TokenWish) => Promise<TakenState> {
  const held = new Map<string, Held>();

  return async (wish) => {
    // A wish for many tokens is rare, and all or nothing: tokens held back would count against it.
    if (wish.readOnly || (wish.count ?? 1) > 1) return take(wish);
    const one = held.get(wish.key) ?? { ...NOTHING };
    remember(held, CALLERS_MAX, wish.key, one);
    if (tokensIn(one) > 0) {
      one.tokens--;
      one.lastAt = now();
      return stateOf(wish, one);
    }
    const block = blockFor(wish, one);
    if (block === 0) return counted(wish, one, await take(wish));
    one.taking = true;
    try {
      const ahead = await take({ ...wish, count: 1 + block });
      if (ahead.admitted && ahead.also?.admitted !== false) {
        one.tokens = block;
        one.until = now() + KEPT_MS;
        return counted(wish, one, ahead);
      }
    } finally {
      one.taking = false;
    }
    return counted(wish, one, await take(wish));
  };

  function counted(wish: TokenWish, one: Held, state: TakenState): TakenState {
    const { also, resetS, admitted } = state;
    one.fullAt = now() + resetS * 1000;
    one.alsoFullAt = also && now() + also.resetS * 1000;
    one.lastAt = now();
    return tokensIn(one) > 0 && admitted && also?.admitted !== false ? stateOf(wish, one) : state;
  }

  function tokensIn({ tokens, until }: Held): number {
    return now() < until ? tokens : 0;
  }

  function blockFor({ rate, also }: TokenWish, { taking, lastAt, fullAt, alsoFullAt }: Held): number {
    if (taking || now() - lastAt > OFTEN_MS) return 0;
    if (!isHalfFull(rate, fullAt) || (also && !isHalfFull(also.rate, alsoFullAt))) return 0;
    return Math.min(BLOCK_MAX, Math.floor(rate.burst * PART_OF_BURST));
  }

  function isHalfFull(rate: BucketRate, fullAt = -Infinity): boolean {
    const { remaining } = bucketState(rate, Math.max(0, fullAt - now()) / 1000);
    return remaining >= rate.burst / 2;
  }

  /** As if the tokens that are held were still in the shared bucket. */
  function stateOf({ rate, also }: TokenWish, { tokens, fullAt, alsoFullAt }: Held): TakenState {
    const stateIn = (of: BucketRate, at: number) => {
      const fullInS = Math.max(0, (at - now()) / 1000 - tokens / of.perSecond);
      return { ...bucketState(of, fullInS), admitted: true, retryAfterS: 0 };
    };
    return {
      ...stateIn(rate, fullAt),
      ...(also && alsoFullAt !== undefined && { also: stateIn(also.rate, alsoFullAt) }),
    };
  }
}
