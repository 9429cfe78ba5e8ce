import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import * as ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { withDeadline } from '../process/deadline';

/**
 * Connections to allowed addresses alone.
 *
 * The check is part of connecting. The name is resolved here, and the socket gets the addresses
 * that were checked: no second DNS answer counts. A literal address skips the look-up and is
 * checked beside it.
 */
export function connectTo(
  allowed: (address: string) => boolean,
  resolve: Resolve,
  connectMs: number,
): buildConnector.connector {
  const connect = buildConnector({ timeout: connectMs, lookup: guarded(resolve, allowed) });
  return (options, callback) => {
    if (isIP(options.hostname) !== 0 && !allowed(options.hostname)) callback(notPublic(), null);
    else connect(options, callback);
  };
}

export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const notPublic = () => new AddressRefused('the address is not public');

function guarded(resolve: Resolve, allowed: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || !addresses.every(({ address }) => allowed(address))) callback(notPublic(), []);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether an IP address, in either notation, belongs to the open Internet. */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address);
  // Refuses IPv4 addresses that are written as IPv6, and all ways to tunnel to one.
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/**
 * The machine's own look-up, which knows `localhost` and the hosts file. For sandboxes: it blocks
 * one of four threads of the process for as long as a DNS zone does not answer.
 */
export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });

/** For one packet; a lost one leaves time for a second within a first attempt's 2 s. */
const PACKET_TIMEOUT_MS = 700;
const TRIES = 4;
/**
 * Longest wait for the second family's addresses once the first's are known (RFC 8305, 3): some
 * servers drop that question.
 */
const OTHER_FAMILY_MS = 50;
/** A connection tries them one after the other, within its time. */
const ADDRESSES_MAX = 8;

/**
 * A look-up by DNS packets, which blocks no thread however many zones do not answer.
 *
 * @param servers DNS servers as `address:port`; those of the machine unless a test brings others
 */
export function dnsResolve(servers?: string[]): Resolve {
  return async (hostname) => {
    // A new one asks the DNS servers that the machine has now.
    const resolver = new Resolver({ timeout: PACKET_TIMEOUT_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const both = [
      resolver.resolve4(hostname).then((found) => found.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(hostname).then((found) => found.map((address) => ({ address, family: 6 }))),
    ];
    const settled = Promise.allSettled(both);
    const first = await Promise.any(both).catch(() => undefined);
    if (!first) {
      const code = (await settled).every(isNoSuchName) ? 'ENOTFOUND' : 'EAI_AGAIN';
      throw Object.assign(new Error(code), { code });
    }
    const outcomes = await withDeadline(settled, OTHER_FAMILY_MS, () => undefined);
    const found = outcomes?.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])) ?? first;
    return found.slice(0, ADDRESSES_MAX);
  };
}

function isNoSuchName(outcome: PromiseSettledResult<unknown>): boolean {
  if (outcome.status === 'fulfilled') return false;
  const { code } = outcome.reason as { code?: unknown };
  return code === 'ENOTFOUND' || code === 'ENODATA';
}
