import { isIP, connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import * as ipaddr from 'ipaddr.js';
import { Client, type buildConnector } from 'undici';
import { remember } from '../domain/remember';
import type { Asker, Resolve } from './webhook-lookup';

/**
 * Connections to receivers, and to allowed addresses alone.
 *
 * Each is in the hands of one attempt at a time: when that attempt's time is up, whatever its
 * connection is at, looking a name up, connecting or agreeing on keys, ends with it. After an
 * attempt that went well its connection is kept for the next to the same origin, for as long as the
 * receiver keeps it open, seconds at most.
 */
export interface Connections {
  /** A kept one, or one that is made when the first request is sent through it. */
  take(origin: string, asker: Asker): Connection;
  /** Closes those that are kept. */
  close(): void;
}

interface Connection {
  client: Client;
  /** After an attempt that went well: it is kept where it is still good. */
  giveBack(): void;
  /** Ends whatever it is at. */
  drop(): void;
}

/** More would be descriptors held for nothing: a burst to one bank keeps 64 of them busy. */
const KEPT_MAX = 256;
/** Resumed sessions save the receiver, and us, a signature each. */
const TLS_SESSIONS_MAX = 100;

export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

interface Lane {
  client: Client;
  connected: boolean;
  /** Of the attempt that has it in hand. */
  asker: Asker;
}

export function createConnections(resolve: Resolve, allowed: (address: string) => boolean): Connections {
  const kept = new Map<string, Lane[]>();
  let keptCount = 0;
  const sessions = new Map<string, Buffer>();

  function unkeep(origin: string, lane: Lane): void {
    const lanes = kept.get(origin) ?? [];
    const at = lanes.indexOf(lane);
    if (at < 0) return;
    lanes.splice(at, 1);
    keptCount--;
    if (lanes.length === 0) kept.delete(origin);
  }

  function open(origin: string, asker: Asker): Lane {
    const client = new Client(origin, {
      connect: ({ hostname, port, protocol }, callback) =>
        connect(hostname, Number(port), protocol === 'https:', lane.asker, callback),
    });
    const lane: Lane = { client, connected: false, asker };
    client.on('connect', () => {
      lane.connected = true;
    });
    client.on('disconnect', () => {
      lane.connected = false;
      unkeep(origin, lane);
    });
    return lane;
  }

  function connect(
    hostname: string,
    port: number,
    secure: boolean,
    { signal, ...asker }: Asker,
    callback: buildConnector.Callback,
  ): void {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    // A literal is never looked up.
    if (isIP(host) !== 0 && !allowed(host)) {
      callback(notPublic(), null);
      return;
    }
    const lookup = guardedLookup(resolve, allowed, { signal, ...asker });
    const socket = secure
      ? secureSocket(host, port || 443, lookup)
      : connectTcp({ host, port: port || 80, lookup });
    const stop = () => void socket.destroy(signal.reason as Error);
    let answer: buildConnector.Callback | undefined = callback;
    const end = (...args: buildConnector.CallbackArgs) => {
      signal.removeEventListener('abort', stop);
      answer?.(...args);
      answer = undefined;
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.setNoDelay(true);
    socket.once(secure ? 'secureConnect' : 'connect', () => end(null, socket));
    // Heard for good; once the connection stands, undici acts on it.
    socket.on('error', (error) => end(error, null));
  }

  function secureSocket(host: string, port: number, lookup: LookupFunction): Socket {
    const session = sessions.get(host);
    const socket = connectTls({
      host,
      port,
      lookup,
      // By its standard (RFC 6066) it is never an address.
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
      ...(session && { session }),
    });
    socket.on('session', (latest) => remember(sessions, TLS_SESSIONS_MAX, host, latest));
    return socket;
  }

  return {
    take(origin, asker) {
      const lane = kept.get(origin)?.at(-1) ?? open(origin, asker);
      unkeep(origin, lane);
      lane.asker = asker;
      return {
        client: lane.client,
        giveBack() {
          if (!lane.connected || lane.client.destroyed || keptCount >= KEPT_MAX) {
            void lane.client.destroy();
            return;
          }
          kept.set(origin, [...(kept.get(origin) ?? []), lane]);
          keptCount++;
        },
        drop: () => void lane.client.destroy(),
      };
    },
    close() {
      for (const lane of [...kept.values()].flat()) void lane.client.destroy();
    },
  };
}

function guardedLookup(
  resolve: Resolve,
  allowed: (address: string) => boolean,
  asker: Asker,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, asker).then(
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

function notPublic(): AddressRefused {
  return new AddressRefused('the address is not public');
}

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether an IP address, in either notation, belongs to the open Internet. */
export function isPublicAddress(address: string): boolean {
  const parsed = ipaddr.parse(address);
  // Leaves out IPv4 addresses in IPv6 clothing, and all ways to tunnel to one.
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}
