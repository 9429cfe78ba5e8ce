import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ReadyProcess, type Launched } from '../launch/process';
import { isUp } from '../launch/ready';
import { freePorts } from './free-port';
import { programOf } from './installation';
import { keys } from './keyring';

/** Connections that are opened at a time: the queue of those not yet accepted is short. */
const OPENED_AT_ONCE = 100;

/** The same for all processes of a test: a database takes no second keyring. */

export const environmentOf = (databaseUrl: string, port: number, more: NodeJS.ProcessEnv = {}) => ({
  ...process.env,
  ASSENT_MODE: 'sandbox',
  DATABASE_URL: databaseUrl,
  ASSENT_KEYS: keys,
  // Nothing answers there.
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  PORT: String(port),
  METRICS_PORT: '0',
  ...more,
});

/** An API as a process of its own, and connections to it. */
export class ApiProcess extends ReadyProcess {
  private readonly open: Socket[] = [];

  private constructor(
    launched: Launched,
    readonly port: number,
    readonly metricsPort: number,
  ) {
    super(launched, () => isUp(`http://127.0.0.1:${port}`));
  }

  /** @param options of Node */
  static async started(
    databaseUrl: string,
    options: string[] = [],
    more: NodeJS.ProcessEnv = {},
  ): Promise<ApiProcess> {
    const [port = 0, metricsPort = 0] = await freePorts(2);
    const environment = environmentOf(databaseUrl, port, { METRICS_PORT: String(metricsPort), ...more });
    const args = [...options, await programOf('api')];
    const api = new ApiProcess({ command: process.execPath, args, environment }, port, metricsPort);
    await api.start();
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A connection of that address, once it is there; its later end is no error. */
  async from(address: string): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: this.port, localAddress: address, noDelay: true });
    this.open.push(socket);
    await once(socket, 'connect');
    return socket.on('error', () => undefined);
  }

  async manyFrom(address: string, count: number): Promise<Socket[]> {
    const made: Socket[] = [];
    while (made.length < count) {
      const some = Math.min(OPENED_AT_ONCE, count - made.length);
      made.push(...(await Promise.all(Array.from({ length: some }, () => this.from(address)))));
    }
    return made;
  }

  /** NaN where the connection is reset. */
  async statusFrom(address: string): Promise<number> {
    const answer = await this.from(address)
      .then((socket) =>
        said(socket, 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', /\r\n\r\n/),
      )
      .catch(() => '');
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
  }

  closeConnections(): void {
    for (const socket of this.open.splice(0)) socket.destroy();
  }
}

/** The answer to `bytes`, until the other side hangs up or has said enough. */
export async function said(socket: Socket, bytes: string, enough: RegExp): Promise<string> {
  let received = '';
  const over = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (enough.test(received)) resolve();
    });
    socket.once('close', () => resolve());
  });
  socket.write(bytes);
  await over;
  return received;
}
