import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { ConfigError } from './config';

/**
 * Ends when the server listens.
 *
 * @param setting the one that named the port
 * @throws ConfigError saying what to set, where the port is taken
 */
export async function listening(server: Server, port: number, setting: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new ConfigError(
              `${setting}: ${port} is taken. Stop what listens there, or set ${setting} or PORT_OFFSET to use another.`,
            )
          : error,
      );
    });
  });
}

/** A port of the loopback address that nothing listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
