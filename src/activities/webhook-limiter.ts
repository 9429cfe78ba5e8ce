import { remember } from '../domain/remember';

/**
 * How much of a worker one receiver, and one owner of receivers, may take up.
 *
 * A dead receiver holds every request sent to it until the time-out, so without a bound it would
 * come to hold them all. A receiver here is an origin (scheme, host and port), for one server may
 * stand behind hundreds of merchants. An owner is a provider with all its merchants, else the
 * entity itself: a provider makes merchants freely, each with an origin of its own. Where an owner
 * has few places left, its origins with the fewest retries under way come first: a healthy one does
 * not wait behind its silent siblings. The counts are of one process: their purpose is to share its
 * slots, not to spare the receiver.
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
 * Of an owner's retries, so many go only to origins that have fewer under way than their equal
 * share, or none. Three silent origins hold the other 20. A healthy one beside them has five at
 * once; where silent ones hold all 25, the next place that is free is for none of them.
 */
const KEPT_FOR_OTHERS = 5;

const SHORTEST_WAIT_MS = 1_000;
/**
 * A backlog is spread over no more than this, so that a receiver that is back soon gets the rest of
 * it.
 */
const LONGEST_WAIT_MS = 10 * 60_000;
/**
 * Of so many origins or owners it is known when the last of those sent away is to come: a few MB at
 * the most. Whose line is forgotten, the longest unchanged, is told a short wait once more.
 */
const LINES_MAX = 10_000;

const originOf = ({ url }: Addressee) => (URL.canParse(url) ? new URL(url).origin : url);

/** @param nowMs any clock that does not jump */
export function createWebhookLimiter(nowMs: () => number): WebhookLimiter {
  const receivers = createHolders();
  const owners = createHolders();
  const originLines = createLines();
  const ownerLines = createLines();

  function ownerIsFull(kind: AttemptKind, ownerId: string, origin: string): boolean {
    const { taken, retriesOf } = owners.of(ownerId);
    // One more is counted in: who comes next finds a place, too.
    const share = Math.max(1, Math.floor(OWNER_PLACES.retry / (retriesOf.size + 1)));
    const hasShare = kind === 'retry' && (retriesOf.get(origin) ?? 0) >= share;
    return taken[kind] >= OWNER_PLACES[kind] - (hasShare ? KEPT_FOR_OTHERS : 0);
  }

  return {
    enter(kind, to) {
      const origin = originOf(to);
      const receiverIsFull = receivers.of(origin).taken[kind] >= RECEIVER_PLACES[kind];
      if (receiverIsFull || ownerIsFull(kind, to.ownerId, origin)) return undefined;
      const leaveBoth = [receivers.take(kind, origin, origin), owners.take(kind, to.ownerId, origin)];
      return {
        leave() {
          for (const leave of leaveBoth) leave();
        },
      };
    },

    comeBackInMs(to, timeoutMs) {
      const now = nowMs();
      const origin = originOf(to);
      const before = originLines.waitMs(origin, now);
      const pace = timeoutMs / RECEIVER_PLACES.retry;
      if (!ownerIsFull('retry', to.ownerId, origin)) return originLines.join(origin, now, before + pace);
      // The owner's places are shared by as many origins as have some now, and no more are to come
      // than find one.
      const { retriesOf } = owners.of(to.ownerId);
      const sharedPace = Math.max(pace, (timeoutMs * retriesOf.size) / OWNER_PLACES.retry);
      if (retriesOf.has(origin)) return originLines.join(origin, now, before + sharedPace);
      // The next place is for the idle origins. Of each, one stands in the owner's line, and what
      // else it has comes no faster than that line is long, however many origins wait.
      const turn = ownerLines.waitMs(to.ownerId, now);
      if (before > 0) return originLines.join(origin, now, before + Math.max(sharedPace, turn));
      const next = ownerLines.join(to.ownerId, now, turn + timeoutMs / OWNER_PLACES.retry);
      return originLines.join(origin, now, next);
    },
  };
}

interface Holder {
  taken: Places;
  /** Of which origin how many of the retries are; those with none are not in it. */
  retriesOf: Map<string, number>;
}

function createHolders() {
  const holders = new Map<string, Holder>();
  const of = (key: string): Holder =>
    holders.get(key) ?? { taken: { first: 0, retry: 0 }, retriesOf: new Map<string, number>() };
  return {
    of,
    /** Gives back what was taken when it is called. */
    take(kind: AttemptKind, key: string, origin: string): () => void {
      const holder = of(key);
      const { taken, retriesOf } = holder;
      const add = (n: 1 | -1) => {
        taken[kind] += n;
        if (kind === 'first') return;
        const retries = (retriesOf.get(origin) ?? 0) + n;
        if (retries > 0) retriesOf.set(origin, retries);
        else retriesOf.delete(origin);
      };
      add(1);
      holders.set(key, holder);
      return () => {
        add(-1);
        // Nobody is here: it is forgotten, so there are no more of them than there are requests.
        if (taken.first + taken.retry === 0) holders.delete(key);
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
    /** What the one who joins is told: `wishMs`, within the bounds of a wait. */
    join(key: string, now: number, wishMs: number) {
      const wait = Math.round(Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, wishMs)));
      remember(endsAt, LINES_MAX, key, now + wait);
      return wait;
    },
  };
}
