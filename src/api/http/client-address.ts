import type { Socket } from 'node:net';
import type { Request } from 'express';
import * as ipaddr from 'ipaddr.js';

type Connected = Pick<Request, 'ip' | 'socket'>;

interface Address {
  /** As Express has it. */
  ip: string;
  shown: string;
  counted: string;
}

/** The address of a connection's last request, which is most often the next one's. */
const last = new WeakMap<Socket, Address>();

/**
 * The address that connects, or that a trusted proxy adds to `X-Forwarded-For`. An address that the
 * client writes there stands left of it, and is read only if the client's own is trusted. So trust
 * balancers alone, and no network that others share.
 */
export const clientAddress = (req: Connected): string => parsed(req).shown;

/** Addresses that count as one: for IPv6 the /64, which one customer of a provider has. */
export const countedAddress = (req: Connected): string => parsed(req).counted;

function parsed({ ip = '', socket }: Connected): Address {
  const known = last.get(socket);
  if (known?.ip === ip) return known;
  const text = ipaddr.isValid(ip) ? ip : (socket.remoteAddress ?? '0.0.0.0');
  // The zone of a link-local address may be any text.
  const address = ipaddr.process(text.replace(/%.*/s, ''));
  const found = { ip, shown: address.toString(), counted: address.toByteArray().slice(0, 8).join('.') };
  last.set(socket, found);
  return found;
}
