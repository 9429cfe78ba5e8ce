import type { Caller } from '../access/authentication';
import { Places } from './places';

/**
 * Hardly any request that is meant has more; of those that have less, the rate limits are enough.
 */
const LARGE_BYTES = 16 * 1024;
/**
 * Larger bodies that one process has in memory at a time, each for as long as its call lasts: one
 * of the largest, read, is some three megabytes.
 */
const LARGE = { what: 'large bodies', all: 50, ofCaller: 10, retryAfterS: 2 };

/** The place of one call's body. */
export interface BodyPlace {
  /**
   * Told how much of the body is there.
   *
   * @throws Failure rate_limited or unavailable where it takes a place and none is free
   */
  has: (bytes: number) => void;
  leave: () => void;
}

export function createBodyPlaces(): (caller: Caller) => BodyPlace {
  const places = new Places(LARGE);
  return (caller) => {
    let entered = false;
    return {
      has(bytes) {
        if (entered || bytes <= LARGE_BYTES) return;
        places.enter(caller);
        entered = true;
      },
      leave() {
        if (entered) places.leave(caller);
      },
    };
  };
}
