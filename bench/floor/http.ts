import type { AddressInfo } from 'node:net';
import express from 'express';
import { z } from 'zod';
import { setting } from '../../test/parties/main';
import { accessTokenCheck } from './access-token';

/**
 * A read by id without a database: Express, the check of the engine's own access tokens, zod. It
 * takes the keys of the engine at `API_URL`, and tells its owner the port on which it listens.
 */

const path = z.strictObject({ billingRequestId: z.string().regex(/^brq_[0-9a-z]{26}$/) });

async function main(): Promise<void> {
  const app = express();
  app.use(await accessTokenCheck(setting('API_URL')));
  app.get('/v1/billing/requests/:billingRequestId', (req, res) => {
    const { billingRequestId } = path.parse(req.params);
    res.json({ statusCode: 200, success: true, message: 'A charge', data: { billingRequestId, ...REST } });
  });
  const server = app.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.address() as AddressInfo).port });
  });
  process.once('disconnect', () => process.exit());
}

/** As much JSON as the engine answers with. */
const REST = {
  batchId: 'bat_01h455vb4pex5vsknk084sn02q',
  transactionId: 'txn_01h455vb4pex5vsknk084sn02q',
  reference: 'ABCDEFGHJKMNPQRSTVWX',
  status: 'successful',
  declineReason: null,
  amount: 1250.5,
  currency: 'NGN',
  description: 'A charge',
  approvalRequired: false,
  customerId: 'cus_01h455vb4pex5vsknk084sn02q',
  entityId: 'mch_01h455vb4pex5vsknk084sn02q',
  bankId: 'bnk_01h455vb4pex5vsknk084sn02q',
  paymentID: 'k1.AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIjKlMnOpQrStUvWxYz',
  scheduleId: null,
  expiresAt: '2026-11-01T00:00:00.000Z',
  createdAt: '2026-11-01T00:00:00.000Z',
  closedAt: '2026-11-01T00:00:00.000Z',
};

void main();
