import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { forgeryIn, type WebhookBody } from './verification';

/** One item of a genuine webhook that was not a repeat. */
export interface ReceivedEvent {
  n: number;
  deliveryId: string;
  type: string;
  batchId: string | undefined;
  item: Record<string, unknown>;
}

/** One request to the webhook address, whatever became of it. */
export interface Attempt {
  deliveryId: string;
  type: string;
  /** The body as it came, to compare the bytes of a retry with those before. */
  body: string;
  outcome: 'taken' | 'repeat' | 'forged' | 'fault';
  forgery?: string;
  /** Milliseconds since 1970, on the receiver's clock. */
  at: number;
}

/**
 * How the receiver misbehaves, for the next `times` webhooks (of one type, where `type` is given).
 */
export type Fault = { times: number; type?: string } & (
  | { kind: 'status'; status: number }
  | { kind: 'hang' } // takes the request and never answers
  | { kind: 'slow'; delayMs: number } // does its work, but answers late
);

export type Controls = Record<string, (body: unknown) => unknown>;

/** A hundred items of the longest texts that the network allows stay below this. */
const LARGEST_BODY_BYTES = 2 * 1024 * 1024;
/**
 * A party keeps all it hears so that its owner can compare; past this, something sends in a loop.
 */
const MOST_ATTEMPTS = 100_000;
/** A long poll ends in time for any client's own limit; the owner asks again. */
const LONGEST_POLL_MS = 20_000;

/**
 * A receiver of webhooks, which is all that a simulated merchant is and the ear of a simulated
 * bank: checks every proof, answers 401 to forgeries and 200 to the rest, drops repeats by
 * `X-Service-Delivery`, and hands on each item once.
 *
 * It listens on the loopback address only, for `/control/…` beside it obeys anyone who asks.
 */
export class Receiver {
  private readonly server = createServer((request, response) => {
    this.route(request, response).catch((error: unknown) => {
      if (!response.headersSent) answerJson(response, 500, { error: String(error) });
    });
  });
  private readonly arrivals = new EventEmitter().setMaxListeners(0);
  private readonly delivered = new Set<string>();
  private readonly attempts: Attempt[] = [];
  private readonly events: ReceivedEvent[] = [];
  private readonly faults: Fault[] = [];
  private readonly controls: Controls;
  /** Whether it keeps what it has taken; a forgery is kept in any case. */
  private readonly keeps: boolean;
  private heard = 0;

  constructor(
    private readonly webhookSecret: string,
    private readonly handle: (event: ReceivedEvent) => void = () => undefined,
    { controls = {}, keeps = true }: { controls?: Controls; keeps?: boolean } = {},
  ) {
    this.keeps = keeps;
    this.controls = {
      'GET /control/attempts': () => this.attempts,
      'POST /control/faults': (fault) => this.misbehave(fault as Fault),
      ...controls,
    };
  }

  misbehave(fault: Fault): object {
    this.faults.push(fault);
    return {};
  }

  get forged(): string[] {
    return this.attempts
      .filter(({ outcome }) => outcome === 'forged')
      .map(({ deliveryId, forgery }) => `${deliveryId}: ${forgery}`);
  }

  get received(): readonly Attempt[] {
    return this.attempts;
  }

  /**
   * @param port 0 for any that is free
   * @returns the port it listens on
   */
  async listen(port: number): Promise<number> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  /** Also cuts connections that a fault keeps hanging. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await bodyOf(request);
    if (bytes === undefined) {
      answerJson(response, 413, { error: `more than ${LARGEST_BODY_BYTES} bytes` });
      return;
    }
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const route = `${request.method} ${url.pathname}`;
    const control = this.controls[route];
    if (route === 'POST /webhooks') await this.receive(request, bytes, response);
    else if (route === 'GET /control/events') answerJson(response, 200, await this.poll(url.searchParams));
    else if (control) answerJson(response, 200, control(JSON.parse(bytes.toString() || 'null')));
    else answerJson(response, 404, { error: `no ${route}` });
  }

  private async receive(request: IncomingMessage, bytes: Buffer, response: ServerResponse): Promise<void> {
    if (this.attempts.length >= MOST_ATTEMPTS) {
      answerJson(response, 507, { error: 'this simulation keeps no more' });
      return;
    }
    const type = String(request.headers['x-service-event']);
    const deliveryId = String(request.headers['x-service-delivery']);
    const forgery = forgeryIn(this.webhookSecret, request.headers, bytes);
    const note = (outcome: Attempt['outcome']) => {
      if (!this.keeps && outcome !== 'forged') return;
      const said = forgery !== undefined && { forgery };
      this.attempts.push({ deliveryId, type, body: bytes.toString(), outcome, ...said, at: Date.now() });
    };

    if (forgery !== undefined) {
      note('forged');
      answerJson(response, 401, { error: forgery });
      return;
    }
    const fault = this.nextFault(type);
    if (fault !== undefined && fault.kind !== 'slow') {
      note('fault');
      if (fault.kind === 'status') answerJson(response, fault.status, { error: 'out of order, as ordered' });
      return;
    }
    const repeat = this.delivered.has(deliveryId);
    note(repeat ? 'repeat' : 'taken');
    if (!repeat) {
      this.delivered.add(deliveryId);
      this.take(deliveryId, JSON.parse(bytes.toString()) as WebhookBody);
    }
    if (fault) await wait(fault.delayMs, undefined, { ref: false });
    answerJson(response, 200, { received: true });
  }

  private take(deliveryId: string, { webhookType, batchId, data }: WebhookBody): void {
    for (const item of data) {
      const event = { n: (this.heard += 1), deliveryId, type: webhookType, batchId, item };
      if (this.keeps) this.events.push(event);
      this.handle(event);
    }
    this.arrivals.emit('arrival');
  }

  private nextFault(type: string): Fault | undefined {
    const fault = this.faults.find((one) => one.times > 0 && (one.type === undefined || one.type === type));
    if (fault) fault.times -= 1;
    return fault;
  }

  /**
   * The events after `after`, at once where there are any, else when one arrives or `waitMs` has
   * passed.
   */
  private async poll(query: URLSearchParams): Promise<ReceivedEvent[]> {
    const after = Number(query.get('after') ?? 0);
    if (this.events.length <= after) {
      const waitMs = Math.min(LONGEST_POLL_MS, Number(query.get('waitMs') ?? 0));
      await once(this.arrivals, 'arrival', { signal: AbortSignal.timeout(waitMs) }).catch(() => undefined);
    }
    return this.events.slice(after);
  }
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > LARGEST_BODY_BYTES) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
