import { row, type Database } from '../../../src/database/pool/connection';
import { send, serveApi, tokenOf, type ServedApi } from '../../support/api';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { lookupIdOf, standingApproval, type Standing } from '../../support/standing';

let database: TestDatabase;
let db: Database;
let api: ServedApi;
let standing: Standing;

beforeAll(async () => {
  database = await createTestDatabase();
  db = database.db;
  api = await serveApi(db);
  standing = await standingApproval(db, api.deps.ring);
});
afterAll(async () => {
  await api.close();
  await database.drop();
});

const lookupId = ({ customerId }: Standing) => lookupIdOf(db, customerId);

/** @returns what operators find the workflow of these charges by */
async function attributesOf(lookupIDs: string[]): Promise<unknown> {
  const { body } = await send(
    api.url,
    'POST',
    '/v1/customer/bill',
    { lookupIDs, amount: 1, currency: 'NGN', description: 'Shoes' },
    { authorization: `Bearer ${await tokenOf(api, standing.credentials.merchant)}` },
  );
  const [item] = body as unknown as { billingRequestId: string }[];
  const started = await row<{ attributes: unknown }>(
    db,
    `SELECT start->'attributes' AS attributes FROM outbox WHERE start->'args'->0 @> to_jsonb(:id::text)`,
    { id: item?.billingRequestId },
  );
  return started?.attributes;
}

test('operators find a merchant’s charge by the bank that is asked', async () => {
  const { bankId, merchantId } = standing;
  expect(await attributesOf([await lookupId(standing)])).toEqual({ status: 'pending', bankId, merchantId });
});

test('charges of one call that several banks are asked for have no bank of their own', async () => {
  const elsewhere = await standingApproval(db, api.deps.ring);
  const lookupIDs = [await lookupId(standing), await lookupId(elsewhere)];
  expect(await attributesOf(lookupIDs)).toEqual({ status: 'pending', merchantId: standing.merchantId });
});
