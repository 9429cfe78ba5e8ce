import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection for bytes that no client of HTTP would send. */
export class RawConnection {
  received = '';
  /** The other side has closed while we were sending: what it said last may be lost. */
  wasReset = false;
  private readonly watchers = new Set<() => void>();

  private constructor(private readonly socket: Socket) {
    socket.on('error', () => (this.wasReset = true));
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
      this.changed();
    });
    for (const event of ['end', 'close']) socket.on(event, () => this.changed());
  }

  static async to(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** Ends when all of it is in the system's hands, or the other side has hung up. */
  async send(bytes: string | Buffer): Promise<void> {
    if (this.socket.destroyed) return;
    await new Promise<void>((resolve) => {
      this.socket.write(bytes, () => resolve());
    });
  }

  /** Reads no more. */
  pause(): void {
    this.socket.pause();
  }

  /** The statuses of the answers so far. */
  statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map(([, status]) => Number(status));
  }

  /** Waits for that many answers; ends earlier where the other side hangs up. */
  async answers(count: number): Promise<number[]> {
    await this.until(() => this.hungUp || this.statuses().length >= count);
    return this.statuses();
  }

  /** Ends when the other side has hung up. */
  async closed(): Promise<void> {
    await this.until(() => this.hungUp);
  }

  get hungUp(): boolean {
    return this.socket.readableEnded || this.socket.destroyed;
  }

  close(): void {
    this.socket.destroy();
  }

  private changed(): void {
    for (const poll of this.watchers) poll();
  }

  private async until(holds: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      const poll = () => {
        if (!holds()) return;
        this.watchers.delete(poll);
        resolve();
      };
      this.watchers.add(poll);
      poll();
    });
  }
}

export const request = (method: string, path: string, headers: readonly string[] = [], body = '') =>
  [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n');
