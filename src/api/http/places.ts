import { Failure } from '../../domain/failures';
import type { Caller } from '../access/authentication';
import { ownerOf } from './rate-limit';

/**
 * Most places of an owner, of those that a process has. A provider makes as many merchants as it
 * likes: three quarters stay for others, however many there are.
 */
export const shareOfOwner = (all: number) => Math.max(1, Math.floor(all / 4));

interface Kind {
  /** Its use, in the words of a refusal. */
  what: string;
  all: number;
  /** Keeps one merchant from its provider's whole share. */
  ofCaller: number;
  retryAfterS: number;
}

/**
 * Places for what a process has under way for longer than a request lasts otherwise. Callers and
 * owners have a few each, so that a slow one keeps no other's out.
 */
export class Places {
  private taken = 0;
  private readonly held = new Map<string, number>();

  constructor(private readonly kind: Kind) {}

  /**
   * Takes a place, until the caller leaves it.
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

  private count(caller: Caller, change: 1 | -1): void {
    this.taken += change;
    for (const key of keysOf(caller)) {
      const now = (this.held.get(key) ?? 0) + change;
      if (now === 0) this.held.delete(key);
      else this.held.set(key, now);
    }
  }
}

/** A provider's own places are not those of its merchants, though it owns both. */
const keysOf = (caller: Caller) => [`caller ${caller.entityId}`, `owner ${ownerOf(caller)}`];
