import { remember } from '../domain/remember';

/**
 * How much of a worker one receiver, and one owner of receivers, may take up.
 *
 * A dead receiver holds every request sent to it until the time-out, so without a bound it would
 * come to hold them all. A receiver here is an origin (scheme, host and port), for one server may
 * stand behind hundreds of merchants. An owner is a provider with all its merchants, else the
 * entity itself: a provider makes merchants freely, each with an origin of its own.
 *
 * Anybody may name any origin, a bank's too, and have much sent there. So some of an origin's
 * places are for owners that have few retries under way there. Where an owner has few places left,
 * those come first whose origin and entity both have few under way: a healthy one does not wait
 * behind its silent siblings. Origins alone would not do, for an entity may give itself a new one
 * at each call; nor would entities, for many may share a silent server. The counts are of one
 * process: their purpose is to share its slots, not to spare the receiver.
 */
export interface WebhookLimiter {
  /**
   * Takes a place for one request; undefined where those of its receiver or owner are all taken.
   */
  enter(kind: AttemptKind, to: Addressee): { leave(): void } | undefined;
  /** For whom no place was left: in how many milliseconds to come again. */
  comeBackInMs(to: Addressee, timeoutMs: number): number;
}

export type AttemptKind = 'first' | 'retry';

interface Addressee {
  url: string;
  entityId: string;
  /** The provider of a provider's merchant, else the entity itself. */
  ownerId: string;
}

type Places = Record<AttemptKind, number>;

const RECEIVER_PLACES: Places = {
  /**
   * First attempts are short, and a healthy receiver may get a burst of them: what falls due
   * together, of many owners behind one server. 64 at 20 ms each are 3 000 a second, more than a
   * worker makes.
   */
  first: 64,
  /**
   * Retries go to receivers that have failed, and may hold a slot for the full time-out. 8 of a
   * worker's 100 leave room for a dozen dead receivers, and bring one that has recovered back 8
   * requests at a time.
   */
  retry: 8,
};

/**
 * Beside its 8, an origin has so many for owners that have fewer retries under way there than their
 * equal share, or none. Three for one beside another that asks for all it can: at 0.2 s each they
 * are 15 requests a second, and a free one takes the next of those 11.
 */
const RECEIVER_KEPT = 3;

const OWNER_PLACES: Places = {
  /**
   * All of one bank that falls due together is of one owner, too: 40 at 20 ms each are 2 000 a
   * second. Silent receivers, however many, hold at most so many of the 50 local activities of
   * schedules or the 100 of calls. What finds no place is left to a retry, so no charge waits for
   * it.
   */
  first: 40,
  /**
   * A quarter of a worker's 100: three owners whose receivers are all silent leave the rest to all
   * others. At 0.2 s each it is 125 requests a second to a large provider's merchants.
   */
  retry: 25,
};

/**
 * Of an owner's retries, so many go only to origins and entities that have fewer under way than
 * their equal share, or none. Three silent origins hold the other 20. A healthy one beside them has
 * five at once; where silent ones hold all 25, the next place that is free is for none of them.
 */
const KEPT_FOR_OTHERS = 5;

const SHORTEST_WAIT_MS = 1_000;
/**
 * A backlog is spread over no more than this, so that a receiver that is back soon gets the rest of
 * it.
 */
const LONGEST_WAIT_MS = 10 * 60_000;
/**
 * Of so many origins, owners, and origins and entities of owners it is known when the last of those
 * sent away is to come: a few MB for each kind. Whose line is forgotten, the longest unchanged, is
 * told a short wait once more.
 */
const LINES_MAX = 10_000;

/** One more is counted in: who comes next finds a place, too. */
const shareOf = (places: number, sharers: number) => Math.max(1, Math.floor(places / (sharers + 1)));

const originOf = ({ url }: Addressee) => (URL.canParse(url) ? new URL(url).origin : url);

/** @param nowMs any clock that does not jump */
export function createWebhookLimiter(nowMs: () => number): WebhookLimiter {
  const receivers = createPlaces();
  const owners = createPlaces();
  /** Retries under way: of an origin by owner, of an owner by origin and by entity. */
  const ownersAt = createTallies();
  const originsOf = createTallies();
  const entitiesOf = createTallies();
  /** Of origins, in which one of each owner stands, and of what else an owner has for one. */
  const receiverLines = createLines();
  const ownerLines = createLines();
  /** Of an owner's origins and entities. */
  const siblingLines = createLines();

  function receiverIsFull(kind: AttemptKind, { ownerId }: Addressee, origin: string): boolean {
    const atOrigin = ownersAt.of(origin);
    const share = shareOf(RECEIVER_PLACES.retry + RECEIVER_KEPT, atOrigin.size);
    const maySpare = kind === 'retry' && (atOrigin.get(ownerId) ?? 0) < share;
    return receivers.taken(kind, origin) >= RECEIVER_PLACES[kind] + (maySpare ? RECEIVER_KEPT : 0);
  }

  function ownerIsFull(kind: AttemptKind, { ownerId, entityId }: Addressee, origin: string): boolean {
    const [origins, entities] = [originsOf.of(ownerId), entitiesOf.of(ownerId)];
    // Many entities may be behind one silent server, and many origins of one entity: the fewer are
    // those that share.
    const share = shareOf(OWNER_PLACES.retry, Math.min(origins.size, entities.size));
    const most = Math.max(origins.get(origin) ?? 0, entities.get(entityId) ?? 0);
    const hasShare = kind === 'retry' && most >= share;
    return owners.taken(kind, ownerId) >= OWNER_PLACES[kind] - (hasShare ? KEPT_FOR_OTHERS : 0);
  }

  return {
    enter(kind, to) {
      const origin = originOf(to);
      const { entityId, ownerId } = to;
      if (receiverIsFull(kind, to, origin) || ownerIsFull(kind, to, origin)) return undefined;
      const leaveAll = [receivers.take(kind, origin), owners.take(kind, ownerId)];
      if (kind === 'retry') {
        leaveAll.push(
          ownersAt.add(origin, ownerId),
          originsOf.add(ownerId, origin),
          entitiesOf.add(ownerId, entityId),
        );
      }
      return {
        leave() {
          for (const leave of leaveAll) leave();
        },
      };
    },

    comeBackInMs(to, timeoutMs) {
      const now = nowMs();
      const origin = originOf(to);
      const { entityId, ownerId } = to;
      const pace = timeoutMs / RECEIVER_PLACES.retry;
      const ownOrigin = `${ownerId} ${origin}`;
      // Only those whom a receiver has no place for lengthen its line, and one of each owner: any
      // may name it. What else an owner has comes no faster than that line is long.
      if (!ownerIsFull('retry', to, origin)) {
        const lineMs = receiverLines.waitMs(origin, now);
        const own = receiverLines.waitMs(ownOrigin, now);
        return own > 0
          ? receiverLines.join([ownOrigin], now, own + Math.max(pace, lineMs))
          : receiverLines.join([ownOrigin, origin], now, lineMs + pace);
      }

      // The owner's places are shared by as many siblings as have some now, and no more are to come
      // than find one.
      const [origins, entities] = [originsOf.of(ownerId), entitiesOf.of(ownerId)];
      const [ofOrigin, ofEntity] = [origins.get(origin) ?? 0, entities.get(entityId) ?? 0];
      const [sharers, busier] = ofOrigin >= ofEntity ? [origins, ownOrigin] : [entities, entityId];
      const sharedPace = Math.max(pace, (timeoutMs * sharers.size) / OWNER_PLACES.retry);
      if (ofOrigin + ofEntity > 0)
        return siblingLines.join([busier], now, siblingLines.waitMs(busier, now) + sharedPace);

      // The next place is for the idle. Of each entity and each origin, one stands in the line of
      // the owner, and what else it has comes no faster than that line is long, however many wait.
      // An entity that waits already lengthens no origin's line: that may be its sibling's.
      const turn = ownerLines.waitMs(ownerId, now);
      const own = siblingLines.waitMs(entityId, now);
      if (own > 0) return siblingLines.join([entityId], now, own + Math.max(sharedPace, turn));
      const shared = siblingLines.waitMs(ownOrigin, now);
      const inMs =
        shared > 0
          ? shared + Math.max(sharedPace, turn)
          : ownerLines.join([ownerId], now, turn + timeoutMs / OWNER_PLACES.retry);
      return siblingLines.join([entityId, ownOrigin], now, inMs);
    },
  };
}

/** How many requests are under way, of each. Who has none is forgotten. */
type Counts = Map<string, number>;

/** @returns what takes it back */
function count(counts: Counts, key: string): () => void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  return () => {
    const left = (counts.get(key) ?? 0) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  };
}

function createPlaces() {
  const counts: Record<AttemptKind, Counts> = { first: new Map(), retry: new Map() };
  return {
    taken: (kind: AttemptKind, key: string) => counts[kind].get(key) ?? 0,
    take: (kind: AttemptKind, key: string) => count(counts[kind], key),
  };
}

const NONE: ReadonlyMap<string, number> = new Map();

/** Counts of several, each forgotten with the last that it has. */
function createTallies() {
  const tallies = new Map<string, Counts>();
  return {
    of: (key: string) => tallies.get(key) ?? NONE,
    /** @returns what takes it back */
    add(key: string, member: string): () => void {
      const counts = tallies.get(key) ?? new Map<string, number>();
      tallies.set(key, counts);
      const takeBack = count(counts, member);
      return () => {
        takeBack();
        if (counts.size === 0) tallies.delete(key);
      };
    },
  };
}

/**
 * When the last of those sent away will find a place, if each attempt before it takes its full
 * time. Each is told a later time than the one before, so that they do not all come at once.
 */
function createLines() {
  const endsAt = new Map<string, number>();
  return {
    waitMs: (key: string, now: number) => Math.max(0, (endsAt.get(key) ?? 0) - now),
    /** What the one who joins these is told: `wishMs`, within the bounds of a wait. */
    join(keys: readonly string[], now: number, wishMs: number) {
      const wait = Math.round(Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, wishMs)));
      for (const key of keys) remember(endsAt, LINES_MAX, key, now + wait);
      return wait;
    },
  };
}
