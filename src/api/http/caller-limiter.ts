import { isSilence } from '../../database/availability';
import { Failure } from '../../domain/failures';
import type { Caller } from '../access/authentication';
import { shareOfOwner } from './places';
import { ownerOf } from './rate-limit';

/**
 * How much of an API process's database one owner may take up.
 *
 * The connections to Postgres are few, and a request for one waits behind all earlier requests. A
 * merchant that sends a thousand charges at once, or a provider's merchants that each send some,
 * would make all others wait for the last of them. So an owner's requests wait for each other, its
 * callers taking turns, and no request waits for more than a few of another owner's.
 */
export interface CallerLimiter {
  /**
   * Does the work when the caller's owner has a place free.
   *
   * @throws Failure rate_limited where none comes free in time
   */
  take<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result>;
}

/**
 * A burst that the rate limits allow is through by then; what is not would time out at its
 * sender's.
 */
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 1;

interface Owner {
  taken: number;
  /** By caller, the next to have a turn first. */
  waiting: Map<string, Set<Waiter>>;
}

interface Waiter {
  enter: () => void;
  /** @param cause what kept the one before from its work */
  giveUp: (cause: unknown) => void;
}

/** @param connections that the process has to Postgres */
export function createCallerLimiter(connections: number): CallerLimiter {
  const places = shareOfOwner(connections);
  const owners = new Map<string, Owner>();

  async function enter(caller: Caller): Promise<Owner> {
    const id = ownerOf(caller);
    const owner = owners.get(id) ?? { taken: 0, waiting: new Map<string, Set<Waiter>>() };
    owners.set(id, owner);
    if (owner.taken < places) owner.taken += 1;
    else await placeOf(owner, caller.entityId);
    return owner;
  }

  /** A request that leaves hands its place to the next caller's longest waiting one. */
  function leave(id: string, owner: Owner): void {
    const [turn] = owner.waiting;
    if (turn) {
      const [callerId, waiters] = turn;
      const [next] = waiters;
      owner.waiting.delete(callerId);
      owner.waiting.set(callerId, waiters);
      next?.enter();
    } else {
      owner.taken -= 1;
      if (owner.taken === 0) owners.delete(id);
    }
  }

  return {
    async take(caller, work) {
      const owner = await enter(caller);
      try {
        return await work();
      } catch (error) {
        // Those behind would meet the same silence, and wait for as long again.
        if (isSilence(error)) {
          for (const waiters of owner.waiting.values()) for (const waiter of waiters) waiter.giveUp(error);
        }
        throw error;
      } finally {
        leave(ownerOf(caller), owner);
      }
    },
  };
}

async function placeOf({ waiting }: Owner, callerId: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const own = waiting.get(callerId) ?? new Set();
    const stopWaiting = (end: () => void) => {
      clearTimeout(timer);
      own.delete(waiter);
      if (own.size === 0) waiting.delete(callerId);
      end();
    };
    const waiter: Waiter = {
      enter: () => stopWaiting(resolve),
      giveUp: (cause) => stopWaiting(() => reject(cause)),
    };
    const timer = setTimeout(() => {
      waiter.giveUp(
        new Failure('rate_limited', 'Too many of your requests are in hand: send fewer at a time', {
          retryAfterS: RETRY_AFTER_S,
        }),
      );
    }, WAIT_MS);
    waiting.set(callerId, own.add(waiter));
  });
}
