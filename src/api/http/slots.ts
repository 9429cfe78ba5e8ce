import type { Transform } from 'node:stream';
import { isSilence } from '../../database/pool/availability';
import { Failure } from '../../domain/failures';
import { ownerOf, type Caller } from './caller';

/**
 * The share of a process's slots that an owner, a provider with all its merchants, may hold. A
 * provider creates any number of merchants: three quarters of the slots stay for other owners.
 */
const shareOfOwner = (all: number) => Math.max(1, Math.floor(all / 4));

interface Kind {
  /** Its use, in the words of a refusal. */
  what: string;
  all: number;
  /** Keeps one merchant from its provider's whole share. */
  ofCaller: number;
  retryAfterS: number;
}

/** Each page of a file is a statement, and a slow reader has its slot for as long as it reads. */
export const DOWNLOADS = { what: 'files', all: 40, ofCaller: 4, retryAfterS: 5 };

/** Slots for what lasts longer than most requests. Without a free one a call is refused. */
export class Slots {
  private taken = 0;
  private readonly held = new Map<string, number>();

  constructor(private readonly kind: Kind) {}

  /**
   * Takes a slot, until the caller leaves it.
   *
   * @throws Failure rate_limited where the caller or its owner has too many, unavailable where the
   *   process has
   */
  enter(caller: Caller): void {
    const { what, all, ofCaller, retryAfterS } = this.kind;
    const [ofItself, ofOwner] = keysOf(caller).map((key) => this.held.get(key) ?? 0) as [number, number];
    if (ofItself >= ofCaller || ofOwner >= shareOfOwner(all)) {
      throw new Failure('rate_limited', `You have too many ${what} under way: send fewer at a time`, {
        retryAfterS,
      });
    }
    if (this.taken >= all) {
      throw new Failure('unavailable', `Too many ${what} are under way; nothing was accepted`, {
        retryAfterS,
      });
    }
    this.count(caller, 1);
  }

  leave(caller: Caller): void {
    this.count(caller, -1);
  }

  /** Does the work in a slot. @throws Failure as `enter` */
  async hold<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    this.enter(caller);
    try {
      return await work();
    } finally {
      this.leave(caller);
    }
  }

  private count(caller: Caller, change: 1 | -1): void {
    this.taken += change;
    for (const key of keysOf(caller)) {
      const now = (this.held.get(key) ?? 0) + change;
      if (now === 0) this.held.delete(key);
      else this.held.set(key, now);
    }
  }
}

/** A provider's own slots are apart from its merchants', though it owns both. */
const keysOf = (caller: Caller) => [`caller ${caller.entityId}`, `owner ${ownerOf(caller)}`];

/** Few requests have a larger body; rate limits bound the smaller ones. */
export const LARGE_BYTES = 16 * 1024;
/** Each is in memory until its call ends; the largest, parsed, has some three megabytes. */
export const LARGE_BODIES = { what: 'large bodies', all: 50, ofCaller: 10, retryAfterS: 2 };

/** The slot of one call's body, taken once the body is large. */
export class BodySlot {
  private isTaken = false;

  constructor(
    private readonly slots: Slots,
    private readonly caller: Caller,
  ) {}

  /** @throws Failure rate_limited or unavailable where no slot for so many bytes is free */
  has(bytes: number): void {
    if (this.isTaken || bytes <= LARGE_BYTES) return;
    this.slots.enter(this.caller);
    this.isTaken = true;
  }

  leave(): void {
    if (this.isTaken) this.slots.leave(this.caller);
    this.isTaken = false;
  }
}

/** Each has some hundred kilobytes; a caller may compress each of a burst of calls. */
export const DECODERS = { what: 'compressed bodies', all: 200, ofCaller: 25, retryAfterS: 1 };

/** Bodies of unknown callers under way, of 4 KiB each: a lost packet is sent again meanwhile. */
const ANONYMOUS_MAX = 400;

/** Slots of unknown callers' bodies. The oldest makes room: a body that crawls keeps none out. */
export class AnonymousBodies {
  private readonly addressOf = new Map<Transform, string>();

  /** @param body destroyed with rate_limited or unavailable once another has its slot */
  enter(body: Transform, address: string): void {
    const all = [...this.addressOf.keys()];
    const own = all.filter((one) => this.addressOf.get(one) === address);
    const isOwnExcess = own.length >= shareOfOwner(ANONYMOUS_MAX);
    const [longest] = isOwnExcess ? own : all.length >= ANONYMOUS_MAX ? all : [];
    const whose = isOwnExcess ? 'of your address' : 'of unknown senders';
    const message = `Too many bodies ${whose} are under way: send each at once`;
    longest?.destroy(new Failure(isOwnExcess ? 'rate_limited' : 'unavailable', message, { retryAfterS: 1 }));
    if (longest) this.leave(longest);
    this.addressOf.set(body, address);
  }

  leave(body: Transform): void {
    this.addressOf.delete(body);
  }
}

/** A burst that the rate limits allow is over by then, and most senders wait no longer. */
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 1;
/** A quarter of a process's connections: each waiting request keeps one. */
const WAITING_MAX = 1_000;

interface Owner {
  taken: number;
  waitingCount: number;
  /** By caller, the next to have a turn first. */
  waiting: Map<string, Set<Waiter>>;
}

interface Waiter {
  enter: () => void;
  giveUp: (cause: unknown) => void;
}

export type CallerLimiter = ReturnType<typeof createCallerLimiter>;

/**
 * The share of the connections to Postgres that an owner's requests have at a time. Beyond it they
 * wait, and the callers of the owner take turns: no request waits for more than a few of another
 * owner's.
 *
 * @param connections that the process has to Postgres
 */
export function createCallerLimiter(connections: number) {
  const slots = shareOfOwner(connections);
  const owners = new Map<string, Owner>();

  /** Hands the slot to the next caller's longest waiting request. */
  function leave(id: string, owner: Owner): void {
    const [first] = owner.waiting;
    if (first) {
      const [callerId, waiters] = first;
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
    /**
     * Does the work in a slot.
     *
     * @throws Failure rate_limited where too many wait, or no slot comes free in time
     */
    async take<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
      const id = ownerOf(caller);
      const owner = owners.get(id) ?? { taken: 0, waitingCount: 0, waiting: new Map<string, Set<Waiter>>() };
      owners.set(id, owner);
      if (owner.taken < slots) owner.taken += 1;
      else await waitForSlot(owner, caller.entityId);
      try {
        return await work();
      } catch (error) {
        // Requests that wait would meet the same silence, and wait for as long again.
        if (isSilence(error)) {
          for (const waiters of owner.waiting.values()) for (const waiter of waiters) waiter.giveUp(error);
        }
        throw error;
      } finally {
        leave(id, owner);
      }
    },
  };
}

async function waitForSlot(owner: Owner, callerId: string): Promise<void> {
  const { waiting } = owner;
  if (owner.waitingCount >= WAITING_MAX) throw tooManyInHand();
  owner.waitingCount += 1;
  await new Promise<void>((resolve, reject) => {
    const own = waiting.get(callerId) ?? new Set();
    const stopWaiting = (end: () => void) => {
      clearTimeout(timer);
      owner.waitingCount -= 1;
      own.delete(waiter);
      if (own.size === 0) waiting.delete(callerId);
      end();
    };
    const waiter: Waiter = {
      enter: () => stopWaiting(resolve),
      giveUp: (cause) => stopWaiting(() => reject(cause)),
    };
    const timer = setTimeout(() => waiter.giveUp(tooManyInHand()), WAIT_MS);
    waiting.set(callerId, own.add(waiter));
  });
}

function tooManyInHand(): Failure {
  const message = 'Too many of your requests are in hand: send fewer at a time';
  return new Failure('rate_limited', message, { retryAfterS: RETRY_AFTER_S });
}
