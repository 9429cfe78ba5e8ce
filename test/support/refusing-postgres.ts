import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** A Postgres that lets nobody in, for the reason of a SQLSTATE. */
export async function startRefusingPostgres(
  sqlState: string,
  message: string,
): Promise<{ url: string; stop: () => void }> {
  const fields = `SFATAL\0VFATAL\0C${sqlState}\0M${message}\0\0`;
  const answer = Buffer.alloc(5 + Buffer.byteLength(fields));
  answer.write('E');
  answer.writeInt32BE(answer.length - 1, 1);
  answer.write(fields, 5);
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `postgresql://assent@127.0.0.1:${(server.address() as AddressInfo).port}/assent`,
    stop: () => server.close(),
  };
}
