import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { untilAborted, withDeadline } from '../deadline';

/**
 * Looks receivers' names up without holding anybody up.
 *
 * The system's own way, getaddrinfo, blocks one of four threads of the process for as long as a
 * dead zone says nothing, which may be half a minute, and cannot be called off. Here each look-up
 * is a few packets that wait for an answer, and ends when its caller's time does. What getaddrinfo
 * knows beside DNS is read here: `localhost`, and the machine's hosts file, for sandboxes. Search
 * domains are not added: a receiver's name is written in full.
 *
 * Those who ask for the same name meanwhile share its answer. An answer is not kept: names move.
 */
export type Resolve = (hostname: string, asker: Asker) => Promise<LookupAddress[]>;

export interface Asker {
  /** Whose webhook it is. */
  entityId: string;
  /** Its reason ends the wait, and the look-up, if nobody else waits for it. */
  signal: AbortSignal;
}

/**
 * An entity has one URL. A second look-up is that of the URL before, when it has just been changed.
 */
const PER_ENTITY = 2;
/**
 * Each holds a socket. That is twice what the slots of a worker can send to receivers that do not
 * answer.
 */
const AT_ONCE = 512;
/**
 * For one packet; c-ares doubles it with each try. A lost packet then still leaves time in a first
 * attempt's 2 s.
 */
const PACKET_TIMEOUT_MS = 700;
const TRIES = 4;
/**
 * With one family's addresses in hand, how long the other's are waited for (RFC 8305, 3): some
 * servers drop that question.
 */
const OTHER_FAMILY_MS = 50;
/** The connection tries one after the other; a list without end would only use up its time. */
const ADDRESSES_MAX = 8;

/** As Node's errors: the code is shown to the receiver in words. */
class LookupFailed extends Error {
  override readonly name = 'LookupFailed';
  constructor(readonly code: 'ENOTFOUND' | 'EAI_AGAIN' | 'TOO_MANY_LOOKUPS') {
    super(code);
  }
}

interface Running {
  addresses: Promise<LookupAddress[]>;
  waiting: number;
  /** Ends it, and gives its places back. */
  end: () => void;
}

interface Sources {
  /** DNS servers as `address:port`. */
  servers?: string[];
  hostsFile?: string;
}

/** @param sources those of the machine unless a test brings its own */
export function createNameLookups({ servers, hostsFile = '/etc/hosts' }: Sources = {}): Resolve {
  const running = new Map<string, Running>();
  /** How many each entity has begun. */
  const ofEntity = new Map<string, number>();

  function begin(hostname: string, entityId: string): Running {
    const own = ofEntity.get(entityId) ?? 0;
    if (own >= PER_ENTITY || running.size >= AT_ONCE) throw new LookupFailed('TOO_MANY_LOOKUPS');
    const resolver = new Resolver({ timeout: PACKET_TIMEOUT_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const over = new AbortController();
    const started: Running = {
      addresses: lookUp(resolver, hostsFile, hostname, over.signal),
      waiting: 0,
      end() {
        if (over.signal.aborted) return;
        over.abort();
        resolver.cancel();
        running.delete(hostname);
        const left = (ofEntity.get(entityId) ?? 1) - 1;
        if (left === 0) ofEntity.delete(entityId);
        else ofEntity.set(entityId, left);
      },
    };
    running.set(hostname, started);
    ofEntity.set(entityId, own + 1);
    // Heard also when all who waited have left.
    started.addresses.then(started.end, started.end);
    return started;
  }

  return async (hostname, { entityId, signal }) => {
    const lookup = running.get(hostname) ?? begin(hostname, entityId);
    lookup.waiting++;
    try {
      return await untilAborted(lookup.addresses, signal);
    } finally {
      lookup.waiting--;
      if (lookup.waiting === 0) lookup.end();
    }
  };
}

async function lookUp(
  resolver: Resolver,
  hostsFile: string,
  hostname: string,
  over: AbortSignal,
): Promise<LookupAddress[]> {
  const name = hostname.replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) return LOOPBACK;
  const listed = await inHostsFile(hostsFile, name);
  over.throwIfAborted();
  return listed.length > 0 ? listed : askServers(resolver, hostname);
}

/** RFC 6761: no server is asked for it. */
const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

async function inHostsFile(file: string, name: string): Promise<LookupAddress[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    const isName = names.some((one) => one.toLowerCase() === name);
    return isName ? [{ address, family: address.includes(':') ? 6 : 4 }] : [];
  });
}

async function askServers(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const ask = async (family: 4 | 6) => {
    const found = await (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname));
    return found.map((address) => ({ address, family }));
  };
  const both = [ask(4), ask(6)];
  const settled = Promise.allSettled(both);
  // One that has addresses ends the wait for the other; one that has none does not.
  const first = await Promise.any(both).catch(() => undefined);
  if (!first) throw new LookupFailed((await settled).every(isNoSuchName) ? 'ENOTFOUND' : 'EAI_AGAIN');
  const outcomes = await withDeadline(settled, OTHER_FAMILY_MS, () => undefined);
  const found = outcomes?.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])) ?? first;
  return found.slice(0, ADDRESSES_MAX);
}

function isNoSuchName(outcome: PromiseSettledResult<unknown>): boolean {
  if (outcome.status === 'fulfilled') return false;
  const { code } = outcome.reason as { code?: unknown };
  return code === 'ENOTFOUND' || code === 'ENODATA';
}
