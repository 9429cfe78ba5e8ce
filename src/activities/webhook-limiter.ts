/**
 * How much of a worker one receiver may take up.
 *
 * A dead receiver holds every request sent to it until the time-out, so without a bound it would
 * come to hold them all. A receiver here is an origin (scheme, host and port), for one server may
 * stand behind hundreds of merchants. The counts are of one process: their purpose is to share its
 * slots, not to spare the receiver.
 */
export interface WebhookLimiter {
  /** Takes a place for one request; undefined where the receiver's places are all taken. */
  enter(kind: AttemptKind, url: string): { leave(): void } | undefined;
  /** For whom no place was left: in how many milliseconds to come again. */
  comeBackInMs(url: string, timeoutMs: number): number;
}

export type AttemptKind = 'first' | 'retry';

const PLACES: Record<AttemptKind, number> = {
  /**
   * First attempts are short, and a healthy receiver may get a burst of them: schedules that fall
   * due together, all of one bank. 64 at 20 ms each are 3 000 a second, more than a worker makes. A
   * receiver that has just died holds at most so many of a worker's 100 local activities, once, for
   * the 2 s until it counts as failing.
   */
  first: 64,
  /**
   * Retries go to receivers that have failed, and may hold a slot for the full time-out. 8 of a
   * worker's 100 leave room for a dozen dead receivers, and bring one that has recovered back 8
   * requests at a time.
   */
  retry: 8,
};

const SHORTEST_WAIT_MS = 1_000;
/**
 * A backlog is spread over no more than this, so that a receiver that is back soon gets the rest of
 * it.
 */
const LONGEST_WAIT_MS = 10 * 60_000;

interface Receiver {
  taken: Record<AttemptKind, number>;
  /**
   * When the last of those sent away will find a place, if each attempt before it takes its full
   * time.
   */
  queueEndsAt: number;
}

/** @param nowMs any clock that does not jump */
export function createWebhookLimiter(nowMs: () => number): WebhookLimiter {
  const receivers = new Map<string, Receiver>();

  function receiverOf(url: string): [origin: string, receiver: Receiver] {
    const origin = URL.canParse(url) ? new URL(url).origin : url;
    const receiver = receivers.get(origin) ?? { taken: { first: 0, retry: 0 }, queueEndsAt: 0 };
    return [origin, receiver];
  }

  return {
    enter(kind, url) {
      const [origin, receiver] = receiverOf(url);
      if (receiver.taken[kind] >= PLACES[kind]) return undefined;
      receiver.taken[kind]++;
      receivers.set(origin, receiver);
      return {
        leave() {
          receiver.taken[kind]--;
          // Nobody is here: it is forgotten, so the map holds no more receivers than there are
          // requests.
          if (receiver.taken.first + receiver.taken.retry === 0) receivers.delete(origin);
        },
      };
    },

    comeBackInMs(url, timeoutMs) {
      const [, receiver] = receiverOf(url);
      const now = nowMs();
      // Each who is sent away is told a later time than the one before, so that they do not all
      // come at once.
      receiver.queueEndsAt = Math.max(receiver.queueEndsAt, now) + timeoutMs / PLACES.retry;
      return Math.round(Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, receiver.queueEndsAt - now)));
    },
  };
}
