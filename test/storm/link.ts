import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * - `open`: bytes pass as they come
 * - `slow`: each piece waits a while
 * - `stalled`: nothing passes, on new connections neither; later all of it does, as after a cable
 *   was put back
 * - `halfOpen`: the far side is gone and the near side is not told; later its connections break, as
 *   after a firewall has forgotten them
 */
export type Passage = 'open' | 'slow' | 'stalled' | 'halfOpen';

/**
 * Each piece waits so long on a slow link, either way: some times what a line between two
 * continents takes.
 */
const SLOW_MS = 200;
const CONNECTIONS_MAX = 500;

interface Pair {
  near: Socket;
  far: Socket;
}

/** A TCP proxy: one party's way to one server, which can be made bad. */
export class Link {
  private passage: Passage = 'open';
  private readonly pairs = new Set<Pair>();
  private waiting: (() => void)[] = [];
  private readonly server = createServer({ allowHalfOpen: false }, (near) => this.accept(near));

  constructor(private readonly target: number) {
    this.server.maxConnections = CONNECTIONS_MAX;
  }

  async listen(): Promise<number> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  /** Breaks all connections, as a balancer's restart does. */
  cut(): void {
    for (const { near, far } of this.pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  become(passage: Passage): void {
    const before = this.passage;
    this.passage = passage;
    if (passage === 'halfOpen') for (const { far } of this.pairs) far.resetAndDestroy();
    if (before === 'halfOpen') for (const { near } of this.pairs) near.resetAndDestroy();
    if (passage === 'open' || passage === 'slow') {
      const waiting = this.waiting;
      this.waiting = [];
      for (const go of waiting) go();
    }
  }

  async close(): Promise<void> {
    this.become('open');
    const closed = once(this.server, 'close');
    this.server.close();
    this.cut();
    await closed;
  }

  private accept(near: Socket): void {
    near.on('error', () => undefined);
    near.setNoDelay(true);
    if (this.passage === 'stalled' || this.passage === 'halfOpen') {
      near.pause();
      const isHalfOpen = this.passage === 'halfOpen';
      this.waiting.push(() => (isHalfOpen ? near.resetAndDestroy() : this.join(near)));
      return;
    }
    this.join(near);
  }

  private join(near: Socket): void {
    if (near.destroyed) return;
    const far = connect(this.target, '127.0.0.1');
    far.setNoDelay(true);
    const pair = { near, far };
    this.pairs.add(pair);
    this.carry(near, far);
    this.carry(far, near);
    far.on('error', () => undefined);
    near.on('close', () => {
      this.pairs.delete(pair);
      far.destroy();
    });
    far.on('close', (broken) => {
      // A caller at a half-open link is not told.
      if (this.passage === 'halfOpen') return;
      if (broken) near.resetAndDestroy();
      else near.end();
    });
  }

  /** One piece after the other: the next is read when this one has been taken. */
  private carry(from: Socket, to: Socket): void {
    from.on('data', (piece) => {
      if (this.passage === 'open') {
        if (!to.write(piece)) this.pauseUntilDrained(from, to);
        return;
      }
      from.pause();
      const pass = () => {
        if (!to.destroyed) to.write(piece);
        from.resume();
      };
      if (this.passage === 'slow') setTimeout(pass, SLOW_MS);
      else if (this.passage === 'stalled') this.waiting.push(pass);
    });
  }

  private pauseUntilDrained(from: Socket, to: Socket): void {
    from.pause();
    to.once('drain', () => from.resume());
  }
}
