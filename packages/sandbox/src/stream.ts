import type { Request, Response } from 'express';

/* Server-sent events to all open pages. */

/** Tabs of one person, each with a connection. One more tab drops the oldest connection. */
const READERS_MAX = 50;
/** A slow reader is dropped, to bound memory; its browser reconnects and gets all the state. */
const BEHIND_BYTES_MAX = 8 * 1024 * 1024;
/** Balancers and browsers close a connection that is silent for a minute. */
const HEARTBEAT_MS = 20_000;

export class Stream {
  private readonly readers = new Set<Response>();
  private readonly heartbeat: NodeJS.Timeout;
  private isClosed = false;

  constructor() {
    this.heartbeat = setInterval(() => this.write(': alive\n\n'), HEARTBEAT_MS);
    this.heartbeat.unref();
  }

  /** @returns false after `close`: a page that reconnects would keep the process from ending */
  open(req: Request, res: Response, first: object): boolean {
    if (this.isClosed) return false;
    // A client that holds many connections must not keep out a later page. The browser of a
    // dropped page reconnects by itself.
    const [oldest] = this.readers;
    if (oldest && this.readers.size >= READERS_MAX) {
      this.readers.delete(oldest);
      oldest.destroy();
    }
    res.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
    res.flushHeaders();
    res.write(`retry: 1000\n${eventOf('all', first)}`);
    this.readers.add(res);
    req.once('close', () => this.readers.delete(res));
    res.once('close', () => this.readers.delete(res));
    return true;
  }

  publish(name: 'state' | 'exchange', data: object): void {
    if (this.readers.size > 0) this.write(eventOf(name, data));
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.heartbeat);
    for (const reader of this.readers) reader.end();
    this.readers.clear();
  }

  private write(text: string): void {
    for (const reader of this.readers) {
      if (reader.writableLength > BEHIND_BYTES_MAX) reader.destroy();
      else reader.write(text);
    }
  }
}

function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
