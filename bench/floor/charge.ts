import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { Pool } from 'pg';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { setting } from '../../test/parties/main';
import { bodyWithSignature, webhookHeaders } from '../../src/domain/webhook/webhook-signature';
import { BILLING } from '../../src/worker/capacity';
import { accessTokenCheck } from './access-token';
import { floorWorkflows } from './worker';

/**
 * The least that a charge needs, in one process: Express with the token check and zod, one
 * transaction with one INSERT, a workflow that starts eagerly, three local activities with a signed
 * POST to the bank and one to the merchant, and the bank's answer by HTTP with one UPDATE.
 *
 * Settings: `API_URL` of the engine, whose tokens it takes; `DATABASE_URL`, in which it makes its
 * table; `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`; `BANK_SECRET` and `MERCHANT_SECRET`, which sign.
 * Tells its owner its URL.
 */

const TASK_QUEUE = 'bench-floor-charge';

export interface ChargeActivities {
  askBank(billingRequestId: string): Promise<void>;
  awaitAnswer(billingRequestId: string): Promise<void>;
  tellMerchant(billingRequestId: string): Promise<void>;
}

const TABLE = `CREATE SCHEMA floor
  CREATE TABLE charges (
    id text PRIMARY KEY, payment_id text NOT NULL, amount bigint NOT NULL, currency text NOT NULL,
    description text NOT NULL, status text NOT NULL, bank_transaction_id text,
    created_at timestamptz NOT NULL DEFAULT now(), closed_at timestamptz)`;

const bill = z.strictObject({
  paymentIDs: z.array(z.string()).length(1),
  amount: z.number().positive(),
  currency: z.string().length(3),
  description: z.string(),
});
const bankResponse = z.strictObject({
  billingRequestId: z.string(),
  batchId: z.string(),
  bankTransactionId: z.string(),
});
type Charge = z.infer<typeof bill>;

/** Express hears a rejection only where it is handed on. */
const route =
  (work: (req: Request, res: Response) => Promise<void>): RequestHandler =>
  (req, res, next) => {
    work(req, res).catch(next);
  };

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const apiUrl = setting('API_URL');
  const db = new Pool({ connectionString: setting('DATABASE_URL'), max: 8 });
  await db.query(TABLE);
  const connection = await NativeConnection.connect({ address: setting('TEMPORAL_ADDRESS') });
  const namespace = setting('TEMPORAL_NAMESPACE');
  const client = new Client({ connection, namespace });
  const endpoints = new Map<string, string>();
  const open = new Map<string, Charge & { answered: Promise<void> }>();
  const answers = new Map<string, () => void>();
  const chargeOf = (id: string) => {
    const charge = open.get(id);
    if (!charge) throw new Error(`no charge ${id}`);
    return charge;
  };

  const agent = new Agent();
  const send = async (party: 'bank' | 'merchant', type: string, item: object) => {
    const secret = setting(party === 'bank' ? 'BANK_SECRET' : 'MERCHANT_SECRET');
    const envelope = {
      entityId: party,
      entityType: party,
      webhookType: type,
      timestamp: new Date().toISOString(),
      batchId: randomUUID(),
      data: [item],
      itemCount: 1,
    };
    const body = bodyWithSignature(envelope, secret);
    const sentAtS = Math.floor(Date.now() / 1000);
    const headers = webhookHeaders('Floor', type, randomUUID(), sentAtS, { body, secrets: [secret] });
    const answer = await request(endpoints.get(party) ?? '', {
      method: 'POST',
      dispatcher: agent,
      headers,
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`${type}: ${answer.statusCode}`);
  };
  const activities: ChargeActivities = {
    async askBank(billingRequestId) {
      const { paymentIDs, amount, currency, description } = chargeOf(billingRequestId);
      await send('bank', 'billing.request', {
        billingRequestId,
        reference: billingRequestId,
        lookupID: paymentIDs[0],
        amount,
        currency,
        description,
      });
    },
    awaitAnswer: (billingRequestId) => chargeOf(billingRequestId).answered,
    async tellMerchant(billingRequestId) {
      await send('merchant', 'billing.response', { billingRequestId, status: 'successful' });
      open.delete(billingRequestId);
      answers.delete(billingRequestId);
    },
  };
  const worker = await Worker.create({
    ...BILLING,
    connection,
    activities,
    namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: await floorWorkflows(),
  });

  const app = express();
  app.put('/endpoints/:party', express.json(), (req, res) => {
    endpoints.set(req.params.party, (req.body as { url: string }).url);
    res.json({});
  });
  app.post(
    '/v1/oauth/token',
    express.text({ type: '*/*' }),
    route(async (req, res) => {
      const headers = { 'content-type': String(req.headers['content-type']) };
      const answer = await fetch(`${apiUrl}/v1/oauth/token`, {
        method: 'POST',
        headers,
        body: String(req.body),
      });
      res.status(answer.status).json(await answer.json());
    }),
  );
  app.use(await accessTokenCheck(apiUrl), express.json());
  app.post(
    '/v1/customer/bill',
    route(async (req, res) => {
      const charge = bill.parse(req.body);
      const id = randomUUID();
      const answered = new Promise<void>((resolve) => answers.set(id, resolve));
      open.set(id, { ...charge, answered });
      const connected = await db.connect();
      try {
        await connected.query('BEGIN');
        await connected.query(
          `INSERT INTO floor.charges (id, payment_id, amount, currency, description, status)
           VALUES ($1, $2, $3, $4, $5, 'pending')`,
          [id, charge.paymentIDs[0], Math.round(charge.amount * 100), charge.currency, charge.description],
        );
        await connected.query('COMMIT');
      } finally {
        connected.release();
      }
      res.status(201).json([{ billingRequestId: id, status: 'pending' }]);
      await client.workflow.start('sameShape', {
        workflowId: id,
        taskQueue: TASK_QUEUE,
        requestEagerStart: true,
      });
    }),
  );
  app.post(
    '/v1/billing/bank-response',
    route(async (req, res) => {
      const { billingRequestId, bankTransactionId } = bankResponse.parse(req.body);
      await db.query(
        `UPDATE floor.charges SET status = 'successful', bank_transaction_id = $2, closed_at = now()
         WHERE id = $1 AND status = 'pending'`,
        [billingRequestId, bankTransactionId],
      );
      answers.get(billingRequestId)?.();
      res.json({ statusCode: 200, success: true, message: 'Noted', data: { billingRequestId } });
    }),
  );
  const server = app.listen(0, '127.0.0.1', () => {
    process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  process.once('disconnect', () => process.exit());
  await worker.run();
}

if (require.main === module) {
  main().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
}
