import { Failure } from '../../domain/failures';
import { CallerPlaces } from './caller-places';

/**
 * Hardly any request that is meant has more; of those that have less, the rate limits are enough.
 */
const LARGE_BYTES = 16 * 1024;
/**
 * Larger bodies that one process has in memory at a time, each for as long as its call lasts: one
 * of the largest, read, is some three megabytes. Of one caller a few, so that they keep no other's
 * out.
 */
const LARGE = { all: 50, ofCaller: 10 };
const LARGE_RETRY_S = 2;

/** The place of one call's body. */
export interface BodyPlace {
  /**
   * Told how much of the body is there.
   *
   * @throws Failure unavailable where it takes a place and none is free
   */
  has: (bytes: number) => void;
  leave: () => void;
}

export function createBodyPlaces(): (callerId: string) => BodyPlace {
  const places = new CallerPlaces(LARGE);
  return (callerId) => {
    let entered = false;
    return {
      has(bytes) {
        if (entered || bytes <= LARGE_BYTES) return;
        entered = places.enter(callerId);
        if (entered) return;
        throw new Failure('unavailable', 'Too many large bodies are being taken in; nothing was accepted', {
          retryAfterS: LARGE_RETRY_S,
        });
      },
      leave() {
        if (entered) places.leave(callerId);
      },
    };
  };
}
