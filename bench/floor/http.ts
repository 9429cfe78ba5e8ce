import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { decode, verify } from 'jsonwebtoken';
import { z } from 'zod';
import { setting } from '../../examples/demo/parties/main';

/**
 * A read by id without a database: Express, the check of the engine's own access tokens, zod. It
 * takes the keys of the engine at `API_URL`, and tells its owner the port on which it listens.
 */

const path = z.strictObject({ billingRequestId: z.string().regex(/^brq_[0-9a-z]{26}$/) });

async function main(): Promise<void> {
  const published = await fetch(`${setting('API_URL')}/.well-known/jwks.json`);
  const { keys } = (await published.json()) as { keys: (JsonWebKey & { kid: string })[] };
  const verifiers = new Map(keys.map((key) => [key.kid, createPublicKey({ key, format: 'jwk' })]));

  const app = express();
  app.get('/v1/billing/requests/:billingRequestId', (req, res) => {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    const verifier = verifiers.get(decode(token, { complete: true })?.header.kid ?? '');
    if (!verifier) {
      res.status(401).json({ statusCode: 401, success: false, message: 'The access token is not valid' });
      return;
    }
    verify(token, verifier, {
      algorithms: ['ES256'],
      audience: 'assent',
      issuer: 'assent',
      clockTolerance: 5,
    });
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
