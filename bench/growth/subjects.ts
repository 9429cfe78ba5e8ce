import type { Client } from 'pg';
import type { Keyring } from '../../src/database/keyring/keyring';
import { encrypt } from '../../src/database/keyring/encrypt';

/** The largest of each kind, for theirs are the longest lists. */
export interface Subjects {
  bank: string;
  smallBank: string;
  merchant: string;
  provider: string;
  /** A merchant of the bank's that has few charges. */
  smallMerchant: string;
  /** The largest merchant's, which can be charged. */
  agreements: { id: string; customerId: string; lookupId: string }[];
  pending: { id: string; bankId: string; workflowId: string }[];
  intents: { bankId: string; merchantId: string; customerId: string; lookupId: string }[];
  closed: { id: string; bankId: string; merchantId: string; reference: string; customerId: string }[];
  refundable: string[];
  /** Schedules that are due. */
  due: string[];
  schedules: string[];
  undelivered: { id: string; workflowId: string }[];
  deliveries: string[];
  /** From the beginning, the middle and the end of the bank's feed. */
  events: string[];
  keys: { callerId: string; path: string; key: string }[];
  halfway: Date;
  lastMonth: Date;
}

/** How many of each: runs take another one each time. */
const SOME = 200;

export async function findSubjects(client: Client, keyring: Keyring): Promise<Subjects> {
  const all = async <Row>(sql: string, ...values: unknown[]) =>
    (await client.query(sql, values)).rows as Row[];
  const ids = async (sql: string, ...values: unknown[]) =>
    (await all<{ id: string }>(sql, ...values)).map(({ id }) => id);
  const largest = async (column: string) => {
    const [found] = await ids(
      `SELECT ${column} AS id FROM schedules WHERE ${column} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`,
    );
    return found ?? '';
  };
  const bank = await largest('bank_id');
  const [smallBank = ''] = await ids(
    'SELECT bank_id AS id FROM schedules GROUP BY 1 ORDER BY count(*) LIMIT 1',
  );
  const merchant = await largest('merchant_id');
  const [smallMerchant = ''] = await ids(
    'SELECT merchant_id AS id FROM schedules WHERE bank_id = $1 GROUP BY 1 ORDER BY count(*) LIMIT 1',
    bank,
  );
  const agreements = await all<Subjects['agreements'][number]>(
    `SELECT a.id, a.customer_id AS "customerId", c.lookup_id AS "lookupId" FROM agreements a JOIN customers c ON c.id = a.customer_id
     WHERE a.merchant_id = $1 AND a.decision = 'approve_recurring' LIMIT ${SOME}`,
    merchant,
  );
  const due = await ids(
    `WITH chosen AS (
       SELECT s.id, date_trunc('minute', clock_timestamp()) - s.next_n * s.every * interval '1 month' AS at
       FROM schedules s JOIN agreements a ON a.id = s.agreement_id
       WHERE s.status = 'active' AND s.merchant_id = $1 AND a.decision = 'approve_recurring' LIMIT ${SOME})
     UPDATE schedules s
     SET start_at = at, next_due_at = date_trunc('minute', clock_timestamp()), acts_at = clock_timestamp()
     FROM chosen WHERE s.id = chosen.id RETURNING s.id`,
    merchant,
  );
  const subjects: Subjects = {
    bank,
    smallBank,
    merchant,
    provider: await largest('provider_id'),
    smallMerchant,
    agreements,
    pending: await all(
      `SELECT id, bank_id AS "bankId", workflow_id AS "workflowId" FROM billing_requests WHERE status = 'pending' LIMIT ${SOME}`,
    ),
    intents: await all(
      `SELECT bank_id AS "bankId", merchant_id AS "merchantId", customer_id AS "customerId", lookup_id AS "lookupId"
       FROM intents WHERE status = 'pending' AND merchant_id = $1 LIMIT ${SOME}`,
      merchant,
    ),
    closed: await all(
      `SELECT id, bank_id AS "bankId", merchant_id AS "merchantId", reference, customer_id AS "customerId"
       FROM billing_requests TABLESAMPLE SYSTEM (1) WHERE status <> 'pending' LIMIT ${SOME}`,
    ),
    refundable: await ids(
      `SELECT reference AS id FROM billing_requests WHERE merchant_id = $1 AND status = 'successful' AND refunded_amount = 0
       ORDER BY created_at DESC LIMIT ${SOME}`,
      merchant,
    ),
    due,
    schedules: await ids(`SELECT id FROM schedules WHERE merchant_id = $1 LIMIT ${SOME}`, merchant),
    undelivered: await all(
      `SELECT id, workflow_id AS "workflowId" FROM webhook_deliveries WHERE status = 'pending' AND attempts = 0 LIMIT ${SOME}`,
    ),
    deliveries: await ids(
      `SELECT id FROM webhook_deliveries WHERE entity_id = $1 ORDER BY created_at DESC LIMIT ${SOME}`,
      bank,
    ),
    events: (
      await Promise.all(
        ['ASC OFFSET 0', 'ASC OFFSET 100000', 'DESC OFFSET 1000'].map((where) =>
          ids(
            `SELECT event_id AS id FROM webhook_deliveries WHERE entity_id = $1 ORDER BY created_at ${where.replace('OFFSET', ', id OFFSET')} LIMIT 1`,
            bank,
          ),
        ),
      )
    ).flat(),
    keys: await all(
      `SELECT caller_id AS "callerId", path, key FROM idempotency_keys TABLESAMPLE SYSTEM (2) LIMIT ${SOME}`,
    ),
    halfway: new Date(Date.now() - 365 * 86_400_000),
    lastMonth: new Date(Date.now() - 30 * 86_400_000),
  };
  const customers = new Set([
    ...agreements.map((one) => one.customerId),
    ...subjects.closed.map((one) => one.customerId),
  ]);
  for (const id of due) {
    for (const { customer } of await all<{ customer: string }>(
      'SELECT customer_id AS customer FROM schedules WHERE id = $1',
      id,
    )) {
      customers.add(customer);
    }
  }
  // A charged customer must have an e-mail address that opens.
  for (const id of customers) {
    const encrypted = encrypt(keyring, 'ada@example.test', `customers.email_encrypted:${id}`);
    await client.query('UPDATE customers SET email_encrypted = $2 WHERE id = $1', [id, encrypted]);
  }
  return subjects;
}
