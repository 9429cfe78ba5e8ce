import { isSilence } from '../../database/availability';
import type { Viewer } from '../../database/viewer';
import type { Role } from '../../domain/entity';
import { Failure } from '../../domain/failures';

/**
 * How much of an API process one caller may take up.
 *
 * The connections to Postgres are few, and whoever asks for one waits behind all who asked before.
 * A merchant who sends a thousand charges at once, or a bank that answers them, would make
 * everybody else wait for the last of them; so each caller's requests wait for each other, and
 * nobody waits for more than a few of another's.
 */
export interface CallerLimiter {
  /**
   * Does the work when the caller has a place free.
   *
   * @throws Failure unavailable where none comes free in time
   */
  take<Result>(caller: Viewer, work: () => Promise<Result>): Promise<Result>;
}

/**
 * A burst that the rate limits allow is through by then; what is not would time out at its
 * sender's.
 */
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 1;

interface Places {
  taken: number;
  waiting: Set<Waiter>;
}

interface Waiter {
  enter: () => void;
  /** @param cause what kept the one before from its work */
  giveUp: (cause: unknown) => void;
}

/** @param places of each caller in that role */
export function createCallerLimiter(places: Record<Role, number>): CallerLimiter {
  const callers = new Map<string, Places>();

  async function enter({ entityId, role }: Viewer): Promise<Places> {
    const caller = callers.get(entityId) ?? { taken: 0, waiting: new Set() };
    callers.set(entityId, caller);
    if (caller.taken < places[role]) caller.taken += 1;
    else await placeOf(caller);
    return caller;
  }

  /** Whoever leaves hands the place on to the one who has waited longest. */
  function leave(callerId: string, caller: Places): void {
    const [next] = caller.waiting;
    if (next) {
      next.enter();
    } else {
      caller.taken -= 1;
      if (caller.taken === 0) callers.delete(callerId);
    }
  }

  return {
    async take(caller, work) {
      const held = await enter(caller);
      try {
        return await work();
      } catch (error) {
        // Those behind would meet the same silence, and wait for as long again.
        if (isSilence(error)) for (const waiter of held.waiting) waiter.giveUp(error);
        throw error;
      } finally {
        leave(caller.entityId, held);
      }
    },
  };
}

async function placeOf({ waiting }: Places): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stopWaiting = (end: () => void) => {
      clearTimeout(timer);
      waiting.delete(waiter);
      end();
    };
    const waiter: Waiter = {
      enter: () => stopWaiting(resolve),
      giveUp: (cause) => stopWaiting(() => reject(cause)),
    };
    const timer = setTimeout(() => {
      waiter.giveUp(
        new Failure('unavailable', 'Too many of your requests are in hand: send fewer at a time', {
          retryAfterS: RETRY_AFTER_S,
        }),
      );
    }, WAIT_MS);
    waiting.add(waiter);
  });
}
