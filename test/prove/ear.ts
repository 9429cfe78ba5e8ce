import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forgeryIn, type WebhookBody } from '../../examples/demo/parties/verification';
import type { Told } from './oracle/seen';

/** A hundred items of the longest texts that the network allows stay below this. */
const LARGEST_BODY_BYTES = 2 * 1024 * 1024;

/**
 * Takes the webhooks of one party: believes what is signed, drops repeats by `X-Service-Delivery`,
 * and hands on each item once. It keeps nothing of them but what the delivery was called, for years
 * are long.
 */
export class Ear {
  /** What was not signed as it should be. */
  readonly forged: string[] = [];
  private readonly delivered = new Set<string>();
  private readonly server = createServer((request, response) => {
    this.receive(request, response).catch(() => response.destroy());
  });

  constructor(
    private readonly webhookSecret: string,
    private readonly hear: (told: Told) => void,
  ) {}

  /** @returns the address that it listens at */
  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/webhooks`;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request) {
      size += (chunk as Buffer).length;
      if (size > LARGEST_BODY_BYTES) throw new Error('the body is too large');
      chunks.push(chunk as Buffer);
    }
    const body = Buffer.concat(chunks);
    const deliveryId = String(request.headers['x-service-delivery']);
    const forgery = forgeryIn(this.webhookSecret, request.headers, body);
    if (forgery === undefined) this.take(deliveryId, JSON.parse(body.toString()) as WebhookBody);
    else this.forged.push(`${deliveryId}: ${forgery}`);
    response.writeHead(forgery === undefined ? 200 : 401).end();
  }

  private take(deliveryId: string, { webhookType, data }: WebhookBody): void {
    if (this.delivered.has(deliveryId)) return;
    this.delivered.add(deliveryId);
    for (const item of data) this.hear({ type: webhookType, item });
  }
}
