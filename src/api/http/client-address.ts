import * as ipaddr from 'ipaddr.js';
import type { Request } from 'express';

type Connected = Pick<Request, 'ip' | 'socket'>;

/**
 * The address that connects, or that a trusted proxy adds to `X-Forwarded-For`. An address that the
 * client writes there stands left of it, and is read only if the client's own is trusted. So trust
 * balancers alone, and no network that others share.
 */
export function clientAddress(req: Connected): string {
  return parsed(req).toString();
}

/** Addresses that count as one: for IPv6 the /64, which one customer of a provider has. */
export function countedAddress(req: Connected): string {
  return parsed(req).toByteArray().slice(0, 8).join('.');
}

function parsed({ ip = '', socket }: Connected): ipaddr.IPv4 | ipaddr.IPv6 {
  const address = ipaddr.isValid(ip) ? ip : (socket.remoteAddress ?? '0.0.0.0');
  // The zone of a link-local address may be any text.
  return ipaddr.process(address.replace(/%.*/s, ''));
}
