import * as ipaddr from 'ipaddr.js';
import type { Request } from 'express';

type Connected = Pick<Request, 'ip' | 'socket'>;

/**
 * Who connects, or whom a trusted proxy names in `X-Forwarded-For`: what a client writes there
 * itself stands left of what the proxy adds, and is not looked at, as long as the client's own
 * address is none that is trusted. So balancers alone may be trusted, and no network that others
 * share with them. A proxy that names no address is the client.
 */
export function clientAddress(req: Connected): string {
  return parsed(req).toString();
}

/** What counts as one address: for IPv6 the /64, of which one customer of a provider has all. */
export function countedAddress(req: Connected): string {
  return parsed(req).toByteArray().slice(0, 8).join('.');
}

function parsed({ ip = '', socket }: Connected): ipaddr.IPv4 | ipaddr.IPv6 {
  const address = ipaddr.isValid(ip) ? ip : (socket.remoteAddress ?? '0.0.0.0');
  // The zone of a link-local address is the name of an interface, or whatever somebody wrote there.
  return ipaddr.process(address.replace(/%.*/s, ''));
}
