import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createWebhookActivities } from '../../src/activities/webhook';
import { createWebhookConnector, type WebhookConnector } from '../../src/activities/webhook-connector';
import { createEntity, type EntityCredentials } from '../../src/database/entity/create-entity';
import { newId } from '../../src/database/identifier/new-id';
import type { Database } from '../../src/database/pool/connection';
import { announceAny } from './announce-any';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

export const taken = (response: ServerResponse) => response.end('thanks');
export const broken = (response: ServerResponse) => response.writeHead(503).end('down');

/** A worker's sender of webhooks, on a database of the test, and receivers on this machine. */
export function webhookSender(db: Database) {
  const connector = createWebhookConnector({ allowPrivate: true });
  const servers: Server[] = [];
  const log: string[] = [];
  const logLine = (...line: unknown[]) => log.push(JSON.stringify(line));

  const activities = (
    config: { WEBHOOK_RETRY_S?: number[]; WEBHOOK_TIMEOUT_S?: number } = {},
    instead: { db?: Database; connector?: WebhookConnector } = {},
  ) =>
    createWebhookActivities({
      db,
      connector,
      ...instead,
      config: {
        WEBHOOK_RETRY_S: [5, 30],
        WEBHOOK_TIMEOUT_S: 10,
        ...config,
      },
      log: { info: logLine, warn: logLine },
      measure: () => undefined,
    });

  return {
    connector,
    activities,
    /** A line for each attempt. */
    log,

    /** An attempt that is made when it is due. */
    async attemptInTime(id: string, made = activities()) {
      await db.rows`
        UPDATE webhook_deliveries SET next_attempt_at = clock_timestamp() WHERE id = ${id}`;
      return made.attemptDelivery(id);
    },

    /** A receiver that answers as told, after it has read the body. */
    async receiver(answer: (response: ServerResponse, received: Received) => void = taken) {
      const received: Received[] = [];
      const server = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const one = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
          received.push(one);
          answer(response, one);
        });
      }).listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?key=s3cret`, received };
    },

    async bankAt(webhookUrl: string, name = 'bank'): Promise<EntityCredentials> {
      const made = await db.transaction((trx) => createEntity(trx, { type: 'bank', name, webhookUrl }));
      if (!made) throw new Error('not made');
      return made;
    },

    /** Announces to each bank; with `workflowId` left out, to delivery workflows. */
    announceTo: (entityIds: string[], workflowId?: string) =>
      db.transaction((trx) =>
        announceAny(
          trx,
          entityIds.map((entityId) => ({
            entityId,
            webhookType: 'billing.request' as const,
            batchId: newId('batch'),
            ...(workflowId !== undefined && { workflowId }),
            items: [{ amount: 0.3, customerEmail: 'ada@example.com', description: 'Café "№ 1" \u2028 €' }],
          })),
        ),
      ),

    /** Starts of a delivery's own workflow, oldest first. */
    startsOf: (deliveryId: string) =>
      db.rows<{ again: string | null }>`
      SELECT start->'again' AS again FROM outbox WHERE workflow_id = ${`webhook-delivery/${deliveryId}`}
      ORDER BY id`,

    async closeReceivers(): Promise<void> {
      const closed = servers.splice(0).map((server) => {
        const end = once(server, 'close');
        server.close().closeAllConnections();
        return end;
      });
      await Promise.all(closed);
    },
  };
}
