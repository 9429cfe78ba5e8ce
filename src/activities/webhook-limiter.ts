/**
 * How much of a worker one receiver, and one owner of receivers, may take up.
 *
 * A dead receiver holds every request sent to it until the time-out, so without a bound it would
 * come to hold them all. A receiver here is an origin (scheme, host and port), for one server may
 * stand behind hundreds of merchants. An owner is a provider with all its merchants, else the
 * entity itself: a provider makes merchants freely, each with an origin of its own. The counts are
 * of one process: their purpose is to share its slots, not to spare the receiver.
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

const SHORTEST_WAIT_MS = 1_000;
/**
 * A backlog is spread over no more than this, so that a receiver that is back soon gets the rest of
 * it.
 */
const LONGEST_WAIT_MS = 10 * 60_000;

interface Holder {
  taken: Places;
  /**
   * When the last of those sent away will find a place, if each attempt before it takes its full
   * time.
   */
  queueEndsAt: number;
}

/** @param nowMs any clock that does not jump */
export function createWebhookLimiter(nowMs: () => number): WebhookLimiter {
  const receivers = createHolders(RECEIVER_PLACES);
  const owners = createHolders(OWNER_PLACES);

  const bothOf = ({ url, ownerId }: Addressee) => {
    const origin = URL.canParse(url) ? new URL(url).origin : url;
    return [receivers.of(origin), owners.of(ownerId)] as const;
  };

  return {
    enter(kind, to) {
      const both = bothOf(to);
      if (both.some((one) => one.isFull(kind))) return undefined;
      for (const one of both) one.take(kind);
      return {
        leave() {
          for (const one of both) one.leave(kind);
        },
      };
    },

    comeBackInMs(to, timeoutMs) {
      const now = nowMs();
      const [receiver, owner] = bothOf(to);
      const queue = owner.isFull('retry') && !receiver.isFull('retry') ? owner : receiver;
      const wait = queue.wait(now, timeoutMs);
      return Math.round(Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, wait)));
    },
  };
}

function createHolders(places: Places) {
  const holders = new Map<string, Holder>();
  return {
    of(key: string) {
      const holder = holders.get(key) ?? { taken: { first: 0, retry: 0 }, queueEndsAt: 0 };
      return {
        isFull: (kind: AttemptKind) => holder.taken[kind] >= places[kind],
        take(kind: AttemptKind) {
          holder.taken[kind]++;
          holders.set(key, holder);
        },
        leave(kind: AttemptKind) {
          holder.taken[kind]--;
          // Nobody is here: it is forgotten, so there are no more of them than there are requests.
          if (holder.taken.first + holder.taken.retry === 0) holders.delete(key);
        },
        /**
         * Each who is sent away is told a later time than the one before, so that they do not all
         * come at once.
         */
        wait(now: number, timeoutMs: number) {
          holder.queueEndsAt = Math.max(holder.queueEndsAt, now) + timeoutMs / places.retry;
          return holder.queueEndsAt - now;
        },
      };
    },
  };
}
