import { remember } from '../domain/remember';

/**
 * How much of a worker one receiver, and one owner of receivers, may take up.
 *
 * A dead receiver holds every request sent to it until the time-out, so without a bound it would
 * come to hold them all. A receiver here is an origin (scheme, host and port), for one server may
 * stand behind hundreds of merchants. An owner is a provider with all its merchants, else the
 * entity itself: a provider makes merchants freely, each with an origin of its own.
 *
 * An owner has places in all, and fewer at one origin: others may name that origin, too. The last
 * of an owner's places are for receivers that answered at once the last time, a few for each entity
 * and origin. So a healthy merchant never waits for its silent siblings, however many origins they
 * have or give themselves. The counts are of one process: their purpose is to share its slots, not
 * to spare the receiver.
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
  /** Its receiver answered at once when it was last attempted. */
  prompt?: boolean;
}

/**
 * A quarter of a worker's 100 slots for webhooks: three owners whose receivers are all silent leave
 * the rest to all others. At 0.2 s each it is 125 requests a second. As many first attempts, which
 * are short: what finds no place is left to a retry, so no charge waits for it.
 */
const OWNER_PLACES = 25;
/** Retries of an owner that are kept for receivers which answered at once the last time. */
const KEPT_PLACES = 5;
/** Most of the kept ones under way for one entity, and for one origin. */
const KEPT_EACH = 2;
/** One server may stand behind many owners, none of which is to have all its places. */
const ORIGIN_PLACES = 25;
/** A receiver that has recovered gets 8 retries at a time of an owner. */
const OWNER_AT_ORIGIN_PLACES = 8;

const SHORTEST_WAIT_MS = 1_000;
/**
 * A backlog is spread over no more than this, so that a receiver that is back soon gets the rest of
 * it.
 */
const LONGEST_WAIT_MS = 10 * 60_000;
/**
 * Most keys (owners, origins, entities) whose line is remembered: a few MB. A forgotten one, the
 * longest unchanged, is told a short wait once more.
 */
const LINES_MAX = 30_000;

/** Places that several share. A sharer stands in the line for them once, with all that it sends. */
interface Share {
  of: string;
  sharer: string;
  most: number;
}

/** @param nowMs any clock that does not jump */
export function createWebhookLimiter(nowMs: () => number): WebhookLimiter {
  const underWay: Record<AttemptKind, Map<string, number>> = { first: new Map(), retry: new Map() };
  /** When the last of those sent away finds a place, if each before it takes its full time. */
  const lineEndsAt = new Map<string, number>();

  const taken = (kind: AttemptKind, key: string) => underWay[kind].get(key) ?? 0;

  function add(kind: AttemptKind, key: string, n: 1 | -1): void {
    const left = taken(kind, key) + n;
    if (left > 0) underWay[kind].set(key, left);
    else underWay[kind].delete(key);
  }

  /** The first of its shares that has no place left, the narrowest first. */
  function fullShare(kind: AttemptKind, to: Addressee): Share | undefined {
    const { prompt = false } = to;
    const { entity, owner, origin, ownOrigin } = namesOf(to);
    const isFew = [entity, ownOrigin].every((key) => taken('retry', key) < KEPT_EACH);
    const kept = kind === 'first' || (prompt && isFew) ? 0 : KEPT_PLACES;
    const atOrigin = kind === 'first' ? ORIGIN_PLACES : OWNER_AT_ORIGIN_PLACES;
    const shares: Share[] = [
      { of: ownOrigin, sharer: entity, most: atOrigin },
      { of: origin, sharer: ownOrigin, most: ORIGIN_PLACES },
      { of: owner, sharer: entity, most: OWNER_PLACES - kept },
    ];
    return shares.find(({ of, most }) => taken(kind, of) >= most);
  }

  return {
    enter(kind, to) {
      if (fullShare(kind, to)) return undefined;
      const keys = Object.values(namesOf(to));
      for (const key of keys) add(kind, key, 1);
      return {
        leave() {
          for (const key of keys) add(kind, key, -1);
        },
      };
    },

    comeBackInMs(to, timeoutMs) {
      const full = fullShare('retry', to);
      if (!full) return SHORTEST_WAIT_MS;
      const now = nowMs();
      const waitMs = (key: string) => Math.max(0, (lineEndsAt.get(key) ?? 0) - now);
      const pace = timeoutMs / full.most;
      const line = `line ${full.of}`;
      const [lineMs, ownMs] = [waitMs(line), waitMs(full.sharer)];
      // A sharer that waits already lengthens nobody else's line. What else it sends comes no
      // faster than that line is long, so that all come no faster than places are free.
      const wish = ownMs > 0 ? ownMs + Math.max(pace, lineMs) : lineMs + pace;
      const wait = Math.round(Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, wish)));
      for (const key of ownMs > 0 ? [full.sharer] : [full.sharer, line]) {
        remember(lineEndsAt, LINES_MAX, key, now + wait);
      }
      return wait;
    },
  };
}

/** Names that an attempt is counted for. A provider's webhooks are not its merchants'. */
function namesOf({ url, entityId, ownerId }: Addressee) {
  const origin = URL.canParse(url) ? new URL(url).origin : url;
  return {
    entity: `entity ${entityId}`,
    owner: `owner ${ownerId}`,
    origin,
    ownOrigin: `${ownerId} ${origin}`,
  };
}
