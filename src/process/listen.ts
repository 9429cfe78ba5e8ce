import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { ConfigError } from '../settings/config';

/**
 * @param setting of the port; the setting of the address ends with HOST instead
 * @throws ConfigError if the port or the address cannot be had
 */
export async function listening(server: Server, port: number, setting: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (error: NodeJS.ErrnoException) => {
      const words = whyNot(error.code, port, setting);
      reject(words === undefined ? error : new ConfigError(words));
    });
  });
}

function whyNot(code: string | undefined, port: number, setting: string): string | undefined {
  if (code === 'EADDRINUSE') {
    return `${setting}: ${port} is taken. Stop what listens there, or set ${setting} or PORT_OFFSET to use another.`;
  }
  if (code === 'EACCES') {
    return `${setting}: ${port} is not for this user to listen on. Set one above 1023, or let a balancer have ${port}.`;
  }
  if (code === 'EADDRNOTAVAIL') {
    return `${setting.replace(/PORT$/, 'HOST')}: is no address of this machine. 0.0.0.0 is every one that it has.`;
  }
  return undefined;
}

/** A free port of the loopback address. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
