import { remember } from '../domain/remember';

/**
 * Shares of a worker for each origin (scheme, host and port) and each owner of receivers: a dead
 * receiver holds each request until its time-out.
 *
 * An owner is a provider with all its merchants, else the entity itself. It has slots in all, and
 * fewer at one origin, which others may name too. Its last slots are for receivers that answered at
 * once the last time. So a healthy merchant never waits for silent siblings, however many origins
 * they have. The counts are of one process: they share its slots, and spare no receiver.
 */

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
 * the rest to others. At 0.2 s each it is 125 requests a second. First attempts have as many.
 */
const OWNER_SLOTS = 25;
/** Retries of an owner that are kept for receivers which answered at once the last time. */
const KEPT_SLOTS = 5;
/** Most of the kept ones under way for one entity, and for one origin. */
const KEPT_EACH = 2;
/** One server may stand behind many owners; no owner has all its slots. */
const ORIGIN_SLOTS = 25;
/** A receiver that has recovered gets 8 retries at a time of an owner. */
const OWNER_AT_ORIGIN_SLOTS = 8;

const SHORTEST_WAIT_MS = 1_000;
/** Retries wait no longer than this, so that a recovered receiver gets its backlog soon. */
const LONGEST_WAIT_MS = 10 * 60_000;
/** Keys whose line is remembered: a few MB. A forgotten key gets a short wait once more. */
const LINES_MAX = 30_000;

/** Slots that several share. */
interface Share {
  of: string;
  sharer: string;
  most: number;
}

/** @param nowMs any clock that does not jump */
export function createWebhookLimiter(nowMs: () => number) {
  const underWay = new Map<string, number>();
  /** When the last retry that was sent away finds a slot, if each before it takes its full time. */
  const lineEndsAt = new Map<string, number>();

  const taken = (key: string) => underWay.get(key) ?? 0;

  function add(key: string, n: 1 | -1): void {
    const left = taken(key) + n;
    if (left > 0) underWay.set(key, left);
    else underWay.delete(key);
  }

  /** The first of its shares that has no slot left, the narrowest first. */
  function fullShare(kind: AttemptKind, to: Addressee): Share | undefined {
    const { entity, owner, origin, ownOrigin } = keysOf(kind, to);
    const isFirst = kind === 'first';
    const isFew = taken(entity) < KEPT_EACH && taken(ownOrigin) < KEPT_EACH;
    const kept = isFirst || (to.prompt === true && isFew) ? 0 : KEPT_SLOTS;
    const shares: Share[] = [
      { of: ownOrigin, sharer: entity, most: isFirst ? ORIGIN_SLOTS : OWNER_AT_ORIGIN_SLOTS },
      { of: origin, sharer: ownOrigin, most: ORIGIN_SLOTS },
      { of: owner, sharer: entity, most: OWNER_SLOTS - kept },
    ];
    return shares.find(({ of, most }) => taken(of) >= most);
  }

  return {
    /** Takes a slot for one request; undefined where its receiver's or owner's are all taken. */
    enter(kind: AttemptKind, to: Addressee): { leave(): void } | undefined {
      if (fullShare(kind, to)) return undefined;
      const keys = Object.values(keysOf(kind, to));
      for (const key of keys) add(key, 1);
      return { leave: () => keys.forEach((key) => add(key, -1)) };
    },

    /** In how many milliseconds a retry that found no slot comes again. */
    comeBackInMs(to: Addressee, timeoutMs: number): number {
      const full = fullShare('retry', to);
      if (!full) return SHORTEST_WAIT_MS;
      const now = nowMs();
      const waitMs = (key: string) => Math.max(0, (lineEndsAt.get(key) ?? 0) - now);
      const pace = timeoutMs / full.most;
      const line = `line ${full.of}`;
      const [lineMs, ownMs] = [waitMs(line), waitMs(full.sharer)];
      // A sharer that waits already queues behind its own last turn, and lengthens no other's line.
      const wish = ownMs > 0 ? ownMs + Math.max(pace, lineMs) : lineMs + pace;
      const wait = Math.round(Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, wish)));
      for (const key of ownMs > 0 ? [full.sharer] : [full.sharer, line]) {
        remember(lineEndsAt, LINES_MAX, key, now + wait);
      }
      return wait;
    },
  };
}

/** The shares that count an attempt. A provider's webhooks are not its merchants'. */
function keysOf(kind: AttemptKind, { url, entityId, ownerId }: Addressee) {
  const origin = URL.canParse(url) ? new URL(url).origin : url;
  return {
    entity: `${kind} entity ${entityId}`,
    owner: `${kind} owner ${ownerId}`,
    origin: `${kind} ${origin}`,
    ownOrigin: `${kind} ${ownerId} ${origin}`,
  };
}
